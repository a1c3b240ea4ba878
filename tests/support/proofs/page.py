"""The table of docs/proofs.md: `PYTHONPATH=tests python -m support.proofs.page` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dbt.adapters.sparktemporal.temporal.sql.functions.row import Function

from .lemmas import DAYS, FIELDS, LEMMAS, OPERATORS, SOLVED, Rises, claimed
from .values import DAY

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"
MARKS = re.compile(r"(<!-- proofs: begin -->)\n.*?(<!-- proofs: end -->)", re.DOTALL)
_RANGES = {
    "timestamp": "the years 1 to 9999, by the µs", "date": "the days of the years 1 to 9999",
    "timestamp_ntz": "the years 1 to 9999, by the µs", "bigint": "each BIGINT", "int": "each INT",
    "decimal:3": "each DECIMAL(20, 3)",
}  # fmt: skip
_BY_DAYS = "each day of 400 years, at its beginning, noon and last µs"


def lemmas_of(row: Function) -> list[Rises]:
    """The lemmas about a row of the registry."""
    return [
        one
        for one in (*LEMMAS, *FIELDS)
        if one.function == row.name and (one.arguments == row.arguments or not row.arguments)
    ]


def _range(one: Rises) -> str:
    if one.how == DAYS:
        return _BY_DAYS
    return _RANGES[one.kind] + (f", up to {one.farthest:.0e} from 0".replace("e+", " · 10^") if one.farthest else "")


def rows() -> Iterator[tuple[str, str, str, str]]:
    """(function, what is proved, how, range)."""
    for row in claimed():
        arguments = "" if row.arguments is None else f" of {row.arguments}"
        if row.is_even:
            yield f"`{row.name}`{arguments}", "`abs(-x)` is `abs(x)`, and rises from 0 on", SOLVED, _RANGES["bigint"]
            continue
        for how in (SOLVED, DAYS):
            found = [one for one in lemmas_of(row) if one.how == how]
            if found:
                fields = "made of fields, " if row.makes and not row.is_monotone else ""
                shown = list(dict.fromkeys(map(_shown, found)))
                calls = ", ".join(f"`{call}`" for call in shown[:3]) + (", …" if len(shown) > 3 else "")
                ranges = "; ".join(dict.fromkeys(map(_range, found)))
                yield f"`{row.name}`{arguments}", f"{fields}never {_verb(found)}: {calls}", how, ranges
    for name in dict.fromkeys(one.function for one in OPERATORS):
        found = [one for one in OPERATORS if one.function == name]
        calls = ", ".join(f"`{_shown(one)}`" for one in found)
        hows = "; ".join(dict.fromkeys(one.how for one in found))
        yield f"`{name}`", f"never {_verb(found)}: {calls}", hows, "; ".join(dict.fromkeys(map(_range, found)))


def _shown(one: Rises) -> str:
    return one.call.replace("{y}", "y")


def _verb(found: list[Rises]) -> str:
    falls = {one.falls for one in found}
    verb = "falls, or never rises, with x" if len(falls) > 1 else "rises with x" if falls == {True} else "falls with x"
    days = max(one.slack for one in found) // DAY
    return f"{verb} of instants {days} days and more apart" if days else verb


def table() -> str:
    lines = ["| function | lemma | by | for all x |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows())])


def written() -> str:
    return MARKS.sub(lambda found: f"{found[1]}\n\n{table()}\n\n{found[2]}", PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(written())
