"""Time macros of dbt and of packages: what they render for Spark, by unit, with the clock or a row inside.

Macros of dbt are rendered from the installed dbt-spark. Those of packages are shapes written here.
`PYTHONPATH=tests python -m support.time_macros` writes into docs/semantics.md what becomes of each.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.rewrite.clock_functions import put_mz_now
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from support.predicates import Grammar, rows

UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
#: package of dbt -> files with its macros of time; Spark's win
_FILES = {
    "global_project": ("date_trunc", "dateadd", "datediff", "last_day"),
    "spark": ("assert_not_null", "dateadd", "datediff"),
}
_DEFINED = re.compile(r"\{%-?\s*macro\s+(\w+)\(")
CLOCK, ROW = "clock", "row"


class Dbt:
    """dbt's own macros, as `dbt.dateadd(…)`."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *given: " ".join(str(_macros()[_implementation(name)](*given)).split())


def _implementation(name: str) -> str:
    return next(n for n in (f"spark__{name}", f"default__{name}", name) if n in _macros())


class _Adapter:
    @staticmethod
    def dispatch(name: str, _: str) -> Callable[..., str]:
        found: Callable[..., str] = _macros()[_implementation(name)]
        return found


@cache
def _macros() -> dict[str, Any]:
    found: dict[str, Any] = {"return": lambda value: value, "adapter": _Adapter(), "dbt": Dbt()}
    for package, names in _FILES.items():
        folder = files(f"dbt.include.{package}") / "macros" / "utils"
        for name in names:
            # a comment of SQL would hide the rest of a text in one line
            text = re.sub(r"^ *--.*$", "", (folder / f"{name}.sql").read_text(), flags=re.MULTILINE)
            module = jinja2.Environment().from_string(text, globals=found).module
            found |= {defined: getattr(module, defined) for defined in _DEFINED.findall(text)}
    return found


dbt = Dbt()


@dataclass(frozen=True)
class Entry:
    """A predicate with a macro in it: {n} is the clock. The columns are those of `predicates.rows`."""

    macro: str
    #: "" for a macro without one
    unit: str
    #: where the macro is: around the clock, or around a value of the row
    side: str
    text: str


def _by_unit(unit: str) -> Iterator[tuple[str, str, str]]:
    """(macro, side, predicate) of one unit."""
    now = "{n}"
    yield "dateadd", CLOCK, f"a >= {dbt.dateadd(unit, -3, now)}"
    yield "dateadd", ROW, f"{now} < {dbt.dateadd(unit, 3, 'a')}"
    yield "dateadd of a column", CLOCK, f"a >= {dbt.dateadd(unit, 'k', now)}"
    yield "dateadd of a column", ROW, f"{now} < {dbt.dateadd(unit, 'k', 'a')}"
    yield "datediff", CLOCK, f"{dbt.datediff('a', now, unit)} <= 3"
    yield "datediff", ROW, f"{dbt.datediff('a', 'e', unit)} <= 3 and {now} < e"
    yield "datediff from the clock", CLOCK, f"{dbt.datediff(now, 'a', unit)} > 1"
    yield "date_trunc", CLOCK, f"a >= {dbt.date_trunc(unit, now)}"
    yield "date_trunc", ROW, f"{now} >= {dbt.date_trunc(unit, 'a')}"
    before = dbt.dateadd(unit, -1, dbt.date_trunc(unit, now))
    yield "dateadd of date_trunc", CLOCK, f"a >= {before} and a < {dbt.date_trunc(unit, now)}"
    yield "dateadd of date_trunc", ROW, f"{now} < {dbt.dateadd(unit, 1, dbt.date_trunc(unit, 'a'))}"
    if unit in UNITS[:5]:
        yield "last_day", CLOCK, f"d <= {dbt.last_day(now, unit)}"
        yield "last_day", ROW, f"{now} <= {dbt.last_day('a', unit)}"
    first = dbt.dateadd(unit, -12, f"cast({now} as date)")
    yield "bounds of a date_spine", CLOCK, f"d >= {first} and d <= cast({now} as date)"
    yield "bounds of a date_spine", ROW, f"{now} >= d and {now} <= {dbt.dateadd(unit, 3, 'd')}"
    yield "date_part", CLOCK, f"date_part('{unit}', {now}) = date_part('{unit}', a)"
    yield "date_part", ROW, f"date_part('{unit}', a) = 1 and {now} < a"
    yield "periods_since", CLOCK, f"{dbt.datediff('a', in_zone(now), unit)} < 3"


def in_zone(value: str, zone: str = "UTC") -> str:
    """dbt_date's convert_timezone, on Spark."""
    return f"from_utc_timestamp(to_utc_timestamp({value}, 'UTC'), '{zone}')"


def _days(n: int, day: str) -> str:
    return f"cast({dbt.dateadd('day', n, day)} as date)"


