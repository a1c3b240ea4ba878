"""Find the expressions over the fields of one instant that never fall while the instant rises.

    year(t) * 100 + month(t)            202403, 202404, … 202412, 202501
    date_format(t, 'yyyy-MM-dd')        texts in the order of the instants
    date_format(t, 'dd-MM-yyyy')        texts in another order

The value of an expression is computed for each day of a common year and of a leap year; for an expression of months or
of weeks, for each month or week. The value must not fall within a day, from one day to the next, or from the last day
of a year to the first day of the next year. Nothing is concluded from the names of functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import pairwise
from math import ceil, lcm

from sqlglot import exp

from ..sql.text.dialect import expression, has_clock, render
from .blocks import (
    DAYS,
    DOUBLE,
    FIRST_YEAR,
    FRACTION,
    HOUR,
    LAST_YEAR,
    MINUTE,
    SECOND,
    YEAR,
    Block,
    NoForm,
    Number,
    number,
    read,
)
from .field_rules import RULES
from .fields import Dated, Day, Evaluation, Several, Used, Value, is_digits, is_made, of_digits

#: the years, as Spark reads them, in which the order is known: instants of other years are neither searched nor stored
YEARS = (FIRST_YEAR, LAST_YEAR)
#: the year 8000 (ms): searches over fields of instants end here, so that the clock may still be moved by centuries
YEARS_END = 190_288_396_800_000
#: the year 1600 (ms): an instant from here on, moved by centuries, has a year of four digits
FIRST_OF_FIELDS = -11_676_096_000_000
TEXT, NUMBER, DATE, TIMESTAMP, SEVERAL = "text", "number", "date", "timestamp", "several"


@dataclass(frozen=True)
class Ordered:
    """An expression that never falls while an instant rises."""

    #: the instant
    of: exp.Expr
    #: the value changes only at multiples of this time (s) after midnight; 0 where it changes with each fraction
    step: int
    #: TEXT, NUMBER, DATE, TIMESTAMP or SEVERAL
    type: str
    #: types to which Spark can cast only some of the texts, or all texts but with another order
    partial: frozenset[str] = frozenset()

    def is_partial(self, type_: str) -> bool:
        """Whether Spark can cast only some of the texts to a type, or the cast texts have another order."""
        return type_.partition("(")[0] in self.partial


def ordered(node: exp.Expr) -> Ordered | None:
    """`Ordered` for an expression with the clock; None where the expression is not made of fields, or may fall."""
    node = node.unnest()
    if not has_clock(node) or not (is_made(node) or isinstance(node, exp.Tuple)):
        return None
    found = _ordered(render(node))
    return None if found is None else replace(found, of=_in(node, found.of))


def _in(node: exp.Expr, of: exp.Expr) -> exp.Expr:
    """A copy of the part of `node` that has the same text as `of`.

    `of` was parsed from its text alone. In the copy each mz_now() still knows its place in the model's SQL.
    """
    text = render(of)
    part = next((part for part in node.walk() if render(part) == text), None)
    if part is None:  # seconds that become an instant
        return exp.Anonymous(this=of.name, expressions=[_in(node, of.expressions[0])])
    return part.copy()


@lru_cache(maxsize=512)
def _ordered(text: str) -> Ordered | None:
    node = expression(text)
    return _over(node, _FIRSTS) or _over(node, _WEEKS)


def _over(node: exp.Expr, years: list[list[Day]]) -> Ordered | None:
    """`Ordered` for an expression, by its values on the days of `years`; None where it may fall or has no form."""
    used = Used()
    try:
        values = [[Evaluation(day, used, RULES).of(node) for day in days] for days in years]
        if years is _FIRSTS and not used.fields <= {"year", "quarter", "month"}:
            return _over(node, _EVERY)
        orders = _orders(_alike(values))
    except NoForm:
        return None
    if len(used.of) == 1 and used.has_one_type() and all(_rises(of_year, orders) for of_year in orders):
        of, type_ = next(iter(used.of.values())), _type(values[0][0])
        pairs = [pair for days, of_year in zip(years, values) for pair in zip(days, of_year)]
        return Ordered(of, _step(orders), type_, _partial(pairs) if type_ == TEXT else frozenset())
    return None


def _days(leap: bool) -> Iterator[Day]:
    count = 0
    for month, length in enumerate(DAYS, 1):
        for day in range(1, length + 1 + (leap and month == 2)):
            count += 1
            yield Day(month, day, count)


#: the days of a common year and of a leap year; the first days of the months; the weeks
_EVERY = [list(_days(leap)) for leap in (False, True)]
_FIRSTS = [[day for day in _EVERY[0] if day.day == 1]]
_WEEKS = [[Day(0, 0, week) for week in range(1, 54)]]


def _alike(values: list[list[Value]]) -> list[list[tuple[Number | Block, ...]]]:
    """The values as sequences of numbers and pieces of text. Raises NoForm unless all have one layout."""
    found = [[tuple(_flat(value)) for value in of_year] for of_year in values]
    layouts = {tuple(_layout(part) for part in parts) for of_year in found for parts in of_year}
    ends_early = any(width == 0 for layout in layouts for width, _ in layout[:-1])
    if len(layouts) > 1 or ends_early:
        raise NoForm
    return found


def _flat(value: Value) -> Iterator[Number | Block]:
    if isinstance(value, Several):
        for part in value.of:
            if isinstance(part, Number) and part.type == DOUBLE and not part.is_exact:
                raise NoForm  # several numbers may have one DOUBLE
            yield from _flat(part)
    elif isinstance(value, tuple):
        yield from value
    elif isinstance(value, Dated):
        yield value.of
    elif isinstance(value, Number):
        yield value
    else:
        raise NoForm


def _layout(part: Number | Block) -> tuple[int, bool]:
    return (part.width, part.number is None) if isinstance(part, Block) else (-1, False)


def _orders(values: list[list[tuple[Number | Block, ...]]]) -> list[list[Number]]:
    """Sequences -> numbers, so that numbers compare as sequences do: a part outweighs all parts that can follow."""
    found = [[[p.value if isinstance(p, Block) else p for p in parts] for parts in of_year] for of_year in values]
    used = {part for of_year in found for parts in of_year for part in parts}
    scale = lcm(*(Fraction(n).denominator for part in used for n in part.of))
    ends: list[int | Fraction] = [end for part in used for end in (part.extreme(True), -part.extreme(False))]
    far = 2 * scale * max(map(ceil, ends), default=0) + 1
    return [
        [reduce(lambda total, part: total.times(far).plus(part), parts, number(0)) for parts in of_year]
        for of_year in found
    ]


_ENDS = ((HOUR, 23), (MINUTE, 59), (SECOND, 59), (FRACTION, 999_999))


def _rises(days: list[Number], years: list[list[Number]]) -> bool:
    """Whether a value never falls: within each day, from day to day, and from the last day to the next year's first."""
    by_year = {value.of[YEAR] for of_year in years for value in of_year}
    if len(by_year) > 1 or not all(map(_rises_in_a_day, days)):
        return False
    (year,) = by_year
    within = all(_last(one) <= next_.of[0] for one, next_ in pairwise(days))
    return within and all(_last(days[-1]) <= of_year[0].of[0] + year for of_year in years)


