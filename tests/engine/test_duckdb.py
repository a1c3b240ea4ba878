"""The query that `temporal_sql` prints, executed by DuckDB over the chains: the answers are those of Spark."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import duckdb
import pytest
from pyspark.errors import PySparkException

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal, TemporalError
from dbt.adapters.sparktemporal.looking.other_engines import sql_of
from support.histories import small_limits
from support.instants import DAY, HOUR, T0
from support.project import Project
from support.readers import place_of

#: model -> (its query over {t}, what its chains hold)
MODELS = {
    "every_row": ("select * from {t} where mz_now() >= lo and mz_now() < hi", "rows"),
    "some": ("select id, amount * 2 as twice, name from {t} where mz_now() < hi and amount > 0", "rows"),
    "ends": ("select id, k from {t} where mz_now() < hi or mz_now() >= hi + interval 2 hours", "rows"),
    "sums": (
        "select k, count(*) as n, count(amount) as some, sum(amount) as total, sum(id) as ids, count_if(flag) as flags "
        "from {t} where mz_now() >= lo and mz_now() < hi group by k",
        "groups",
    ),
    "means": ("select k, avg(amount) as mean, avg(id) as middle from {t} where mz_now() < hi group by k", "groups"),
    "extremes": ("select k, min(amount) as least, max(hi) as last, max(name) as name from {t} where mz_now() < hi "
                 "group by k", "groups"),
    "one_group": ("select count(*) as n, sum(amount) as total from {t} where mz_now() < hi", "groups"),
    "different": ("select distinct k, flag from {t} where mz_now() < hi", "groups"),
    "rolled": ("select k, flag, count(*) as n from {t} where mz_now() < hi group by rollup (k, flag)", "groups"),
    "larger": ("select k, count(*) as n from {t} where mz_now() < hi group by k having count(*) > 1", "groups"),
    "this_hour": (
        "select id, mz_now() as seen, unix_millis(mz_now()) - unix_millis(lo) as age from {t} "
        "where mz_now() < hi and hour(mz_now()) = hour(lo)",
        "rows",
    ),
    "last_of_each": (
        "select id, k, place from (select id, k, row_number() over (partition by k order by amount desc, id) as place "
        "from {t} where mz_now() < hi) where place <= 2",
        "rows",
    ),
    "beside": (
        "select a.id, b.n from (select id, k from {t} where mz_now() < hi) a left join (select k, count(*) as n "
        "from {t} where mz_now() >= lo group by k) b on a.k = b.k",
        "rows",
    ),
    "either": ("select id, 'new' as what from {t} where mz_now() < lo union all select id, 'old' from {t} "
               "where mz_now() >= hi", "rows"),
    "exists": ("select id from {t} a where mz_now() < hi and exists (select 1 from {t} b where b.k = a.k "
               "and b.id <> a.id and mz_now() < b.hi)", "rows"),
    "named": ("with kept as (select id, k, amount from {t} where mz_now() < hi), per as (select k, count(*) as n, "
              "sum(amount) as total from kept group by k) select kept.id, per.n, per.total from kept join per "
              "on kept.k = per.k", "rows"),
    "kind_of": ("select id, case when amount > 5 then 'much' when amount is null then 'none' else 'little' end "
                "as kind, coalesce(name, '?') as name, mz_now() >= lo as begun from {t} where mz_now() < hi", "rows"),
}  # fmt: skip


def event(rng: random.Random, number: int) -> str:
    lo = T0 + rng.randrange(-6, 6) * HOUR + rng.choice([0, 1, -1, 17])
    hi = "null" if rng.random() < 0.15 else f"timestamp_millis({lo + rng.choice([0, 1, HOUR, 5 * HOUR, DAY])}L)"
    amount = rng.choice(["null", "0.00", "-3.10", "7.25", "12345678.99"])
    lo_text = "null" if rng.random() < 0.1 else f"timestamp_millis({lo}L)"
    name = rng.choice(["null", "'a'", "'é'", "''"])
    k, flag = rng.choice(["1", "2", "null"]), rng.choice(["true", "false", "null"])
    return f"({number}, {k}, {amount}, {name}, {flag}, {lo_text}, {hi})"


TYPES = {"id": "bigint", "k": "int", "amount": "decimal(10,2)", "name": "string", "flag": "boolean", "lo": "timestamp",
         "hi": "timestamp"}  # fmt: skip


def write(project: Project, events: dict[int, str], verb: str) -> None:
    columns = ", ".join(f"CAST({n} AS {t}) AS {n}" for n, t in TYPES.items())
    values = ", ".join([f"({', '.join(['null'] * 7)})", *events.values()])
    how = "USING parquet AS" if verb == "CREATE TABLE" else ""
    project.sql(f"{verb} {{s}}.t {how} SELECT {columns} FROM VALUES {values} AS v({', '.join(TYPES)}) WHERE id > 0")


def printed(project: Project, model: str, t: int | None) -> str:
    return printed_each(project, model, [t])[t]


def printed_each(project: Project, model: str, instants: Sequence[int | None]) -> dict[int | None, str]:
    """{instant: the query}, with each statement that Spark is asked sent once."""
    warehouse, target = Warehouse(cache(project.rows)), project.target(model)
    return {t: sql_of(warehouse, target, project.schema, "duckdb", t, "files") for t in instants}


def of_duckdb(sql: str, columns: tuple[tuple[str, str], ...], setup: str = "") -> Counter:
    with duckdb.connect() as connection:
        if setup:
            connection.execute(setup)
        items = [f'epoch_us("{n}")' if k == "timestamp" else f'"{n}"' for n, k in columns]
        return Counter(connection.sql(f"SELECT {', '.join(items)} FROM ({sql}) AS m").fetchall())


def of_spark(project: Project, sql: str, columns: tuple[tuple[str, str], ...]) -> Counter:
    items = [f"unix_micros(`{n}`)" if k == "timestamp" else f"`{n}`" for n, k in columns]
    return Counter(project.rows(f"SELECT {', '.join(items)} FROM {sql} AS m"))


@pytest.mark.landing
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.deep)])
def test_answers_of_both_engines(project: Project, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Three runs: the first, after new rows, after updates and deletes. Ten instants of the last, and past ones.

    Each step-th model.
    """
    small_limits(monkeypatch)
    names, rng = sorted(MODELS)[::step], random.Random(7)
    events = {n: event(rng, n) for n in range(1, 60)}
    write(project, events, "CREATE TABLE")
    for name in names:
        sql, kept = MODELS[name]
        project.model(name, sql.format(t=f"{project.schema}.t"), aggregates=kept, retain_history="90 minutes")
    for turn in range(3):
        now = T0 - 2 * HOUR + turn * HOUR
        if turn == 1:
            events |= {n: event(rng, n) for n in range(60, 90)}
        if turn == 2:
            events = {n: event(rng, n) if n % 7 == 0 else text for n, text in events.items() if n % 11}
        if turn:
            write(project, events, "INSERT OVERWRITE")
        project.run(now=now)
        for name in names:
            state = project.state(name)
            later = [T0 + hours * HOUR + by for hours in (-1, 0, 4) for by in (-1, 0, 1)] if turn == 2 else [T0]
            # the past that is kept, and an instant at which all with an end have ended
            instants = [state.since, now - 1, now, *(t for t in later if t > now), T0 + 10 * DAY]
            instants = [t for t in instants if t >= state.since]
            both = [
                " UNION ALL ".join(f"SELECT {t} AS mz_at, * FROM ({query}) AS m" for t, query in side.items())
                for side in (printed_each(project, name, instants), project.at_each(name, instants))
            ]
            shown = (("mz_at", "bigint"), *state.columns)
            assert of_duckdb(both[0], shown) == of_spark(project, f"({both[1]})", shown), (name, turn)
    assert any(project.state(name).since < now for name in names)
    assert any(chain.negative for name in names for chain in project.state(name).chains)
    assert any(chain.bucketed for name in names for chain in project.state(name).chains)


