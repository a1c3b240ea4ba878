"""What the adapter says: numbers agree with their nouns, and Spark's plans stay out of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from pyspark import SparkContext

from dbt.adapters.sparktemporal import plurals, spark_log
from dbt.adapters.sparktemporal.connections import without_metastore
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal

ROOT = Path(plurals.__file__).parent
#: a noun right behind a number that was put in
COUNTED = re.compile(
    r"^ (?:new |more )?(?:rows|files|chains|updates|diffs|bytes|snapshots|groups|columns|relations|models|tables|views|"
    r"inputs|statements|versions|instants)\b"
)


def test_numbers_and_their_nouns() -> None:
    """`{count} rows` would say "1 rows": `quantity` is for that. (A sum of SQL is none of ours to say.)"""
    found = []
    for file in sorted(ROOT.rglob("*.py")):
        for text in (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.JoinedStr)):
            for value, after in zip(text.values, text.values[1:]):
                said = after.value if isinstance(after, ast.Constant) else ""
                # the text of a fingerprint stays as states of format 1 have it
                if file.name != "input_state.py" and isinstance(value, ast.FormattedValue) and COUNTED.match(str(said)):
                    found.append(f"{file.name}:{value.lineno}: {ast.unparse(value.value)}{said!r}")
    assert found == []


EXPLAINED = {
    "== Parsed Logical Plan ==\n'Project ['a]\n+- 'UnresolvedRelation [t], [], false\n\n== Analyzed Logical Plan ==\n"
    "org.apache.spark.sql.AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `a` "
    "cannot be resolved. Did you mean one of the following? [`id`]. SQLSTATE: 42703; line 1 pos 7;\n'Project ['a]\n": (
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `a` cannot be resolved."
    ),
    "Error occurred during query planning: \n[ARITHMETIC_OVERFLOW] long overflow. Set x. SQLSTATE: 22003": (
        "[ARITHMETIC_OVERFLOW] long overflow."
    ),
    "Error occurred during query planning: \nlong overflow": "long overflow",
}


@pytest.mark.parametrize("told", EXPLAINED)
def test_a_query_without_a_plan(told: str) -> None:
    with pytest.raises(Refusal) as raised:
        Warehouse(lambda sql: [(told,)]).explain("SELECT a FROM t")
    assert str(raised.value) == (
        f"ST356 found: {EXPLAINED[told]}\n"
        "why: Spark makes no plan of this query, so its inputs and its meaning are not known\n"
        "instead: a query that Spark can plan: what fails for constants alone fails for every row"
    )


def test_a_metastore_that_another_process_has_open() -> None:
    error = (
        "org.apache.hadoop.hive.ql.metadata.HiveException: java.lang.RuntimeException: Unable to instantiate "
        "org.apache.hadoop.hive.ql.metadata.SessionHiveMetaStoreClient"
    )
    found, why, instead = without_metastore(error).splitlines()
    assert found == "ST206 found: a Hive metastore that does not open" and "one process at a time" in why
    assert "method: thrift" in instead and not without_metastore("Unable to instantiate a.B")


@pytest.mark.parametrize(
    ("given", "environment", "is_quiet"),
    [
        ({}, {}, True),
        ({"spark.driver.extraJavaOptions": "-Da=b"}, {}, True),
        ({"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=mine"}, {}, False),
        ({}, {"SPARK_CONF_DIR": "conf"}, False),
        ({}, {"SPARK_REMOTE": "sc://localhost"}, False),
    ],
)
def test_the_log_of_spark(
    given: dict[str, str], environment: dict[str, str], is_quiet: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Off in a Java that dbt starts; as people have it, where they configured it."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "log4j2.properties").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = spark_log.quieted(given)
    options = settings.get("spark.driver.extraJavaOptions", "")
    assert options.endswith(spark_log.QUIET) == is_quiet
    assert options.startswith(given.get("spark.driver.extraJavaOptions", ""))
    assert spark_log.LOG4J.exists()
