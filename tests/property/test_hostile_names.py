"""Names and texts that would be SQL if they were not quoted: no statement of a run reads a part of one as SQL."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
import sqlglot

from dbt.adapters.sparktemporal.temporal.sql.text.dialect import quote
from dbt.adapters.sparktemporal.temporal.sql.text.grammar import VerbatimSpark
from support.instants import T0
from support.project import Project
from support.seeds import a_seed

pytestmark = pytest.mark.metastore

#: a word that no statement has by itself
WORD = "pwned"
PIECES = (
    "`",
    "``",
    "'",
    '"',
    ";",
    "--",
    "/*",
    "*/",
    "\\",
    "$",
    "${x}",
    ")",
    "(",
    " ",
    ",",
    ".",
    "é",
    "\\'",
    "%s",
    "#1",
    "\u2028",
    "\u2029",
    "\x85",
    "\t",
    "__SQLGLOT__LB__",
    "mz_read_0 ",
)
KINDS = {"id": "id", "k": "id % 3", "n": "CAST(id AS DECIMAL(12, 2))"}
SHAPES = {
    "rows": "select {id}, {k}, {n}, {text} as said from {t} where mz_now() < {hi} and {n} >= 0 and {text} like '%%'",
    "groups": "select {k}, count(*) as {id}, sum({n}) as {more} from {t} where mz_now() < {hi} group by {k}",
    "ranked": "select *, {text} as said from (select {id}, {k}, row_number() over (partition by {k} order by {id}) as "
    "{n} from {t} where mz_now() < {hi}) x where {n} <= 2",
}


def hostile(rng: random.Random) -> str:
    parts = [rng.choice(PIECES) for _ in range(rng.randrange(2, 5))]
    return f"{''.join(parts[: len(parts) // 2])}x {WORD} x{''.join(parts[len(parts) // 2 :])}{rng.randrange(10**6)}"


def literal(text: str) -> str:
    """Between quotes. A name in `${}` would be a setting of the session."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$ {") + "'"


def words_of(sql: str) -> list[str]:
    """The words of a statement outside of names in backticks, texts and comments."""
    kinds = {"STRING", "IDENTIFIER", "HINT"}
    return [t.text for t in sqlglot.tokenize(sql, read=VerbatimSpark) if t.token_type.name not in kinds]


def test_the_check_can_fail() -> None:
    assert WORD in words_of(f"select x {WORD} from t") and WORD not in words_of(f"select `x {WORD}`, 'x {WORD}' from t")


@pytest.mark.landing
@pytest.mark.parametrize("turn", range(2))
def test_no_statement_reads_a_name_as_sql(project: Project, turn: int, sent: list[str]) -> None:
    rng = random.Random(a_seed())
    names = {column: hostile(rng) for column in (*KINDS, "hi", "more")}
    quoted = {column: quote(name) for column, name in names.items()}
    values = ", ".join(f"{value} AS {quoted[column]}" for column, value in KINDS.items())
    hi = f"timestamp_millis({T0}L + id * 1000) AS {quoted['hi']}"
    project.spark.sql(f"CREATE TABLE {project.schema}.t USING parquet AS SELECT {values}, {hi} FROM range(9)")
    shapes = {
        name: sql.format(t=f"{project.schema}.t", text=literal(hostile(rng)), **quoted) for name, sql in SHAPES.items()
    }
    texts = {"description": hostile(rng), "meta": {"owner": hostile(rng)}}
    columns = [{"name": names["k"], "description": hostile(rng), "quote": True}]
    project.properties({"models": [{"name": name, **texts, "columns": columns} for name in shapes]})
    for name, sql in shapes.items():
        project.write(
            f"models/{name}.sql",
            "{{ config(materialized='temporal_view', pushdown='statistics', persist_docs={'relation': true, 'columns': "
            "true}, pushdown_columns=[" + repr(names["n"]) + "]) }}\n{% raw %}" + sql + "{% endraw %}",
        )
    for run in range(2):
        project.run(now=T0 + run)
        project.spark.sql(f"INSERT INTO {project.schema}.t VALUES (100, 1, 5.00, timestamp_millis({T0}L + 7000))")
    project.run(now=T0 + 2)
    for name, sql in shapes.items():
        for t, read in project.at_each(name, (T0 + 2, T0 + 3000, T0 + 3001)).items():
            found = project.spark.sql(f"SELECT * FROM {read}").collect()
            written = project.spark.sql(sql.replace("mz_now()", f"timestamp_millis({t}L)")).collect()
            if name == "ranked":  # two rows of one place are told apart by nothing
                found, written = ([(*row[:2], row.said) for row in rows] for rows in (found, written))
            assert Counter(map(tuple, found)) == Counter(map(tuple, written)), (name, t, names)
    ours = [sql for sql in sent if WORD in sql]
    assert len(ours) > 10
    for sql in ours:
        assert WORD not in words_of(sql), sql


#: configs of a temporal_view, and of dbt-spark, that a text may stand in
CONFIGS = (
    "expiration", "restart_at", "refresh_every", "change_capture", "append_column", "file_format", "aggregates",
    "pushdown", "pushdown_required", "pushdown_columns", "location_root", "partition_by", "clustered_by",
    "tblproperties", "options", "tags", "catalog", "views_in", "schema", "alias", "grants", "description",
)  # fmt: skip


def given(config: str, text: str) -> dict[str, Any]:
    if config == "grants":
        return {"grants": {"select": [text]}}
    if config in ("pushdown_columns", "pushdown_required"):
        return {config: [text], "pushdown": "statistics"}
    if config in ("tblproperties", "options"):
        return {config: {text: text}}
    return {config: text} | ({"change_capture": "append"} if config == "append_column" else {})


@pytest.mark.landing
def test_no_statement_reads_a_config_as_sql(project: Project, sent: list[str]) -> None:
    """A config is refused, not used, or quoted: dbt-spark itself quotes no schema and no alias."""
    rng, reached = random.Random(a_seed()), 0
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({T0}L + id) AS hi FROM range(9)")
    for config in CONFIGS:
        text = rng.choice(["`; ", "' ", "x` ", "\\' ", '" '])[:-1] + hostile(rng) + rng.choice(["`", "'", "`)", ""])
        project.model("m", f"select id from {project.schema}.t where mz_now() < hi", **given(config, text))
        sent.clear()
        ran = project.run(now=T0, check=False)
        reached += ran.success
        assert not any(WORD in words_of(sql) for sql in sent), (config, text, [sql for sql in sent if WORD in sql])
        if config == "schema" and "*/" in text:  # dbt's own comment names the schema it creates, before any model runs
            assert 'query comment contains illegal value "*/"' in ran.text, ran.text
        elif config in ("schema", "alias"):
            assert f"found: {config} " in ran.text and "without quotes\n" in ran.text, ran.text
        if config == "grants" and "`" in text:
            assert "found: grants: " in ran.text and "between backticks" in ran.text, ran.text
    assert reached > 3
