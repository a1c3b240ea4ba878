"""How to find the instants when a function of the clock changes, in the session's time zone.

| the function | the search |
|---|---|
| rises with the clock | for its one change, or at edges of its unit |
| rises, but falls at ends of months or of daylight saving | in the cells around a change (`predicates.grid`) |
| anything else | refused, or evaluated at each read |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..temporal.clock.instants import FIRST_MS, format_instant
from ..temporal.clock.zones import Zone, is_offset, turns
from ..temporal.predicates import reach
from ..temporal.predicates.bounds import operand_kind
from ..temporal.predicates.conditions import CELLS, MONTHS, UNIT, Condition, Edge, Guard, MonotoneComparison
from ..temporal.predicates.grid import RISES, Offsets, near, rising
from ..temporal.predicates.int_casts import cut_doubles, is_double, within_int
from ..temporal.predicates.interval_units import may_have_months
from ..temporal.predicates.logic import values_of
from ..temporal.predicates.monotonicity import DAYS, MOVED, NONE, Unlistable, is_side, not_listable, side
from ..temporal.predicates.moving import Moving
from ..temporal.predicates.near import has_slack, is_left_to_reads
from ..temporal.predicates.ordered import FIRST_OF_FIELDS, TEXT, YEARS_END, ordered
from ..temporal.predicates.reach import Reading
from ..temporal.predicates.row_expressions import index_of
from ..temporal.predicates.text_instants import refuse_lists
from ..temporal.sql.names.types import type_of
from ..temporal.sql.spark.described_types import inner
from ..temporal.sql.spark.settings import ANSI, is_on
from ..temporal.sql.text.dialect import fragment, has_clock, mz_now_calls, render

#: margin around the changes of a zone, ms
_AROUND = 2 * 86_400_000
#: no unit of date_trunc is longer, ms
_LONGEST_UNIT = 400 * 86_400_000


def typed_condition(judged: Condition, types: list[str], zone: SessionZone, pads_texts: bool = False) -> Condition:
    """A condition with the kinds of its edges and the searches of its steps. types: the row expressions' types.

    An edge compares mz_now() alone, a step compares a monotone function of the clock: see `predicates.conditions`.
    pads_texts: whether a column of CHAR is read.
    """
    for step in judged.steps if pads_texts else ():
        _refuse_padded(step, judged, types)
    if judged.predicate.find(exp.In) and not (zone.moves(0) or is_on(zone.warehouse.setting(ANSI))):
        refuse_lists(judged.predicate, partial(_is_text, types=types), partial(_is_instant, judged=judged, types=types))
    kinds = [_kind(edge, types[edge.index]) for edge in judged.edges]
    steps = tuple(_typed_step(step, judged, types, zone) for step in judged.steps)
    if any(_cuts_doubles(step, types) for step in judged.steps) and is_on(zone.warehouse.setting(ANSI)):
        # a search goes on to where such a cast raises, in thousands of years
        steps = tuple(replace(step, function=within_int(step.function)) for step in steps)
        judged = replace(judged, predicate=within_int(judged.predicate))
    return replace(
        judged,
        edges=tuple(replace(e, comparison=replace(e.comparison, kind=k)) for e, k in zip(judged.edges, kinds)),
        steps=steps,
    )


def _is_text(node: exp.Expr, types: Sequence[str]) -> bool:
    """Whether a literal, or the row expression of a column, is a text."""
    index = index_of(node)
    return node.is_string or index is not None and types[index].lower().startswith("string")


def _is_instant(node: exp.Expr, judged: Condition, types: Sequence[str]) -> bool:
    """Whether a node is a function of the clock whose value is a TIMESTAMP."""
    return has_clock(node) and is_side(node) and reach.gives_instant(Moving(node, judged.row_expressions, types, ""))


def _kind(edge: Edge, spark_type: str) -> str:
    """The kind of an edge. Raises Unlistable for elements of an array that only a read can compare with the clock."""
    if not edge.of_elements:
        return operand_kind(edge.comparison, spark_type)
    try:
        return operand_kind(edge.comparison, inner(spark_type.lower(), "") or spark_type)
    except Refusal as why:
        raise Unlistable(why.code, why.found, why.why, why.instead, (edge.comparison.at,)) from None


def _cuts_doubles(step: MonotoneComparison, types: list[str]) -> bool:
    """Whether a step casts a DOUBLE to INT. Raises Unlistable for other numbers, whose casts wrap around."""
    numbers = cut_doubles(step.function)
    of_column = {f"`mz_s{i}`": kind for i, kind in enumerate(types)}
    for number in numbers:
        if not is_double(number, lambda column: of_column.get(column, "")):
            raise Unlistable(
                "ST379",
                fragment(number),
                "it is no DOUBLE, so as an INT it wraps around, and the instants at which it changes cannot be listed",
                "CAST(… AS BIGINT)",
                tuple(call.meta["start"] for call in mz_now_calls(step.function)),
            )
    return bool(numbers)


def _typed_step(step: MonotoneComparison, judged: Condition, types: list[str], zone: SessionZone) -> MonotoneComparison:
    try:
        return _searched(step, judged, types, zone)
    except Refusal as why:
        if not is_left_to_reads(step.function):
            raise
        calls = tuple(call.meta["start"] for call in mz_now_calls(step.function))
        raise Unlistable(why.code, why.found, why.why, why.instead, calls) from None


def _searched(step: MonotoneComparison, judged: Condition, types: list[str], zone: SessionZone) -> MonotoneComparison:
    """A comparison with its search and its guards filled in. Raises Refusal where its changes cannot be listed."""
    other = index_of(step.other)
    moving = Moving(step.function, judged.row_expressions, types, "" if other is None else types[other].lower())
    _refuse_partial(step, moving.other or type_of(step.other, lambda column: ""))
    _refuse_texts_of_choices(step, judged, types, zone)
    readings = zone.readings(step, moving)
    breaking = [reading for reading in readings if zone.breaks(reading)]
    guards = zone.guards(readings)
    if step.search:  # listed by the dates of the clock
        if breaking:
            raise zone.refusal(breaking[0])
        return replace(step, guards=guards)
    search = _search(step, moving, zone)
    if search == MONTHS and breaking and not any(reading.zone for reading in readings):
        changes = [change for _, found in zone.offsets(readings, zone.first_of) for change in found]
        return replace(step, search=search, turns=turns(changes), guards=guards)
    search = "" if breaking else search
    if search in (UNIT, MONTHS):
        return replace(step, search=search, guards=guards)
    every = zone.offsets(readings, zone.first_of)
    if search:
        return replace(step, search=CELLS, grid=rising(every, moving), guards=guards)
    instants = [reading.of for reading in readings if reading.of is not None and not reading.zone]
    found = near(
        zone.offsets(readings, zone.regular_from),
        every,
        moving,
        step.months in (NONE, DAYS),
        tuple({render(of): of for of in instants}.values()) if len(instants) == len(readings) else (),
    )
    if found is None:
        raise zone.refusal(breaking[0]) if breaking else _refusal_of_months(step, moving)
    if found.within == RISES:
        zone.warehouse.allow_nested_lambdas()
    return replace(step, search=CELLS, grid=found, guards=guards)


def _of_months(step: MonotoneComparison, moving: Moving) -> list[tuple[exp.Expr, str]]:
    """(row expression, type) of each interval that is added on the clock's side and may have months."""
    added = [(moving.row_expressions[i], moving.types[i].lower()) for i in step.added]
    return [(row, kind) for row, kind in added if may_have_months(row, kind)]


