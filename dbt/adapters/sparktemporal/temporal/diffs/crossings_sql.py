"""SQL of the instants at which a function of the clock reaches and leaves a value of the row.

    sign      0, 1 or 2 while the function is below the value, equal to it, or above it; NULL where Spark knows neither
    leaves    the first cell of time without the sign at the beginning of the search
    arrives   the first cell with the sign at the end of the search

A cell is a short time in which the function changes in a known way, see `grid`. A search looks at both ends first: most
rows have the same sign there. Then it tries nearer ends, and bisects the range that is left. All times are BIGINT
milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, log2

from sqlglot import exp

from ..predicates.clock_text import evaluated
from ..predicates.conditions import MonotoneComparison
from ..predicates.grid import MOVED, RISES, Grid
from ..predicates.lengths import DAY_MS
from ..predicates.ordered import YEARS_END
from ..sql.text.dialect import render

#: searches end here: the year 287396, to which Spark can still add 6,000 years. A bound may lie anywhere in a BIGINT,
#: so it is cut here (least skips NULLs); otherwise the search would not come down to a millisecond
FAR = 2**53
_NONE = "CAST(array() AS ARRAY<BIGINT>)"

#: SQL of an instant -> SQL of what is there
At = Callable[[str], str]


def crossings(step: MonotoneComparison, calls: Mapping[int, str]) -> str:
    """SQL of an array with all instants after mz_lower and before mz_upper where the sign changes, and maybe others."""
    return _Search(step, calls).crossings()


class _Search:
    def __init__(self, step: MonotoneComparison, calls: Mapping[int, str]) -> None:
        self.step, self.calls, self.grid = step, calls, step.grid
        self.far = YEARS_END if step.of_fields else FAR

    def crossings(self) -> str:
        if not self.grid.reach:
            high = f"least(mz_upper, {self.far}L)"
            one, two = self._leaves("mz_lower", high, self.grid), self._arrives("c", high, self.grid)
            return _let("c", one, f"array(c, IF(c IS NULL, NULL, {two}))")
        # a function that falls may have the same sign before mz_upper as at mz_lower, and another one between
        one, two = self._leaves("mz_lower", f"{self.far}L", self.grid), self._arrives("c", f"{self.far}L", self.grid)
        if self.grid.within == MOVED:
            return _let("c", one, self._moved())
        around = f"concat({self._around('mz_lower')}, {self._around('c')}, {self._around('d')})"
        if self.grid.within == RISES:
            around = f"flatten(transform(array_distinct({around}), g -> {self._within('g')}))"
        return _let("c", one, _let("d", f"IF(c IS NULL, NULL, {two})", around))

    def _leaves(self, low: str, high: str, cells: Grid) -> str:
        """The beginning of the first cell after low, up to high, without the sign of low."""
        nearer = [64 * DAY_MS // cells.cell]
        return self._first(low, high, cells, "{} <=> s.at", "NOT ({} <=> s.at)", nearer)

    def _arrives(self, low: str, high: str, cells: Grid) -> str:
        """The beginning of the first cell after low, up to high, with the sign of high."""
        nearer = [1, max(2 * DAY_MS // cells.cell, 2)]
        return self._first(low, high, cells, "NOT ({} <=> s.end)", "{} <=> s.end", nearer)

    def _first(self, low: str, high: str, cells: Grid, before: str, after: str, nearer: list[int]) -> str:
        """SQL of the beginning of the first cell after low that passes `after`; NULL if both signs are equal.

        before, after: opposite tests of a sign. nearer: distances from low (in cells) to try first as the end.
        """
        begins: At = (lambda n: f"({n})") if cells.cell == 1 else lambda n: f"(({n}) * {cells.cell}L - {cells.shift}L)"
        last, middle = _cell(high, cells, up=True), "shiftright(b.lo + b.hi, 1)"
        ends = f"'at', {self._sign(low)}, 'end', {self._sign(begins(last))}"
        tried = "".join(
            f"WHEN s.lo + {by}L < s.hi AND {after.format(self._sign(begins(f's.lo + {by}L')))} THEN s.lo + {by}L "
            for by in nearer
        )
        halvings = ceil(log2(2 * FAR / cells.cell)) + 1
        halved = (
            f"aggregate(sequence(1, {halvings}), named_struct('lo', s.lo, 'hi', CASE {tried}ELSE s.hi END), "
            f"(b, i) -> CASE WHEN b.hi - b.lo <= 1L THEN b WHEN {before.format(self._sign(begins(middle)))} "
            f"THEN named_struct('lo', {middle}, 'hi', b.hi) ELSE named_struct('lo', b.lo, 'hi', {middle}) END, "
            f"b -> {begins('b.hi')})"
        )
        return _let(
            "s",
            f"named_struct('lo', {_cell(low, cells)}, 'hi', {last}, {ends})",
            f"CASE WHEN s.hi <= s.lo OR s.at <=> s.end THEN NULL ELSE {halved} END",
        )

    def _sign(self, instant: str) -> str:
        """How many of two comparisons hold: has the function reached the value, and has it left the value?"""
        function, other = self.step.function, self.step.other
        reached, left = (
            evaluated(_compared(function, other, comparison), self.calls, instant) for comparison in (exp.GTE, exp.GT)
        )
        return f"(CAST({reached} AS INT) + CAST({left} AS INT))"

    # -- of functions that may fall --

    def _around(self, instant: str) -> str:
        """The beginnings of the cells around an instant.

        Where the zone's offset is known not to change around the instant, two cells are enough: the one that begins at
        the instant and the one before. Around mz_lower there is then nothing to look for, so no cell is given.
        """
        grid, is_first = self.grid, instant == "mz_lower"
        before = 0 if is_first else grid.reach
        back = f"pmod({instant} + {grid.shift - before}L, {grid.cell}L)"
        cells = f"sequence({instant} - {before}L - {back}, {instant} + {grid.reach}L, {grid.cell}L)"
        calm = self._calm(instant, before)
        one = _NONE if is_first else f"array({instant} - {grid.cell}L, {instant})"
        whens = f" WHEN {instant} IS NULL THEN {_NONE}" + (f" WHEN {calm} THEN {one}" if calm else "")
        return f"CASE{whens} ELSE {cells} END"

    def _calm(self, instant: str, before: int) -> str:
        """SQL: whether the zone's offset is constant around an instant, in each local time that the function reads."""
        ends = f"({instant} - {before}L)", f"({instant} + {self.grid.reach}L)"
        return " AND ".join(f"{self._offset(of, ends[0])} <=> {self._offset(of, ends[1])}" for of in self.grid.calm)

    def _offset(self, of: exp.Expr, instant: str) -> str:
        read = evaluated(exp.cast(of.copy(), "TIMESTAMP_LTZ", dialect="spark"), self.calls, instant)
        return _let("x", read, "unix_seconds(from_utc_timestamp(x, current_timezone())) - unix_seconds(x)")

    def _within(self, cell: str) -> str:
        """The beginning of a cell, and the instants within it at which the sign changes."""
        last = f"{cell} + {self.grid.cell - 1}L"
        two = f"IF(y IS NULL, NULL, {self._arrives('y', last, Grid())})"
        return _let("y", self._leaves(cell, last, Grid()), f"array({cell}, y, {two})")

    def _moved(self) -> str:
        """SQL of the instants of change for a clock that is moved by one length within each cell.

        Such an instant is as far from the cell's beginning as the value is from the moved clock at this beginning.
        """
        cell, reach = self.grid.cell, self.grid.reach
        each = _let("x", self._distance("g"), f"IF(x BETWEEN -1L AND {cell}L, array(g, g + x, g + x + 1L), array(g))")
        far = f"abs({self._distance('mz_lower')}) > {2 * reach}L"
        first = f"CASE WHEN {far} THEN {_NONE} ELSE {self._around('mz_lower')} END"
        return f"flatten(transform(array_union({first}, {self._around('c')}), g -> {each}))"

    def _distance(self, instant: str) -> str:
        value, clock = (
            f"CAST({render(self.step.other)} AS TIMESTAMP_LTZ)",
            evaluated(self.step.function, self.calls, instant),
        )
        return f"unix_millis({value}) - unix_millis({clock})"


def _compared(function: exp.Expr, other: exp.Expr, comparison: type[exp.Expr]) -> exp.Expr:
    """A comparison. Tuples compare by the first parts that differ, each pair of parts as Spark compares it alone."""
    if not (isinstance(function, exp.Tuple) and isinstance(other, exp.Tuple)):
        return comparison(this=exp.paren(function.copy()), expression=exp.paren(other.copy()))
    *before, last = zip(function.expressions, other.expressions)
    found = _compared(*last, comparison)
    for one, value in reversed(before):
        found = exp.or_(_compared(one, value, exp.GT), exp.and_(_compared(one, value, exp.EQ), found))
    return exp.paren(found)


def _let(name: str, value: str, then: str) -> str:
    """SQL of an expression over a value that is computed once."""
    return f"transform(array({value}), {name} -> {then})[0]"


def _cell(instant: str, cells: Grid, up: bool = False) -> str:
    """SQL of the number of the cell that contains an instant. up: the next cell, unless the instant begins a cell."""
    if cells.cell == 1:
        return instant
    moved = f"({instant} + {cells.shift + (cells.cell - 1 if up else 0)}L)"
    return f"({moved} - pmod({moved}, {cells.cell}L)) div {cells.cell}L"
