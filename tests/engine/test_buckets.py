"""Large chains in partitions: where a bucket begins and ends, and that a read opens no others."""

from __future__ import annotations

import random
import re
import time

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time import reads
from dbt.adapters.sparktemporal.temporal.diffs import buckets, chains, groups_sql
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain
from support.instants import DAY, HOUR, T0
from support.project import Project


def width(distance: int, fineness: int) -> int:
    return 1 << (max(distance // fineness, buckets.GRANULARITY).bit_length() - 1)


def test_edges(project: Project) -> None:
    """Against whole numbers of Python, at the powers of two and around them."""
    rng = random.Random(3)
    cases = []
    for since in (T0, 0, -5 * DAY - 1, T0 + 1):
        distances = {d + e for k in range(50) for d in (1 << k, 3 << k) for e in (-1, 0, 1)}
        distances |= {rng.randrange(1, 400 * DAY) for _ in range(200)}
        cases += [(since, since + d) for d in sorted(distances) if d >= 0]
    values = ", ".join(f"({since}L, {t}L)" for since, t in cases)
    edges = []
    for since in dict.fromkeys(s for s, _ in cases):
        said = f"t, {buckets.begins('t', since)} AS b, {buckets.ends('t', since)} AS e"
        edges.append(f"SELECT {since}L AS since, {said} FROM times WHERE since = {since}L")
    found = project.rows(f"WITH times AS (SELECT * FROM VALUES {values} AS f(since, t)) {' UNION ALL '.join(edges)}")
    assert len(found) == len(cases)
    for since, t, begins, ends in found:
        fine, coarse = width(t - since, buckets.FINE), width(t - since, buckets.COARSE)
        assert begins == (since if t == since else max(since + 1, t - t % fine)), (since, t)
        assert ends == t + -t % coarse, (since, t)
        assert begins <= t <= ends and t - begins < max((t - since) / 4, buckets.GRANULARITY)
    later = sorted(found)
    assert later == sorted(later, key=lambda row: (row[0], row[3]))  # a later end is in no earlier bucket


def test_far_and_open_ends(project: Project) -> None:
    far = ", ".join(f"({t})" for t in ("CAST(NULL AS BIGINT)", f"{1 << 62}L", f"{(1 << 63) - 1}L"))
    found = project.rows(f"SELECT {buckets.ends('t', T0)} FROM VALUES {far} AS f(t)")
    assert found == [(buckets.NEVER,)] * 3


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["groups", "rows"])
def test_a_large_chain_of_nothing(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Written to hold much, as its inputs were rewritten, it has no row: they are as they were, or all went."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 1)
    rows = f"SELECT id % 3 AS k, timestamp_millis({T0 + DAY}L) AS hi FROM range(50)"
    project.sql(f"CREATE TABLE {{s}}.t AS {rows}")
    select, rest = ("k, count(*) as n", "group by k") if kind == "groups" else ("k, hi", "")
    project.model("m", f"select {select} from {project.schema}.t where mz_now() < hi {rest}", aggregates="groups")
    project.run(now=T0)
    project.sql(f"INSERT OVERWRITE {{s}}.t {rows}")
    ran = project.run(now=T0 + 1).of("m")
    assert "OK unchanged" in ran.message and "full (" in ran.adapter_response["inputs"][0]
    project.sql(f"INSERT OVERWRITE {{s}}.t SELECT * FROM ({rows}) WHERE k < 0")
    project.run(now=T0 + 2)
    assert project.rows(f"select count(*) from {project.at('m', T0 + 3)}") == [(0,)]
    project.sql(f"INSERT OVERWRITE {{s}}.t {rows}")
    project.run(now=T0 + 3)
    assert project.rows(f"select count(*) from {project.at('m', T0 + 3)}") == [(3 if kind == "groups" else 50,)]


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", ["groups", "rows"])
@pytest.mark.landing
def test_a_read_opens_what_is_due(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Groups: buckets that have begun. Rows: buckets that have not ended."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 1)
    now = int(time.time() * 1000)
    project.sql(
        f"CREATE TABLE {{s}}.t AS SELECT id % 7 AS k, timestamp_millis({now}L + (id - 5) * {HOUR // 2}) AS hi FROM "
        f"range(2000) UNION ALL SELECT 1, NULL"
    )
    select = "k, count(*) as n" if kind == "groups" else "k, hi"
    rest = "group by k" if kind == "groups" else ""
    where = "(hi is null or mz_now() < hi)"
    project.model("m", f"select {select} from {project.schema}.t where {where} {rest}", aggregates="groups")
    project.run(now=now - 2 * HOUR)
    (chain,) = project.state().chains
    assert chain.bucketed
    held = len(project.rows(f"SHOW PARTITIONS {{s}}.{chain.table}"))
    since = now - 2 * HOUR
    times = [t for t in (now + (n - 5) * (HOUR // 2) for n in range(2000)) if t > since]
    if kind == "groups":
        edges = {max(since + 1, t - t % width(t - since, buckets.FINE)) for t in times} | {since}
    else:
        edges = {t + -t % width(t - since, buckets.COARSE) for t in times} | {buckets.NEVER}
    assert held == len(edges) < 50
    plan = project.spark.sql(f"SELECT * FROM {project.schema}.m")._jdf.queryExecution().executedPlan().toString()
    opened = [int(paths) for paths in re.findall(r"InMemoryFileIndex\((\d+) paths\)", plan)]
    if kind == "groups":
        assert opened[0] <= 10
    else:  # the bucket of now, and those after it, of which not even the ends are read
        assert opened[0] == 1 and held - 4 <= sum(opened) < held
        assert re.findall(r"ReadSchema: (\S+)", plan) == [
            "struct<k:bigint,hi:timestamp,mz_until:bigint>",
            "struct<k:bigint,hi:timestamp>",
        ]
    plain = f"SELECT {select} FROM {{s}}.t WHERE {where.replace('mz_now()', 'current_timestamp()')} {rest}"
    both = f"SELECT *, 1 AS side FROM {{s}}.m UNION ALL SELECT *, -1 FROM ({plain})"
    names = "k, n" if kind == "groups" else "k, hi"
    assert project.rows(f"SELECT count(*) > 0 FROM ({both}) WHERE side = 1") == [(True,)]
    assert project.rows(f"SELECT {names} FROM ({both}) GROUP BY {names} HAVING sum(side) <> 0") == []


#: ends of rows around edges of the buckets of a chain from T0 on, and where the buckets grow (ms)
NARROW = buckets.GRANULARITY
EDGES = [T0 + -T0 % (NARROW << wide) + n * (NARROW << wide) for wide in (0, 5) for n in (0, 1)]
GROWS = [T0 + (NARROW << wide) for wide in (1, 6)]
WHERE = "(lo is null or mz_now() >= lo) and (hi is null or mz_now() < hi)"


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("expiration", ["3 hours", None])
def test_rows_at_the_edges_of_buckets(
    project: Project, monkeypatch: pytest.MonkeyPatch, expiration: str | None
) -> None:
    """A read takes the buckets after that of its instant as they are: at each edge, with NULLs, copies, corrections."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 1)
    ends = sorted({at + near for at in EDGES + GROWS for near in (-1, 0, 1)})
    starts = (T0 - DAY, T0, T0 + 1, EDGES[1], EDGES[1] + 1)

    def row(k: int, lo: int | None, hi: int | None) -> str:
        return f"({k}, {', '.join('NULL' if at is None else f'timestamp_millis({at}L)' for at in (lo, hi))})"

    rows = [row(n, starts[n % 5], end) for n, end in enumerate(ends)] * 2  # two copies of each
    rows += [row(n, None, end) for n, end in enumerate(ends)]
    rows += [row(n, start, None) for n, start in enumerate((*starts, None, None))]
    values = "SELECT * FROM VALUES {} AS f(k, lo, hi)"
    project.sql(f"CREATE TABLE {{s}}.t AS {values.format(', '.join(rows))}")
    for name, select in {"m": "k, hi", "nothing": "k, lo, hi"}.items():
        where = WHERE if name == "m" else f"{WHERE} and k < 0"
        config = {"expiration": expiration} if expiration else {}
        project.model(name, f"select {select} from {project.schema}.t where {where}", **config)

    def is_right() -> None:
        state = project.state()
        large = [c for c in state.chains if c.bucketed]
        held = {int(b) for c in large for (b,) in project.rows(f"SELECT mz_bucket FROM {{s}}.{c.table}")}
        near = {at + off for at in (*ends, *starts, *held - {buckets.NEVER}) for off in (-1, 0, 1)}
        latest = state.expiration or max(near)
        instants = sorted({t for t in (*near, state.since, state.frontier, latest) if state.frontier <= t <= latest})
        oracle = f"SELECT at, k, hi FROM {{s}}.t JOIN (VALUES {', '.join(f'({t}L)' for t in instants)}) AS f(at) "
        oracle += f"ON {WHERE.replace('mz_now()', 'timestamp_millis(at)')}"
        wrong = "SELECT at, k, hi FROM ({}) GROUP BY at, k, hi HAVING sum(side) <> 0"
        for first in range(0, len(instants), 12):
            part = instants[first : first + 12]
            shown = project.at_each("m", part)
            each = [f"SELECT {t}L AS at, k, hi, 1 AS side FROM {read}" for t, read in shown.items()]
            written = f"SELECT *, -1 FROM ({oracle}) WHERE at BETWEEN {part[0]}L AND {part[-1]}L"
            assert project.rows(wrong.format("\nUNION ALL\n".join([*each, written]))) == [], part
        read = project.at("m", instants[0])
        assert read.count("mz_bucket = ") == len(large) > 0
        none = project.at("nothing", instants[0])
        assert project.rows(f"SELECT count(*) FROM {none}") == [(0,)]

    project.run(now=T0)
    (first,) = project.state().chains
    assert first.bucketed and first.edges_from == T0 and not first.negative
    is_right()
    project.sql(
        "CREATE TABLE {s}.more AS SELECT k, lo, CASE WHEN k % 7 = 0 THEN hi + INTERVAL 1 MILLISECOND ELSE hi END AS hi "
        "FROM (SELECT DISTINCT * FROM {s}.t WHERE k % 5 = 0) UNION ALL SELECT * FROM {s}.t WHERE k % 5 <> 0"
    )
    project.sql("INSERT OVERWRITE {s}.t SELECT * FROM {s}.more")
    project.run(now=T0 + 2)
    assert len(project.state().chains) == 2 and project.state().chains[1].negative
    is_right()
    for name in ("m", "nothing"):
        checked = reads.inconsistencies(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name))
        assert project.rows(checked) == []


def chain(*parts: tuple[int, int], rows_: int = 0, low: int | None = None) -> Chain:
    return Chain("c", rows_, 0, low, low, None, bool(parts), parts)


def test_near_until() -> None:
    """The instant up to which one task can read what is due."""
    few = groups_sql.FEW_UPDATES
    assert groups_sql.near_until([chain((10, few), (20, 1))]) == 19
    assert groups_sql.near_until([chain((10, few + 1))]) is None
    assert groups_sql.near_until([chain((10, 5)), chain(rows_=few, low=12)]) == 11
    assert groups_sql.near_until([chain((10, 5)), chain(rows_=few - 5, low=12)]) == buckets.NEVER
    assert groups_sql.near_until([chain(rows_=few + 1, low=12)]) is None
    assert groups_sql.first_parts([(1, few), (2, few), (3, 1), (4, 1)]) == ((1, few), (2, few), (3, 1))
    assert groups_sql.first_parts([(1, 7), (2, few + 1), (3, 1)]) == ((1, 7), (2, few + 1))


@pytest.mark.deep
def test_corrections_of_equal_rows(project: Project) -> None:
    """Rows that are taken back are found by a hash: it must be one for what GROUP BY takes as one."""
    values = (
        "(1, double('NaN'), array(named_struct('x', -0.0d)), null), (1, double('NaN'), array(named_struct('x', 0.0d)), "
        "null), (2, -0.0d, null, 'b'), (3, null, array(), ''), (3, null, array(), '')"
    )
    project.sql(
        f"CREATE TABLE {{s}}.t AS SELECT *, timestamp_millis({T0}L + 60000) AS hi "
        f"FROM VALUES {values} AS f(k, d, xs, s)"
    )
    project.model("m", f"select k, d, xs, s from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    for left, of in (("k <> 2", 4), ("k = 3", 2), ("k = 3 AND s = 'none'", 0)):
        project.sql(f"CREATE TABLE {{s}}.kept AS SELECT * FROM {{s}}.t WHERE {left}")
        project.sql("INSERT OVERWRITE {s}.t SELECT * FROM {s}.kept; DROP TABLE {s}.kept")
        project.run(now=T0 + 1)
        read = f"select count(*) from {project.at('m', T0 + 1)}"
        assert project.rows(read) == [(of,)]
    assert "BROADCAST" in project.rows("SHOW CREATE TABLE {s}.m__live")[0][0]


@pytest.mark.landing
def test_what_is_due_is_split_off(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing new comes in, and the clock goes on: a run makes a base of what is due and leaves the future alone."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 1)
    monkeypatch.setattr(groups_sql, "FEW_UPDATES", 100)
    project.sql(
        f"CREATE TABLE {{s}}.t AS SELECT id % 7 AS k, timestamp_millis({T0}L + id * {HOUR // 4}) AS hi FROM range(2000)"
    )
    sql = "select k, count(*) as n from {t} where {now} < hi group by k"
    project.model("m", sql.format(t=f"{project.schema}.t", now="mz_now()"), aggregates="groups", diffs_retention="0")
    project.run(now=T0)
    (first,) = project.state().chains
    assert first.rows == 2007 - 1 and first.after is None  # the row at T0 is over, its group is not

    def at(hours: int) -> str:
        return project.run(now=T0 + hours * HOUR).of("m").message

    def right(t: int) -> None:
        read = f"select k, n from {project.at('m', t)}"
        assert sorted(project.rows(read)) == sorted(
            project.rows(sql.format(t="{s}.t", now=f"timestamp_millis({t}L)"))
        ), t

    assert "unchanged" in at(20)
    state = project.state()
    assert state.frontier == T0 and state.chains == (first,)  # 80 updates are few
    assert "unchanged" in at(40)
    state = project.state()
    future, base = state.chains
    assert state.since == T0 + 40 * HOUR and base.rows == 7 and base.max_from == state.since
    assert future.table == first.table and future.after == state.since and future.rows == 2000 - 161
    for t in (state.since, state.since + 1, T0 + 40 * HOUR + HOUR // 4, T0 + 300 * HOUR, T0 + 500 * HOUR):
        right(t)
    at(45)
    assert project.state().chains == state.chains
    at(100)  # the base of then is taken into that of now
    state = project.state()
    assert [c.rows for c in state.chains] == [2000 - 401, 7]
    for t in (state.since, T0 + 300 * HOUR, T0 + 499 * HOUR + 3 * HOUR // 4, T0 + 500 * HOUR):
        right(t)
    at(501)
    state = project.state()
    assert state.chains == ()
    right(state.since)


@pytest.mark.landing
def test_rows_between_since_and_the_frontier(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read of the past finds what was known then, in chains of several ages, at each edge of their buckets."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 1)
    project.sql("CREATE TABLE {s}.t (k INT, lo TIMESTAMP, hi TIMESTAMP) USING parquet")
    project.model("m", f"select k, lo, hi from {project.schema}.t where {WHERE}", retain_history="1 day")
    runs = [T0, T0 + NARROW + 1, T0 + (NARROW << 5) - 1, T0 + (NARROW << 6), T0 + (NARROW << 6) + 2]
    ends = sorted({at + near for at in (*EDGES, *GROWS, *runs) for near in (-1, 0, 1)})
    for number, now in enumerate(runs):
        starts = (None, T0 - 1, T0, now, now + NARROW)
        rows = [(100 * number + n, starts[n % 5], end) for n, end in enumerate([*ends, None, None])]
        none = "CAST(NULL AS TIMESTAMP)"
        values = ", ".join(
            f"({k}, {', '.join(none if at is None else f'timestamp_millis({at}L)' for at in both)})"
            for k, *both in rows
        )
        project.sql(f"INSERT INTO {{s}}.t SELECT * FROM VALUES {values} AS f(k, lo, hi)")
        if number == 3:  # rows go and come twice: corrections
            project.sql("CREATE TABLE {s}.kept USING parquet AS SELECT * FROM {s}.t WHERE k % 3 > 0")
            project.sql(
                "INSERT OVERWRITE {s}.t SELECT * FROM {s}.kept UNION ALL SELECT * FROM {s}.kept WHERE k % 3 = 1"
            )
        project.sql(f"CREATE TABLE {{s}}.v{number} USING parquet AS SELECT * FROM {{s}}.t")
        project.run(now=now)
    state = project.state()
    assert state.since <= T0 and any(chain.bucketed for chain in state.chains)
    instants = sorted({t for t in (*ends, *(run + 2 for run in runs)) if state.since <= t <= state.frontier + 1})
    sides = []
    for t, read in project.at_each("m", instants).items():
        known = max(number for number, run in enumerate(runs) if run <= max(t, T0))
        oracle = f"SELECT k, lo, hi FROM {{s}}.v{known} WHERE {WHERE}".replace("mz_now()", f"timestamp_millis({t}L)")
        sides += [f"SELECT {t}L AS t, 1 AS side, * FROM ({read})", f"SELECT {t}L, -1, * FROM ({oracle})"]
    assert len(instants) > 15
    both = " UNION ALL ".join(sides)
    assert project.rows(f"SELECT t, k, lo, hi, sum(side) FROM ({both}) GROUP BY ALL HAVING sum(side) <> 0") == []
    assert project.rows(f"SELECT count(DISTINCT t) FROM ({both}) WHERE side = 1") == [(len(instants),)]
