"""Linear aggregates: the sums that are kept for a group, and the SQL of an aggregate's value over the sums.

    avg(v)   kept      mz_count_0 = count of v, mz_sum_1 = sum of v
             value     IF(sum(mz_count_0) > 0, CAST(sum(mz_sum_1) AS DOUBLE) / sum(mz_count_0), NULL)

A sum is kept only where it is exact in any order, as with integers and decimals: a later update can subtract exactly
what an earlier update added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import raised
from ..sql.functions.row import Aggregate
from ..sql.spark import decimals
from .kept import Kept

#: the number of rows of a group
COUNT = "mz_n"
#: digits of a kept DECIMAL: one less than Spark's maximum, so that a difference is exact
DIGITS = 37
_OVERFLOW = raised("ST003", f"a sum kept for a group has more than {DIGITS} digits; instead: config aggregates: rows")
#: ten billion values of so many digits have a sum of at most DIGITS digits
NARROW = DIGITS - 10
_INTEGERS = ("tinyint", "smallint", "int")
_OF_TRUTHS = (Aggregate.COUNT_IF, Aggregate.ANY, Aggregate.ALL)
#: the aggregates that follow from sums
SUMMED = (Aggregate.COUNT, Aggregate.SUM, Aggregate.MEAN, *_OF_TRUTHS)


class NoSum(Exception):
    """A SELECT cannot be kept per group. The message tells people why. `kept` is the form that is stored instead."""

    def __init__(self, why: str, by_config: bool = False) -> None:
        super().__init__(why)
        self.kept = Kept(rows_because=why, by_config=by_config)


@dataclass(frozen=True)
class Sum:
    """A column of sums."""

    name: str
    #: SQL of the summand of a row, over the columns of the core; never NULL
    value: str
    #: the stored type
    type: str
    #: the summed column, where a sum may have more than DIGITS digits
    wide: str = ""
    #: the summed column, where even a sum of ten billion rows has at most DIGITS digits
    narrow: str = ""

    @property
    def of_rows(self) -> str:
        """SQL of the sum over rows, 0 for no rows. Spark adds a narrow column in fewer digits, which is faster."""
        column, number = (self.narrow, f"count({self.narrow})") if self.narrow else (self.value, "count(*)")
        return f"IF({number} = 0, CAST(0 AS {self.type}), {whole(f'sum({column})', self.type)})"

    @property
    def room_used(self) -> str:
        """SQL (a DOUBLE): the sum of |wide| over rows, as a share of the first number with more than DIGITS digits."""
        scale = int(self.type.rpartition(",")[2].rstrip(")"))
        return f"sum(abs(CAST({self.wide} AS DOUBLE))) / 1e{DIGITS - scale}D"


class Sums:
    """Collects the sums that aggregates need, each once.

    column: the name of a kept column -> SQL that reads it. ansi: an overflowing sum of BIGINT is an error; else the
    sum wraps around.
    """

    def __init__(self, column: Callable[[str], str], ansi: bool) -> None:
        self._column, self._ansi = column, ansi
        self._sums: dict[tuple[str, ...], Sum] = {}

    @property
    def kept(self) -> tuple[Sum, ...]:
        return tuple(self._sums.values())

    def value(self, aggregate: Aggregate | None, call: str, arguments: Sequence[tuple[str, str]]) -> str:
        """SQL: the value of an aggregate over rows that hold the sums of one group each. Raises NoSum.

        call: the text of the aggregate, for messages. arguments: (column of the core, its type), none for count(*).
        """
        if not arguments:
            return f"coalesce({self._total(COUNT)}, 0L)"
        if any(kind == "void" for _, kind in arguments):
            raise NoSum(f"{call} has no type")
        if aggregate is Aggregate.COUNT:
            return f"coalesce({self._count([x for x, _ in arguments])}, 0L)"
        ((x, kind),) = arguments
        if aggregate in _OF_TRUTHS and kind != "boolean":
            raise NoSum(f"{call} is of {kind}")
        if aggregate is Aggregate.COUNT_IF:
            return f"coalesce({self._true(x)}, 0L)"
        n = self._count([x])
        if aggregate in _OF_TRUTHS:
            return f"IF({n} > 0, {self._true(x)} {'> 0' if aggregate is Aggregate.ANY else f'= {n}'}, NULL)"
        return f"IF({n} > 0, {self._sum_or_mean(aggregate is Aggregate.MEAN, call, x, kind, n)}, NULL)"

    def _sum_or_mean(self, mean: bool, call: str, x: str, kind: str, n: str) -> str:
        decimal = decimals.digits(kind)
        if kind in _INTEGERS or (kind == "bigint" and not self._ansi and not mean):
            s = self._total(self._keep(("sum", "BIGINT", x), f"coalesce(CAST({x} AS BIGINT), 0L)", "BIGINT"))
            return f"CAST({s} AS DOUBLE) / {n}" if mean else s
        if kind == "bigint":
            s = self._decimal(x, 0)
            return f"CAST({s} AS DOUBLE) / {n}" if mean else f"CAST({s} AS BIGINT)"
        if decimal is None:
            raise NoSum(f"{call} is of {kind}, whose sum depends on the order of the rows")
        p, d = decimal
        if mean and (p > 27 or d > 11):
            raise NoSum(f"{call} is of {kind}, whose mean has more digits than a division")
        if d > 30:
            raise NoSum(f"{call} is of {kind}, which leaves no room for a sum")
        total = f"CAST({self._decimal(x, d, p > NARROW, p <= NARROW)} AS {decimals.of_sum(p, d)})"
        return _mean(total, n, p, d) if mean else total

    def _count(self, arguments: Sequence[str]) -> str:
        present = " AND ".join(f"{x} IS NOT NULL" for x in arguments)
        return self._total(self._keep(("count", *arguments), f"IF({present}, 1L, 0L)", "BIGINT"))

    def _true(self, x: str) -> str:
        return self._total(self._keep(("true", x), f"IF({x}, 1L, 0L)", "BIGINT"))

    def _decimal(self, x: str, digits: int, is_wide: bool = False, is_narrow: bool = False) -> str:
        kind = f"DECIMAL({DIGITS},{digits})"
        value = f"IF({x} IS NULL, CAST(0 AS {kind}), {whole(x, kind)})"
        return self._total(self._keep(("sum", kind, x), value, kind, x if is_wide else "", x if is_narrow else ""))

    def _total(self, name: str) -> str:
        return f"sum({self._column(name)})"

    def _keep(self, key: tuple[str, ...], value: str, kind: str, wide: str = "", narrow: str = "") -> str:
        if key not in self._sums:
            self._sums[key] = Sum(f"mz_{key[0]}_{len(self._sums)}", value, kind, wide, narrow)
        return self._sums[key].name


def whole(total: str, kind: str) -> str:
    """SQL: a total in its stored type. A total of too many digits raises, where Spark alone would make NULL of it."""
    if not kind.upper().startswith("DECIMAL"):
        return f"CAST({total} AS {kind})"
    return f"coalesce(CAST({total} AS {kind}), CAST(raise_error('{_OVERFLOW}') AS {kind}))"


def minus(value: str, kind: str) -> str:
    """-value, as a subtraction: Spark's unary minus rounds a decimal to 34 digits."""
    return f"CAST(CAST(0 AS {kind}) - {value} AS {kind})" if kind.upper().startswith("DECIMAL") else f"-({value})"


def _mean(total: str, n: str, p: int, d: int) -> str:
    """total / n as Spark's avg of DECIMAL(p, d) rounds it: once, half up, to d + 4 digits.

    The whole part is an integer division, so that the fraction has all digits of the decimal division.
    """
    rest = f"CAST({total} % CAST({n} AS DECIMAL(13,0)) AS DECIMAL({13 + d},{d}))"
    integer = f"CAST(({total} - {rest}) / CAST({n} AS DECIMAL(13,0)) AS DECIMAL({p + 4 - d},0))"
    fraction = f"CAST({rest} / CAST({n} AS DECIMAL(13,0)) AS DECIMAL({d + 5},{d + 4}))"
    return f"CAST({integer} + {fraction} AS {decimals.of_mean(p, d)})"
