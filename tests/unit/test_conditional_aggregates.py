"""Aggregates under conditions of the clock: the parts that a CASE of several branches becomes, and what stays."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.rewrite.conditional_aggregates import write_out_conditional_aggregates
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

ALL = "NOT mz_now() IS NULL"
NOT_A, NOT_B = "(a) IS NULL OR mz_now() >= a", "(b) IS NULL OR mz_now() >= b"
#: an aggregate -> the aggregate over parts, and the condition of each part after that of all rows
CHANGED = {
    "sum(case when mz_now() < a then x when mz_now() < b then y else z end)": (
        "sum(CASE WHEN mz_part = 1 THEN x WHEN mz_part = 2 THEN y WHEN mz_part = 3 THEN z END)",
        ["mz_now() < a", f"({NOT_A}) AND (mz_now() < b)", f"({NOT_A}) AND ({NOT_B})"],
    ),
    "max(case when a > mz_now() then x when k = 1 then y end)": (
        "max(CASE WHEN mz_part = 1 THEN x WHEN mz_part = 2 THEN y END)",
        ["a > mz_now()", "((a) IS NULL OR a <= mz_now()) AND (k = 1)"],
    ),
    # all other rows count 0: those of no branch
    "sum(case when mz_now() < a then x when mz_now() < b then y else 0 end)": (
        "CASE WHEN count(CASE WHEN mz_part = 1 THEN x WHEN mz_part = 2 THEN y END) > 0 OR count(*) FILTER(WHERE "
        "mz_part = 0) > count(*) FILTER(WHERE mz_part = 1) + count(*) FILTER(WHERE mz_part = 2) THEN "
        "sum(CASE WHEN mz_part = 1 THEN x WHEN mz_part = 2 THEN y WHEN mz_part = 0 THEN 0 END) END",
        ["mz_now() < a", f"({NOT_A}) AND (mz_now() < b)"],
    ),
    "sum(case when mz_now() < a then 0 when mz_now() < b then 2 else 0 end)": (
        "sum(CASE WHEN mz_part = 1 THEN 2 WHEN mz_part = 0 THEN 0 END)",
        [f"({NOT_A}) AND (mz_now() < b)"],
    ),
    # a row without a value counts nothing, so the others are not simply the rest
    "sum(case when mz_now() < a then null when mz_now() < b then y else 0 end)": (
        "sum(CASE WHEN mz_part = 1 THEN y WHEN mz_part = 2 THEN 0 END)",
        [f"({NOT_A}) AND (mz_now() < b)", f"({NOT_A}) AND ({NOT_B})"],
    ),
    "avg(if(mz_now() < a, x, 0))": (
        "avg(CASE WHEN mz_part = 1 THEN x WHEN mz_part = 2 THEN 0 END)", ["mz_now() < a", NOT_A],
    ),
    # a branch before the clock is a condition over all rows
    "sum(case when k = 1 then x when mz_now() < b then y end)": (
        "sum(CASE WHEN mz_part = 0 AND (k = 1) THEN x WHEN mz_part = 1 THEN y END)",
        ["(NOT (k = 1) IS TRUE) AND (mz_now() < b)"],
    ),
    "sum(case k when 1 then if(mz_now() < b, y, z) else 5 end)": (
        "sum(CASE WHEN mz_part = 1 THEN y WHEN mz_part = 2 THEN z WHEN mz_part = 0 AND (NOT ((k) = (1)) IS TRUE) "
        "THEN 5 END)",
        ["((k) = (1)) AND (mz_now() < b)", f"((k) = (1)) AND ({NOT_B})"],
    ),
    "count(distinct case when mz_now() < a then case when k = 1 then x else y end end)": (
        "count(DISTINCT CASE WHEN k = 1 THEN x ELSE y END) FILTER(WHERE mz_part = 1)", ["mz_now() < a"],
    ),
    "count(distinct case when mz_now() < a then x else y end)": (
        "count(DISTINCT CASE WHEN mz_part = 1 THEN x WHEN mz_part = 2 THEN y END)", ["mz_now() < a", NOT_A],
    ),
    "sum(case when mz_now() < a or k = 1 then x end) filter (where k > 0)": (
        "sum(x) FILTER(WHERE mz_part = 1)", ["(k > 0) AND (mz_now() < a OR k = 1)"],
    ),
    "count_if(mz_now() < a) filter (where mz_now() >= b)": (
        "count_if(TRUE) FILTER(WHERE mz_part = 1)", ["(mz_now() >= b) AND (mz_now() < a)"],
    ),
}  # fmt: skip
#: these stay as they are
KEPT = (
    "sum(case when mz_now() < a then x when hour(mz_now()) = 1 then y end)",
    "sum(case when mz_now() < a then unix_millis(mz_now()) when mz_now() < b then y end)",
    "sum(2 * case when mz_now() < a then x end)",
    # an earlier condition may keep these from an error, without ANSI rules too
    "sum(case when mz_now() < a then x when mz_now() < b then element_at(y, k) end)",
    "sum(case when k = 0 then x when element_at(y, k) > 1 and mz_now() < b then z end)",
    "sum(if(k = 1, x, if(mz_now() < b, raise_error('no'), 0)))",
    "count_if(k > 0 and mz_now() < element_at(y, k)) filter (where k <> 0 and mz_now() < a)",
    "sum(case when mz_now() < a then x when assert_true(k > 0) is null and mz_now() < b then y end)",
    "sum(case when mz_now() < a then null else null end)",
    f"sum(case {' '.join(f'when mz_now() < a + {i} then {i}' for i in range(9))} end)",
)


def rewritten(call: str, ansi: bool = False, more: tuple[str, ...] = ()) -> str:
    def described(_: exp.Query) -> list[tuple[str, str]]:
        return [(name, "int") for name in ["k", "a", "b", "x", "y", "z", *more]]

    tree = parse(f"SELECT k, {call} AS s FROM t GROUP BY k")
    return render(write_out_conditional_aggregates(tree, described, lambda _: True, (), ansi, copies=True))


@pytest.mark.parametrize("call", CHANGED)
def test_it_becomes_parts(call: str) -> None:
    over, conditions = CHANGED[call]
    parts = [f"SELECT *, {n} AS mz_part FROM t WHERE ({holds})" for n, holds in enumerate([ALL, *conditions])]
    assert rewritten(call) == f"SELECT k, {over} AS s FROM ({' UNION ALL '.join(parts)}) AS `t` GROUP BY k"


@pytest.mark.parametrize("call", KEPT)
def test_it_stays(call: str) -> None:
    assert rewritten(call) == render(parse(f"SELECT k, {call} AS s FROM t GROUP BY k"))


@pytest.mark.parametrize("call", CHANGED)
def test_the_column_of_parts_has_a_free_name(call: str) -> None:
    taken = rewritten(call, more=("MZ_part", "mz_part_2"))
    assert taken == rewritten(call).replace("mz_part", "mz_part_3")
    assert "AS mz_part_2" in rewritten(f"max(mz_part), {call}")  # also an alias of the SELECT list


def test_with_ansi_rules_an_earlier_condition_may_keep_a_later_one_from_an_error() -> None:
    several = "sum(case when k = 0 then 0 when 1 / k > 2 and mz_now() < a then y end)"
    assert "mz_part" in rewritten(several) and "mz_part" not in rewritten(several, ansi=True)
    assert "mz_part" in rewritten("sum(case when mz_now() < a then x else y end)", ansi=True)
