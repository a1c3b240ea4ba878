"""Kinds of values for a translation, and the types of Spark's arithmetic.

Spark gives each decimal result a type and rounds the result to this type. Other engines have other rules, so each
result is computed exactly and cast to Spark's type. Here a result has no type if it needs more digits than a decimal
can have; a quotient always has a type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...temporal.sql.spark import decimals
from ...temporal.sql.spark.decimals import MOST

INT, DECIMAL, FLOAT = "integer", "decimal", "floating"
TEXT, BOOL, DATE, INSTANT, LOCAL, NULL = "text", "boolean", "date", "timestamp", "timestamp_ntz", "null"
OTHER = "other"
NUMBERS, EXACT = (INT, DECIMAL, FLOAT), (INT, DECIMAL)
#: kinds whose values all engines compare as Spark does; FLOAT only where the dialect does not lack FLOATS
EQUAL = (*NUMBERS, TEXT, BOOL, DATE, INSTANT, LOCAL)
_SIMPLE = {
    "tinyint": (INT, 3), "smallint": (INT, 5), "int": (INT, 10), "bigint": (INT, 20), "float": (FLOAT, 0),
    "double": (FLOAT, 1), "string": (TEXT, 0), "boolean": (BOOL, 0), "date": (DATE, 0), "timestamp": (INSTANT, 0),
    "timestamp_ntz": (LOCAL, 0), "void": (NULL, 0),
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """The kind of a value."""

    name: str
    #: the digits of an exact number, for an integer those of its decimal type in Spark; 1 for a DOUBLE, 0 for a FLOAT
    digits: int = 0
    #: the scale of an exact number
    scale: int = 0

    @staticmethod
    def of(spark_type: str) -> Kind:
        """The kind of a Spark type.

        >>> Kind.of("decimal(10,2)"), Kind.of("map<int,int>").name
        (Kind(name='decimal', digits=10, scale=2), 'other')
        """
        said = spark_type.lower().replace(" ", "")
        found = decimals.digits(said)
        if found:
            return Kind(DECIMAL, *found)
        name, digits = _SIMPLE.get("string" if re.fullmatch(r"varchar\(\d+\)", said) else said, (OTHER, 0))
        return Kind(name, digits)

    @property
    def decimal(self) -> tuple[int, int]:
        """(digits, scale) of an exact number."""
        return self.digits, self.scale


#: SQL of a value, and the kind of the value
Typed = tuple[str, Kind]
BIGINT, DOUBLE, TRUTH = Kind(INT, 20), Kind(FLOAT, 1), Kind(BOOL)


def common(kinds: list[Kind]) -> Kind | None:
    """The kind that values of several kinds become; None for too many digits, or an unknown conversion."""
    named = [kind for kind in kinds if kind.name != NULL]
    if not named:
        return Kind(NULL)
    if all(kind.name in EXACT for kind in named):
        if all(kind.name == INT for kind in named):
            return max(named, key=lambda kind: kind.digits)
        scale = max(k.scale for k in named)
        digits = max(k.digits - k.scale for k in named) + scale
        return Kind(DECIMAL, digits, scale) if digits <= MOST else None
    if all(kind == named[0] for kind in named):
        return named[0]
    # doubles beside floats or whole numbers are compared as doubles by all
    return DOUBLE if _are_doubles(named) else None


def _are_doubles(kinds: list[Kind]) -> bool:
    """Whether all engines take numbers as doubles: one is a double, and the others lose no digits."""
    doubles = any(kind == DOUBLE for kind in kinds)
    return doubles and all(kind.name == FLOAT or (kind.name == INT and kind.digits <= 10) for kind in kinds)


def arithmetic(operator: str, one: Kind, other: Kind) -> Kind | None:
    """Spark's type of an operation; None if unknown or, except for quotients, of too many digits.

    operator: Add, Sub, Mul, Div or Mod.
    """
    if one.name not in NUMBERS or other.name not in NUMBERS:
        return None
    if FLOAT in (one.name, other.name):
        if operator == "Div":
            return DOUBLE  # whatever a number is, Spark divides it as a double
        return DOUBLE if _are_doubles([one, other]) else (one if one == other else None)
    if one.name == other.name == INT:
        if operator == "Div":
            return DOUBLE
        return max(one, other, key=lambda kind: kind.digits)
    if operator == "Mod" and decimals.of_both(one.decimal, other.decimal) is None:
        return None  # engines would take both as doubles
    digits = decimals.exact(operator, one.decimal, other.decimal)
    if operator == "Div":
        return Kind(DECIMAL, *decimals.fitting(*digits))
    return Kind(DECIMAL, *digits) if digits[0] <= MOST else None
