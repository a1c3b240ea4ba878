"""Aggregates of the output at each of many instants, by running totals: a row is summed once, not once an instant.

    the instants    t0      t1      t2      t3
    a row           [ from ······· until )            is there from t1 to t2: cell (1, 3)
    cells           the sums of all rows of one cell
    running         +cell at 1, -cell at 3            the total at each instant

Almost all rows of a large window are in the output at all of the instants. These rows are summed apart, as in one
read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ...temporal.diffs.intervals_sql import TIMES, Columns, indent, nested, no_rows
from ...temporal.diffs.view_sql import inline_upstreams
from ...temporal.rewrite.core import PLACEHOLDER
from ...temporal.rewrite.group_maintenance import Groups, take_groups
from ...temporal.rewrite.linear_aggregates import COUNT, NoSum, minus, whole
from ...temporal.sql.names.scope import Describe, quote_name
from ...temporal.sql.text.dialect import parse, quote, render
from .axis import Axis
from .histories import Part, partition

#: the name under which aggregates and keys read the output
OUTPUT = "mz_output"
_ROWS = f"{PLACEHOLDER}output"


@dataclass(frozen=True)
class Totals:
    """Aggregates that can be computed from sums."""

    #: the query of keys and operands, over OUTPUT
    rows: exp.Select
    groups: Groups
    #: SQL of the keys and the aggregates, over keys and sums of OUTPUT
    items: tuple[str, ...]
    #: SQL of the grouping expressions, over keys of OUTPUT
    group: tuple[str, ...]

    @staticmethod
    def of(
        columns: Columns, aggregates: Mapping[str, str], keys: Sequence[str], describe: Describe, ansi: bool
    ) -> Totals:
        """The totals for aggregates (name -> SQL) by keys (names of columns). Raises NoSum. ansi: see `take_groups`."""
        listed = [*map(quote, keys), *(f"{sql} AS {quote(name)}" for name, sql in aggregates.items())]
        by = f"\nGROUP BY {', '.join(map(quote, keys))}" if keys else ""
        query = parse(f"SELECT {', '.join(listed)}\nFROM (\n{no_rows(columns)}\n) AS {OUTPUT}{by}")
        assert isinstance(query, exp.Select)
        rows, rest, groups = take_groups(query, "mz_core_totals", describe, [], ansi)
        if any(one.wide for one in groups.sums):
            raise NoSum("a sum may have more digits than Spark keeps, and then Spark alone knows the answer")
        rows.set("from_", exp.From(this=exp.alias_(exp.to_table(_ROWS), OUTPUT, table=True)))
        group = rest.args.get("group")
        grouped = tuple(render(one) for one in group.expressions) if group is not None else ()
        return Totals(rows, groups, tuple(render(item) for item in rest.expressions), grouped)

    def at(self, parts: Mapping[Part, str], axis: Axis, kinds: Mapping[str, str], points: str, given: str) -> str:
        """A query: the keys and aggregates at each given instant. Without keys each instant has a row.

        parts: queries of the output with mz_from, mz_until. kinds: column of the output -> its type. points: a query
        of two columns: the instant as it was given, and mz_seq_t (BIGINT, ms), the instant of the axis at which to
        read. given: the name of the first column, in SQL.
        """
        keys = [item.alias_or_name for item in self.rows.expressions[: self.groups.keys]]
        named = "".join(f"{quote(key)}, " for key in keys)
        kept = [(COUNT, "BIGINT"), *((s.name, s.type) for s in self.groups.sums)]
        each = partition([(key, kinds.get(key, "")) for key in keys])
        cells = "\nUNION ALL\n".join(self._cells(named, axis, part, rows) for part, rows in parts.items())
        ctes = [("mz_seq_given", points), ("mz_cells", cells), ("mz_steps", _steps(named, kept))]
        ctes += [("mz_running", _running(named, each, kept)), ("mz_totals", _at_instants(named, kept, axis))]
        with_ = ",\n".join(f"{name} AS (\n{indent(sql, 2)}\n)" for name, sql in ctes)
        by = ", ".join([f"mz_seq_given.{given}", *self.group])
        side = "" if self.group else "LEFT "
        return (
            f"WITH {with_}\nSELECT mz_seq_given.{given}, {', '.join(self.items)}\nFROM mz_seq_given\n"
            f"{side}JOIN mz_totals AS {OUTPUT} ON {OUTPUT}.mz_seq_at = mz_seq_given.mz_seq_t\nGROUP BY {by}"
        )

    def _cells(self, named: str, axis: Axis, part: Part, rows_over_time: str) -> str:
        """The sums of the rows of each cell."""
        rows, times = self.rows.copy(), (exp.column(quote_name(n), table=quote_name(OUTPUT)) for n, _ in TIMES)
        rows.set("expressions", [*rows.expressions, *times])
        shown = inline_upstreams(rows, {_ROWS: rows_over_time})
        sums = "".join(f",\n  {s.of_rows} AS {quote(s.name)}" for s in self.groups.sums)
        all_of_it = f"0L AS mz_seq_lo, {len(axis.instants)}L AS mz_seq_hi"
        if part is Part.WHOLE:
            by = f"\nGROUP BY {named[:-2]}" if named else ""
            return f"SELECT {named}{all_of_it}, count(*) AS {COUNT}{sums}\nFROM {nested(shown, 'mz_shown')}{by}"
        until = f"CASE WHEN mz_until IS NULL THEN {len(axis.instants)}L ELSE {axis.place('mz_until')} END"
        cell = f"{axis.place('mz_from')} AS mz_seq_lo, {until} AS mz_seq_hi"
        placed = f"SELECT *, {cell}\nFROM {nested(shown, 'mz_shown')}"
        return (
            f"SELECT {named}mz_seq_lo, mz_seq_hi, count(*) AS {COUNT}{sums}\n"
            f"FROM {nested(placed, 'mz_placed')}\nWHERE mz_seq_lo < mz_seq_hi\n"
            f"GROUP BY {named}mz_seq_lo, mz_seq_hi"
        )


def _steps(named: str, kept: Columns) -> str:
    """A query: for each key and place, the change of the sums."""
    sums = "".join(
        f",\n  {whole(f'sum(IF(mz_sign > 0, {quote(n)}, {minus(quote(n), kind)}))', kind)} AS {quote(n)}"
        for n, kind in kept
    )
    return (
        f"SELECT {named}mz_seq_place{sums}\nFROM mz_cells\n"
        f"LATERAL VIEW stack(2, mz_seq_lo, 1, mz_seq_hi, -1) mz_edges AS mz_seq_place, mz_sign\n"
        f"GROUP BY {named}mz_seq_place"
    )


def _running(named: str, each: str, kept: Columns) -> str:
    sums = "".join(f",\n  {whole(f'sum({quote(n)}) OVER mz_key', kind)} AS {quote(n)}" for n, kind in kept)
    return (
        f"SELECT {named}mz_seq_place, lead(mz_seq_place) OVER mz_key AS mz_seq_next{sums}\n"
        f"FROM mz_steps\nWINDOW mz_key AS ({each}ORDER BY mz_seq_place)"
    )


def _at_instants(named: str, kept: Columns, axis: Axis) -> str:
    """The totals of each key at each instant at which the key has rows.

    Rows that are in the output at the last instant end at the place after this instant.
    """
    sums = ", ".join(quote(n) for n, _ in kept)
    return (
        f"SELECT {named}{sums}, {axis.instant('mz_seq_i')} AS mz_seq_at\nFROM mz_running\n"
        f"LATERAL VIEW explode(sequence(mz_seq_place, mz_seq_next - 1L)) mz_places AS mz_seq_i\nWHERE {COUNT} > 0"
    )
