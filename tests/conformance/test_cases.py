"""The conformance cases, run through dbt: every answer at every instant, every change log.

What the reference refuses is answered too, as Spark evaluates it with the instant put in, or refused here as well.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlglot
import yaml
from conftest import Project

from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse, read_state
from dbt.adapters.sparktemporal.operations.reads import as_of
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())


def literal(value: Any, spark_type: str) -> str:
    if value is None:
        return f"CAST(NULL AS {spark_type.upper()})"
    if spark_type == "interval day to second":
        return f"INTERVAL '{str(value)[2:-1]}' SECOND"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    if isinstance(value, (list, dict)):
        raise NotImplementedError(spark_type)
    return f"CAST('{text}' AS {spark_type.upper()})"


def create(project: Project, name: str, columns: dict[str, str], rows: list[list[Any]]) -> None:
    names = ", ".join(f"`{c}`" for c in columns)
    if rows:
        values = ", ".join("(" + ", ".join(literal(v, t) for v, t in zip(r, columns.values())) + ")" for r in rows)
        items = ", ".join(f"CAST(`{c}` AS {t.upper()}) AS `{c}`" for c, t in columns.items())
        query = f"SELECT {items} FROM VALUES {values} AS v({names})"
    else:
        query = "SELECT " + ", ".join(f"CAST(NULL AS {t}) AS `{c}`" for c, t in columns.items()) + " WHERE false"
    project.spark.sql(f"CREATE TABLE {project.schema}.{name} USING parquet AS {query}")


def plain(value: Any) -> Any:
    """A value as cases.yaml writes it."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{int(value.total_seconds())}S"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    return str(value)


def wanted(row: list[Any]) -> tuple:
    return tuple(tuple(v) if isinstance(v, list) else plain(v) for v in row)


def model_name(case: dict[str, Any]) -> str:
    return "m_" + case["id"]


def relation_sql(case: dict[str, Any], prefix: str) -> str:
    """The case's SQL over the tables of the project: `FROM t` becomes `FROM <prefix>_t AS t`."""
    sql, out, last = case["sql"], "", 0
    tokens = sqlglot.tokenize(sql, read="spark")
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None]):
        if before.text.upper() in ("FROM", "JOIN") and token.text in ("t", "u"):
            aliased = after is not None and (after.text.upper() == "AS" or after.text in ("a", "b", "x"))
            out += sql[last : token.start] + f"{prefix}_{token.text}" + ("" if aliased else f" AS {token.text}")
            last = token.end + 1
    return out + sql[last:]


@pytest.fixture(scope="module")
def all_cases(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Any:
    """Every case a model of one project, hydrated by one dbt run at an instant before all that is asked."""
    project = Project(tmp_path_factory.mktemp("cases") / "project", spark)
    start = 0
    for case in CASES["cases"]:
        prefix = f"{project.schema}.{case['id']}"
        create(project, f"{case['id']}_t", case["columns"], case["rows"])
        if "u" in case:
            create(project, f"{case['id']}_u", case["u"]["columns"], case["u"]["rows"])
        project.model(model_name(case), relation_sql(case, prefix))
        start = min([start, *(parse_instant(c["at"]) for c in case["checks"])])
    for number, case in enumerate(CASES["reject"]):
        project.model(f"r_{number}", over_rejected(case["sql"], project))
    create(project, "rejected", REJECTED, REJECTED_ROWS)
    result = project.run("--threads", "2", now=start, check=False)
    answered = [c for c in CASES["cases"] if result.of(model_name(c)).status == "success"]
    reads = project.render(
        "".join(
            f"{c['id']} {t} @@ select * from {{{{ temporal_as_of(ref('{model_name(c)}'), {t}) }}}} ;;"
            for c in answered
            for t in sorted({parse_instant(x["at"]) for x in c["checks"]})
        )
    )
    parts = (read.split("@@") for read in reads.split(";;") if read.strip())
    yield project, result, {tuple(key.split()): sql for key, sql in parts}
    spark.sql(f"DROP DATABASE {project.schema} CASCADE")


#: what the entries of `reject` name: ts, k and id
REJECTED = {"id": "int", "ts": "timestamp", "k": "string"}
REJECTED_ROWS: list[list[Any]] = [
    [1, "1970-01-01 00:00:01.000", "a"], [2, "1970-01-01 01:00:00.500", "b"], [3, None, "a"],
    [4, "1970-01-02 00:00:00.000", None], [5, "1970-01-01 00:00:01.0005", "a"],
]  # fmt: skip
#: the mathematically right answer is not attempted
REFUSED = (
    "mz_now takes no arguments", "not a predicate", "inside an aggregate argument",
)  # fmt: skip
INSTANTS = [0, 999, 1000, 1001, 3_600_000, 3_600_501, 300_001, 86_399_999, 86_400_000, 86_700_001, 172_800_000]


def over_rejected(sql: str, project: Project) -> str:
    return sql.replace(" FROM t", f" FROM {project.schema}.rejected AS t")


@pytest.mark.parametrize("number", range(len(CASES["reject"])), ids=lambda n: CASES["reject"][n]["why"])
def test_rejected_elsewhere(number: int, all_cases: Any) -> None:
    project, result, _ = all_cases
    sql, outcome = CASES["reject"][number]["sql"], result.of(f"r_{number}")
    if CASES["reject"][number]["why"] in REFUSED:
        assert outcome.status == "error" and "instead: " in outcome.message, outcome.message
        return
    assert outcome.status == "success", outcome.message
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", f"r_{number}")
    for t in INSTANTS:
        written = over_rejected(sql, project).replace("mz_now()", f"timestamp_millis({t}L)")
        expected = project.rows(written.replace("now()", f"timestamp_millis({t}L)"))
        assert Counter(project.rows(f"SELECT * FROM {as_of(warehouse, target, t)}")) == Counter(expected), t


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda c: c["id"])
def test_case(case: dict[str, Any], all_cases: Any) -> None:
    project, result, reads = all_cases
    outcome = result.of(model_name(case))
    assert outcome.status == "success", outcome.message
    instants = {parse_instant(c["at"]) for c in case["checks"]}
    found = {t: [tuple(plain(v) for v in row) for row in project.rows(reads[case["id"], str(t)])] for t in instants}
    for check in case["checks"]:
        rows, expected = found[parse_instant(check["at"])], [wanted(r) for r in check["rows"]]
        if case.get("ordered"):
            assert rows == expected, check["at"]
        else:
            assert Counter(rows) == Counter(expected), check["at"]


@pytest.mark.parametrize("case", [c for c in CASES["cases"] if "diffs" in c], ids=lambda c: c["id"])
def test_change_log_of_rows(case: dict[str, Any], all_cases: Any) -> None:
    """Where the model is its core, the stored updates are the change log."""
    project, _, _ = all_cases
    state = read_state(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", model_name(case)))
    assert state is not None
    if len(state.cores) > 1 or state.residual != f"SELECT * FROM {state.cores[0].placeholder}":
        pytest.skip("an aggregate or other residual: its change log is not stored")
    stored = project.rows(f"SELECT * FROM {{s}}.{model_name(case)}__diffs")
    as_of, until = parse_instant(case["as_of"]), parse_instant(case["diffs_until"])
    found: Counter = Counter()
    for t, diff, *row in stored:
        if t <= until:
            found[(max(t, as_of), *(plain(v) for v in row))] += diff
    expected: Counter = Counter()
    for update in case["diffs"]:
        expected[(parse_instant(update["time"]), *wanted(update["row"]))] += update["diff"]
    assert {k: v for k, v in found.items() if v} == {k: v for k, v in expected.items() if v}
