"""The meaning of Spark's functions and operators. A name without a meaning here is `Unproved`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import z3

from . import calendar
from .calendar import Rules, civil, days_of
from .values import (
    DAY,
    NULL,
    SECOND,
    Unproved,
    V,
    as_kind,
    both,
    chosen,
    div,
    either,
    is_number,
    is_term,
    ite,
    mod,
    no,
    scale_of,
    towards_zero,
    wider,
    wrapped,
)

#: of a BIGINT
LEAST, MOST = -(1 << 63), (1 << 63) - 1
UNITS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": SECOND, "MINUTE": 60 * SECOND, "HOUR": 3_600 * SECOND,
         "DAY": DAY, "DAYOFYEAR": DAY, "WEEK": 7 * DAY}  # fmt: skip
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS_OF_WEEK = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


def real(x: Any) -> Any:
    """A number as a DOUBLE. A term stands for the real number: that it is rounded is left out."""
    return z3.ToReal(x) if is_term(x) and z3.is_int(x) else x


def ground(*values: Any) -> None:
    """The calendar is computed for numbers only."""
    if any(map(is_term, values)):
        raise Unproved("the calendar, of any day")


# -- casts --


def cast(zone: Rules, a: V, to: str, safe: bool = False) -> V:
    """to: a kind, `decimal:s` for a DECIMAL. safe: NULL where a number does not fit, as TRY_CAST has it."""
    if a.null is True:
        return V(to, 0, True)
    if a.kind == to:
        return a
    made = _CASTS.get((a.kind.partition(":")[0], to.partition(":")[0]))
    if made is None:
        raise Unproved(f"a cast of {a.kind} to {to}")
    return made(zone, a, to, safe)


def _to_bigint(a: V, whole: Any, safe: bool, bits: int, to: str) -> V:
    half = 1 << (bits - 1)
    fits = both(whole >= -half, whole < half)
    return V(to, ite(fits, whole, 0), either(a.null, no(fits))) if safe else V(to, wrapped(whole, bits), a.null)


def _decimal_to_whole(zone: Rules, a: V, to: str, safe: bool) -> V:
    return _to_bigint(a, towards_zero(a.x, 10 ** scale_of(a.kind)), safe, 64 if to == "bigint" else 32, to)


def _double_to_whole(zone: Rules, a: V, to: str, safe: bool) -> V:
    half = 1 << (63 if to == "bigint" else 31)
    if is_term(a.x):  # a real number
        cut = z3.If(a.x >= 0, z3.ToInt(a.x), -z3.ToInt(-a.x))
        return V(to, ite(cut >= half, half - 1, ite(cut < -half, -half, cut)), a.null)
    return V(to, 0 if math.isnan(a.x) else max(min(int(a.x), half - 1), -half), a.null)


def _text_to_instant(zone: Rules, a: V, to: str, safe: bool) -> V:
    if a.null is True:
        return V(to, 0, True)
    found = re.fullmatch(r"\s*([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](.*))?)?)?\s*", a.x)
    if found is None:
        return V(to, 0, True)
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    if not (1 <= month <= 12 and 1 <= day <= calendar.length(year, month)):
        return V(to, 0, True)
    days = days_of(year, month, day)
    if to == "date":
        return V(to, days)
    time = re.fullmatch(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?\s*(.*)", found[4] or "0:0:0")
    if time is None:
        return V(to, 0, True)
    local = days * DAY + (int(time[1]) * 3_600 + int(time[2]) * 60 + int(time[3])) * SECOND
    local += int((time[4] or "0").ljust(6, "0"))
    if to == "timestamp_ntz":
        return V(to, local)
    return V(
        to,
        (calendar.rules(time[5]) if time[5] not in ("", "Z") else zone if not time[5] else calendar.UTC).instant(local),
    )


_CASTS: dict[tuple[str, str], Callable[[Rules, V, str, bool], V]] = {
    ("timestamp", "date"): lambda zone, a, to, safe: V(to, zone.date(a.x), a.null),
    ("timestamp", "timestamp_ntz"): lambda zone, a, to, safe: V(to, zone.local(a.x), a.null),
    ("timestamp_ntz", "timestamp"): lambda zone, a, to, safe: V(to, zone.instant(a.x), a.null),
    ("timestamp_ntz", "date"): lambda zone, a, to, safe: V(to, div(a.x, DAY), a.null),
    ("date", "timestamp"): lambda zone, a, to, safe: V(to, zone.midnight(a.x), a.null),
    ("date", "timestamp_ntz"): lambda zone, a, to, safe: V(to, a.x * DAY, a.null),
    ("timestamp", "bigint"): lambda zone, a, to, safe: V(to, div(a.x, SECOND), a.null),
    ("timestamp", "double"): lambda zone, a, to, safe: V(to, real(a.x) / SECOND, a.null),
    ("bigint", "timestamp"): lambda zone, a, to, safe: V(to, a.x * SECOND, a.null),
    ("int", "bigint"): lambda zone, a, to, safe: V(to, a.x, a.null),
    ("bigint", "int"): lambda zone, a, to, safe: _to_bigint(a, a.x, safe, 32, to),
    ("decimal", "bigint"): _decimal_to_whole,
    ("decimal", "int"): _decimal_to_whole,
    ("double", "bigint"): _double_to_whole,
    ("double", "int"): _double_to_whole,
    ("boolean", "int"): lambda zone, a, to, safe: V(to, ite(a.x, 1, 0), a.null),
    ("boolean", "bigint"): lambda zone, a, to, safe: V(to, ite(a.x, 1, 0), a.null),
    ("int", "double"): lambda zone, a, to, safe: as_kind(a, to),
    ("bigint", "double"): lambda zone, a, to, safe: as_kind(a, to),
    ("decimal", "double"): lambda zone, a, to, safe: as_kind(a, to),
    ("string", "timestamp"): _text_to_instant,
    ("string", "timestamp_ntz"): _text_to_instant,
    ("string", "date"): _text_to_instant,
    ("string", "int"): lambda zone, a, to, safe: V(to, int(a.x)) if re.fullmatch(r"[+-]?\d+", a.x) else V(to, 0, True),
    ("timestamp", "string"): lambda zone, a, to, safe: V(to, _shown(zone.local(a.x)), a.null),
    ("timestamp_ntz", "string"): lambda zone, a, to, safe: V(to, _shown(a.x), a.null),
    ("date", "string"): lambda zone, a, to, safe: V(to, "{:04d}-{:02d}-{:02d}".format(*civil(a.x)), a.null),
    ("int", "string"): lambda zone, a, to, safe: V(to, str(a.x), a.null),
    ("bigint", "string"): lambda zone, a, to, safe: V(to, str(a.x), a.null),
    ("array", "array"): lambda zone, a, to, safe: a,
}


def _shown(local: int) -> str:
    ground(local)
    days, micros = divmod(local, DAY)
    second, fraction = divmod(micros, SECOND)
    text = (
        "{:04d}-{:02d}-{:02d}".format(*civil(days)) + f" {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    )
    return text + (f".{fraction:06d}".rstrip("0") if fraction else "")


def of_kind(zone: Rules, a: V, kind: str) -> V:
    """A value as the kind of what it is compared with."""
    return (
        as_kind(a, kind)
        if is_number(kind) or a.kind == "void" or a.kind in ("days", "daytime")
        else cast(zone, a, kind)
    )


# -- comparisons --


def compared(zone: Rules, operator: str, a: V, b: V) -> V:
    """A comparison by <, <=, =, > or >=."""
    if a.null is True or b.null is True:
        return V("boolean", False, True)
    kind = wider(a.kind, b.kind)
    a, b = of_kind(zone, a, kind), of_kind(zone, b, kind)
    null = either(a.null, b.null)
    if null is True:
        return V("boolean", False, True)
    x, y = a.x, b.x
    if kind == "struct":
        x, y = (tuple(part.x for part in side.x.values()) for side in (a, b))
    found = {"<": lambda: x < y, "<=": lambda: x <= y, "=": lambda: x == y, ">": lambda: x > y, ">=": lambda: x >= y}
    return V("boolean", found[operator](), null)


def same(zone: Rules, a: V, b: V) -> V:
    """`<=>`, which is never NULL."""
    if a.null is True or b.null is True:
        return V("boolean", both(a.null, b.null))
    equal = compared(zone, "=", a, b)
    return V("boolean", either(both(a.null, b.null), both(no(a.null), no(b.null), equal.x)))


# -- sums --


def plus(zone: Rules, a: V, b: V, sign: int = 1) -> V:
    if a.kind == "void" or b.kind == "void":
        return NULL
    null = either(a.null, b.null)
    if null is True:
        return V(_sum_kind(a.kind, b.kind, sign), 0, True)
    lengths = ("days", "daytime", "months", "calendar")
    if a.kind in lengths and b.kind not in lengths and sign == 1:
        a, b = b, a
    if is_number(a.kind) and is_number(b.kind):
        kind = wider(a.kind, b.kind)
        x, y = as_kind(a, kind).x, as_kind(b, kind).x
        value = x + sign * y
        return V(kind, wrapped(value, 64 if kind == "bigint" else 32) if kind in ("int", "bigint") else value, null)
    if a.kind == "date" and b.kind in ("int", "days"):
        return V("date", a.x + sign * (b.x if b.kind == "int" else div(b.x, DAY)), null)
    if a.kind == "date" and b.kind == "months":
        ground(a.x, b.x)
        return V("date", calendar.plus_months(a.x, sign * b.x), null)
    if a.kind == "date" and b.kind == "date":
        return V("days", (a.x - b.x) * DAY, null)
    if b.kind in lengths and a.kind in ("timestamp", "timestamp_ntz", "date"):
        return _moved(zone, a if a.kind != "date" else cast(zone, a, "timestamp"), b, sign, null)
    if a.kind in lengths and b.kind in lengths and "calendar" not in (a.kind, b.kind):
        return V(wider(a.kind, b.kind), a.x + sign * b.x, null)
    if sign == -1 and {a.kind, b.kind} <= {"timestamp", "timestamp_ntz", "date"}:
        x, y = (cast(zone, side, "timestamp_ntz").x for side in (a, b))
        return V("daytime", x - y, null)
    raise Unproved(f"a sum of {a.kind} and {b.kind}")


def _sum_kind(one: str, other: str, sign: int) -> str:
    instants = ("timestamp", "timestamp_ntz", "date")
    if one in instants and other in instants:
        return "daytime"
    return one if one in instants else other if other in instants else wider(one, other) if is_number(one) else one


def _moved(zone: Rules, a: V, b: V, sign: int, null: Any) -> V:
    """An instant and a length. Days and months are those of local time, hours those of the clock."""
    months, days, micros = 0, 0, 0
    if b.kind == "months":
        months = sign * b.x
    elif b.kind == "calendar":
        months, days, micros = (sign * part for part in b.x)
    else:
        days = towards_zero(sign * b.x, DAY)
        micros = sign * b.x - days * DAY
    if a.kind == "timestamp_ntz":
        return V(a.kind, _by_calendar(a.x, months, days) + micros, null)
    if not zone.changes and not is_term(months) and months == 0:
        return V(a.kind, a.x + days * DAY + micros, null)
    ground(a.x)
    if months == 0 and days == 0:
        return V(a.kind, a.x + micros, null)
    offset, local = zone.offset(a.x), zone.local(a.x)
    at = zone.instant(_by_calendar(local, months, 0), offset) if months else a.x
    if days:
        at = zone.instant(zone.local(at) + days * DAY, zone.offset(at))
    return V(a.kind, at + micros, null)


def _by_calendar(local: int, months: int, days: int) -> int:
    if not is_term(months) and months == 0:
        return local + days * DAY
    ground(local)
    return (calendar.plus_months(local // DAY, months) + days) * DAY + local % DAY


def minus(zone: Rules, a: V, b: V) -> V:
    return plus(zone, a, b, -1)


def negative(zone: Rules, a: V) -> V:
    return V(a.kind, tuple(-part for part in a.x) if a.kind == "calendar" else -a.x, a.null)


def times(zone: Rules, a: V, b: V) -> V:
    if a.kind in ("days", "daytime", "months"):
        return V("daytime" if a.kind == "days" else a.kind, a.x * b.x, either(a.null, b.null))
    if b.kind in ("days", "daytime", "months"):
        return times(zone, b, a)
    kind, null = wider(a.kind, b.kind), either(a.null, b.null)
    if kind.startswith("decimal"):
        raise Unproved("a product of DECIMALs")
    value = as_kind(a, kind).x * as_kind(b, kind).x
    return V(kind, value if kind == "double" else wrapped(value, 64 if kind == "bigint" else 32), null)


def over(zone: Rules, a: V, b: V) -> V:
    """`/`, of whole numbers a DOUBLE."""
    ground(b.x)
    if any(side.kind.startswith("decimal") for side in (a, b)):
        raise Unproved("a quotient of DECIMALs")
    if either(a.null, b.null) is True or b.x == 0:
        return V("double", 0.0, True)
    return V("double", real(a.x) / b.x if is_term(a.x) else float(a.x) / float(b.x), a.null)


def whole(zone: Rules, a: V, b: V) -> V:
    """`div`, rounded towards zero."""
    if is_term(b.x):
        raise Unproved("a division by any number")
    if a.null is True or b.null is True or b.x == 0:
        return V("bigint", 0, True)
    if b.kind.startswith("decimal") or a.kind.startswith("decimal"):
        raise Unproved("a quotient of DECIMALs")
    return V("bigint", towards_zero(a.x if b.x > 0 else -a.x, abs(b.x)), a.null)


def rest(zone: Rules, a: V, b: V) -> V:
    ground(b.x)
    return V(wider(a.kind, b.kind), a.x - b.x * whole(zone, a, b).x, either(a.null, b.null))


# -- functions --

Meaning = Callable[..., V]
FUNCTIONS: dict[str, Meaning] = {}


def meaning(*names: str) -> Callable[[Meaning], Meaning]:
    def named(function: Meaning) -> Meaning:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return named


def strict(kind: str) -> Callable[[Callable[..., Any]], Meaning]:
    """A function of values that gives the value alone, and NULL where an argument is."""

    def wrapped_(function: Callable[..., Any]) -> Meaning:
        def called(zone: Rules, *given: V) -> V:
            null = either(*(value.null for value in given))
            if null is True:
                return V(kind, 0, True)
            value = function(zone, *given)
            return V(kind, 0, True) if value is None else V(kind, value, null)

        return called

    return wrapped_


def instant(zone: Rules, a: V) -> Any:
    return cast(zone, a, "timestamp").x


def date(zone: Rules, a: V) -> Any:
    return cast(zone, a, "date").x


def number(name: str, kind: str, compute: Callable[..., Any]) -> None:
    FUNCTIONS[name] = strict(kind)(compute)


number("unix_micros", "bigint", lambda zone, a: instant(zone, a))
number("unix_millis", "bigint", lambda zone, a: div(instant(zone, a), 1_000))
number("unix_seconds", "bigint", lambda zone, a: div(instant(zone, a), SECOND))
for _name in ("unix_timestamp", "to_unix_timestamp"):
    number(_name, "bigint", lambda zone, a: towards_zero(instant(zone, a), SECOND))
number("unix_date", "int", lambda zone, a: a.x)
number("timestamp_micros", "timestamp", lambda zone, a: a.x)
number("timestamp_millis", "timestamp", lambda zone, a: a.x * 1_000)
number("timestamp_seconds", "timestamp", lambda zone, a: a.x * SECOND)
number("pmod", "bigint", lambda zone, a, n: mod(a.x, n.x))
number("shiftright", "bigint", lambda zone, a, n: div(a.x, 1 << n.x))
FUNCTIONS["timestamp"] = lambda zone, a: cast(zone, a, "timestamp")
FUNCTIONS["to_timestamp_ntz"] = lambda zone, a: cast(zone, a, "timestamp_ntz")
for _name, _kind in (("to_date", "date"), ("to_timestamp", "timestamp"), ("to_timestamp_ltz", "timestamp")):
    FUNCTIONS[_name] = lambda zone, a, *p, to=_kind: cast(zone, _parsed(a, p[0].x) if p else a, to)
FUNCTIONS["date"] = lambda zone, a: cast(zone, a, "date")
for _name in ("int", "bigint", "double", "string"):
    FUNCTIONS[_name] = lambda zone, a, to=_name: cast(zone, a, to)


@meaning("try_add")
def try_add(zone: Rules, a: V, b: V) -> V:
    value = a.x + b.x
    return V("bigint", value, either(a.null, b.null, value > MOST, value < LEAST))


def _rounded(up: bool) -> Meaning:
    def rounds(zone: Rules, a: V) -> V:
        if a.kind == "double":
            if is_term(a.x):
                return V("bigint", -z3.ToInt(-a.x) if up else z3.ToInt(a.x), a.null)
            return V("bigint", 0, True) if a.null else V("bigint", math.ceil(a.x) if up else math.floor(a.x))
        n = 10 ** scale_of(a.kind) if a.kind.startswith("decimal") else 1
        kind = "decimal:0" if a.kind.startswith("decimal") else "bigint"
        return V(kind, -div(-a.x, n) if up else div(a.x, n), a.null)

    return rounds


FUNCTIONS |= {"ceil": _rounded(True), "ceiling": _rounded(True), "floor": _rounded(False)}


@meaning("round")
def round_(zone: Rules, a: V, digits: V = V("int", 0)) -> V:  # noqa: B008
    """Half away from zero."""
    if a.null is True:
        return a
    if a.kind == "double":
        ground(a.x)
        return V("double", float(Decimal(repr(a.x)).quantize(Decimal(1).scaleb(-digits.x), ROUND_HALF_UP)))
    if not a.kind.startswith("decimal"):
        return a
    by = 10 ** (scale_of(a.kind) - digits.x)
    return V(f"decimal:{digits.x}", ite(a.x >= 0, div(a.x * 2 + by, 2 * by), -div(-a.x * 2 + by, 2 * by)), a.null)


@meaning("abs")
def abs_(zone: Rules, a: V) -> V:
    return V(a.kind, ite(a.x >= 0, a.x, -a.x), a.null)


# -- one of several --


def _extreme(sign: str) -> Meaning:
    def extreme(zone: Rules, *given: V) -> V:
        found = given[0]
        for value in given[1:]:
            kind = wider(found.kind, value.kind)
            one, other = of_kind(zone, found, kind), of_kind(zone, value, kind)
            takes = either(one.null, both(no(other.null), compared(zone, sign, V(kind, other.x), V(kind, one.x)).x))
            found = chosen(both(takes, no(other.null)), other, one)
        return found

    return extreme


FUNCTIONS |= {"greatest": _extreme(">"), "least": _extreme("<")}


@meaning("coalesce", "nvl", "ifnull")
def first(zone: Rules, *given: V) -> V:
    found, kind = NULL, "void"
    for value in given:
        kind = wider(kind, value.kind)
    for value in reversed(given):
        value = of_kind(zone, value, kind) if kind not in ("struct", "array", "void") else value
        found = chosen(no(value.null), value, found)
    return found


# -- dates --


def of_date(name: str, kind: str, compute: Callable[..., Any]) -> None:
    """A function of the local date of its first argument."""

    def called(zone: Rules, a: V, *more: V) -> Any:
        days = date(zone, a)
        ground(days)
        return compute(days, *more)

    FUNCTIONS[name] = strict(kind)(called)


of_date("last_day", "date", calendar.last_day)
of_date("next_day", "date", lambda days, word: _next_day(days, word.x))
of_date("add_months", "date", lambda days, n: calendar.plus_months(days, n.x))
of_date("trunc", "date", lambda days, unit: calendar.truncated(days, unit.x.upper()))
of_date("year", "int", lambda days: civil(days)[0])
of_date("quarter", "int", lambda days: (civil(days)[1] + 2) // 3)
of_date("month", "int", lambda days: civil(days)[1])
for _name in ("day", "dayofmonth"):
    of_date(_name, "int", lambda days: civil(days)[2])
of_date("dayofyear", "int", lambda days: days - days_of(civil(days)[0], 1, 1) + 1)
of_date("weekofyear", "int", lambda days: calendar.week(days)[1])
number("date_sub", "date", lambda zone, a, n: date(zone, a) - n.x)


def _next_day(days: int, word: str) -> int:
    wanted = next(i for i, name in enumerate(_DAYS_OF_WEEK) if name.startswith(word.upper()[:2]))
    return days + 1 + (wanted - (days + 1) - 3) % 7


def _clock_field(size: int, most: int) -> Callable[[Rules, V], Any]:
    return lambda zone, a: cast(zone, a, "timestamp_ntz").x // size % most


for _name, _size, _most in (("hour", 3_600, 24), ("minute", 60, 60), ("second", 1, 60)):
    number(_name, "int", _clock_field(_size * SECOND, _most))


@meaning("date_part", "datepart", "extract")
def part(zone: Rules, unit: V, a: V) -> V:
    name = unit.x.upper()
    if name in ("YEAR", "Y", "YEARS", "YR", "YRS"):
        return FUNCTIONS["year"](zone, a)
    if name == "YEAROFWEEK":
        if a.null is True:
            return V("int", 0, True)
        days = date(zone, a)
        ground(days)
        return V("int", calendar.week(days)[0], a.null)
    raise Unproved(f"the field {name}")


@meaning("date_trunc")
def date_trunc(zone: Rules, unit: V, a: V) -> V:
    if a.null is True:
        return V("timestamp", 0, True)
    name, micros = unit.x.upper(), instant(zone, a)
    if name in ("MICROSECOND", "MILLISECOND", "SECOND"):
        return V("timestamp", micros - mod(micros, UNITS[name]), a.null)
    local, offset = zone.local(micros), zone.offset(micros)
    if name in ("MINUTE", "HOUR", "DAY"):
        return V("timestamp", zone.instant(local - mod(local, UNITS[name]), offset), a.null)
    ground(micros)
    days = calendar.truncated(local // DAY, name)
    return V("timestamp", 0, True) if days is None else V("timestamp", zone.midnight(days), a.null)


@meaning("date_add", "dateadd", "timestampadd")
def added(zone: Rules, *given: V) -> V:
    if len(given) == 2:
        return strict("date")(lambda zone, a, n: date(zone, a) + n.x)(zone, *given)
    unit, n, a = given
    a = cast(zone, a, "timestamp") if a.kind == "date" else a
    if unit.x.upper() in MONTHS:
        return plus(zone, a, V("months", n.x * MONTHS[unit.x.upper()], n.null))
    size = UNITS[unit.x.upper()]
    if size >= DAY:
        return plus(zone, a, V("daytime", n.x * size, n.null))
    return V(a.kind, a.x + n.x * size, either(a.null, n.null))


@meaning("timestampdiff", "datediff", "date_diff")
def difference(zone: Rules, *given: V) -> V:
    if len(given) == 2:
        return strict("int")(lambda zone, a, b: date(zone, a) - date(zone, b))(zone, *given)
    unit, begin, end = given
    null = either(begin.null, end.null)
    if null is True:
        return V("bigint", 0, True)
    x, y = (zone.local(instant(zone, side)) for side in (begin, end))
    if unit.x.upper() in UNITS:
        return V("bigint", towards_zero(y - x, UNITS[unit.x.upper()]), null)
    ground(x, y)
    months = _whole_months(x, y)
    return V("bigint", towards_zero(months, MONTHS[unit.x.upper()]), null)


def _whole_months(x: int, y: int) -> int:
    """Whole months from x to y: a last day that is not over does not count."""
    (begin, early), (end, late) = divmod(x, DAY), divmod(y, DAY)
    if end > begin and late < early:
        end -= 1
    elif end < begin and late > early:
        end += 1
    packed = [(year * 12 + month) * 32 + day for year, month, day in map(civil, (begin, end))]
    return towards_zero(packed[1] - packed[0], 32)


@meaning("months_between")
def months_between(zone: Rules, a: V, b: V) -> V:
    if either(a.null, b.null) is True:
        return V("double", 0.0, True)
    x, y = (instant(zone, side) for side in (a, b))
    ground(x, y)
    dates = [zone.date(side) for side in (x, y)]
    (ya, ma, da), (yb, mb, db) = map(civil, dates)
    months = float((ya * 12 + ma) - (yb * 12 + mb))
    if da == db or all(calendar.last_day(days) == days for days in dates):
        return V("double", months)
    seconds = [(side - zone.midnight(days)) // SECOND for side, days in zip((x, y), dates)]
    apart = (da - db) * 86_400 + seconds[0] - seconds[1]
    return V("double", math.floor((months + apart / (31 * 86_400)) * 1e8 + 0.5) / 1e8)


# -- zones --


number("from_utc_timestamp", "timestamp", lambda zone, a, name: calendar.rules(name.x).local(instant(zone, a)))
number("to_utc_timestamp", "timestamp", lambda zone, a, name: calendar.rules(name.x).instant(instant(zone, a)))


@meaning("current_timezone")
def current_timezone(zone: Rules) -> V:
    return V("string", zone.name)


@meaning("convert_timezone")
def convert_timezone(zone: Rules, *given: V) -> V:
    first_, (name, a) = (given[0].x if len(given) == 3 else zone.name), given[-2:]
    local = cast(zone, a, "timestamp_ntz")
    if either(a.null, name.null) is True:
        return V("timestamp_ntz", 0, True)
    source = calendar.rules(first_) if len(given) == 3 else zone
    return V("timestamp_ntz", calendar.rules(name.x).local(source.instant(local.x)), a.null)


# -- what is made of fields --


_LETTERS = re.compile(r"'([^']*)'|(yyyy|MM|dd|HH|mm|ss|SSS|DDD|q)|([^A-Za-z])")


def _formatted(local: int, pattern: str) -> str:
    ground(local)
    days, micros = divmod(local, DAY)
    year, month, day = civil(days)
    second = micros // SECOND
    fields = {
        "yyyy": f"{year:04d}", "MM": f"{month:02d}", "dd": f"{day:02d}", "HH": f"{second // 3600:02d}",
        "mm": f"{second // 60 % 60:02d}", "ss": f"{second % 60:02d}", "SSS": f"{micros // 1000 % 1000:03d}",
        "DDD": f"{days - days_of(year, 1, 1) + 1:03d}", "q": str((month + 2) // 3),
    }  # fmt: skip
    out, at = "", 0
    while at < len(pattern):
        found = _LETTERS.match(pattern, at)
        if found is None:
            raise Unproved(f"the pattern {pattern}")
        out += fields[found[2]] if found[2] else found[1] or found[3] or ""
        at = found.end()
    return out


number("date_format", "string", lambda zone, a, p: _formatted(cast(zone, a, "timestamp_ntz").x, p.x))
number("from_unixtime", "string", lambda zone, n, *p: _formatted(
    zone.local(n.x * SECOND), p[0].x if p else "yyyy-MM-dd HH:mm:ss"))  # fmt: skip


def _parsed(a: V, pattern: str) -> V:
    """A text by a pattern, as a text that Spark casts."""
    if a.null is True:
        return a
    sizes = {"yyyy": r"(?P<y>\d{4})", "MM": r"(?P<m>\d\d)", "dd": r"(?P<d>\d\d)", "HH": r"(?P<h>\d\d)"}
    found = re.fullmatch("".join(sizes.get(p) or re.escape(p) for p in re.split("(yyyy|MM|dd|HH)", pattern) if p), a.x)
    if found is None:
        return V("string", "", True)
    of = {"m": "01", "d": "01", "h": "00", **found.groupdict()}
    return V("string", f"{of['y']}-{of['m']}-{of['d']} {of['h']}:00:00")


@meaning("make_date")
def make_date(zone: Rules, *given: V) -> V:
    if either(*(value.null for value in given)) is True:
        return V("date", 0, True)
    year, month, day = (value.x for value in given)
    is_day = 1 <= month <= 12 and 1 <= day <= calendar.length(year, month)
    return V("date", days_of(year, month, day)) if is_day else V("date", 0, True)


@meaning("make_timestamp", "make_timestamp_ltz")
def make_timestamp(zone: Rules, *given: V) -> V:
    at = make_date(zone, *given[:3])
    if either(at.null, *(value.null for value in given)) is True:
        return V("timestamp", 0, True)
    hour, minute, second = (value.x for value in given[3:])
    return V("timestamp", zone.instant(at.x * DAY + (hour * 3_600 + minute * 60 + second) * SECOND))


_joined = strict("string")(lambda zone, *parts: "".join(cast(zone, part, "string").x for part in parts))


@meaning("concat")
def concat(zone: Rules, *parts: V) -> V:
    if all(part.kind == "array" for part in parts):
        return V("array", [item for part in parts for item in part.x])
    return _joined(zone, *parts)


number("substr", "string", lambda zone, a, at, n: a.x[at.x - 1 : at.x - 1 + n.x])
FUNCTIONS["substring"] = FUNCTIONS["substr"]
number("left", "string", lambda zone, a, n: cast(zone, a, "string").x[: n.x])
number("lpad", "string", lambda zone, a, n, fill: cast(zone, a, "string").x.rjust(n.x, fill.x)[: n.x])
number("regexp_replace", "string", lambda zone, a, one, other: re.sub(one.x, other.x, a.x))
FUNCTIONS["struct"] = lambda zone, *parts: V("struct", dict(enumerate(parts)), either(*(part.null for part in parts)))
number("replace", "string", lambda zone, a, one, other: a.x.replace(one.x, other.x))


# -- lengths --


@meaning("make_interval")
def make_interval(zone: Rules, *given: V) -> V:
    years, months, weeks, days, hours, minutes, seconds = (*(value.x for value in given), *[0] * (7 - len(given)))
    micros = (hours * 3_600 + minutes * 60 + seconds) * SECOND
    return V("calendar", (years * 12 + months, weeks * 7 + days, micros), either(*(v.null for v in given)))


@meaning("make_dt_interval")
def make_dt_interval(zone: Rules, *given: V) -> V:
    days, hours, minutes, seconds = (*(value.x for value in given), *[0] * (4 - len(given)))
    return V(
        "daytime", days * DAY + (hours * 3_600 + minutes * 60 + seconds) * SECOND, either(*(v.null for v in given))
    )


# -- arrays --


def _items(given: V) -> list[V]:
    if given.kind != "array":
        raise Unproved(f"an array of kind {given.kind}")
    return given.x


@meaning("array")
def array(zone: Rules, *given: V) -> V:
    return V("array", list(given))


@meaning("flatten")
def flatten(zone: Rules, given: V) -> V:
    return V("array", [item for inner in _items(given) for item in _items(inner)])


@meaning("array_sort")
def array_sort(zone: Rules, given: V) -> V:
    return V("array", sorted(_items(given), key=lambda item: (item.null, item.x)))


@meaning("array_distinct", "array_union")
def array_distinct(zone: Rules, *given: V) -> V:
    every = [item for one in given for item in _items(one)]
    return V("array", list({(item.null, None if item.null else item.x): item for item in every}.values()))


@meaning("get")
def get(zone: Rules, given: V, at: V) -> V:
    items = _items(given)
    return items[at.x] if 0 <= at.x < len(items) else NULL


@meaning("size")
def size(zone: Rules, given: V) -> V:
    return V("int", len(_items(given)))


@meaning("sequence")
def sequence(zone: Rules, low: V, high: V, step: V = V("int", 1)) -> V:  # noqa: B008
    return V("array", [V(wider(low.kind, high.kind), x) for x in range(low.x, high.x + 1, step.x)])


@meaning("named_struct")
def named_struct(zone: Rules, *given: V) -> V:
    return V("struct", {name.x.lower(): value for name, value in zip(given[::2], given[1::2])})


@meaning("raise_error")
def raise_error(zone: Rules, text: V) -> V:
    raise AssertionError(text.x)