@pytest.mark.landing
@pytest.mark.parametrize("encoding", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_values_of_each_type(project: Project, encoding: str) -> None:
    """Also copies, zeros with a sign, nested values, and corrections of all of them."""
    project.spark.conf.set("spark.sql.parquet.outputTimestampType", encoding)
    columns = {
        "tiny": "tinyint", "small": "smallint", "number": "int", "large": "bigint", "real": "float", "x": "double",
        "exact": "decimal(38,18)", "text": "string", "bytes": "binary", "flag": "boolean", "day": "date",
        "at": "timestamp", "local": "timestamp_ntz", "list": "array<int>", "pair": "struct<a:int,B:string>",
    }  # fmt: skip
    values = [
        "1Y, 2S, 3, 4L, float('nan'), double('-0.0'), 1.5, 'a\\'b', X'00ff', true, date'2024-02-29', "
        f"timestamp_micros({T0}001L), timestamp_ntz'2024-03-31 02:30:00', array(1, null), struct(1, 'x')",
        "1Y, 2S, 3, 4L, float('-0.0'), double('0.0'), -1.5, '', X'', false, date'0001-01-01', "
        "timestamp_micros(-1L), timestamp_ntz'1850-01-01 00:00:00', array(), struct(null, null)",
        ", ".join(["null"] * len(columns)),
    ]

    def fill(rows: list[str], verb: str) -> None:
        items = ", ".join(f"CAST({n} AS {t}) AS {n}" for n, t in columns.items())
        listed = ", ".join(f"({row}, {i})" for i, row in enumerate(rows))
        how = "USING parquet AS" if verb == "CREATE TABLE" else ""
        hi = f"timestamp_millis({T0}L + place * 1000) AS hi"
        query = f"SELECT {items}, {hi} FROM VALUES {listed} AS v({', '.join(columns)}, place) LATERAL VIEW explode("
        project.sql(f"{verb} {{s}}.t {how} {query}array(1, 2)) AS copy")

    fill([values[2], *values], "CREATE TABLE")
    project.model("m", f"select {', '.join(columns)} from {project.schema}.t where mz_now() < hi")
    for turn in range(2):
        if turn:
            fill([values[2], values[1], values[0]], "INSERT OVERWRITE")
        project.run(now=T0 - 2 + turn)
        shown = tuple((n, k) for n, k in project.state().columns)
        assert [n for n, _ in shown] == list(columns)
        instants = (T0 - 1, T0, T0 + 999, T0 + 1000, T0 + 1001, T0 + 2000, T0 + 3000)
        texts, sparks = zip(*(as_texts(n, k) for n, k in shown))
        for t, query in printed_each(project, "m", instants).items():
            with duckdb.connect() as connection:
                found = connection.sql(f"SELECT {', '.join(texts)} FROM ({query}) AS m").fetchall()
            wanted = project.rows(f"SELECT {', '.join(sparks)} FROM {project.at('m', t)} AS m")
            assert Counter(map(same, found)) == Counter(map(same, wanted)), (turn, t)
    assert any(chain.negative for chain in project.state().chains)


def as_texts(name: str, kind: str) -> tuple[str, str]:
    """A column as a text, by DuckDB and by Spark."""
    a, b = f'"{name}"', f"`{name}`"
    if kind == "timestamp":
        return f"epoch_us({a})::VARCHAR", f"CAST(unix_micros({b}) AS STRING)"
    if kind.startswith(("array", "struct")):
        return f"to_json({a})::VARCHAR", f"to_json({b}, map('ignoreNullFields', 'false'))"
    if kind == "binary":
        return f"hex({a})", f"hex({b})"
    return f"{a}::VARCHAR", f"CAST({b} AS STRING)"


def same(row: tuple) -> tuple:
    """Texts of numbers as numbers: the engines write some in their own ways."""
    return tuple(v.lower().replace("1 bc", "").strip() if isinstance(v, str) else v for v in row)


@pytest.mark.landing
def test_the_instant_of_the_query(project: Project) -> None:
    """Without an instant: the rows of now, those of the last refresh, and an error once the model has expired."""
    now = int(time.time() * 1000)
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({now}L + (id - 5) * {HOUR}L) AS hi "
        "FROM range(10)"
    )
    window = f"select id, hi from {project.schema}.t where mz_now() < hi + interval 30 minutes"
    project.model("m", window)
    project.model("daily", window, refresh_every="1 day")
    project.run(now=now - 3 * HOUR)
    for name in ("m", "daily"):
        columns = project.state(name).columns
        sql = printed(project, name, None)
        assert "now()" in sql
        assert of_duckdb(sql, columns) == of_spark(project, f"{project.schema}.{name}", columns)
    assert sorted(i for i, _ in of_duckdb(printed(project, "m", None), columns)) == [5, 6, 7, 8, 9]
    project.model("m", window, expiration="1 hour")
    project.run("-s", "m", "--full-refresh", now=now - 3 * HOUR)
    with pytest.raises(duckdb.Error, match="temporal_view m expired at .* dbt run -s m"):
        of_duckdb(printed(project, "m", None), columns)
    with pytest.raises(duckdb.Error, match="expired"), duckdb.connect() as connection:
        connection.sql(f"SELECT count(*) FROM ({printed(project, 'm', None)}) AS m WHERE id < 0").fetchall()


