"""`change_capture: append`: new rows told by a column in whose order they come, and what happens when they do not."""

from __future__ import annotations

import random

import pytest

from support.instants import T0
from support.project import Project
from support.seeds import a_seed

pytestmark = [pytest.mark.landing, pytest.mark.metastore]

APPEND = {"change_capture": "append", "append_column": "at"}
ROWS = "id BIGINT, at TIMESTAMP, hi TIMESTAMP, note STRING"
#: the latest row that was seen, less the lookback
EDGE = "`at` 2024-03-01 12:00:04.000 UTC"


def stamp(ms: int) -> str:
    return f"timestamp_millis({T0 + ms}L)"


def row(number: int, at: int, hi: int = 900_000, note: str = "'a'") -> str:
    return f"({number}L, {stamp(at)}, {stamp(hi)}, {note})"


def insert(project: Project, *rows: str, table: str = "t") -> None:
    project.sql(f"INSERT INTO {{s}}.{table} VALUES {', '.join(rows)}")


@pytest.fixture
def events(project: Project) -> Project:
    """A table of Hive's text files, about which only its rows tell whether it changed."""
    project.sql(f"CREATE TABLE {{s}}.t ({ROWS}) STORED AS TEXTFILE")
    insert(project, *(row(n, n * 1000) for n in range(10)))
    project.model("m", f"select id, note from {project.schema}.t where mz_now() < hi", **APPEND, lookback="5 seconds")
    project.run(now=T0)
    return project


def right(project: Project, oracle: str, *instants: int) -> None:
    """The view is the query at each of these instants (ms after T0)."""
    read = " union all ".join(
        f"select {t - T0} as t, * from {read}" for t, read in project.at_each("m", [T0 + t for t in instants]).items()
    )
    asked = " UNION ALL ".join(f"SELECT {t}, * FROM ({oracle.replace('mz_now()', stamp(t))})" for t in instants)
    assert sorted(project.rows(read), key=repr) == sorted(project.rows(asked), key=repr)


def run(project: Project, after: int) -> tuple[str, str, str]:
    """What dbt prints of a run, how it read its inputs, and its warnings. The view is right after it."""
    result = project.run(now=T0 + after)
    ran = result.of("m")
    right(project, "SELECT id, note FROM {s}.t WHERE mz_now() < hi", after, after + 1000, 899_999, 900_000)
    warned = " ".join(line for line in result.log if "append promises" in line)
    return ran.message, " | ".join(ran.adapter_response["inputs"]), warned


def test_new_rows_and_late_ones(events: Project) -> None:
    insert(events, row(10, 10_000), row(11, 11_000))
    message, told, warned = run(events, 11_000)
    assert "advanced, 2 rows" in message and ".t: new rows (rows after the latest, and those of the 5 seconds" in told
    assert told.endswith(", 2 rows read") and not warned
    insert(events, row(12, 6_001), row(12, 6_001), row(11, 11_000))  # late, twice; and one that is there already
    message, told, warned = run(events, 12_000)
    assert "advanced, 3 rows" in message and told.endswith(", 3 rows read") and not warned
    message, told, warned = run(events, 13_000)
    assert "unchanged" in message and told.endswith(".t: unchanged (no change), 0 rows read")


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (row(20, 3_999), f"of 5 rows up to {EDGE} there are 6 now"),
        (row(20, 9_000).replace(stamp(9_000), "NULL"), f"of 5 rows up to {EDGE} there are 6 now"),
        ("WHERE id <> 2", f"of 5 rows up to {EDGE} there are 4 now"),
        ("WHERE id <> 7", f"gone or changed: 1 of 5 rows after {EDGE}"),
        ("WHERE id <= 5", "gone or changed: 4 of 5 rows after"),
        ("WHERE false", f"of 5 rows up to {EDGE} there are 0 now"),
        ("IF(id = 2, 'b', note)", f"of 5 rows up to {EDGE} some changed"),
        ("IF(id = 2, NULL, note)", f"of 5 rows up to {EDGE} some changed"),
        ("IF(id = 7, 'b', note)", "gone or changed: 1 of 5 rows after"),
    ],
)
def test_a_broken_promise(events: Project, change: str, why: str) -> None:
    """Answered in the same run, in full, with a warning; the next run can trust what it sees then."""
    if change.startswith("("):
        insert(events, change)
    else:
        where = change if change.startswith("WHERE") else ""
        note = "note" if where else change
        events.sql(f"CREATE TABLE {{s}}.u STORED AS TEXTFILE AS SELECT id, at, hi, {note} AS note FROM {{s}}.t {where}")
        events.sql("INSERT OVERWRITE {s}.t SELECT * FROM {s}.u")
    _, told, warned = run(events, 20_000)
    assert f".t: full ({why}" in told
    assert "temporal_view m: not as change_capture: append promises" in warned and why in warned
    insert(events, row(30, 30_000))
    message, told, warned = run(events, 30_000)
    assert "advanced, 1 row" in message and ".t: new rows (" in told and not warned


