"""The query that is printed for DuckDB or Trino: what it is of, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.looking import other_engines
from dbt.adapters.sparktemporal.looking.readers import read
from dbt.adapters.sparktemporal.looking.readers.dialects import DIALECTS, DUCKDB, TRINO, Dialect
from dbt.adapters.sparktemporal.looking.readers.expressions import Session
from dbt.adapters.sparktemporal.looking.readers.residual import translated
from dbt.adapters.sparktemporal.temporal.clock.schedule import Refreshes
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, CoreState, State
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import string_literal
from support.instants import DAY, T0

COLUMNS = (("id", "bigint"), ("name", "string"), ("cost", "decimal(10,2)"), ("ts", "timestamp"), ("x", "double"))
CORE = {"mz_core_c0": COLUMNS}
SESSION = Session(str(T0), True, "UTC", DUCKDB)


def a_state(residual: str = "SELECT * FROM mz_core_c0", columns: Any = COLUMNS, **changes: Any) -> State:
    chain = Chain("m__diffs_1", 2, 0, T0, T0, None, open=2)
    given: dict[str, Any] = {"cores": (CoreState("c0", columns, (chain,)),), "columns": columns, **changes}
    return State(
        model="m", schema="`s`", run="r", since=T0, frontier=given.pop("frontier", T0), started_at=T0, offset=None,
        expiration=given.pop("expiration", None), core_hash="h", residual=residual, written="", kinds=(), inputs={},
        settings={}, **given,
    )  # fmt: skip


#: what a read evaluates -> words of the refusal
REFUSED = {
    "select id from mz_core_c0 where upper(name) = 'A'": "UPPER(",
    "select id from mz_core_c0 where name like 'a_'": "LIKE",
    "select id from mz_core_c0 where name = 1": "does not compare as Spark",
    "select id from mz_core_c0 where id = x": "does not compare as Spark",
    "select id from mz_core_c0 where name": "Spark makes a boolean of it",
    "select id, (select max(id) from mz_core_c0) as m from mz_core_c0": "no translation",
    "select id from mz_core_c0 where id in (select 1 as a from mz_core_c0)": "no translation",
    "select id from mz_core_c0 where name is not distinct from x": "does not compare as Spark",
    "select x, count(*) as n from mz_core_c0 group by x": "compares doubles",
    "select distinct x from mz_core_c0": "compares doubles",
    "select id, count(*) as n from mz_core_c0 group by grouping sets ((id), ())": "GROUPING SETS",
    "select -id as id, count(*) as n from mz_core_c0 group by mz_core_c0.id having id > 1": "may be a column",
    "select id, 3 as z, cost / z as share from mz_core_c0": "a number under another name",
    "(select id from mz_core_c0) limit 0": "a clause after a query in parentheses",
    "select * from ((select id from mz_core_c0) limit 0) q": "a clause after a query in parentheses",
    "select id from mz_core_c0 as c(id, name, cost, ts, x)": "names of columns after the alias",
    "select a.* from mz_core_c0 a join mz_core_c0 b using (id)": "the order of the columns",
    "select name, id, count(*) as n from mz_core_c0 group by name, id with rollup": "WITH ROLLUP",
    "select concat_ws(',', name, name) as n from mz_core_c0": "CONCAT_WS",
    "select hour(cast(ts as date)) as h from mz_core_c0": "HOUR",
    "select -a as a from (select id, name from mz_core_c0) q(a, b) group by q.a having a > 1": "may be a column",
    "select hour(to_date(ts)) as h from mz_core_c0": "TO_DATE",
    "select count() as n from mz_core_c0": "no translation",
    "select cast('2024-02-30' as date) as d from mz_core_c0": "no translation",
    "select id from mz_core_c0 where": "sqlglot does not resolve",
    "select id from mz_core_c0 limit 1 + 1": "LIMIT is translated for a number alone",
    "select a.id from mz_core_c0 a full join mz_core_c0 b on a.id = b.id": "a join of this kind",
    "select a.id from mz_core_c0 a right join mz_core_c0 b on a.id = b.id": "a join of this kind",
    "select id, n from mz_core_c0 lateral view explode(array(1)) v as n": "a clause of it is not translated",
    "select id from mz_core_c0 tablesample (10 percent)": "a source of this form",
    "select id from mz_core_c0 union all select name from mz_core_c0": "columns of several types",
    "select 1 as one from s.other": "a source of this form",
    "select nowhere from mz_core_c0": "sqlglot does not resolve its names",
    "select id from mz_core_c0 cluster by id": "a clause of it is not translated",
    "select hour(ts) as h, ts + interval 1 month as later from mz_core_c0": "no translation",
    "select date_format(ts, 'E') as day from mz_core_c0": "DATE_FORMAT",
    "with recursive w as (select id from mz_core_c0) select id from w": "a WITH of this kind",
    "select id from mz_core_c0 q where exists (with w as (select id as a from mz_core_c0 r where r.id = q.id) "
    "select a from w)": "where it comes from is not known",
    "with w as (select max_by(id, x) as id from mz_core_c0) select name from mz_core_c0": "no translation",
    "select cost / cast(cost as decimal(38,2)) as share from mz_core_c0": "no translation",
}


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_the_same_is_refused(sql: str, dialect: Dialect) -> None:
    assert_refused(sql, REFUSED[sql], dialect)


def test_a_text_of_several_lines_in_a_query_that_is_moved_to_the_right() -> None:
    text = "it's\n  one\n"
    below = f"select id from mz_core_c0 where name = {string_literal(text)}"
    sql, _ = translated(f"select id from ({below}) q", CORE, SESSION)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE mz_core_c0 AS SELECT 1 AS id, $1 AS name", [text])
        assert connection.execute(sql).fetchall() == [(1,)]


#: what DuckDB computes as Spark, and Trino does not -> words of the refusal
BY_TRINO = {
    "select id from mz_core_c0 where x > 1.5d": "types that Trino does not compare as Spark",
    "select id from mz_core_c0 where x in (x, x)": "types that Trino does not compare as Spark",
    "select nullif(x, x) as x from mz_core_c0": "types that Trino does not compare as Spark",
    "select max(x) as x from mz_core_c0": "no translation of it is known to give the same in Trino",
    "select id from mz_core_c0 order by x limit 1": "it orders values of a type",
    "select greatest(id, 3) as g from mz_core_c0": "no translation of it is known to give the same in Trino",
    "select least(id, 3) as g from mz_core_c0": "no translation of it is known to give the same in Trino",
    "select cost / cost as share from mz_core_c0": "no translation of it is known to give the same in Trino",
    "select unix_millis(ts) as ms from mz_core_c0": "no translation of it is known to give the same in Trino",
    "select ts + interval 1 microsecond as t from mz_core_c0": "no translation",
    "select a.id from mz_core_c0 a left semi join mz_core_c0 b on a.id = b.id": "a join of this kind",
    "select a.id from mz_core_c0 a left anti join mz_core_c0 b on a.id = b.id": "a join of this kind",
    "select id, count(*) as n from mz_core_c0 group by rollup (id)": "ROLLUP and CUBE are not translated for Trino",
}


@pytest.mark.parametrize("sql", BY_TRINO)
def test_what_trino_does_otherwise_is_refused(sql: str) -> None:
    if "1.5d" not in sql:  # a literal of a double is refused by each
        translated(sql, CORE, SESSION)
    assert_refused(sql, BY_TRINO[sql], TRINO)


def assert_refused(sql: str, words: str, dialect: Dialect) -> None:
    with pytest.raises(Refusal) as found:
        translated(sql, CORE, replace(SESSION, dialect=dialect))
    lines = str(found.value).splitlines()
    assert words in str(found.value), found.value
    assert [line.split(":")[0] for line in lines] == [f"{found.value.code} found", "why", "instead"]


def test_a_name_of_a_with_is_the_innermost_one() -> None:
    sql, columns = translated(
        "with w as (select id from mz_core_c0), v as (with w as (select name from w cross join mz_core_c0) select * "
        "from w) select v.*, w.* from v cross join w",
        CORE,
        SESSION,
    )
    assert [(name, kind.name) for name, kind in columns] == [("name", "text"), ("id", "integer")]
    assert [line.strip() for line in sql.splitlines() if "AS (" in line] == [
        'WITH "w" AS (',
        '), "v" AS (',
        'WITH "w" AS (',
    ]


def test_names_in_a_group_by_are_those_of_the_source() -> None:
    """Spark takes the column of the source, as sqlglot does."""
    sql, _ = translated("select abs(id) as id, count(*) as n from mz_core_c0 group by id", CORE, SESSION)
    assert sql.endswith('GROUP BY "mz_core_c0"."id"')


@pytest.mark.parametrize("location", ["hdfs://host/a", "dbfs:/a", "wasb://a@b/c", ""])
def test_a_place_that_duckdb_does_not_read(location: str) -> None:
    with pytest.raises(
        Refusal, match=r"found: `s`.`c` at .*\nwhy: DuckDB reads local paths, s3, gs and abfss\ninstead: "
    ):
        other_engines._place(location, "`s`.`c`")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_parts_of_local_time_need_utc(zone: str) -> None:
    sql, session = "select hour(ts) as h from mz_core_c0", Session(str(T0), True, zone, DUCKDB)
    if zone == "UTC":
        assert translated(sql, CORE, session)[0].startswith("SELECT CAST(hour(make_timestamp(epoch_us(")
    else:
        with pytest.raises(Refusal, match="HOUR"):
            translated(sql, CORE, session)


#: of each kind of number, as a column of the rows below
NUMBERS = {"i": "int", "l": "bigint", "c": "decimal(10,2)", "w": "decimal(15,4)", "x": "double", "f": "float"}


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("operator", ["/", "%"])
def test_division_by_zero(operator: str, ansi: bool) -> None:
    """An error in ANSI mode, NULL without, and NULL where an operand is; DuckDB itself gives an infinite number.

    Spark 4.1 was asked for each kind of number and each pair of values.
    """
    core = {"mz_core_c0": tuple((f"{n}{at}", kind) for n, kind in NUMBERS.items() for at in "ab")}
    session = Session(str(T0), ansi, "UTC", DUCKDB)
    with duckdb.connect() as connection:
        for name in NUMBERS:
            sql, _ = translated(f"select {name}a {operator} {name}b as v from mz_core_c0", core, session)
            for one, other in itertools.product(("NULL", "0", "1"), repeat=2):
                columns = [f"CAST({one} AS {k}) AS {n}a, CAST({other} AS {k}) AS {n}b" for n, k in NUMBERS.items()]
                connection.execute(f"CREATE OR REPLACE TABLE mz_core_c0 AS SELECT {', '.join(columns)}")
                if ansi and one != "NULL" and other == "0":
                    with pytest.raises(duckdb.Error, match="division by zero"):
                        connection.sql(sql).fetchall()
                else:
                    ((value,),) = connection.sql(sql).fetchall()
                    is_null = "NULL" in (one, other) or other == "0"
                    expected = None if is_null else int(one) if operator == "/" else 0
                    assert value == expected, (name, one, other)


@pytest.mark.parametrize(
    ("length", "utc", "elsewhere"),
    [
        ("23 hours", True, True), ("-90 seconds", True, True), ("'1 02:00' day to minute", True, False),
        ("25 hours", True, False), ("1 week", True, False), ("1 month", False, False), ("id days", False, False),
    ],
)  # fmt: skip
def test_intervals_of_one_length(length: str, utc: bool, elsewhere: bool) -> None:
    """Spark adds whole days by the calendar: 25 hours are a day and an hour."""
    for zone, is_translated in (("UTC", utc), ("Europe/Berlin", elsewhere)):
        sql, session = f"select ts - interval {length} as t from mz_core_c0", Session(str(T0), True, zone, DUCKDB)
        if is_translated:
            assert "epoch_us" in translated(sql, CORE, session)[0]
        else:
            with pytest.raises(Refusal, match="no translation"):
                translated(sql, CORE, session)


def test_names_that_differ_in_case_alone() -> None:
    with pytest.raises(Refusal, match="two columns id in m"):
        read.read(a_state(columns=(("id", "int"), ("ID", "int"))), {"m__diffs_1": "t"}, T0, True, "UTC", DUCKDB)


def test_a_type_that_spark_does_not_give() -> None:
    state = a_state("SELECT cost + 1 AS c FROM mz_core_c0", cores=a_state().cores, columns=(("c", "decimal(12,2)"),))
    with pytest.raises(Refusal, match=r"column c of type decimal\(12,2\) in m\n.*DECIMAL\(11,2\)"):
        read.read(state, {"m__diffs_1": "t"}, T0, True, "UTC", DUCKDB)


@pytest.mark.parametrize(
    "kind",
    [
        "interval day to second",
        "map<string,timestamp>",
        "array<timestamp>",
        "variant",
        "char(3)",
        "struct<a:string collate UNICODE_CI>",
        "struct<a:int,A:int>",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_types_that_are_read_differently(dialect: Dialect, kind: str) -> None:
    with pytest.raises(Refusal, match=rf"column c of type .*\nwhy: {dialect.name} is not known to read"):
        dialect.column_type("c", kind)


def test_the_instant_is_one_of_the_refreshes() -> None:
    state = a_state(refreshes=Refreshes(DAY, 7))
    with duckdb.connect() as connection:
        t, clock = connection.sql(f"SELECT {read.live_instant(state, DUCKDB)}, epoch_ms(now())").fetchall()[0]
        early = read.live_instant(a_state(refreshes=Refreshes(DAY, 7), frontier=clock + DAY), DUCKDB)
        assert connection.sql(f"SELECT {early}").fetchall() == [(clock + DAY,)]
    assert t == Refreshes(DAY, 7).last(clock)


@pytest.mark.parametrize("expires", [T0, T0 + 50 * 365 * DAY])
def test_the_expiration_is_an_arm_of_the_answer(expires: int) -> None:
    state = a_state(columns=(("id", "bigint"),), cores=(CoreState("c0", (("id", "bigint"),), ()),), expiration=expires)
    sql = read.read(state, {}, None, True, "UTC", DUCKDB)
    with duckdb.connect() as connection:
        for query in (sql, f"SELECT count(*) FROM ({sql}) AS m", f"SELECT 1 FROM ({sql}) AS m LIMIT 1"):
            if expires == T0:
                with pytest.raises(duckdb.Error, match="temporal_view m expired at 2024-"):
                    connection.sql(query).fetchall()
            else:
                assert connection.sql(query).fetchall() in ([], [(0,)])
    assert "error(" not in read.read(state, {}, T0, True, "UTC", DUCKDB)


def test_each_end_of_a_between_is_compared_by_itself() -> None:
    """As Spark does: one end is a DOUBLE, the other one a decimal. NOT turns what it is above."""
    where = "hour(ts) between x and cost and not (name = 'a' and id > 1)"
    sql, _ = translated(f"select id from mz_core_c0 where {where}", CORE, SESSION)
    assert '>= "mz_core_c0"."x") AND (' in sql and 'AS DECIMAL(12,2)) <= CAST("mz_core_c0"."cost"' in sql
    assert '((NOT ("mz_core_c0"."name" = \'a\')) OR (NOT (' in sql


def test_the_words_of_trino() -> None:
    """Each form that its table has, in one residual."""
    sql, columns = translated(
        "select mz_now_timestamp() as now, ts - interval 90 seconds as t, hour(ts) as h, (id > 1) is true as yes, "
        "id % 0 as r, coalesce(x, 0d) as x from mz_core_c0 limit 3 offset 1".replace("0d", "x"),
        CORE,
        replace(SESSION, dialect=TRINO),
    )
    assert [kind.name for _, kind in columns] == ["timestamp", "timestamp", "integer", "boolean", "integer", "floating"]
    for words in (
        f"CAST(from_unixtime_nanos(CAST({T0} AS DECIMAL(19,0)) * 1000000) AS TIMESTAMP(6) WITH TIME ZONE)",
        '("mz_core_c0"."ts" + (-90000000 / 1000) * INTERVAL \'0.001\' SECOND)',
        "AT TIME ZONE 'UTC' AS TIMESTAMP(6))",
        "IS NOT DISTINCT FROM TRUE)",
        "THEN CAST(fail('division by zero') AS BIGINT) ELSE",
    ):
        assert words in sql, sql
    assert sql.endswith("OFFSET 1\nLIMIT 3")


def test_corrections_of_nested_doubles() -> None:
    columns = (("a", "array<double>"),)
    chain = Chain("m__diffs_1", 2, 1, T0, T0, None, open=2)
    state = a_state(columns=columns, cores=(CoreState("c0", columns, (chain,)),))
    assert 'CAST("a" AS VARCHAR)' in read.read(state, {"m__diffs_1": "t"}, T0, True, "UTC", DUCKDB)
    with pytest.raises(Refusal, match="column a of arrays.*\nwhy: 0.0 and -0.0 .* Trino\ninstead: dbt run --full"):
        read.read(state, {"m__diffs_1": "t"}, T0, True, "UTC", TRINO)
