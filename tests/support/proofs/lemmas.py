"""The lemmas: of windows, of the search for a change, of spans, and of each function of the registry.

| lemma | says |
|---|---|
| window | a row is printed with from <= now < until exactly where its predicate is TRUE at now |
| points | the printed points have all instants at which a predicate over the bare clock changes |
| spans | of points with all changes, the printed intervals are the runs of TRUE |
| search | of a function that never falls, the printed search finds each change of its comparison with a value |
| rises | a function never falls with its argument |

A proof returns; a lemma that does not hold raises `Wrong` with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import z3
from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.diffs.crossings_sql import FAR
from dbt.adapters.sparktemporal.temporal.sql.functions.registry import ROWS
from dbt.adapters.sparktemporal.temporal.sql.functions.row import Function, Picks
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

from . import calendar
from .calendar import UTC, Rules
from .functions import FUNCTIONS
from .printed import ROW, windows
from .translate import Translation, kind_of, named, of_lambda
from .values import DAY, V, both, either, is_term, no, truth

#: the instants (µs) and days of the years 1 to 9999; the clock (ms) is looked at from 1970 on until FAR
FIRST_DAY, LAST_DAY = calendar.days_of(1, 1, 1), calendar.days_of(9999, 12, 31)
RANGES = {
    **dict.fromkeys(("timestamp", "timestamp_ntz"), (FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1)),
    "date": (FIRST_DAY, LAST_DAY), "int": (-(2**31), 2**31 - 1), "bigint": (-(2**63), 2**63 - 1),
    "decimal:3": (1 - 10**20, 10**20 - 1), "daytime": (-(2**63), 2**63 - 1),
}  # fmt: skip


class Wrong(AssertionError):
    """A lemma does not hold: these values are against it."""


def holds(claim: Any, given: list[Any], about: str) -> None:
    """Prove a claim for all values within what is given."""
    if claim is True:
        return
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(*[one for one in given if one is not True], z3.Not(claim) if is_term(claim) else not claim)
    found = solver.check()
    if found != z3.unsat:
        raise Wrong(f"{about}: {solver.model() if found == z3.sat else solver.reason_unknown()}")


def any_value(name: str, kind: str, nullable: bool = True) -> tuple[V, list[Any]]:
    """A value of which only the kind is known, and its range."""
    null = z3.Bool(f"{name} is null") if nullable else False
    if kind == "boolean":
        return V(kind, z3.Bool(name), null), []
    x = z3.Int(name)
    low, high = RANGES[kind]
    return V(kind, x, null), [x >= low, x <= high]


def any_row(predicate: str) -> tuple[dict[str, V], list[Any]]:
    row, given = {}, []
    for name, of in ROW.items():
        kind = "daytime" if of.startswith("interval") else kind_of(exp.DataType.build(of, dialect="spark"))
        if kind in RANGES or kind == "boolean":
            row[name], ranges = any_value(name, kind)
            given += ranges
    return row, given


def written(text: str) -> str:
    return text.format(n="mz_now()", m="mz_now()")


def at(text: str, zone: Rules = UTC) -> Callable[[dict[str, V], Any], V]:
    """A predicate as written, at an instant (ms): {n} is the clock as an instant, {m} the clock as a number."""
    made = Translation(zone).expression(text.format(n="timestamp_millis(mz_at)", m="mz_at"))
    return lambda row, now: made({**row, "mz_at": V("bigint", now)})


# -- windows --

#: what the clock is compared with as an instant, and as a number
INSTANTS = ("a", "d", "ntz", "a + interval 90 minutes", "a - interval 1 day", "coalesce(a, e)", "greatest(a, d)")
MILLISECONDS = ("ms", "dec", "k")
PLAIN = (
    "{c} < {x}", "{c} <= {x}", "{c} > {x}", "{c} >= {x}", "{c} = {x}", "{x} < {c}", "{c} <=> {x}", "{c} in ({x})",
    "not ({c} < {x})", "not ({c} <> {x})", "({x} is null or {c} < {x})", "({c} >= {x} or {x} is null)",
    "{c} between {x} and {y}", "{c} > {x} and b and {c} <= {y}",
)  # fmt: skip
#: lengths beside the clock
MOVED = ("{c} - interval 5 minutes < a", "a <= {c} + interval 1 day", "{c} - interval '1 02:30' day to minute >= e",
         "d >= {c} - interval 36 hours")  # fmt: skip
GENERAL = (
    "{c} <> {x}", "{c} not between {x} and {y}", "{c} in ({x}, {y})", "{c} not in ({x}, {y})", "({c} < {x} or b)",
    "({c} < {x}) is not true", "{c} is distinct from {x}", "(case when b then {c} < {x} else {c} >= {y} end)",
    "coalesce({c} < {x}, {c} >= {y})", "if({c} < {x}, b, {c} > {y})", "not ({c} < {x} and {c} > {y})",
    "({c} >= {x}) <=> b",
)  # fmt: skip


def forms(texts: tuple[str, ...]) -> Iterator[str]:
    """Predicates of the bare clock: each form with each operand."""
    for clock, operands in (("{n}", INSTANTS), ("{m}", MILLISECONDS)):
        for i, x in enumerate(operands):
            y = operands[(i + 1) % len(operands)]
            yield from (text.replace("{c}", clock).replace("{x}", x).replace("{y}", y) for text in texts)


def moved_forms() -> list[str]:
    return [text.replace("{c}", "{n}") for text in MOVED]


def prove_window(text: str) -> None:
    """For all rows and instants: the predicate is TRUE exactly where the printed window holds the instant."""
    sql, (row, given) = windows(written(text)), any_row(text)
    ((there, printed),) = Translation().query(sql)(row)
    now = z3.Int("now")
    begin, end = printed["mz_from"], printed["mz_until"]
    inside = both(there, no(begin.null), begin.x <= now, either(end.null, now < end.x))
    holds(truth(at(text)(row, now)) == inside, [*given, now >= 0, now <= FAR], text)


@dataclass(frozen=True)
class General:
    """The printed query of a general condition, in its parts."""

    sql: str

    def select(self, alias: str) -> exp.Select:
        tree = parse(self.sql)
        return next(s for s in tree.find_all(exp.Select) if any(i.alias == alias for i in s.expressions))

    def points(self) -> tuple[exp.Select, exp.Expr]:
        """The query of the points, and the expression of all of them before they are sorted."""
        select = self.select("mz_points")
        item = next(i for i in select.expressions if i.alias == "mz_points").unalias()
        inner = item
        while not isinstance(inner, exp.Lambda) and not any(isinstance(a, exp.Lambda) for a in _given(inner)):
            inner = _given(inner)[0]
        return select, _given(inner)[0]

    def truth(self) -> exp.Expr:
        """The printed truth of the predicate, at the instant mz_p."""
        item = next(i for i in self.select("mz_truth").expressions if i.alias == "mz_truth").unalias()
        call = of_lambda(_given(item)[1])[1]
        return _given(_given(call)[3])[0]


def _given(node: exp.Expr) -> list[exp.Expr]:
    return named(node)[1]


def prove_points(text: str) -> None:
    """For all rows: where the truth of the predicate changes, there is a printed point, with the predicate's truth."""
    printed, (row, given) = General(windows(written(text))), any_row(text)
    select, points = printed.points()
    translation = Translation()
    ((there, bounded),) = translation._select(select.args["from_"].this.this)(row)
    found = translation.compiled(points)(bounded).x
    now = z3.Int("now")
    given = [*given, now > 0, now <= FAR]
    before, after = (truth(at(text)(row, instant)) for instant in (now - 1, now))
    holds(either(before == after, *(both(no(p.null), p.x == now) for p in found)), given, f"the points of {text}")
    ours = truth(translation.compiled(printed.truth())({**bounded, "mz_p": V("bigint", now)}))
    holds(ours == after, given, f"the truth of {text}")
    holds(either(no(there), bounded["mz_lower"].x == 0), given, f"the beginning of {text}")