@pytest.mark.deep
def test_without_lookback(events: Project) -> None:
    """Nothing may come late: a row of the same instant as the latest is late."""
    sql = f"select id, note from {events.schema}.t where mz_now() < hi"
    events.model("m", sql, **APPEND)
    assert "full (append_column or lookback are others than before)" in run(events, 10_000)[1]
    insert(events, row(10, 9_001))
    assert ".t: new rows (rows after the latest), 1 row read" in run(events, 11_000)[1]
    insert(events, row(11, 9_001))
    assert (
        "full (of 11 rows up to `at` 2024-03-01 12:00:09.001 UTC there are 12 now), 12 rows read"
        in run(events, 12_000)[1]
    )


@pytest.mark.deep
def test_from_nothing(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t ({ROWS})")
    project.model("m", f"select id, note from {project.schema}.t where mz_now() < hi", **APPEND, lookback="1 hour")
    run(project, 0)
    assert "unchanged (no change)" in run(project, 1)[1]
    insert(project, row(1, 5))
    assert ".t: new rows (rows after the latest" in run(project, 10)[1]


@pytest.mark.deep
def test_compacted_files(project: Project) -> None:
    """The same rows in other files: nothing changed, as far as the column tells."""
    project.sql(f"CREATE TABLE {{s}}.t ({ROWS})")
    insert(project, *(row(n, n) for n in range(5)))
    project.model("m", f"select id, note from {project.schema}.t where mz_now() < hi", **APPEND, lookback="1 hour")
    run(project, 0)
    project.sql("CREATE TABLE {s}.u AS SELECT * FROM {s}.t; INSERT OVERWRITE {s}.t SELECT * FROM {s}.u")
    assert "unchanged (no change)" in run(project, 1)[1]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DATE", ["DATE'2024-03-01'", "DATE'2024-03-02'", "DATE'2024-03-02'", "DATE'2024-03-04'"]),
        ("TIMESTAMP_NTZ", [f"TIMESTAMP_NTZ'2024-03-0{d} 12:00:00.123456'" for d in (1, 2, 2, 4)]),
        ("INT", ["1", "2", "2", "7"]),
        ("BIGINT", ["1709294400000", "1709294400001", "1709294400001", "1709380800001"]),
        ("DECIMAL(20, 3)", ["1.001", "2.5", "2.5", "99.999"]),
    ],
)
def test_types_of_the_column(project: Project, kind: str, values: list[str]) -> None:
    project.sql(f"CREATE TABLE {{s}}.t (id BIGINT, at {kind}, hi TIMESTAMP, note STRING)")
    project.model("m", f"select id, note from {project.schema}.t where mz_now() < hi", **APPEND, lookback="1 day")
    insert(project, f"(0L, {values[0]}, {stamp(900_000)}, 'a')")
    run(project, 0)
    for number, value in enumerate(values[1:], 1):
        insert(project, f"({number}L, CAST({value} AS {kind}), {stamp(900_000)}, 'a')")
        message, told, _ = run(project, number)
        assert "advanced, 1 row" in message and ".t: new rows (" in told and told.endswith(", 1 row read")