def _last(value: Number) -> int | Fraction:
    """The value at the end of a day, without the year."""
    return value.of[0] + sum(value.of[at] * most for at, most in _ENDS)


def _rises_in_a_day(value: Number) -> bool:
    below: int | Fraction = 0
    for at, most in reversed(_ENDS):
        if value.of[at] < below:
            return False
        below += value.of[at] * most
    return True


def _step(years: list[list[Number]]) -> int:
    steps = ((FRACTION, 0), (SECOND, 1), (MINUTE, 60), (HOUR, 3_600))
    return next((step for at, step in steps if any(v.of[at] for of_year in years for v in of_year)), 86_400)


def _type(value: Value) -> str:
    if isinstance(value, Dated):
        return value.type
    return TEXT if isinstance(value, tuple) else SEVERAL if isinstance(value, Several) else NUMBER


#: a type of whole numbers -> the least number above all of its values
_ABOVE = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}
#: what Spark may read as a number, beside digits alone
_NUMBERS = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[df]?\s*", re.IGNORECASE | re.ASCII)


def _partial(values: Sequence[tuple[Day, Value]]) -> frozenset[str]:
    """The types to which Spark can cast only some of the texts, or all texts but with another order."""
    texts = [(day, value) for day, value in values if isinstance(value, tuple)]
    dates = {read(text, None, day.month, day.day) is None for day, text in texts}
    found = {"date", "timestamp", "timestamp_ntz"} if len(dates) > 1 else set()
    plain = ["".join("0" * b.width if b.number else b.text for b in text) for _, text in texts]
    spelled = [of_digits(text) for (_, text), digits in zip(texts, plain) if is_digits(digits)]
    if len(spelled) < len(texts) and any(map(_NUMBERS.fullmatch, plain)):
        return frozenset({*found, *_ABOVE, "float", "double", "decimal"})
    for name, above in _ABOVE.items():
        if len({number.extreme(most) < above for number in spelled for most in (False, True)}) > 1:
            found.add(name)
    return frozenset(found)