# -- spans --


def prove_spans(points: int = 4) -> int:
    """For each set of points, each order with repetitions and NULL, and each truth at them. -> how many."""
    sql = General(windows("mz_now() < ms or b")).sql
    tree = parse(sql)
    parts = General(sql)
    count, every = 0, list(range(points))
    wanted_points, wanted_truth = render(parts.points()[1]), render(parts.truth())
    state: dict[str, Any] = {}
    text = render(tree)
    assert text.count(wanted_points) == 1 and text.count(wanted_truth) == 1
    text = text.replace(wanted_points, "points()").replace(wanted_truth, "truth_at(mz_p)")
    instead = {
        "points": lambda zone: V("array", state["points"]),
        "truth_at": lambda zone, p: state["truth"][p.x],
    }
    query = Translation(instead=instead).query(text)
    row = {"ms": V("bigint", 0), "b": V("boolean", False), "k": V("int", 0)}
    truths = (V("boolean", True), V("boolean", False), V("boolean", False, True))
    for size in range(points):
        for chosen_points in combinations(every[1:], size):
            listed = [0, *chosen_points]
            for values in product(truths, repeat=len(listed)):
                state["truth"] = dict(zip(listed, values))
                given = [V("bigint", p) for p in (*reversed(listed), *listed)]
                state["points"] = [V("bigint", 0, True), V("bigint", -5), *given]
                found = [(r["mz_from"].x, None if r["mz_until"].null else r["mz_until"].x) for _, r in query(row)]
                wanted, now_true = [], [p for p, v in zip(listed, values) if v.x and not v.null]
                for i, p in enumerate(listed):
                    if p in now_true and (i == 0 or listed[i - 1] not in now_true):
                        wanted.append((p, next((q for q in listed[i:] if q not in now_true), None)))
                if found != wanted:
                    raise Wrong(f"spans of {listed} {values}: {found}, and not {wanted}")
                count += 1
    return count