def _of_package(today: str) -> Iterator[tuple[str, str, str]]:
    """(macro, a predicate with it) of dbt_date. today: the clock's date, or a row's."""
    week = f"cast({dbt.date_trunc('week', today)} as date)"
    yield "today", "{date} = " + today
    yield "yesterday", "{date} >= " + _days(-1, today)
    yield "tomorrow", "{date} < " + _days(1, today)
    yield "n_days_ago", "{date} >= " + _days(-7, today)
    yield "n_days_away", "{date} <= " + _days(7, today)
    for name, unit, n in (
        ("n_weeks_ago", "week", -2), ("n_weeks_away", "week", 2), ("n_months_ago", "month", -2),
        ("n_months_away", "month", 2), ("last_week", "week", -1), ("next_week", "week", 1),
        ("last_month", "month", -1), ("next_month", "month", 1),
    ):  # fmt: skip
        yield name, "{instant} >= " + dbt.date_trunc(unit, dbt.dateadd(unit, n, today))
    yield "week_start", "{date} >= " + week
    yield "week_end", "{date} <= " + dbt.last_day(today, "week")
    yield "iso_week_start", "{date} >= " + week
    yield "iso_week_end", "{date} <= " + _days(6, week)


def _others() -> Iterator[tuple[str, str, str]]:
    """(macro, side, predicate) of macros without a unit."""
    for name, text in _of_package(f"cast({in_zone('{n}')} as date)"):
        yield name, CLOCK, text.format(date="d", instant="a", n="{n}")
    for name, text in _of_package("d"):
        yield name, ROW, text.format(date="cast({n} as date)", instant="{n}")
    yield "now", CLOCK, f"a <= {in_zone('{n}')}"
    there = in_zone("{n}", "Europe/Berlin")
    yield "now in another zone", CLOCK, f"a <= {there}"
    yield "today in another zone", CLOCK, f"d = cast({there} as date)"
    yield "n_days_ago in another zone", CLOCK, f"d >= {_days(-7, f'cast({there} as date)')}"
    yield "convert_timezone", CLOCK, f"a <= {in_zone('{n}')}"
    yield "convert_timezone", ROW, "{n} >= " + in_zone("a", "Europe/Berlin")
    yield "round_timestamp", CLOCK, f"a >= {dbt.date_trunc('day', dbt.dateadd('hour', 12, '{n}'))}"
    yield "round_timestamp", ROW, f"{{n}} >= {dbt.date_trunc('day', dbt.dateadd('hour', 12, 'a'))}"
    yield "to_unixtimestamp", CLOCK, "unix_timestamp({n}) - 3600 <= unix_timestamp(a)"
    yield "to_unixtimestamp", ROW, "unix_timestamp(a) <= unix_timestamp({n})"
    yield "from_unixtimestamp", CLOCK, "a >= to_timestamp(unix_timestamp({n}) - 3600)"
    yield "from_unixtimestamp", ROW, "{n} <= to_timestamp(unix_timestamp(a) + 3600)"
    for name in ("current_timestamp()", "now()"):
        yield "current_timestamp", CLOCK, f"a <= {name}"
    yield "current_timestamp_in_utc", CLOCK, "unix_timestamp(a) <= unix_timestamp()"
    yield "iso_week_of_year", CLOCK, "cast(date_part('week', {n}) as int) = weekofyear(a)"
    yield "iso_week_of_year", ROW, "weekofyear(a) = 9 and {n} < a"


def entries() -> list[Entry]:
    by_unit = [Entry(macro, unit, side, text) for unit in UNITS for macro, side, text in _by_unit(unit)]
    return by_unit + [Entry(macro, "", side, text) for macro, side, text in _others()]


#: how a predicate with a macro is kept
WINDOW, REST, WHOLE, REFUSED = "window", "window with a filter", "all rows", "refused"


@cache
def outcome(entry: Entry, fixed_zone: bool) -> tuple[str, str]:
    """How a predicate is kept, in a zone of one offset or in one with daylight saving, and what is said."""
    sql = put_mz_now(f"SELECT id FROM t WHERE {entry.text.format(n='mz_now()')}")[0]
    try:
        found = split(sql, lambda query: [("id", "int")], lambda length: fixed_zone)
    except Refusal as refusal:
        return REFUSED, str(refusal)
    if not found.evaluated:
        return WINDOW, ""
    is_bounded = all(core.is_bounded for core in found.cores)
    return (REST if is_bounded else WHOLE), " ".join(f"{one.text} {one.why}" for one in found.evaluated)


def share(fixed_zone: bool) -> tuple[int, int]:
    """(how many predicates are windows, how many there are)."""
    found = [outcome(entry, fixed_zone)[0] for entry in entries()]
    return found.count(WINDOW), len(found)


