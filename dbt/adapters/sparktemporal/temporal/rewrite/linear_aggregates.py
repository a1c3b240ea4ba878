"""Linear aggregates: which sums are kept of a group's rows, and the value that follows from them.

    avg(v)   kept      mz_count_0 = count of v, mz_sum_1 = sum of v
             value     IF(sum(mz_count_0) > 0, CAST(sum(mz_sum_1) AS DOUBLE) / sum(mz_count_0), NULL)

A sum is kept only where it is exact in any order, as sums of integers and decimals are: what an update adds, the next
takes away without a remainder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..sql.functions.row import Aggregate

#: how many rows of a group are there
COUNT = "mz_n"
#: of the decimals that are kept: one less than Spark's most, so that taking one from another is exact
DIGITS = 37
_OVERFLOW = f"raise_error('a sum kept for a group has more than {DIGITS} digits; instead: config aggregates: rows')"
#: of so many digits ten billion values have a sum of DIGITS digits at most
NARROW = DIGITS - 10
_INTEGERS = ("tinyint", "smallint", "int")
_OF_TRUTHS = (Aggregate.COUNT_IF, Aggregate.ANY, Aggregate.ALL)
#: the aggregates that are values of sums
SUMMED = (Aggregate.COUNT, Aggregate.SUM, Aggregate.MEAN, *_OF_TRUTHS)


class NoSum(Exception):
    """Why a SELECT cannot be kept per group; the words are for people."""


@dataclass(frozen=True)
class Sum:
    """A diff column. value: what a row adds to it, over the columns of the core; never NULL. type: as it is stored.

    wide: the column that is summed, where its type does not keep a sum from having more than DIGITS digits.
    """

    name: str
    value: str
    type: str
    wide: str = ""

    @property
    def room_used(self) -> str:
        """SQL: of the digits of `wide` the part that is used when every row is added with the same sign; a DOUBLE."""
        scale = int(self.type.rpartition(",")[2].rstrip(")"))
        return f"sum(abs(CAST({self.wide} AS DOUBLE))) / 1e{DIGITS - scale}D"


class Sums:
    """Collects the sums that aggregates need, each once.

    column: how SQL reads a kept column of this name. ansi: whether an overflowing sum of BIGINT is an error; else it
    wraps around.
    """

    def __init__(self, column: Callable[[str], str], ansi: bool) -> None:
        self._column, self._ansi = column, ansi
        self._sums: dict[tuple[str, ...], Sum] = {}

    @property
    def kept(self) -> tuple[Sum, ...]:
        return tuple(self._sums.values())

    def value(self, aggregate: Aggregate, said: str, arguments: Sequence[tuple[str, str]]) -> str:
        """SQL: the value of an aggregate over rows of one group each, or NoSum.

        said: the call, for people. arguments: (column of the core, its type), none for count(*).
        """
        if not arguments:
            return f"coalesce({self._total(COUNT)}, 0L)"
        if any(kind == "void" for _, kind in arguments):
            raise NoSum(f"{said} is of no type")
        if aggregate is Aggregate.COUNT:
            return f"coalesce({self._count([x for x, _ in arguments])}, 0L)"
        ((x, kind),) = arguments
        if aggregate in _OF_TRUTHS and kind != "boolean":
            raise NoSum(f"{said} is of {kind}")
        if aggregate is Aggregate.COUNT_IF:
            return f"coalesce({self._true(x)}, 0L)"
        n = self._count([x])
        if aggregate in _OF_TRUTHS:
            return f"IF({n} > 0, {self._true(x)} {'> 0' if aggregate is Aggregate.ANY else f'= {n}'}, NULL)"
        return f"IF({n} > 0, {self._sum_or_mean(aggregate is Aggregate.MEAN, said, x, kind, n)}, NULL)"

    def _sum_or_mean(self, mean: bool, said: str, x: str, kind: str, n: str) -> str:
        decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
        if kind in _INTEGERS or (kind == "bigint" and not self._ansi and not mean):
            s = self._total(self._keep(("sum", "BIGINT", x), f"coalesce(CAST({x} AS BIGINT), 0L)", "BIGINT"))
            return f"CAST({s} AS DOUBLE) / {n}" if mean else s
        if kind == "bigint":
            s = self._decimal(x, 0)
            return f"CAST({s} AS DOUBLE) / {n}" if mean else f"CAST({s} AS BIGINT)"
        if decimal is None:
            raise NoSum(f"{said} is of {kind}, whose sum depends on the order of the rows")
        p, d = int(decimal.group(1)), int(decimal.group(2))
        if mean and (p > 27 or d > 11):
            raise NoSum(f"{said} is of {kind}, whose mean has more digits than a division")
        if d > 30:
            raise NoSum(f"{said} is of {kind}, which leaves no room for a sum")
        total = f"CAST({self._decimal(x, d, p > NARROW)} AS DECIMAL({min(p + 10, 38)},{d}))"
        return _mean(total, n, p, d) if mean else total

    def _count(self, arguments: Sequence[str]) -> str:
        present = " AND ".join(f"{x} IS NOT NULL" for x in arguments)
        return self._total(self._keep(("count", *arguments), f"IF({present}, 1L, 0L)", "BIGINT"))

    def _true(self, x: str) -> str:
        return self._total(self._keep(("true", x), f"IF({x}, 1L, 0L)", "BIGINT"))

    def _decimal(self, x: str, digits: int, is_wide: bool = False) -> str:
        kind = f"DECIMAL({DIGITS},{digits})"
        value = f"IF({x} IS NULL, CAST(0 AS {kind}), {whole(x, kind)})"
        return self._total(self._keep(("sum", kind, x), value, kind, x if is_wide else ""))

    def _total(self, name: str) -> str:
        return f"sum({self._column(name)})"

    def _keep(self, key: tuple[str, ...], value: str, kind: str, wide: str = "") -> str:
        if key not in self._sums:
            self._sums[key] = Sum(f"mz_{key[0]}_{len(self._sums)}", value, kind, wide)
        return self._sums[key].name


def whole(total: str, kind: str) -> str:
    """As the type it is kept in. A decimal of too many digits is NULL to Spark: here an error, never a lost diff."""
    if not kind.upper().startswith("DECIMAL"):
        return f"CAST({total} AS {kind})"
    return f"coalesce(CAST({total} AS {kind}), CAST({_OVERFLOW} AS {kind}))"


def minus(value: str, kind: str) -> str:
    """-value. Spark's own minus rounds a decimal to 34 digits, its subtraction does not."""
    return f"CAST(CAST(0 AS {kind}) - {value} AS {kind})" if kind.upper().startswith("DECIMAL") else f"-({value})"


def _mean(total: str, n: str, p: int, d: int) -> str:
    """total / n as Spark's avg of DECIMAL(p, d) rounds it: once, half up, to d + 4 digits.

    The whole part is divided without a remainder, so that all digits of the division are there for the fraction.
    """
    rest = f"CAST({total} % CAST({n} AS DECIMAL(13,0)) AS DECIMAL({13 + d},{d}))"
    integer = f"CAST(({total} - {rest}) / CAST({n} AS DECIMAL(13,0)) AS DECIMAL({p + 4 - d},0))"
    fraction = f"CAST({rest} / CAST({n} AS DECIMAL(13,0)) AS DECIMAL({d + 5},{d + 4}))"
    return f"CAST({integer} + {fraction} AS DECIMAL({p + 4},{d + 4}))"