# -- the search --


def prove_search(predicate: str, cell: int = 1, shift: int = 0, zone: str = "UTC", rises: bool = True) -> None:
    """The printed search, for every function that never falls (or never rises) and is constant in cells of time.

    predicate: of unix_micros({n}) or to_date({n}), in whose place that function stands. Any search has the same parts.
    """
    values = z3.Function("f", z3.IntSort(), z3.IntSort())

    def f(rules: Rules, a: V) -> V:
        instant = a.x / 1_000
        return V("bigint", values(instant if cell == 1 else (instant + shift) / cell), a.null)

    def number(instant: Any) -> Any:
        found = f(UTC, V("timestamp", instant * 1_000)).x
        return found if rises else -found

    value = z3.Int("value")

    def sign(instant: Any) -> Any:
        return z3.If(number(instant) > value, 2, z3.If(number(instant) == value, 1, 0))

    _, points = General(windows(written(predicate), zone)).points()
    loops = [node for node in points.walk() if render(node).startswith("aggregate(") and len(_given(node)) == 4]
    if len(loops) != 2:
        raise Wrong(f"{len(loops)} searches in {render(points)[:100]}")
    translation = Translation(
        calendar.rules(zone), {"unix_micros": f, "to_date": f, "unix_date": _itself, "sequence": _unrolled}
    )
    for leaves, loop in zip((True, False), loops):
        _Loop(translation, loop, {"mz_s0": V("bigint", value)}, sign, leaves, cell, shift).prove()
    # then all changes are at what is found: c, the first without the first sign, and d, the first with the last sign
    low, high, now, c, d = z3.Ints("low high now c d")
    instants = [low, now - 1, now, c, c - 1, d, d - 1, high]
    order = [
        z3.Implies(x <= y, number(x) <= number(y) if rises else number(x) >= number(y))
        for x, y in product(instants, instants)
    ]
    facts = [
        sign(c - 1) == sign(low), sign(c) != sign(low), sign(d - 1) != sign(high), sign(d) == sign(high),
        low < c, c <= high, low < d, d <= high, low < now, now <= high,
    ]  # fmt: skip
    changes = sign(now) != sign(now - 1)
    holds(either(no(changes), now == c, now == d), [*facts, *order], f"the changes of {predicate}")
    holds(no(changes), [sign(low) == sign(high), low < now, now <= high, *order], "no change")


