"""dbt-spark's datediff in months or quarters, of two dates, one of them the clock's.

The macro cuts months_between (for quarters a third of it) to a whole number, and counts one more where the later date
is earlier in its month or quarter. So the result is one off on the last day of some months, and on a few days where a
whole number of quarters has passed. The result sometimes moves back, but is never more than one from the number before
the cut.
"""

from __future__ import annotations

from sqlglot import exp

from ..sql.text.dialect import has_clock, is_mz_now
from ..sql.text.shapes import Shape, filled
from .shifts import gives_date

_SHAPE = (
    "CASE WHEN mz_a < mz_b THEN floor({whole}) ELSE ceil({whole}) END"
    " + CASE WHEN mz_a < mz_b AND {late} < {early} THEN 1 WHEN mz_a > mz_b AND {late} > {early} THEN -1 ELSE 0 END"
)
_BETWEEN = "months_between(date(mz_b), date(mz_a))"
_IN_QUARTER = "(dayofyear({0}) - (quarter({0}) * 365 / 4))"
#: months of a period -> the macro
_SHAPES = {
    1: Shape(_SHAPE.format(whole=_BETWEEN, late="dayofmonth(mz_b)", early="dayofmonth(mz_a)")),
    3: Shape(_SHAPE.format(whole=f"{_BETWEEN} / 3", late=_IN_QUARTER.format("mz_b"), early=_IN_QUARTER.format("mz_a"))),
}
#: more periods than lie between any two dates
_MOST = "120000D"
#: the midnights of all days on which the macro may be near a number. Months have up to three days less than others
_POINTS = (
    "transform(sequence(date_sub(add_months(mz_day, {months} * (CAST({number} AS INT) - 2)), 4), "
    "date_add(add_months(mz_day, {months} * (CAST({number} AS INT) + 2)), 5)), "
    "mz_d -> unix_millis(CAST(mz_d AS TIMESTAMP_LTZ)))"
)


def period_changes(clock: exp.Expr, other: exp.Expr) -> exp.Expr | None:
    """Instants of a row (ARRAY<BIGINT>, ms) at which a comparison of the macro with a number may change.

    None where the clock's side is another expression.
    """
    for months, shape in _SHAPES.items():
        found = shape.match(clock) if isinstance(clock, exp.Add) else None
        if found is None:
            continue
        first, second = found["mz_a"], found["mz_b"]
        of_clock, of_row = (first, second) if has_clock(first) else (second, first)
        if has_clock(of_row) or not (gives_date(of_clock) and _is_clock(of_clock)):
            continue
        sign = "-" if of_clock is first else ""
        number = f"least(greatest({sign}CAST(mz_number AS DOUBLE), -{_MOST}), {_MOST})"
        return filled(_POINTS.format(months=months, number=number), {"mz_day": of_row, "mz_number": other})
    return None


def _is_clock(date: exp.Expr) -> bool:
    """Whether a date is that of mz_now() itself."""
    inner = next(iter(date.iter_expressions()), None)
    return inner is not None and is_mz_now(inner.unnest())