@pytest.mark.deep
def test_rows_of_any_type(project: Project) -> None:
    """What tells rows apart: NULLs in other places, and nested ones."""
    kinds = "a INT, b INT, m MAP<STRING, INT>, s STRUCT<x: INT, y: INT>, l ARRAY<INT>, ts TIMESTAMP, by BINARY"
    project.sql(f"CREATE TABLE {{s}}.t (at TIMESTAMP, hi TIMESTAMP, {kinds})")
    project.model(
        "m",
        f"select a, b, m['k'] as k, s, l, ts from {project.schema}.t where mz_now() < hi",
        **APPEND,
        lookback="1 hour",
    )
    nested = "map('k', 1), struct(CAST({} AS INT), CAST({} AS INT)), array(1)"
    one = f"({stamp(1)}, {stamp(900_000)}, {{}}, {{}}, {nested}, {stamp(0)}, X'00')"
    insert(project, one.format(1, "NULL", 1, "NULL"))
    project.run(now=T0)
    for values in (("NULL", 1, 1, "NULL"), (1, "NULL", "NULL", 1), (1, "NULL", 1, "NULL")):
        insert(project, one.format(*values))
        ran = project.run(now=T0).of("m")
        assert "advanced, 1 row" in ran.message and "new rows" in ran.adapter_response["inputs"][0]
    read = project.rows(f"select a, b, s from {project.at('m', T0)}")
    assert sorted(read, key=repr) == sorted(project.rows("SELECT a, b, s FROM {s}.t"), key=repr)


def test_a_history(project: Project) -> None:
    drive(project, 2, turns=4)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(8))
def test_more_histories(project: Project, part: int) -> None:
    seed = a_seed()
    drive(project, seed, turns=12)


def drive(project: Project, seed: int, turns: int) -> None:
    """A join of two such tables: rows that come in time, late, too late, twice, and rows that change or go."""
    rng = random.Random(seed)
    for table in "ab":
        project.sql(f"CREATE TABLE {{s}}.{table} ({ROWS}) STORED AS TEXTFILE")
    sql = (
        f"select a.id, a.note, b.note as other from {project.schema}.a join {project.schema}.b using (id) "
        "where mz_now() >= a.at and mz_now() < greatest(a.hi, b.hi)"
    )
    project.model("m", sql, **APPEND, lookback="10 seconds")
    ways = []
    for turn in range(turns):
        now = turn * 10_000
        for table in "ab":
            ats = [now - rng.choice([0, 0, 1000, 9_999, 10_000, 30_000 if rng.random() < 0.1 else 5]) for _ in range(3)]
            rows = [
                row(rng.randrange(4), at, at + rng.choice([0, 5_000, 40_000]), rng.choice(["NULL", "'x'", "'y'"]))
                for at in ats
            ]
            insert(project, *rows[: rng.randrange(4)], rows[0], table=table)
            if rng.random() < 0.08:
                cut = f"SELECT * FROM {{s}}.{table} WHERE id <> {rng.randrange(4)}"
                project.sql(
                    f"DROP TABLE IF EXISTS {{s}}.u; CREATE TABLE {{s}}.u STORED AS TEXTFILE AS {cut}; "
                    f"INSERT OVERWRITE {{s}}.{table} SELECT * FROM {{s}}.u"
                )
        ran = project.run(now=T0 + now).of("m")
        ways += [line.split(": ", 1)[1].split(" (")[0] for line in ran.adapter_response["inputs"]]
        right(project, sql, now, now + 4_999, now + 5_000, now + 40_000)
    assert ways.count("new rows") >= turns * 2 // 3, ways
