"""The pipe syntax as nested SELECTs. That Spark takes both for one query is tried in tests/property/test_printed.py."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.rewrite.replaced_columns import write_out_sets
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

READ = {
    "from t |> as x |> where x.a > 1 |> where b = 2": "SELECT * FROM t AS x WHERE x.a > 1 AND b = 2",
    "from t |> where a > 1 |> limit 2 |> where b = 2": (
        "SELECT * FROM (SELECT * FROM t WHERE a > 1 LIMIT 2) AS `t` WHERE b = 2"
    ),
    "from t |> drop a |> extend b + 1 as c": "SELECT *, b + 1 AS c FROM (SELECT * EXCEPT (a) FROM t) AS `t`",
    "from t |> aggregate count(*) as n group by upper(k) as u": (
        "SELECT upper(k) AS u, count(*) AS n FROM t GROUP BY upper(k)"
    ),
    "from t |> select k |> union all (from s |> select k)": (
        "SELECT * FROM (SELECT k FROM t) UNION ALL (SELECT k FROM s)"
    ),
    "from t |> where a > 1 |> join s on t.k = s.k": (
        "SELECT * FROM (SELECT * FROM t WHERE a > 1) AS `t` JOIN s ON t.k = s.k"
    ),
    "from t, s |> join lateral (select t.a) l |> select l.a": (
        "SELECT l.a FROM t, s INNER JOIN LATERAL (SELECT t.a) AS l"
    ),
    "with c as (from t) from c |> where a > 1 |> set a = 2, b = a |> limit 1": (
        "WITH c AS (SELECT * FROM t) SELECT * FROM (FROM c |> WHERE a > 1 |> SET a = 2, b = a) AS `c` LIMIT 1"
    ),
}


@pytest.mark.parametrize("written", READ)
def test_what_a_pipe_is_read_as(written: str) -> None:
    assert render(parse(written)) == READ[written]


def test_columns_that_are_replaced() -> None:
    """Each assignment sees the ones before, and a column keeps its place."""
    tree = parse("from t |> where a > mz_now() |> set b = b + 1, a = b")
    asked: list[str] = []

    def describe(query: exp.Query) -> list[tuple[str, str]]:
        asked.append(render(query))
        return [("a", "int"), ("B", "int"), ("c", "int")]

    write_out_sets(tree, describe)
    inner = "SELECT `a`, b + 1 AS b, `c` FROM t WHERE a > mz_now()"
    assert render(tree) == f"SELECT b AS a, `b`, `c` FROM ({inner}) AS `t`"
    assert not any("mz_now" in sql for sql in asked)


@pytest.mark.parametrize(
    "written",
    [
        "from t |> select k |> pivot (sum(v) for k in (1))",
        "from t |> aggregate count(*) as n group by 1",
        "from t |> set t.a = 1",
        "from t |> what is this",
        "from t |> where a > 1 |>",
    ],
)
def test_a_pipe_that_is_not_read(written: str) -> None:
    with pytest.raises(Refusal, match="this use of the pipe syntax cannot be read") as refused:
        parse(written)
    assert refused.value.found.startswith("|> ")