@dataclass
class _Loop:
    """One of the two bisections of a search, as printed. The ends of its state are numbers of cells."""

    translation: Translation
    loop: exp.Expr
    env: dict[str, V]
    sign: Callable[[Any], Any]
    #: whether it looks for the first cell without the sign of the beginning, or with the sign of the end
    leaves: bool
    cell: int
    shift: int

    def prove(self) -> None:
        steps, first, step, last = _given(self.loop)
        (name, number), body = of_lambda(step)
        (end_name,), end = of_lambda(last)
        most = 2 * FAR // self.cell + 2
        state = _ends("")
        given = [state["lo"].x >= -most, state["hi"].x <= most, self._is_around(state)]
        width = state["hi"].x - state["lo"].x
        # each step keeps a change between both ends, and halves what is between
        env = {**self.env, "s": V("struct", {**_ends("s."), "at": _AT, "end": _END})}
        after = self.translation.compiled(body)({**env, name: V("struct", state), number: V("int", 1)}).x
        narrower = either(width <= 1, after["hi"].x - after["lo"].x <= (width + 1) / 2)
        holds(both(self._is_around(after), narrower), given, f"a step of {render(body)[:60]}")
        # so do the nearer ends that are tried first
        whole = env["s"].x
        tried = self.translation.compiled(first)(env).x
        given_s = [whole["lo"].x >= -most, whole["hi"].x <= most, self._is_around(whole)]
        shorter = tried["hi"].x - tried["lo"].x <= whole["hi"].x - whole["lo"].x
        holds(both(self._is_around(tried), shorter), given_s, f"the first step of {render(body)[:60]}")
        count = int(_given(steps)[1].name)
        if 2**count < most:
            raise Wrong(f"{count} steps for {most} cells")
        found = self.translation.compiled(end)({**env, end_name: V("struct", state)}).x
        holds(found == self._begin(state["hi"].x), given, f"what {render(body)[:60]} finds")

    def _begin(self, number: Any) -> Any:
        return number if self.cell == 1 else number * self.cell - self.shift

    def _is_before(self, number: Any) -> Any:
        sign = self.sign(self._begin(number))
        return sign == _AT.x if self.leaves else sign != _END.x

    def _is_around(self, ends: dict[str, V]) -> Any:
        low, high = ends["lo"].x, ends["hi"].x
        return both(low < high, self._is_before(low), no(self._is_before(high)))


#: the signs at both ends of a search
_AT, _END = V("int", z3.Int("at the beginning")), V("int", z3.Int("at the end"))


def _ends(of: str) -> dict[str, V]:
    return {name: V("bigint", z3.Int(of + name)) for name in ("lo", "hi")}


def _itself(zone: Rules, a: V) -> V:
    return a


def _unrolled(zone: Rules, low: V, high: V) -> V:
    raise Wrong("a search is not unrolled")


# -- functions that rise --


@dataclass(frozen=True)
class Rises:
    """A call that never falls with x (for `falls`: never rises). x is of a kind; other columns may be anything."""

    function: str
    arguments: int | None
    call: str
    kind: str
    how: str
    falls: bool = False
    slack: int = 0
    others: tuple[tuple[str, str], ...] = ()
    zone: str = "UTC"
    #: numbers from -farthest to farthest
    farthest: int | None = None


SOLVED, DAYS = "z3", "all days"


def _solved(name: str, n: int, call: str, kind: str = "timestamp", **more: Any) -> Rises:
    return Rises(name, n, call, kind, SOLVED, **more)


def _by_days(name: str, n: int, *calls: str, kind: str = "date", **more: Any) -> list[Rises]:
    return [Rises(name, n, call, kind, DAYS, **more) for call in calls]


_FIXED = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
_YEARS = ("YEAR", "Y", "YEARS", "YR", "YRS", "YEAROFWEEK")
_UNITS_OF_DAYS = ("WEEK", "MONTH", "MON", "MM", "QUARTER", "YEAR", "YYYY", "YY")

