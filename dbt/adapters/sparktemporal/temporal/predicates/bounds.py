"""What a comparison with the clock denotes per row: a half-open interval of instants.

    mz_now() >= e   [ceil e, inf)              <---------[ceil e ========>
    mz_now() >  e   [floor e + 1, inf)         <-----[floor e + 1 =======>
    mz_now() <  e   (-inf, ceil e)             <=======ceil e)----------->
    mz_now() <= e   (-inf, floor e + 1)        <=======floor e + 1)------>
    mz_now() =  e   [ceil e, floor e + 1)      one millisecond, or nothing when e is not a whole one

Literal truth on the millisecond clock, whatever the fraction of e. A conjunction is the greatest lower and the least
upper. A NULL operand is never TRUE: no row. Our own +1 and ceil saturate: an upper past the last millisecond is no
bound (NULL), a lower past it is never (NULL too, and the row is left out). The operand's own errors stay the user's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import Refusal
from ..clock.instants import FIRST_MS, LAST_MS
from ..sql.dialect import fragment, quote
from .comparisons import Comparison

TIMESTAMP, BIGINT, DECIMAL = "timestamp", "bigint", "decimal"

#: Spark's type name -> how the operand is read
_KINDS = {
    "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP,
    "date": TIMESTAMP,
    "tinyint": BIGINT,
    "smallint": BIGINT,
    "int": BIGINT,
    "bigint": BIGINT,
    "void": TIMESTAMP,  # a bare NULL: never TRUE
}
_WAY_OUT = {
    "float": "whole milliseconds: `x DIV 1000 * 1000` or `cast(floor(x) as bigint)` (`/` gives a double in Spark)",
    "double": "whole milliseconds: `x DIV 1000 * 1000` or `cast(floor(x) as bigint)` (`/` gives a double in Spark)",
    "string": "`cast(x as timestamp)` for text like 2024-03-01 12:00:00, `cast(x as bigint)` for milliseconds",
    "boolean": "the boolean as a predicate of its own, joined by AND",
}
_ANY_WAY_OUT = "a TIMESTAMP, DATE, TIMESTAMP_NTZ, or an integer or DECIMAL of milliseconds since the epoch"


def operand_kind(comparison: Comparison, spark_type: str) -> str:
    """The type of an operand, as DESCRIBE prints it -> timestamp | bigint | decimal, or a refusal."""
    name = spark_type.lower()
    if name.startswith("decimal"):
        return DECIMAL
    if name in _KINDS:
        return _KINDS[name]
    base = re.match(r"[a-z_]+", name)
    way_out = _WAY_OUT.get(base.group() if base else name, _ANY_WAY_OUT)
    raise Refusal(
        comparison.written,
        f"mz_now() is compared with {name.upper()}, which is not an instant",
        way_out.replace("(x as", f"({fragment(comparison.operand)} as") if name == "string" else way_out,
    )


@dataclass(frozen=True)
class Bounds:
    """SQL over the operands' columns: `lowers` and `uppers` are BIGINT ms, `present` holds when all operands count."""

    lowers: tuple[str, ...]
    uppers: tuple[str, ...]
    present: tuple[str, ...]


def bounds(compared: Sequence[tuple[str, str, str, bool]]) -> Bounds:
    """(operator, operand's column, kind, optional) of each comparison -> the bounds of their conjunction.

    >>> bounds([("<", "mz_b0", "bigint", False)]).uppers
    ('CAST(`mz_b0` AS BIGINT)',)
    """
    lowers: list[str] = []
    uppers: list[str] = []
    present: list[str] = []
    for operator, column, kind, optional in compared:
        lower, upper = _LOWER.get(operator), _UPPER.get(operator)
        unless = f"{quote(column)} IS NULL OR " if optional else ""
        if not optional:
            present.append(f"{quote(column)} IS NOT NULL")
        if lower:
            text = _EDGES[kind](quote(column))[lower]
            lowers.append(text)
            if text.startswith("CASE"):
                present.append(f"({unless}{text} IS NOT NULL)" if optional else f"{text} IS NOT NULL")
        if upper:
            uppers.append(_EDGES[kind](quote(column))[upper])
    return Bounds(tuple(dict.fromkeys(lowers)), tuple(dict.fromkeys(uppers)), tuple(dict.fromkeys(present)))


def edges_of(column: str, kind: str) -> list[str]:
    """The instants at which a comparison of the clock with a column can change: SQL of BIGINT ms, NULL for none."""
    found = _EDGES[kind](quote(column))
    return [found[_CEIL], found[_AFTER]]


_CEIL, _AFTER = "ceil", "after"
_LOWER = {">=": _CEIL, ">": _AFTER, "=": _CEIL}
_UPPER = {"<": _CEIL, "<=": _AFTER, "=": _AFTER}


def _timestamp_edges(e: str) -> dict[str, str]:
    # unix_millis floors, also before 1970; a TIMESTAMP has 9.2e15 ms at most, so + 1 cannot overflow
    at = f"CAST({e} AS TIMESTAMP_LTZ)"
    return {
        _CEIL: f"unix_millis({at}) + CAST(pmod(unix_micros({at}), 1000) > 0 AS BIGINT)",
        _AFTER: f"unix_millis({at}) + 1",
    }


def _bigint_edges(e: str) -> dict[str, str]:
    at = f"CAST({e} AS BIGINT)"
    return {_CEIL: at, _AFTER: f"CASE WHEN {at} < {LAST_MS}L THEN {at} + 1L END"}


def _decimal_edges(e: str) -> dict[str, str]:
    def saturated(whole: str, below: str) -> str:
        return f"CASE WHEN {whole} {below} {LAST_MS}BD THEN CAST(greatest({whole}, {FIRST_MS}BD) AS BIGINT)"

    return {
        _CEIL: saturated(f"ceil({e})", "<=") + " END",
        _AFTER: saturated(f"floor({e})", "<") + " + 1L END",
    }


_EDGES = {TIMESTAMP: _timestamp_edges, BIGINT: _bigint_edges, DECIMAL: _decimal_edges}


def compared_kinds(comparisons: Sequence[Comparison], kinds: Sequence[str]) -> dict[int, str]:
    """Where a call stands -> TIMESTAMP, or BIGINT beside a number, for the calls that are compared bare.

    One call beside both (`mz_now() BETWEEN ms AND ts`) has no type, in Spark as here.
    """
    at: dict[int, str] = {}
    for comparison, kind in zip(comparisons, kinds):
        side = TIMESTAMP if kind == TIMESTAMP else BIGINT
        if at.setdefault(comparison.at, side) != side:
            raise Refusal(
                comparison.written,
                "one mz_now() is compared with a number and with a timestamp",
                "two comparisons joined by AND",
            )
    return at