def in_docs() -> str:
    """The table of docs/semantics.md."""
    cells: dict[tuple[str, str], dict[str, list[str]]] = {}
    for entry in entries():
        found, changing = (outcome(entry, fixed)[0] for fixed in (True, False))
        kept = found if found == changing else f"{found} ({changing} with daylight saving)"
        cells.setdefault((entry.macro, entry.side), {}).setdefault(kept, []).append(entry.unit)
    lines = ["| macro | of the clock | of a row |", "|---|---|---|"]
    for macro in dict.fromkeys(macro for macro, _ in cells):
        lines.append(f"| {macro} | " + " | ".join(_words(cells.get((macro, side), {})) for side in (CLOCK, ROW)) + " |")
    windows, every = share(True)
    return "\n".join([*lines, "", f"{windows} of {every} are windows: {100 * windows / every:.0f} %."])


def _words(kept: dict[str, list[str]]) -> str:
    if len(kept) < 2:
        return next(iter(kept), "")
    return "; ".join(f"{', '.join(units)}: {found}" for found, units in kept.items())


_ZONES = ("Europe/Berlin", "Australia/Lord_Howe", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia")


class Macros(Grammar):
    """Predicates with the macros, over instants that lie so many units from the clock."""

    def comparison(self) -> str:
        rng, unit, op = self.rng, self.rng.choice(UNITS), self.rng.choice(["<", "<=", ">", ">=", "=", "<>"])
        n, value = rng.choice([*AMOUNTS, "k"]), rng.choice(["a", "e", "d", "ntz", f"date_trunc('{unit}', a)"])
        day = rng.choice(["cast({n} as date)", f"cast({in_zone('{n}')} as date)"])
        first, there = dbt.date_trunc(unit, "{n}"), in_zone("{n}", rng.choice(_ZONES))
        forms = [
            lambda: f"{dbt.dateadd(unit, n, '{n}')} {op} {value}",
            lambda: f"{value} {op} {dbt.dateadd(unit, n, '{n}')}",
            lambda: f"{value} {rng.choice(['', 'not '])}between {dbt.dateadd(unit, -2, '{n}')} and {{n}}",
            lambda: f"{{n}} {op} {dbt.dateadd(unit, n, value)}",
            lambda: f"{dbt.datediff(value, '{n}', unit)} {op} {n}",
            lambda: f"{dbt.datediff('{n}', value, unit)} {op} {n}",
            lambda: f"{dbt.datediff(value, in_zone('{n}'), unit)} {op} {rng.choice(['dec / 1e12', '1.5', 'k'])}",
            lambda: f"{dbt.dateadd(unit, n, first)} {op} {value}",
            lambda: f"{dbt.dateadd(unit, n, day)} {op} {value}",
            lambda: f"cast({dbt.dateadd(unit, n, '{n}')} as date) {op} {rng.choice(['d', 'a'])}",
            lambda: f"date_trunc('{rng.choice(UNITS)}', {dbt.dateadd(unit, n, '{n}')}) {op} {value}",
            lambda: f"{dbt.last_day('{n}', unit)} {op} {rng.choice(['d', 'a'])}",
            lambda: rng.choice(list(_of_package(day)))[1].format(date="d", instant="a", n="{n}"),
            lambda: f"{there} {op} {value}",
            lambda: f"date_trunc('{unit}', {there}) {op} {value}",
            lambda: rng.choice(list(_of_package(f"cast({there} as date)")))[1].format(date="d", instant="a", n="{n}"),
        ]
        return rng.choice(forms)()


#: how many units the predicates add
AMOUNTS = (-12, -3, -1, 0, 1, 2, 11)


def source(rng: random.Random, around: list[str], as_of: str) -> str:
    """As `predicates.rows`, with instants that are so many units and some milliseconds away too."""
    lengths = [f"make_ym_interval(0, {n * m})" for n in AMOUNTS for m in (1, 3, 12)]
    lengths += [f"make_dt_interval({n * days})" for n in (*AMOUNTS, 30, -30) for days in (1, 7)]
    lengths += [f"make_dt_interval(0, {n})" for n in AMOUNTS]
    values = "array(a, cast(d AS timestamp), cast(ntz AS timestamp))"
    moved = ", ".join(f"v - {length}" for length in lengths)
    near = ", ".join(f"{ms}L" for ms in (-3_600_001, -1_800_000, -1_001, -1_000, -1, 0, 1, 1_000))
    instants = (
        f"flatten(transform(flatten(transform({values}, v -> array({moved}))), "
        f"v -> transform(array({near}), n -> n + unix_millis(v))))"
    )
    return (
        f"SELECT * EXCEPT (instants), array_distinct(concat(instants, filter({instants}, i -> i IS NOT NULL))) "
        f"AS instants FROM ({rows(rng, around, as_of)})"
    )


_DOCS = Path(__file__).parents[2] / "docs" / "semantics.md"
_BLOCK = re.compile(r"(<!-- time macros: begin -->\n).*(\n<!-- time macros: end -->)", re.DOTALL)


def page() -> tuple[str, str]:
    """docs/semantics.md as it is, and with the table of now."""
    text = _DOCS.read_text()
    return text, _BLOCK.sub(lambda found: found[1] + in_docs() + found[2], text)


if __name__ == "__main__":
    _DOCS.write_text(page()[1])
