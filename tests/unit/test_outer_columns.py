"""Subqueries above the rows of a SELECT: which of their columns are taken for its own, by what is stored and read."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from dbt.adapters.sparktemporal.temporal.sql.text.readable import in_words
from support.typed import by_text

COLUMNS = {"t": ["id", "k", "v", "due"], "o": ["k", "x"], "p": ["v", "y"]}


@by_text
def describe(sql: str) -> list[tuple[str, str]]:
    table = sql.split("FROM ")[-1].split()[0].strip("()")
    return [(c, "int") for c in COLUMNS[table]]


#: a subquery in the SELECT list above rows of t -> what of t is stored, and the subquery as it is read
READ = {
    "(select max(x) from o where o.k = t.k)": (
        "`k`",
        "(SELECT max(x) FROM mz_core_c1 AS `o` WHERE o.k = `t`.`k`)",
    ),
    # a name is looked up from the inside outwards
    "(select max(x) from o where k = 1)": ("", "(SELECT max(x) FROM mz_core_c1 AS `o` WHERE k = 1)"),
    "(select max(x) from o where k = v)": ("`v`", "(SELECT max(x) FROM mz_core_c1 AS `o` WHERE k = `t`.`v`)"),
    "(select max(x) from o where exists (select 1 from p where p.y = x and v = k))": (
        "",
        "(SELECT max(x) FROM mz_core_c1 AS `o` WHERE EXISTS(SELECT 1 FROM mz_core_c2 AS `p` WHERE p.y = x AND v = k))",
    ),
    # the right side of a SEMI JOIN can be named in its ON
    "(select max(x) from o left semi join p on v = x)": (
        "",
        "(SELECT max(x) FROM mz_core_c1 AS `o` LEFT SEMI JOIN mz_core_c2 AS `p` ON v = x)",
    ),
    # a derived table does not see what stands beside it
    "(select max(d.y) from o, (select y from p where y = id) d where d.y = x)": (
        "`id`",
        "(SELECT max(d.y) FROM mz_core_c1 AS `o`, (SELECT y FROM mz_core_c2 AS `p` WHERE y = `t`.`id`) AS d "
        "WHERE d.y = x)",
    ),
    # the ORDER BY of a UNION is about the UNION
    "(select k from o union select x from o order by k limit 1)": (
        "",
        "(SELECT k FROM mz_core_c1 AS `o` UNION SELECT x FROM mz_core_c1 AS `o` ORDER BY k LIMIT 1)",
    ),
}


@pytest.mark.parametrize("subquery", READ)
def test_subqueries(subquery: str) -> None:
    stored, read = READ[subquery]
    found = split(f"select {subquery} as m, count(*) over () as n from t where mz_now() < due", describe)
    of_rows = render(found.cores[0].query).partition(" FROM ")[0].removeprefix("SELECT ")
    assert of_rows == (f"`t`.{stored} AS {stored}" if stored else "TRUE AS `mz_row`")
    assert render(found.residual.selects[0].this) == read


def test_two_sources_keep_their_rows_apart() -> None:
    found = split(
        "select (select max(x) from o where o.k = t.k) as m, rank() over (order by p.y) as r "
        "from t join p on p.v = t.v where mz_now() < due",
        describe,
    )
    assert render(found.residual.selects[0].this) == "(SELECT max(x) FROM mz_core_c1 AS `o` WHERE o.k = `mz_rows`.`k`)"


def test_a_name_that_hides_the_rows_is_refused() -> None:
    items = "(select max(x) from o where x > id) as m, rank() over (order by id) as r"
    with pytest.raises(Refusal, match="x is a name in this subquery, and the alias of the rows"):
        split(f"select {items} from t as x where mz_now() < due", describe)


def test_words_of_sql_are_names_beside_dots() -> None:
    sql = "SELECT union.id FROM s.union JOIN s.order ON order.k BETWEEN .5 AND union.from WHERE window.start < 1"
    assert render(parse(sql)) == sql.replace(" .5", " 0.5")


def test_a_window_clause_is_one() -> None:
    assert parse("select sum(v) over w from t window w as (partition by k)").args["windows"]
    assert not parse("select window.start from t group by window(ts, '5 minutes')").args.get("windows")


@pytest.mark.parametrize("error", [KeyError("x"), AttributeError("no"), IndexError("i"), AssertionError()])
def test_errors_of_reading_say_nothing_of_the_inside(error: Exception) -> None:
    with pytest.raises(Refusal) as refused, in_words("select 1"):
        raise error
    assert refused.value.__cause__ is error
    assert refused.value.found == "select 1" and "a defect of dbt-sparktemporal" in refused.value.why