LEMMAS: tuple[Rises, ...] = (
    *(_solved(name, 1, f"{name}(x)") for name in (
        "to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz", "unix_micros", "unix_millis", "unix_seconds",
        "unix_timestamp", "to_unix_timestamp", "to_date")),
    _solved("timestamp", 1, "CAST(x AS TIMESTAMP)"), _solved("timestamp", 1, "CAST(x AS TIMESTAMP)", kind="date"),
    _solved("timestamp", 1, "CAST(x AS TIMESTAMP)", kind="timestamp_ntz"),
    _solved("timestamp_ntz", 1, "CAST(x AS TIMESTAMP_NTZ)"), _solved("date", 1, "CAST(x AS DATE)"),
    _solved("bigint", 1, "CAST(x AS BIGINT)"),
    _solved("bigint", 1, "CAST(x AS BIGINT)", kind="decimal:3", farthest=10**18),
    _solved("bigint", 1, "CAST(x / 3600000 AS BIGINT)", kind="bigint"),
    _solved("double", 1, "CAST(x AS DOUBLE)"), _solved("double", 1, "CAST(x AS DOUBLE)", kind="bigint"),
    _solved("int", 1, "CAST(x / 60 AS INT)", kind="bigint"),
    _solved("unix_date", 1, "unix_date(x)", kind="date"),
    *(_solved(name, 1, f"{name}(x)", kind="bigint", farthest=most) for name, most in (
        ("timestamp_micros", 10**17), ("timestamp_millis", 10**14), ("timestamp_seconds", 10**11))),
    *(_solved(name, 1, f"{name}(x)", kind="decimal:3") for name in ("ceil", "ceiling", "floor", "round")),
    *(_solved("round", 2, f"round(x, {n})", kind="decimal:3") for n in (0, 1, 2)),
    *(_solved(name, 2, f"{name}(x, k)", others=(("k", "int"),)) for name in ("date_add", "dateadd", "date_sub")),
    *(_solved(name, 2, call, others=(("y", "timestamp"),), falls=falls) for name in ("datediff", "date_diff")
      for call, falls in ((f"{name}(x, y)", False), (f"{name}(y, x)", True))),
    *(_solved(name, 3, f"{name}({unit}, k, x)", others=(("k", "int"),))
      for name in ("timestampadd", "dateadd", "date_add") for unit in (*_FIXED, "DAYOFYEAR")),
    *(_solved(name, 3, call, others=(("y", "timestamp"),), falls=falls)
      for name in ("timestampdiff", "datediff", "date_diff") for unit in _FIXED
      for call, falls in ((f"{name}({unit}, y, x)", False), (f"{name}({unit}, x, y)", True))),
    *(Rises(name, 3, call, "timestamp", DAYS, falls, slack=3 * DAY * falls)
      for name in ("timestampdiff", "datediff", "date_diff") for unit in ("MONTH", "QUARTER", "YEAR")
      for call, falls in ((f"{name}({unit}, {{y}}, x)", False), (f"{name}({unit}, x, {{y}})", True))),
    *(_solved("date_trunc", 2, f"date_trunc('{unit}', x)") for unit in _FIXED[:6]),
    *_by_days("date_trunc", 2, *(f"date_trunc('{unit}', x)" for unit in _UNITS_OF_DAYS)),
    *_by_days("trunc", 2, *(f"trunc(x, '{unit}')" for unit in _UNITS_OF_DAYS)),
    *_by_days("last_day", 1, "last_day(x)"), *_by_days("year", 1, "year(x)"),
    *_by_days("next_day", 2, *(f"next_day(x, '{word}')" for word in ("MO", "TU", "WE", "TH", "FR", "SA", "SU"))),
    *_by_days("add_months", 2, *(f"add_months(x, {n})" for n in (-4_800, -13, -12, -1, 0, 1, 2, 11, 12, 13, 600))),
    *(one for name in ("date_part", "datepart") for one in _by_days(name, 2, *(f"{name}('{y}', x)" for y in _YEARS))),
    *_by_days("extract", 2, *(f"extract({y} FROM x)" for y in _YEARS)),
    *_by_days("months_between", 2, "months_between(x, {y})", kind="timestamp", slack=3 * DAY),
    *_by_days("months_between", 2, "months_between({y}, x)", kind="timestamp", slack=3 * DAY, falls=True),
    *(_solved(name, 2, f"{name}(x, '{zone}')") for name in ("from_utc_timestamp", "to_utc_timestamp")
      for zone in ("UTC", "+05:30", "Etc/GMT+9")),
    _solved("convert_timezone", 2, "convert_timezone('+05:30', x)"),
    _solved("convert_timezone", 3, "convert_timezone('-03:30', '+05:30', x)"),
    *(_solved(name, None, f"{name}(x, y)", others=(("y", "timestamp"),)) for name in ("greatest", "least")),
    *(_solved(name, None, f"{name}({given})", others=(("y", "timestamp"),)) for name in ("coalesce", "nvl", "ifnull")
      for given in ("y, x", "x, y")),
)  # fmt: skip
#: operators and choices that are no functions
OPERATORS: tuple[Rises, ...] = (
    _solved("+", 2, "x + iv", others=(("iv", "daytime"),)), _solved("-", 2, "x - iv", others=(("iv", "daytime"),)),
    _solved("-", 2, "x - y", others=(("y", "timestamp"),)),
    _solved("-", 2, "y - x", others=(("y", "timestamp"),), falls=True),
    *(_solved("DIV", 2, f"x DIV {n}", kind="bigint") for n in (1, 7, 60, 1_000, 86_400_000)),
    _solved("DIV", 2, "x DIV -1000", kind="bigint", falls=True), _solved("/", 2, "x / 3600", kind="bigint"),
    _solved("-", 1, "-x", kind="bigint", falls=True, farthest=2**63 - 1),
    _solved("CASE", None, "CASE WHEN b THEN x ELSE x - interval 1 hour END", others=(("b", "boolean"),)),
    _solved("IF", None, "IF(b, x, y)", others=(("b", "boolean"), ("y", "timestamp"))),
    *_by_days("+", 2, *(f"x + interval {n} month" for n in (-13, -1, 1, 2, 12)), kind="date"),
)  # fmt: skip

