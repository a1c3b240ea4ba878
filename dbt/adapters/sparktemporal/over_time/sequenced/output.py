"""The consolidated updates of a model's output, whatever its residual is.

    mz_timestamp (ms), mz_diff, mz_definite, columns…

| residual | its updates are |
|---|---|
| row by row, also over one row for each group | the rows of the histories, as they enter and leave |
| anything else | its rows at each instant at which a core changes, less its rows at the instant before |
| reads the clock | the same, at each millisecond, or at each refresh of a model with `refresh_every` |

An update is *definite* up to the frontier. A later update holds if no input changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from ...errors import Refusal
from ...temporal.diffs.intervals_sql import UPDATE, Columns, indent, nested, no_rows, pretty
from ...temporal.diffs.state import State
from ...temporal.diffs.view_sql import grouped_cores, inline_upstreams, read_at
from ...temporal.predicates.clock_text import reads_clock
from ...temporal.rewrite.one_row_groups import of_one_row
from ...temporal.sql.names.scope import quote_name
from ...temporal.sql.spark.identity import identity
from ...temporal.sql.text.dialect import expression, parse, quote
from .axis import Axis
from .ctes_inline import without_ctes
from .histories import Part, Range, history, instants
from .row_by_row import with_times
from .sequenced import INSTANT, POINTS, sequenced

#: the columns of an update before its data
COLUMNS: Columns = (*UPDATE, ("mz_definite", "BOOLEAN"))


@dataclass(frozen=True)
class Output:
    """The output of a committed model from `within.first` to `within.last`.

    alone: the instants (ms) that are read one by one, where no query reads many (see `is_sequenced`).
    """

    state: State
    within: Range
    alone: tuple[int, ...] = ()

    @cached_property
    def _marked(self) -> exp.Query:
        return self._of_one_row(parse(self.state.residual))

    def _of_one_row(self, residual: exp.Query, totals: bool = False) -> exp.Query:
        found = of_one_row(residual, grouped_cores(self.state), totals)
        assert isinstance(found, exp.Query)
        return found

    @cached_property
    def _with_times(self) -> exp.Query | None:
        flat = without_ctes(parse(self.state.residual))
        return None if flat is None else with_times(self._of_one_row(flat, totals=True), self._names)

    @property
    def _names(self) -> dict[str, list[str]]:
        """The placeholder of each core -> the columns of its history."""
        return {core.placeholder: [n for n, _ in core.read_columns] for core in self.state.cores}

    @property
    def is_row_by_row(self) -> bool:
        return self._with_times is not None

    @property
    def reads_clock(self) -> bool:
        """Whether the residual reads the clock, so that each instant may change the output."""
        return reads_clock(self._marked)

    def _histories(self, totals: bool = False) -> dict[str, str]:
        return {core.placeholder: history(core, self.state.schema, self.within, totals) for core in self.state.cores}

    def rows_over_time(self) -> str:
        """A query of the output over time: columns, mz_from, mz_until. Only for a residual that reads row by row."""
        assert self._with_times is not None
        body = inline_upstreams(self._with_times, self._histories(totals=True))
        names = ", ".join([*(quote(n) for n, _ in self.state.columns), "mz_from", "mz_until"])
        return f"SELECT *\nFROM {nested(body, 'mz_out')}({names})"

    def points(self) -> str:
        """A query of the instants (`mz_seq_t`) after `within.first` at which a core may change; some come twice."""
        every = [instants(core, self.state.schema, self.within) for core in self.state.cores]
        found = "\nUNION ALL\n".join(filter(None, every))
        return found or no_rows((("mz_seq_t", "BIGINT"),))

    @cached_property
    def _sequenced(self) -> exp.Query | None:
        return sequenced(self._marked, self._names)

    @property
    def is_sequenced(self) -> bool:
        """Whether one query reads the output at many instants; else each of a few instants is read by itself."""
        return self._sequenced is not None

    def at(self, points: str, t: str) -> str:
        """A query: the columns of the points, and the output at the instant of each.

        points: a query. t: its column of instants (BIGINT, ms).
        """
        if self.is_row_by_row:
            return self._there_at(points, t)
        return self._joined(points, t, self._sequenced, "*", [n for n, _ in self.state.columns])

    def _there_at(self, points: str, t: str) -> str:
        """`at` of a residual that reads row by row: its rows over time, joined with the points by ranges."""
        listed = ", ".join(f"mz_there.{quote(n)}" for n, _ in self.state.columns)
        return (
            f"SELECT /*+ BROADCAST(mz_seq_given) */ mz_seq_given.*, {listed}\n"
            f"FROM {nested(self.rows_over_time(), 'mz_there')}\n"
            f"JOIN {nested(points, 'mz_seq_given')}\n"
            f"ON mz_there.mz_from <= mz_seq_given.{t}\n"
            f"  AND (mz_there.mz_until IS NULL OR mz_there.mz_until > mz_seq_given.{t})"
        )

    def summed_at(self, points: str, t: str, aggregate: str) -> str:
        """A query: the columns of the points, and `value`, an aggregate over the output at the instant of each.

        Raises Refusal for an aggregate that is not evaluated at many instants at once.
        """
        alias = exp.TableAlias(this=quote_name("mz_output"), columns=[quote_name(n) for n, _ in self.state.columns])
        total = exp.select(exp.alias_(expression(aggregate), "value"))
        query = total.from_(exp.Subquery(this=self._marked.copy(), alias=alias))
        at_each = sequenced(query, self._names) if self.is_sequenced else None
        if self.is_sequenced and at_each is None:
            raise Refusal(
                "ST634",
                f"temporal_forecast of {self.state.model} with the aggregate {aggregate}",
                "it is not evaluated at many instants at once",
                "another aggregate, or temporal_at and a GROUP BY",
            )
        return self._joined(points, t, at_each, aggregate, ["value"])

    def _joined(self, points: str, t: str, at_each: exp.Query | None, items: str, names: Sequence[str]) -> str:
        if at_each is None:
            reads = "\nUNION ALL\n".join(self._read(one, items) for one in self.alone)
            ctes, rows = [], reads or no_rows((*((n, "STRING") for n in names), (INSTANT, "BIGINT")))
        else:
            ctes = [(POINTS, f"SELECT DISTINCT {t} AS {INSTANT}\nFROM mz_seq_given")]
            ctes += [(name, self._at_points(self._names[name], rows)) for name, rows in self._histories().items()]
            rows = pretty(at_each)
        listed = ", ".join(map(quote, names))
        with_ = ",\n".join(f"{name} AS (\n{indent(sql, 2)}\n)" for name, sql in [("mz_seq_given", points), *ctes])
        return (
            f"WITH {with_}\nSELECT mz_seq_given.*, {', '.join(f'mz_out.{quote(n)}' for n in names)}\n"
            f"FROM mz_seq_given\nJOIN {nested(rows, 'mz_out')}({listed}, {INSTANT})\n"
            f"ON mz_seq_given.{t} = mz_out.{INSTANT}"
        )

    def _at_points(self, columns: Sequence[str], rows: str) -> str:
        """The rows of a core at each of the points."""
        listed = "".join(f"mz_history.{quote(c)}, " for c in columns)
        there = f"mz_from <= {INSTANT} AND (mz_until IS NULL OR mz_until > {INSTANT})"
        return (
            f"SELECT /*+ BROADCAST({POINTS}) */ {listed}{POINTS}.{INSTANT}\n"
            f"FROM {nested(rows, 'mz_history')}\nJOIN {POINTS} ON {there}"
        )

    def _read(self, t: int, items: str) -> str:
        read = f"SELECT {items} FROM {nested(read_at(self.state, t), 'mz_output')}"
        return f"SELECT *, {t}L AS {INSTANT} FROM {nested(read, 'mz_read')}"

    def looked_at(self, axis: Axis) -> dict[Part, str]:
        """A query like `rows_over_time` for each `Part` of the rows, which is right only at the instants of the axis.

        With refreshes, each instant of the axis after the first must be that of a refresh.
        """
        within = Range(axis.instants[0], axis.instants[-1], axis=axis)
        return {part: replace(self, within=replace(within, part=part)).rows_over_time() for part in Part}

    def until(self, last: int) -> Output:
        """The output up to another instant (ms)."""
        return replace(self, within=replace(self.within, last=last))

    def edge_points(self) -> str:
        """A query of the instants (`mz_seq_t`) at which the output is evaluated for its updates."""
        first, last = self.within.first, self.within.last
        if not self.reads_clock:
            return f"SELECT {first}L AS mz_seq_t\nUNION\nSELECT mz_seq_t\nFROM {nested(self.points(), 'mz_points')}"
        refreshes = self.within.refreshes
        if refreshes is None:
            return f"SELECT explode(sequence({first}L, {last}L)) AS mz_seq_t"
        beside = (f"{t}L" for t in (first, *refreshes.also) if first <= t <= last)
        found = f"SELECT explode(array({', '.join(beside)})) AS mz_seq_t"
        regular = replace(refreshes, also=()).next(first)
        if regular <= last:
            found += f"\nUNION\nSELECT explode(sequence({regular}L, {last}L, {refreshes.every}L))"
        return found

    def edges(self) -> str:
        """A query of the output over time: columns, mz_from, mz_until.

        The same row may end and begin again at one instant. The two updates cancel.
        """
        if self.is_row_by_row:
            return self.rows_over_time()
        points = (
            f"SELECT mz_seq_t AS mz_from, lead(mz_seq_t) OVER (ORDER BY mz_seq_t) AS mz_until\n"
            f"FROM {nested(self.edge_points(), 'mz_points')}"
        )
        return self.at(points, "mz_from")


def updates(output: Output, as_of: int, frontier: int, snapshot: bool) -> str:
    """A query of the consolidated updates. Updates up to the frontier (ms) are definite.

    as_of: the stamp (ms) of the rows that are there at the first instant. snapshot: whether these rows are given.
    """
    state, first = output.state, output.within.first
    names = "".join(f", {quote(n)}" for n, _ in state.columns)
    same = identity(state.columns)
    items, keys = ("".join(f", {part}" for part in parts) for parts in (same.items, same.keys))
    later = "" if snapshot else f" AND mz_timestamp > {first}L"
    summed = (
        f"SELECT mz_timestamp, sum(mz_sign) AS mz_diff{items}\n"
        f"FROM {nested(output.edges(), 'mz_rows')}\n"
        f"LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign\n"
        f"WHERE mz_timestamp IS NOT NULL{later}\n"
        f"GROUP BY mz_timestamp{keys}\nHAVING sum(mz_sign) <> 0"
    )
    return (
        f"SELECT greatest(mz_timestamp, {as_of}L) AS mz_timestamp, mz_diff, mz_timestamp <= {frontier}L AS mz_definite"
        f"{names}\nFROM {nested(summed, 'mz_updates')}"
    )