def _search(step: MonotoneComparison, moving: Moving, zone: SessionZone) -> str:
    """The search for a step in a zone that keeps local time in order; "" for a step that falls around some instants."""
    other, months = moving.other, [kind for _, kind in _of_months(step, moving)]
    if has_slack(step.function):
        return ""
    if months:
        plain = len(step.added) == 1 and months[0] != "interval" and other in ("timestamp", "timestamp_ntz", "date")
        if step.months == MOVED and plain:
            return MONTHS
        # months lead two days to one, and the hours of the same interval lead back over midnight: the date goes back
        if step.months != DAYS or "interval" in months:
            return ""
    return UNIT if step.truncates and other in ("timestamp", "date") and zone.moves(_LONGEST_UNIT) else CELLS


def _refusal_of_months(step: MonotoneComparison, moving: Moving) -> Refusal:
    months = _of_months(step, moving)
    if not months:
        return Refusal(
            "ST381",
            fragment(moving.written(step.function)),
            "it falls at the ends of months, and mz_now() is moved in it by other lengths than whole days, so the "
            "instants at which it changes cannot be listed",
            "whole days beside mz_now(), or none",
        )
    row, kind = months[0]
    length = fragment(row)
    return Refusal(
        "ST362",
        f"{length} beside mz_now(), and more around it",
        "an instant goes back when it is moved by months at the end of one, so the instants at which this "
        "changes cannot be listed",
        f"the interval on the other side: `mz_now() <= ts + {length}`"
        if kind == "interval"
        else f"the two alone on their side (`mz_now() - {length} <= ts`), their date, or months on the other side",
    )


def _refuse_partial(step: MonotoneComparison, other: str) -> None:
    """Refuse to compare a text of the clock with a type to which Spark cannot cast all such texts."""
    fields = ordered(step.function)
    if fields is not None and fields.is_partial(other):
        raise Refusal(
            "ST363",
            f"{fragment(step.function)} beside a value of type {other.upper()}",
            "Spark makes NULL of some of these texts, so the instants at which this changes cannot be listed",
            "the other side as a text",
        )


def _refuse_padded(step: MonotoneComparison, judged: Condition, types: Sequence[str]) -> None:
    """Leave to reads a text of the clock beside a column that may be a CHAR.

    Spark pads the shorter of the two where the text is a constant, as at a read. In a search it is none.
    """
    other, fields = index_of(step.other), ordered(step.function)
    if other is None or fields is None or fields.type != TEXT or types[other].lower() != "string":
        return
    column = judged.row_expressions[other].unnest()
    if isinstance(column, (exp.Column, exp.Dot)):
        raise Unlistable(
            "ST385",
            f"{fragment(step.function)} beside {fragment(column)}",
            "a CHAR is padded beside a text of the clock, so the instants at which this changes cannot be listed",
            f"CAST({fragment(column)} AS STRING), whose blanks count, or rtrim({fragment(column)})",
            tuple(call.meta["start"] for call in mz_now_calls(step.function)),
        )


