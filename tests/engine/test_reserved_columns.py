"""Columns of inputs that are named like those that the statements of a run make: read, stored, or refused in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dbt.adapters.sparktemporal as adapter
from dbt.adapters.sparktemporal.temporal.sql.text.helper_columns import is_reserved
from support.instants import T0
from support.project import Project

pytestmark = pytest.mark.metastore

W = "mz_now() >= lo and mz_now() < hi"


def names() -> list[str]:
    """All that the sources write with this prefix, functions of the clock aside; `mz_p{i}` stands for mz_p0."""
    found = set()
    for file in Path(adapter.__file__).parent.rglob("*.py"):
        for name, numbered in re.findall(r"\b(mz_[a-z]\w*)(\{?)", file.read_text()):
            found.add(name + "0" * bool(numbered))
    return sorted(name for name in found if not re.match("mz_(now|logical)", name))


EVERY = names()
FREE = [name for name in EVERY if not is_reserved(name)]
OURS = [name for name in EVERY if name not in FREE]

#: name -> SQL of a model; {t} its table, {free} columns that may be stored under their own names, {ours} the others
MODELS = {
    "stored": f"select id, {{free}}, {{ours}} from {{t}} where {W}",
    "grouped": f"select {{free}}, count(*) as n, sum(mz_taken) as total, max(mz_wanted) as last, min(mz_nth) as first "
    f"from {{t}} where {W} group by all",
    "compared": "select id, mz_row from {t} where mz_now() >= mz_from and mz_now() < mz_until + 5000",
    "judged": f"select id, {{free}} from {{t}} where ({W} and mz_truth <> mz_s0) or (id = 1 and mz_now() >= mz_lower)",
    "joined": "select a.id, b.mz_row, a.mz_at from {t} a join {t} b on a.mz_file = b.mz_file "
    "where mz_now() >= a.lo and mz_now() < b.hi",
    "windowed": f"select *, row_number() over (partition by mz_row order by id) as nth, count(*) over () as every_row "
    f"from (select id, {{free}} from {{t}} where {W})",
    "nested": "select * from (select id, {free}, lo, hi from {t} where mz_now() < hi) as x where mz_now() >= x.lo",
    "parts": "select mz_part, mz_parts, count(*) as n, count_if(mz_now() < hi) as c, sum(case when mz_now() < lo then "
    "mz_one end) as s from (select id, {free}, lo, hi from {t}) as mz_parts group by mz_part, mz_parts.mz_parts",
    "beside": f"select mz_one, (select max(mz_apart) from {{t}} as o where o.id = t.id) as m from {{t}} as t where {W}",
    "sliding": "select id, {free}, {ours} from {t} "
    "where date_trunc('MINUTE', mz_now()) = date_trunc('MINUTE', timestamp_millis(lo))",
    "distinct_keys": f"select mz_rows, count(distinct mz_key) as keys, count_if(mz_diff > 0) as more from {{t}} "
    f"where {W} group by mz_rows having count(*) > 0",
    "unioned": f"with a as (select id, mz_updates from {{t}} where {W}), b as (select mz_n as id, mz_sums as mz_due "
    f"from {{t}} where mz_now() < hi) select * from a union all select * from b",
}


def text(sql: str, table: str) -> str:
    free, ours = ", ".join(FREE), ", ".join(f"{name} as a_{name}" for name in OURS)
    return sql.format(t=table, free=free, ours=ours)


def values(first: int, last: int) -> str:
    """Row n comes at n seconds; each column has a value of its own."""
    own = ", ".join(f"{T0}L + 1000 * id + {place} AS {name}" for place, name in enumerate(EVERY, 1))
    lo = f"{T0}L + 1000 * id"
    return f"SELECT id, {lo} AS lo, {lo} + 70000 AS hi, {own} FROM range({first}, {last})"


def right(project: Project, models: dict[str, str], t: int) -> None:
    for model, sql in models.items():
        oracle = project.rows(text(sql, f"{project.schema}.t").replace("mz_now()", "{now}").format(now=clock(sql, t)))
        found = project.rows(f"SELECT * FROM {project.at(model, t)}")
        assert sorted(found, key=repr) == sorted(oracle, key=repr), (model, t - T0)


def clock(sql: str, t: int) -> str:
    return f"timestamp_millis({t}L)" if "date_trunc" in sql else f"{t}L"


def drive(project: Project, models: dict[str, str], using: str, **config: object) -> None:
    project.spark.sql(f"CREATE TABLE {project.schema}.t {using} AS {values(0, 6)}")
    for model, sql in models.items():
        # what is counted need not be stored under its own name; as rows it would
        kept = {"aggregates": "groups"} if model == "distinct_keys" else {}
        project.model(model, text(sql, f"{project.schema}.t"), **config, **kept)
    for number, after in enumerate((2_000, 3_500, 62_000)):
        ran = project.run(now=T0 + after)
        for t in (T0 + after, T0 + 71_000) if number else ():
            right(project, models, t)
        if number == 1 and "change_capture" not in config:
            assert " new files (" in ran.of(next(iter(models))).adapter_response["inputs"][0]
        verb, rows = (("INTO", values(6, 8)), ("OVERWRITE", values(3, 9)))[number % 2]
        project.spark.sql(f"INSERT {verb} {project.schema}.t {rows}")


def test_there_are_such_names() -> None:
    assert {"mz_file", "mz_p0", "mz_row"} <= set(FREE) and {"mz_from", "mz_bucket", "mz_s0"} <= set(OURS)


@pytest.mark.landing
def test_columns_named_like_those_of_a_run(project: Project) -> None:
    drive(project, {name: MODELS[name] for name in ("stored", "distinct_keys")}, "USING parquet")


@pytest.mark.landing
@pytest.mark.metastore
def test_columns_named_like_those_of_rows_in_order(project: Project) -> None:
    """What is remembered of late rows stands beside the columns of the table."""
    columns = "mz_file STRING, MZ_NTH BIGINT, mz_row BIGINT, mz_old BIGINT, file STRING, size BIGINT"
    project.spark.sql(
        f"CREATE TABLE {project.schema}.t (id BIGINT, lo BIGINT, hi BIGINT, {columns}) STORED AS TEXTFILE"
    )
    sql = f"select id, mz_file, mz_nth, mz_old, mz_file || mz_row as both from {{t}} where {W}"
    config = {"change_capture": "append", "append_column": "lo", "lookback": "3 seconds"}
    project.model("m", text(sql, f"{project.schema}.t"), **config)
    for after, ids in enumerate(("0, 6", "5, 8", "5, 9")):
        project.spark.sql(
            f"INSERT INTO {project.schema}.t SELECT id, {T0}L + 1000 * id, {T0}L + 90000, 'x', 1, 2, 3, 'y', id "
            f"FROM range({ids})"
        )
        ran = project.run(now=T0 + 10_000 + after).of("m")
        assert after == 0 or ": new rows (" in ran.adapter_response["inputs"][0]
        right(project, {"m": sql}, T0 + 10_000 + after)


@pytest.mark.deep
@pytest.mark.parametrize("capture", ["auto", "full", "append"])
@pytest.mark.parametrize("using", ["USING parquet", "USING orc PARTITIONED BY (mz_p0)"])
def test_such_columns_in_all_kinds_of_models(project: Project, using: str, capture: str) -> None:
    config = {} if capture == "auto" else {"change_capture": capture}
    if capture == "append":
        config |= {"append_column": "lo", "lookback": "3 seconds"}
    drive(project, MODELS, using, **config)


def test_what_is_ours_is_refused(project: Project) -> None:
    """As the name of a column of a model. In its predicate or below an alias any name is read."""
    project.spark.sql(f"CREATE TABLE {project.schema}.t USING parquet AS {values(0, 2)}")
    project.model("m", f"select id, mz_until from {project.schema}.t where {W}")
    said = project.run(now=T0, check=False).text
    assert "found: column mz_until" in said and "instead: another alias" in said
