"""The instants at which a comparison with the clock holds for a row: a half-open interval.

    mz_now() >= e   [ceil e, inf)              <---------[ceil e ========>
    mz_now() >  e   [floor e + 1, inf)         <-----[floor e + 1 =======>
    mz_now() <  e   (-inf, ceil e)             <=======ceil e)----------->
    mz_now() <= e   (-inf, floor e + 1)        <=======floor e + 1)------>
    mz_now() =  e   [ceil e, floor e + 1)      one millisecond, or nothing when e is not a whole one

The interval is exact on a clock of whole milliseconds, whatever fraction e has. The interval of a conjunction begins at
the greatest lower bound and ends at the least upper bound. A comparison with a NULL operand is never TRUE and stores no
row, unless the comparison is optional (see `Comparison`): then the NULL sets no bound. The + 1 and the ceil do not
overflow. An upper bound after the last millisecond is no bound (NULL). A lower bound after the last millisecond is
never reached: the bound is NULL, and the row is left out. An error of the operand reaches the user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import Refusal
from ..clock.instants import FIRST_MS
from ..sql.text.dialect import quote, suggested
from .comparisons import Comparison

TIMESTAMP, BIGINT, DECIMAL, VOID = "timestamp", "bigint", "decimal", "void"

#: Spark's name of a type -> the kind of the operand
_KINDS = {
    "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP,
    "date": TIMESTAMP,
    "tinyint": BIGINT,
    "smallint": BIGINT,
    "int": BIGINT,
    "bigint": BIGINT,
    "void": VOID,  # a bare NULL: never TRUE
}
_WAY_OUT = {
    **dict.fromkeys(
        ("float", "double"),
        "whole milliseconds: `cast(floor({x}) as bigint)`, or DIV in place of `/`, which gives a double in Spark",
    ),
    "string": "`cast({x} as timestamp)` for text like 2024-03-01 12:00:00, `cast({x} as bigint)` for milliseconds",
    "boolean": "the boolean as a predicate of its own, joined by AND",
}
_ANY_WAY_OUT = "a TIMESTAMP, DATE, TIMESTAMP_NTZ, or an integer or DECIMAL of milliseconds since the epoch"


def operand_kind(comparison: Comparison, spark_type: str) -> str:
    """The kind of an operand: timestamp | bigint | decimal | void. spark_type: as in DESCRIBE. Raises Refusal."""
    name = spark_type.lower()
    if name.startswith("decimal"):
        return DECIMAL
    if name in _KINDS:
        return _KINDS[name]
    base = re.match(r"[a-z_]+", name)
    way_out = _WAY_OUT.get(base.group() if base else name, _ANY_WAY_OUT)
    raise Refusal(
        "ST318",
        comparison.written,
        f"mz_now() is compared with {name.upper()}, which is not an instant",
        way_out.format(x=suggested(comparison.operand)),
    )


@dataclass(frozen=True)
class Bounds:
    """The bounds of a window, as SQL over the columns of the operands."""

    #: BIGINT, ms
    lowers: tuple[str, ...]
    #: BIGINT, ms
    uppers: tuple[str, ...]
    #: conditions: a row is stored only where all hold
    present: tuple[str, ...]

    @property
    def lower(self) -> str:
        """SQL of the beginning of the window (ms); NULL for a window without a beginning."""
        return widest("greatest", self.lowers)

    @property
    def upper(self) -> str:
        """SQL of the end of the window (ms); NULL for a window without an end."""
        return widest("least", self.uppers)


def widest(function: str, values: Sequence[str]) -> str:
    """SQL of the `greatest` or the `least` of bounds (ms), by the name of the function; NULL without a bound."""
    if not values:
        return "CAST(NULL AS BIGINT)"
    return values[0] if len(values) == 1 else f"{function}({', '.join(values)})"


def bounds(compared: Sequence[tuple[str, str, str, bool]]) -> Bounds:
    """The bounds of a conjunction of comparisons, each (operator, column of the operand, kind, optional or not).

    A NULL operand of an optional comparison sets no bound. Any other NULL operand leaves the row out.

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
            if saturates(text):
                present.append(f"({unless}{text} IS NOT NULL)" if optional else f"{text} IS NOT NULL")
        if upper:
            uppers.append(_EDGES[kind](quote(column))[upper])
    return Bounds(tuple(dict.fromkeys(lowers)), tuple(dict.fromkeys(uppers)), tuple(dict.fromkeys(present)))


def edges_of(column: str, kind: str) -> list[str]:
    """SQL of the instants at which a comparison of the clock with a column can change (BIGINT, ms); NULL for none."""
    found = _EDGES[kind](quote(column))
    return [found[_CEIL], found[_AFTER]]


def saturates(bound: str) -> bool:
    """Whether the SQL of a bound gives NULL in place of a bound after the last millisecond."""
    return bound.startswith("try_")


_CEIL, _AFTER = "ceil", "after"
_LOWER = {">=": _CEIL, ">": _AFTER, "=": _CEIL}
_UPPER = {"<": _CEIL, "<=": _AFTER, "=": _AFTER}


def _timestamp_edges(e: str) -> dict[str, str]:
    # unix_millis rounds down, also before 1970; a TIMESTAMP has 9.2e15 ms at most, so + 1 cannot overflow
    at = f"CAST({e} AS TIMESTAMP_LTZ)"
    return {
        _CEIL: f"unix_millis({at}) + CAST(pmod(unix_micros({at}), 1000) > 0 AS BIGINT)",
        _AFTER: f"unix_millis({at}) + 1",
    }


def _bigint_edges(e: str) -> dict[str, str]:
    at = f"CAST({e} AS BIGINT)"
    return {_CEIL: at, _AFTER: f"try_add({at}, 1L)"}


def _decimal_edges(e: str) -> dict[str, str]:
    # try_cast gives NULL after the last instant. A comparison with that instant would do too, but Spark hands such a
    # comparison to Iceberg in a form that fails. `greatest` skips NULL: without the IF, a NULL operand would set the
    # first instant as its bound
    def saturated(whole: str) -> str:
        return f"try_cast(IF({e} IS NULL, NULL, greatest({whole}({e}), {FIRST_MS}BD)) AS BIGINT)"

    return {_CEIL: saturated("ceil"), _AFTER: f"try_add({saturated('floor')}, 1L)"}


_EDGES = {TIMESTAMP: _timestamp_edges, BIGINT: _bigint_edges, DECIMAL: _decimal_edges, VOID: _timestamp_edges}


def compared_kinds(comparisons: Sequence[Comparison]) -> dict[int, str]:
    """The offset of each mz_now() that is compared by itself -> TIMESTAMP, or BIGINT beside a number.

    A call beside both (`mz_now() BETWEEN ms AND ts`) has no type in Spark, and is refused here. A NULL has either type.
    """
    at: dict[int, str] = {}
    for comparison in sorted(comparisons, key=lambda one: one.kind == VOID):
        side = TIMESTAMP if comparison.kind in (TIMESTAMP, VOID) else BIGINT
        if at.setdefault(comparison.at, side) != side and comparison.kind != VOID:
            raise Refusal(
                "ST319",
                comparison.written,
                "one mz_now() is compared with a number and with a timestamp",
                "two comparisons joined by AND",
            )
    return at