def _refuse_texts_of_choices(
    step: MonotoneComparison, judged: Condition, types: Sequence[str], zone: SessionZone
) -> None:
    """Refuse a choice between a text and the clock: without ANSI rules Spark makes a text of the clock.

    Such texts do not order like the clock, and an instant that Spark makes of one may be an hour before the clock.
    """
    for node in step.function.walk():
        values = [value.unnest() for value in values_of(node)]
        clocks = [value for value in values if has_clock(value) and is_side(value) and not side(value).is_text]
        if not clocks or not any(_is_text(value, types) for value in values):
            continue
        twice = not zone.moves(0) and any(_is_instant(clock, judged, types) for clock in clocks)
        if (twice or _is_text(step.other, types)) and not is_on(zone.warehouse.setting(ANSI)):
            raise not_listable(node, "Spark makes a text of mz_now() beside the other texts")


@dataclass(frozen=True)
class SessionZone:
    """The session's time zone, for a clock that begins at as_of (ms). The engine is asked only where needed."""

    warehouse: Warehouse
    name: str
    as_of: int

    def moves(self, length: int) -> bool:
        """Whether the zone's offset is fixed from `length` ms before as_of on."""
        fixed_from = self.warehouse.fixed_from(self.name)
        return fixed_from is not None and self.as_of - length >= fixed_from

    def readings(self, step: MonotoneComparison, moving: Moving) -> list[Reading]:
        """The local times that a step reads, except local times at a fixed offset.

        Raises Refusal for a step by fields of the clock, if the clock is before 1600 or after 7999.
        """
        if step.of_fields and not FIRST_OF_FIELDS <= self.as_of < YEARS_END:
            raise Refusal(
                "ST364",
                f"{fragment(step.function)} at {format_instant(self.as_of)}",
                "at that time its fields do not order like instants, so the instants at which this changes cannot be "
                "listed",
                "a clock from the year 1600 to the year 7999",
            )
        return [reading for reading in reach.readings(moving) if not is_offset(reading.zone or self.name)]

    def _zone(self, reading: Reading) -> Zone:
        return self.warehouse.zone(reading.zone or self.name)

    def breaks(self, reading: Reading) -> bool:
        """Whether a local time goes out of order in its zone, at some time that is read."""
        first = reading.free_from(self._zone(reading))
        return first is None or self.as_of - reading.back < first

    def regular_from(self, reading: Reading) -> int | None:
        """The instant (ms) from which the changes of a local time's zone are regular; None for no such instant."""
        return reading.regular_from(self._zone(reading))

    def first_of(self, reading: Reading) -> int | None:
        """The first instant (ms) at which a local time may be read; None for none. Rows before it are refused."""
        return self.regular_from(reading) if self.breaks(reading) else reading.free_from(self._zone(reading))

    def offsets(self, readings: Sequence[Reading], since: Callable[[Reading], int | None]) -> list[Offsets]:
        """Pairs of an offset (s) and its changes: of the session's zone, then of the zone of each reading.

        The first pair has no changes. The pair of a reading has the changes from the instant `since(reading)` on (ms).
        If no row decides the instant, it has only the changes that the clock can still meet. The offset of a reading in
        the session's zone is 0, because the first pair has it.
        """
        found: list[Offsets] = [(self.warehouse.zone(self.name).since(self.as_of)[0], ())]
        for reading in readings:
            zone = self._zone(reading)
            first = since(reading) or FIRST_MS
            if reading.at is None:
                first = max(first, self.as_of - reading.back - _AROUND)
            offset, changes = zone.since(first)
            found.append((offset if reading.zone else 0, changes))
        return found

    def guards(self, readings: Sequence[Reading]) -> tuple[Guard, ...]:
        """The conditions on each row under which a step can be searched.

        Raises Refusal where the zone breaks the order of a reading that no row decides, or breaks it for ever.
        """
        found = []
        for reading in readings:
            first = self.first_of(reading)
            if first is None or self.as_of - reading.back < first:
                raise self.refusal(reading)
            if reading.at is not None and first > FIRST_MS:
                found.append((reading.at, first, self._zone(reading).name))
        return tuple({render(guard[0]): guard for guard in found}.values())

    def refusal(self, reading: Reading) -> Refusal:
        first, zone = reading.free_from(self._zone(reading)), reading.zone or self.name
        if first is None:
            why = f"which goes back when daylight saving ends in {zone}"
        else:
            why = f"which in {zone} goes back, or leaps, until {format_instant(first)}"
        return Refusal(
            "ST365",
            reading.written,
            f"on the clock's side it follows local time, {why}, so the instants at which it changes cannot be listed",
            "mz_now() alone on its side (`mz_now() <= ts + interval 1 day`), or "
            "spark.sql.session.timeZone: UTC in the profile",
        )