#: numbers, texts, dates and tuples made of fields of an instant, and a function in each
FIELDS: tuple[Rises, ...] = tuple(
    Rises(name, n, call, "timestamp", DAYS)
    for name, n, call in (
        ("month", 1, "year(x) * 100 + month(x)"), ("quarter", 1, "year(x) * 10 + quarter(x)"),
        ("day", 1, "year(x) * 10000 + month(x) * 100 + day(x)"),
        ("dayofmonth", 1, "(year(x), month(x), dayofmonth(x))"),
        ("dayofyear", 1, "year(x) * 1000 + dayofyear(x)"),
        ("weekofyear", 1, "extract(yearofweek from x) * 100 + weekofyear(x)"),
        ("hour", 1, "(cast(x as date), hour(x))"), ("minute", 1, "(date_trunc('DAY', x), hour(x) * 60 + minute(x))"),
        ("second", 1, "(date_trunc('DAY', x), hour(x) * 3600 + minute(x) * 60 + second(x))"),
        ("date_format", 2, "date_format(x, 'yyyy-MM-dd HH:mm:ss.SSS')"), ("date_format", 2, "date_format(x, 'yyyyMM')"),
        ("date_format", 2, "date_format(x, 'yyyyDDD')"), ("date_format", 2, "date_format(x, 'yyyy-MM-01')"),
        ("from_unixtime", 1, "from_unixtime(unix_timestamp(x))"),
        ("from_unixtime", 2, "from_unixtime(unix_timestamp(x), 'yyyy-MM-dd HH')"),
        ("to_date", 2, "to_date(date_format(x, 'yyyyMM'), 'yyyyMM')"),
        ("to_timestamp", 2, "to_timestamp(date_format(x, 'yyyy-MM-dd HH'), 'yyyy-MM-dd HH')"),
        ("to_timestamp_ltz", 2, "to_timestamp_ltz(date_format(x, 'yyyy-MM-dd HH'), 'yyyy-MM-dd HH')"),
        ("make_date", 3, "make_date(year(x), month(x), 1)"), ("make_date", 3, "make_date(year(x) - 1, 7, 1)"),
        ("make_timestamp", 6, "make_timestamp(year(x), month(x), day(x), 6, 30, 0)"),
        ("make_timestamp_ltz", 6, "make_timestamp_ltz(year(x), 1, 1, 0, 0, 0)"),
        ("concat", None, "concat(year(x), '-Q', quarter(x))"),
        ("substr", None, "substr(cast(cast(x as date) as string), 1, 7)"),
        ("substring", None, "substring(string(date(x)), 1, 4)"), ("left", None, "left(string(x), 10)"),
        ("lpad", None, "concat(year(x), lpad(month(x), 2, '0'))"),
        ("replace", None, "replace(cast(cast(x as date) as string), '-', '')"),
        ("regexp_replace", None, "regexp_replace(string(date(x)), '-', '')"),
        ("struct", None, "struct(year(x), month(x))"),
    )
)  # fmt: skip


