"""Spark's own clocks in statements at a pinned clock: kinds of statements by spellings, without Spark."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.engine.clock_calls import has_clock_calls, put_clock

AT = "timestamp_millis(5L)"
#: a spelling -> what is sent
SPELLINGS = {
    "mz_now()": AT,
    "current_timestamp()": AT,
    "NOW( )": AT,
    "`now`()": AT,
    "System.`builtin`.now()": AT,
    "getdate()": AT,
    "current_timestamp": AT,
    "localtimestamp": f"CAST({AT} AS TIMESTAMP_NTZ)",
    "localtimestamp()": f"CAST({AT} AS TIMESTAMP_NTZ)",
    "current_date": f"CAST({AT} AS DATE)",
    "current_date()": f"CAST({AT} AS DATE)",
    "curdate()": f"CAST({AT} AS DATE)",
    "unix_timestamp()": f"unix_seconds({AT})",
    # the same to look at, and no clock of Spark's; or one that is told of by the plan of the statement
    **{
        other: other
        for other in (
            "'now()'",
            "x.now()",
            "builtin.now()",
            "t.current_date",
            "`current_date`",
            "current_date.year",
            "unix_timestamp(d)",
            "now",
            "current_time()",
            "1 as now -- now()",
        )
    },
}
#: a statement -> whether the clock is of its execution
STATEMENTS = {
    "select {} from t": True,
    "with a as (select {}) select * from a": True,
    "/* now() */ create table s.t (d date default now()) as select {}": True,
    "create or replace view s.v comment 'as now()' as (select {})": True,
    "alter view s.v as select {}": True,
    "create temporary view v as select {}": True,
    "cache table c as select {}": True,
    "cache lazy table c options ('from' 'x') select {}": True,
    "create table s.t using parquet partitioned by (a) comment '.' (select {})": True,
    "alter view s.v with a as (select {}) select * from a": True,
    "insert into s.t values (1, {}\n)": True,
    "insert overwrite s.t select {}": True,
    "update s.t set a = {}": True,
    "delete from s.t where a < {}": True,
    "merge into s.t using s.u on a = b when not matched then insert (a) values ({}\n)": True,
    "set var x = {}": True,
    "values ({}\n)": True,
    "create table s.t (d timestamp default {}\n)": False,
    "alter table s.t alter column d set default {}": False,
    "create or replace temporary function f() returns int return with a as (select {}) select 1 from a": False,
    "describe query select {}": False,
}


def body_of(plan: str) -> str:
    return f"== Analyzed Logical Plan ==\n{plan}\n"


#: how Spark's plan shows the clocks that stand without parentheses
BARE = "Project [current_timestamp() AS a#1, localtimestamp(Some(UTC)) AS b#2, current_date(Some(UTC)) AS c#3]"


@pytest.mark.parametrize("statement", STATEMENTS)
def test_each_spelling(statement: str) -> None:
    evaluated = STATEMENTS[statement]
    for spelling, sent in SPELLINGS.items():
        written = statement.format(spelling)
        assert has_clock_calls(written, functions=True) or spelling == sent, spelling
        put = put_clock(written, lambda _: body_of(BARE), lambda: "5L", functions=True)
        expected = sent if evaluated or spelling == "mz_now()" else spelling
        assert put == statement.format(expected), (statement, spelling)
        assert put_clock(written, lambda _: "", lambda: "5L") == (put if spelling == "mz_now()" else written)


def test_a_name_without_parentheses_may_be_a_column() -> None:
    """Spark tells: a plan names the attribute. Where Spark makes no plan nothing is put."""
    sql = "select current_date, current_timestamp, now() from t"
    for plan, dates, instants in (
        (BARE, f"CAST({AT} AS DATE)", AT),
        ("Project [Current_Date#2, current_timestamp() AS current_timestamp()#3]", "current_date", AT),
        (
            "[UNRESOLVED_COLUMN] A column with name `current_date` cannot be resolved",
            "current_date",
            "current_timestamp",
        ),
    ):
        put = put_clock(sql, lambda _, plan=plan: body_of(plan), lambda: "5L", functions=True)
        assert put == f"select {dates}, {instants}, {AT} from t"
