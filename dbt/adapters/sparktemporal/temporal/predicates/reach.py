"""Find the local times that the clock's side of a comparison reads, and the zone changes that break their order.

    date_trunc('HOUR', mz_now())           local time from the clock on; no hour may begin in a gap or an overlap
    mz_now() - interval 81 years           from 81 years before the clock on; the offset must not change at all
    mz_now() - length                      from as far back as the row says: each row is checked

A function of instants is monotone where the zone has no such change. All instants of a side increase with the clock, so
the first instant decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..clock.zones import Change, Zone
from ..sql.functions.registry import known
from ..sql.functions.row import DAY, SECOND, Function, Local, Picks, Takes
from ..sql.functions.units import UNITS, unit_of
from ..sql.text.dialect import fragment, has_clock, is_mz_now
from .lengths import is_below_a_day
from .logic import values_of
from .moving import Moving
from .near import is_regular
from .ordered import DATE as DATE_OF_FIELDS
from .ordered import TEXT, TIMESTAMP, Ordered, ordered
from .shifts import moved

INSTANT, LOCAL, DATE, LENGTH, NUMBER = "instant", "local", "date", "length", "number"

#: units of date_trunc that begin at the same instant in every zone
_EXACT = frozenset(unit.name.upper() for unit in UNITS if unit.most <= SECOND)
#: units of date_trunc that a change of the zone's offset may split (s)
_SPLIT = {unit.name.upper(): unit.most // SECOND for unit in UNITS if SECOND < unit.most < DAY}
#: Spark's type -> what a part of the side is
_KINDS = {"timestamp": INSTANT, "timestamp_ntz": LOCAL, "date": DATE}


@dataclass(frozen=True)
class Reading:
    """A local time that a side reads."""

    written: str
    #: whether a change of the zone breaks the order of the local time
    breaks: Callable[[Change], bool]
    #: how far before the clock the local time is read at most (ms)
    back: int
    #: the instant that is read, over the columns of the row, where the row decides it; else None
    at: exp.Expr | None
    #: the name of the zone; "" for the session's
    zone: str = ""
    #: the instant whose offset in the zone decides; None where local time is read
    of: exp.Expr | None = None

    def free_from(self, zone: Zone) -> int | None:
        """The instant (ms) from which on the zone keeps the order; None where the zone goes on breaking the order."""
        return zone.free_of(self.breaks)

    def regular_from(self, zone: Zone) -> int | None:
        """The instant (ms) from which on the changes of the zone are regular; None where irregular changes go on."""
        return zone.free_of(lambda change: not is_regular(change))


def readings(moving: Moving) -> list[Reading]:
    """The local times that a function of the clock reads.

    >>> from ..sql.text.dialect import expression
    >>> side = expression("date_trunc('HOUR', mz_now() - interval 5 minutes)")
    >>> [r.written for r in readings(Moving(side, (), (), ""))]
    ["date_trunc('HOUR', mz_now() - INTERVAL '5' MINUTES)"]
    >>> readings(Moving(expression("unix_millis(mz_now()) + 5"), (), (), ""))
    []
    """
    walk = _Walk(moving)
    moved = walk.kind(moving.function)
    if moved.kind == LOCAL and moving.other != "timestamp_ntz":  # Spark casts it to an instant
        walk.read(moving.function, moving.function, moved, _any)
    return walk.found


def gives_instant(moving: Moving) -> bool:
    """Whether a monotone function of the clock is a TIMESTAMP."""
    return _Walk(moving).kind(moving.function).kind == INSTANT


@dataclass
class _Moved:
    """A part of a side: its kind, and how far before the clock it is at most (ms), None where the row says."""

    kind: str
    back: int | None = 0


def _any(_: Change) -> bool:
    return True


@dataclass
class _Walk:
    moving: Moving
    found: list[Reading] = field(default_factory=list)

    def kind(self, node: exp.Expr) -> _Moved:
        node = node.unnest()
        if is_mz_now(node):
            return _Moved(INSTANT)
        if (fields := ordered(node)) is not None:
            return self._of_fields(node, fields)
        if isinstance(node, (exp.Case, exp.If)):
            return self._picked(values_of(node))
        if isinstance(node, (exp.Add, exp.Sub)):
            return self._added(node)
        if isinstance(node, exp.Cast):
            return self._as(self.kind(node.this), node.this, node.to.sql(dialect="spark").upper(), node)
        if isinstance(node, exp.Extract):
            return self._as_date(self.kind(node.expression), node.expression, node, NUMBER)
        if isinstance(node, exp.Anonymous):
            return self._call(node)
        inner = [self.kind(child) for child in node.iter_expressions() if has_clock(child)]
        return _Moved(inner[0].kind if len(inner) == 1 else NUMBER, None)

    def _added(self, node: exp.Add | exp.Sub) -> _Moved:
        clock, other = (node.left, node.right) if has_clock(node.left) else (node.right, node.left)
        assert not has_clock(other), "a sum of two functions of the clock is made of fields"
        base = self.kind(clock)
        static, kind = self.moving.row(other.unnest())
        if base.kind in (NUMBER, LENGTH) or kind and not kind.startswith(("interval", "timestamp", "date")):
            return _Moved(base.kind if base.kind == LENGTH else NUMBER, None)
        if kind.startswith(("timestamp", "date")):  # Spark subtracts instants by local time
            self.read(node, clock, base, Change.goes_back if base.kind == INSTANT else _any)
            return _Moved(LENGTH)
        return self._shifted(node, clock, base, is_below_a_day(static), by_calendar=kind == "interval")

    def _shifted(
        self, node: exp.Expr, of: exp.Expr, base: _Moved, is_short: bool = False, by_calendar: bool = False
    ) -> _Moved:
        """A part moved by a length. Only intervals below a day have one length in every zone and at every time.

        by_calendar: the interval keeps days and hours apart, so that a day minus 23 hours need not be one hour.
        """
        if base.kind == DATE:
            return base
        written = moved(self.moving.written(node))
        least, most = (None, None) if written is None else written[1]
        back = None if least is None or base.back is None else base.back + max(-least // 1_000 + 1, 0)
        is_short = is_short or least is not None and most is not None and -DAY < least <= most < DAY and not by_calendar
        shifted = _Moved(base.kind, back)
        if base.kind == INSTANT and not is_short:
            self.read(node, of, base, _any)
            self.read(node, node, shifted, _any)
        return shifted

    def _as(self, base: _Moved, of: exp.Expr, to: str, node: exp.Expr) -> _Moved:
        if to == "DATE":
            return self._as_date(base, of, node, DATE)
        if to in ("TIMESTAMP", "TIMESTAMP_LTZ"):
            if base.kind == LOCAL:
                self.read(node, node, _Moved(INSTANT, base.back), _any)
            if base.kind in (NUMBER, LENGTH):
                return _Moved(INSTANT, None)
            return _Moved(DATE if base.kind == DATE else INSTANT, base.back)
        if to == "TIMESTAMP_NTZ":
            if base.kind == INSTANT:
                self.read(node, of, base, _any)
            return _Moved(DATE if base.kind == DATE else LOCAL, base.back)
        if base.kind == LOCAL:
            self.read(node, node, _Moved(LOCAL, None), _any)
        return _Moved(NUMBER, None)

    def _as_date(self, base: _Moved, of: exp.Expr, node: exp.Expr, kind: str) -> _Moved:
        if base.kind == INSTANT:
            self.read(node, of, base, Change.repeats_a_date)
        return _Moved(kind, base.back)

    def _picked(self, values: Sequence[exp.Expr]) -> _Moved:
        """The value of one of several parts, which may be as far before the clock as any of the parts."""
        found = [(value, self.kind(value)) for value in values if has_clock(value)]
        rows = {_KINDS.get(self.moving.row(value.unnest())[1], "") for value in values if not has_clock(value)}
        kinds = {moved.kind for _, moved in found}
        # Spark casts the values to one type
        kind = next((kind for kind in (INSTANT, LOCAL) if kind in kinds | rows and kinds <= {*_KINDS.values()}), None)
        if kind == INSTANT:
            found = [(value, self._as(moved, value, "TIMESTAMP", value)) for value, moved in found]
        backs = [moved.back for _, moved in found]
        return _Moved(
            kind or (kinds.pop() if len(kinds) == 1 else NUMBER),
            None if None in backs else max(b for b in backs if b is not None),
        )

    def _of_fields(self, node: exp.Expr, fields: Ordered) -> _Moved:
        """A part made of fields of an instant. Records the readings at which local time has to keep its order."""
        base = self.kind(fields.of)
        unit = fields.step
        if base.kind in (INSTANT, LOCAL):
            breaks = Change.goes_back if unit < 2 else lambda change: change.repeats(unit)
            self.read(node, fields.of, base, breaks if base.kind == INSTANT else _any)
        if fields.type in (TEXT, TIMESTAMP) and unit < DAY // SECOND and self._becomes_instant(fields):
            self.read(node, fields.of, base, _any if unit < 2 else lambda change: change.splits(unit))
        kinds = {DATE_OF_FIELDS: DATE, TIMESTAMP: INSTANT}
        return _Moved(kinds.get(fields.type, NUMBER), base.back)

    def _becomes_instant(self, fields: Ordered) -> bool:
        """Whether Spark makes an instant of local time."""
        return fields.type == TIMESTAMP or self.moving.other.startswith("timestamp")

    def _call(self, node: exp.Anonymous) -> _Moved:
        called = known(node.name, len(node.expressions))
        inner = [(a, self.kind(a)) for a in node.expressions if has_clock(a)]
        of, base = inner[0]
        if called.picks in (Picks.GREATEST, Picks.LEAST, Picks.FIRST):
            return self._picked(node.expressions)
        if called.takes is not Takes.INSTANT or not called.is_monotone:
            return _Moved(_KINDS.get(called.type, NUMBER), None)
        if called.local is Local.UNIT:
            return self._truncated(node, node.expressions[called.unit or 0].name.upper(), of, base)
        if called.local is Local.DATE:
            return self._as_date(base, of, node, _KINDS.get(called.type, NUMBER))
        if called.local is Local.ZONE:
            return self._in_zones(node, called, of, base)
        if called.local is Local.NOTHING or called.type == "timestamp_ntz":
            return self._as(base, of, called.type.upper(), node)
        if called.amount is not None:  # any number of hours is as long in every zone; days follow the calendar
            unit = unit_of(node.expressions[called.unit or 0].name)
            return self._shifted(node, of, base, is_short=unit is not None and unit.most < DAY)
        self.read(node, of, base, Change.goes_back if base.kind == INSTANT else _any)
        return _Moved(NUMBER, None)

    def _in_zones(self, node: exp.Anonymous, called: Function, of: exp.Expr, base: _Moved) -> _Moved:
        """An instant as local time of another zone, or the other way round."""
        if called.type == "timestamp_ntz":
            base = self._as(base, of, "TIMESTAMP_NTZ", node)
        first = "" if called.of_zone is None else node.expressions[called.of_zone].name
        for zone in dict.fromkeys([node.expressions[called.zone or 0].name, first]):
            if zone or called.type == "timestamp_ntz":
                self.read(node, of, replace(base, kind=INSTANT), _any, zone)
        return _Moved(
            LOCAL if called.type == "timestamp_ntz" else INSTANT,
            None if base.back is None else base.back + 2 * DAY // 1_000,
        )

    def _truncated(self, node: exp.Anonymous, unit: str, of: exp.Expr, base: _Moved) -> _Moved:
        if base.kind == LOCAL:
            self.read(node, of, base, _any)
        elif base.kind == INSTANT and unit in _SPLIT:
            self.read(node, of, base, lambda change: change.splits(_SPLIT[unit]))
        elif base.kind == INSTANT and unit not in _EXACT:
            self.read(node, of, base, Change.repeats_a_date)
        return _Moved(DATE if base.kind == DATE else INSTANT, base.back)

    def read(
        self, node: exp.Expr, of: exp.Expr, base: _Moved, breaks: Callable[[Change], bool], zone: str = ""
    ) -> None:
        if base.kind == DATE:
            return
        at = of.copy() if base.back is None else None
        instant = of.copy() if base.kind == INSTANT else None
        self.found.append(Reading(fragment(node), breaks, base.back or 0, at, zone, instant))