def prove_rises(one: Rises) -> None:
    """By z3: for all x <= y of the kind's range, and all values of the other columns."""
    made = Translation(calendar.rules(one.zone)).expression(one.call)
    given, env = [], {}
    for name, kind in one.others:
        env[name], ranges = any_value(name, kind)
        given += ranges
    (low, ranges), (high, more) = any_value("x", one.kind, False), any_value("later x", one.kind, False)
    given += [*ranges, *more, low.x <= high.x]
    if one.farthest is not None:
        scale = 10**3 if one.kind == "decimal:3" else 1
        given += [low.x >= -one.farthest * scale, high.x <= one.farthest * scale]
    before, after = made({**env, "x": low}), made({**env, "x": high})
    in_order = before.x >= after.x if one.falls else before.x <= after.x
    unknown = both(before.null, after.null)
    holds(either(unknown, both(no(before.null), no(after.null), in_order)), given, f"{one.call} of {one.kind}")


#: 400 years from here, after which the calendar repeats
EPOCH = calendar.days_of(2000, 1, 1)


def prove_by_days(one: Rises, step: int = 1) -> int:
    """For each day of 400 years, and where the time of day matters at its beginning, noon and end. -> how many.

    Names of one function, such as date_part and datepart, are proved once.
    """
    name, _, given = one.call.partition("(")
    key = (FUNCTIONS.get(name, name), given, one.kind, one.falls, step)
    if key not in _PROVED:
        _PROVED[key] = _each_day(one, step)
    return _PROVED[key]


_PROVED: dict[Any, int] = {}


def _each_day(one: Rises, step: int) -> int:
    count = 0
    for call in _with_other(one.call)[:: max(step // 10, 1)]:
        made = Translation(calendar.rules(one.zone)).expression(call)
        times = (0,) if one.kind == "date" else (0, DAY // 2, DAY - 1)
        last: list[tuple[int, Any]] = []
        for n in _days(step):
            for time in times:
                x = EPOCH + n if one.kind == "date" else (EPOCH + n) * DAY + time
                value = made({"x": V(one.kind, x)})
                if value.kind == "struct":
                    value = V(value.kind, tuple(part.x for part in value.x.values()), value.null)
                while last and last[0][0] + one.slack <= x:
                    before, best = last[0]
                    if value.null or (value.x > best if one.falls else value.x < best):
                        raise Wrong(f"{call} goes from {best} at {before} to {value.x} at {x}")
                    if len(last) > 1 and last[1][0] + one.slack <= x:
                        last.pop(0)
                    else:
                        break
                last.append((x, value.x))
                count += 1
    return count


def _days(step: int) -> Iterator[int]:
    """Each day of 400 years; with a step, each day of the years around each step-th."""
    for year in range(0, 400, step):
        first, end = (calendar.days_of(2000 + y, 1, 1) - EPOCH for y in (year, year + 1))
        yield from range(first, end + (2 if step > 1 else 0))


def _with_other(call: str) -> list[str]:
    """A call with {y} as each day of the month, and the last days of long and short months."""
    if "{y}" not in call:
        return [call]
    days = [f"2023-01-{day:02d}" for day in (1, 15, 27, 28, 29, 30, 31)] + ["2023-02-28", "2024-02-29", "2023-04-30"]
    return [call.replace("{y}", f"timestamp '{day} {time}Z'") for day in days for time in ("00:00:00", "12:34:56.789")]


def claimed() -> list[Function]:
    """The rows of the registry that say how a function follows the clock."""
    picked = (Picks.FIRST, Picks.GREATEST, Picks.LEAST)
    return [row for row in ROWS if row.is_monotone or row.is_even or row.makes or row.picks in picked]


def prove_even() -> None:
    """abs(-x) is abs(x), and abs rises from 0 on."""
    made = Translation().expression("abs(x)")
    (x, ranges), (y, more) = any_value("x", "bigint", False), any_value("y", "bigint", False)
    given = [*ranges, *more, x.x > RANGES["bigint"][0]]
    holds(made({"x": x}).x == made({"x": V("bigint", -x.x)}).x, given, "abs of -x")
    holds(made({"x": x}).x <= made({"x": y}).x, [*given, x.x >= 0, x.x <= y.x], "abs from 0 on")