@pytest.mark.landing
def test_a_macro_prints_it(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({T0}L + id) AS hi FROM range(9)")
    project.model("m", f"select id, hi from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    sql = project.render(f"{{{{ temporal_sql(ref('m'), instant={T0 + 3}) }}}}")
    assert sorted(i for i, _ in of_duckdb(sql, project.state().columns)) == [4, 5, 6, 7, 8]
    pinned = project.render("{{ temporal_sql(ref('m'), 'duckdb') }}", temporal_now=T0 + 6)
    assert sorted(i for i, _ in of_duckdb(pinned, project.state().columns)) == [7, 8]
    named = project.render(f"{{{{ temporal_sql(ref('m'), chains='tables', instant={T0 + 3}) }}}}")
    (chain,) = project.state().chains
    where = f"{place_of(project, chain.table)}/*.parquet"
    setup = f'CREATE SCHEMA "{project.schema}"; CREATE VIEW "{project.schema}"."{chain.table}" AS FROM \'{where}\''
    assert of_duckdb(named, project.state().columns, setup) == of_duckdb(sql, project.state().columns)
    refused = project.dbt("compile", "--inline", "{{ temporal_sql('m') }}", check=False)
    assert "temporal_sql(ref('m'), dialect='duckdb')" in refused.text


@pytest.mark.landing
def test_the_dialect_of_spark(project: Project) -> None:
    """The query of the view itself: at an instant, at that of the query, and after the expiration an error."""
    hi = f"if(id = 8, timestamp'2999-01-01', timestamp_millis({T0}L + id)) AS hi"
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, {hi} FROM range(9)")
    window = f"select id, hi from {project.schema}.t where mz_now() < hi"
    project.model("m", window)
    project.run(now=T0)
    at = project.render(f"{{{{ temporal_sql(ref('m'), dialect='spark', instant={T0 + 3}) }}}}")
    assert sorted(row[0] for row in project.rows(at)) == [4, 5, 6, 7, 8]
    live = project.render("{{ temporal_sql(ref('m'), dialect='Spark') }}")
    assert [row[0] for row in project.rows(live)] == [8] and "current_timestamp()" in live
    project.model("m", window, expiration="1 hour")
    project.run("--full-refresh", now=T0)
    with pytest.raises(PySparkException, match="temporal_view m expired at"):
        project.rows(project.render("{{ temporal_sql(ref('m'), dialect='spark') }}"))


@pytest.fixture
def odd_place(project: Project) -> Iterator[str]:
    """The schema of the project in a folder whose name has what texts and URLs give a meaning to."""
    place = project.path / "a c's%41#1"
    project.spark.sql(f"DROP DATABASE {project.schema} CASCADE")
    project.spark.sql(f'CREATE DATABASE {project.schema} LOCATION "{place}"')
    yield str(place)


@pytest.mark.landing
def test_an_odd_place_and_odd_names(project: Project, odd_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    project.spark.sql(
        f"CREATE TABLE {project.schema}.t USING parquet AS SELECT id AS `we\"ird; '`, "
        f"timestamp_millis({T0}L + id * 9999) AS `Hi` FROM range(90)"
    )
    project.model("m", f"select * from {project.schema}.t where mz_now() < `Hi`")
    project.run(now=T0)
    assert project.state().chains[0].bucketed
    assert odd_place.split("/")[-1] in place_of(project, project.state().chains[0].table)
    with duckdb.connect() as connection:
        for t in (T0, T0 + 9999 * 44, T0 + 9999 * 44 - 1):
            found = connection.sql(f"SELECT COLUMNS(*)::VARCHAR FROM ({printed(project, 'm', t)}) AS m")
            assert found.columns == ["we\"ird; '", "Hi"]
            assert len(found.fetchall()) == len(project.rows(f"SELECT * FROM {project.at('m', t)}")) > 0


@pytest.mark.landing
def test_models_of_nothing(project: Project) -> None:
    """No row came: rows, groups, and the one group that is there over nothing."""
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({T0}L) AS hi FROM range(3) WHERE id > 9"
    )
    queries = {
        "m": "select id, hi from {t} where mz_now() < hi",
        "grouped": "select id, count(*) as n from {t} where mz_now() < hi group by id",
        "one": "select count(*) as n, max(id) as top from {t} where mz_now() < hi",
    }
    for name, sql in queries.items():
        project.model(name, sql.format(t=f"{project.schema}.t"), aggregates="groups")
    project.run(now=T0)
    found = {name: of_duckdb(printed(project, name, T0 + 1), project.state(name).columns) for name in queries}
    assert found == {"m": Counter(), "grouped": Counter(), "one": Counter([(0, None)])}
    assert found == {n: of_spark(project, project.at(n, T0 + 1), project.state(n).columns) for n in queries}


@pytest.mark.landing
def test_what_is_refused(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({T0}L + id) AS hi FROM range(9)")
    window = f"select id, hi from {project.schema}.t where mz_now() < hi"
    project.model("m", window)
    project.model("in_orc", window, file_format="orc")
    project.model("named", f"{window} and date_format(mz_now(), 'E') = 'Fri'")
    project.run(now=T0)
    warehouse = Warehouse(project.rows)

    def refused(model: str, dialect: object = "duckdb", t: object = None, chains: object = "files") -> str:
        with pytest.raises((Refusal, TemporalError)) as found:
            sql_of(warehouse, project.target(model), project.schema, dialect, t, chains)
        return str(found.value)

    assert "instead: dialect='duckdb' or 'trino', or 'spark' for" in refused("m", dialect="snowflake")
    assert "chains 'files' and dialect 'spark'" in refused("m", dialect="spark")
    assert "(since)" in refused("m", "spark", T0 - 1, "tables")
    assert "instead: 'files' or 'tables'" in refused("m", chains="views")
    assert "(since)" in refused("m", t=T0 - 1)
    found, why, instead = refused("m", "trino", chains=None).splitlines()
    assert "ST816 found" in found and "a chain of m in the format parquet" in found
    assert "Trino was tried with tables of Iceberg alone" in why and "+file_format: iceberg" in instead
    assert "in the format orc" in refused("in_orc") and "--full-refresh" in refused("in_orc")
    assert "DATE_FORMAT" in refused("named") and "a read by Spark" in refused("named")
    assert "has run" in refused("t")
    project.spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    assert "spark.sql.session.timeZone" in refused("m")
    project.spark.conf.set("spark.sql.session.timeZone", "UTC")
    project.spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    project.run("-s", "m", "--full-refresh", now=T0)
    assert "another calendar" in refused("m")
    project.spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")
    for value in ("true", "TRUE"):  # Spark gives the value back as it was written
        project.spark.conf.set("spark.sql.caseSensitive", value)
        project.run("-s", "m", "--full-refresh", now=T0)
        assert "differ in case for one" in refused("m")
