"""Derive the types of expressions from the types of columns, where no setting of the session decides.

    n + 1 -> int       coalesce(k, 'none') -> string       coalesce(k, 1) -> "": ANSI makes a BIGINT of the text

`type_rules` has the rules of sessions without ANSI. "" is a type that only Spark knows, or that a setting decides.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ..functions.registry import known
from ..functions.types import Rule, rule_of
from ..spark import decimals, type_rules
from ..spark.combined_types import BROKEN, TIMES, VOID, WHOLE
from ..spark.described_types import inner

_PLAIN = (*WHOLE, *BROKEN, *TIMES, "string", "boolean", "binary")
#: one argument decides, whatever stands beside it
_BY_ONE = (Rule.FIRST, Rule.INSTANT, Rule.LIST, Rule.ELEMENT, Rule.WINDOW)


def type_of(value: exp.Expr, of_column: Callable[[exp.Column], str]) -> str:
    """The type of an expression, in the words of DESCRIBE. of_column: the type of a column."""

    def find(node: exp.Expr) -> str | None:
        if isinstance(node, exp.Column):
            return of_column(node) or None
        kinds: list[str | None] = []

        def part(below: exp.Expr) -> str | None:
            kinds.append(find(below))
            return kinds[-1]

        found = type_rules.type_of(node, part)
        if found == "string" and not kinds and isinstance(node, exp.Anonymous):
            # a text has the collation of the texts it is made of
            return found if all("collate" not in (find(given) or "collate") for given in node.expressions) else None
        return found if found is not None and _in_any_session(node, found, {*kinds} - {VOID}) else None

    return find(value) or ""


def _in_any_session(node: exp.Expr, found: str, kinds: set[str | None]) -> bool:
    """Whether an expression has the type `found` under any settings. kinds: the types of the parts that decide it."""
    if isinstance(node, exp.Cast):
        return _is_plain(found)
    if isinstance(node, exp.Transform):
        return False
    if isinstance(node, exp.Anonymous):
        if known(node.name, len(node.expressions)).local_name:  # TIMESTAMP_NTZ in some sessions
            return False
        if rule_of(node.name, len(node.expressions)) in _BY_ONE:
            return True
    if "string" in kinds:  # ANSI makes a number or a time of a text
        return kinds == {"string"} == {found}
    if any("collate" in (kind or "") for kind in kinds):
        return found in kinds
    if "float" in kinds:  # beside whole numbers a DOUBLE, with ANSI
        return kinds == {"float"}
    # where digits do not fit, a setting says which go
    return not (isinstance(node, exp.Binary) and found.startswith(f"decimal({decimals.MOST},"))


def _is_plain(kind: str) -> bool:
    """Whether a type has this name in every version of Spark."""
    return kind in _PLAIN or decimals.digits(kind) is not None


def field_type(kind: str, field: str) -> str:
    """The type of a field of a struct.

    >>> field_type("struct<at:timestamp,n:int>", "At"), field_type("int", "at")
    ('timestamp', '')
    """
    found = inner(kind, field)
    return found if found is not None and _is_plain(found) else ""
