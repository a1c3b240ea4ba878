"""The types that Spark gives to expressions, by the types of their parts: without ANSI rules, as dbt-spark sets them.

    ts + interval 1 day -> timestamp       amount * 2 -> decimal(12,2)       datediff(a, b) -> int

A type is in the words of DESCRIBE. None: only Spark knows the type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from sqlglot import exp

from ..functions.calls import starts_with_unit
from ..functions.types import Rule, rule_of
from ..functions.units import unit_of
from ..text.grammar import OwnFunction
from . import decimals
from .combined_types import BROKEN, FIELDS, TIMES, VOID, WHOLE, common, counts, fields_of, of_two, scaled
from .described_types import in_words, inner

#: the type of a part of an expression
Types = Callable[[exp.Expr], "str | None"]

#: literal suffix -> type
_SUFFIXES = {"l": "bigint", "s": "smallint", "y": "tinyint", "d": "double", "f": "float"}


def type_of(node: exp.Expr, types: Types) -> str | None:
    """The type of an expression. types: gives the type of a part of the expression."""
    if isinstance(node, (exp.Predicate, exp.Not, exp.Boolean, exp.And, exp.Or)):
        return "boolean"
    if isinstance(node, exp.Anonymous):
        return _of_call(node, types)
    if isinstance(node, exp.Binary) and not isinstance(node, exp.Dot):
        return of_two(node, types(node.left), types(node.right))
    for kind, rule in _RULES.items():
        if isinstance(node, kind):
            return rule(node, types)
    return None


# -- literals, intervals ---------------------------------------------------------------------------------------------


def of_literal(node: exp.Expr) -> str:
    """The type of a number, whose minus is a part of the number, or of a text.

    >>> [of_literal(exp.Literal.number(n)) for n in ("7", "2147483648", "-2147483648", "1.50", "1e3")]
    ['int', 'bigint', 'int', 'decimal(3,2)', 'double']
    """
    is_negative = isinstance(node, exp.Neg)
    text = (node.this if is_negative else node).name.lower()
    if node.is_string:
        return "string"
    if "e" in text:  # a DOUBLE, however whole it looks
        return "double"
    if text.isdigit() and int(text) < 2**63 + is_negative:
        return "int" if int(text) < 2**31 + is_negative else "bigint"
    whole, _, fraction = text.partition(".")
    digits = max(len((whole + fraction).lstrip("0")), len(fraction), 1)
    return f"decimal({digits},{len(fraction)})"


def _of_negative(node: exp.Expr, types: Types) -> str | None:
    """The type of a number after a minus; Spark reads the minus before a literal as a part of the literal."""
    kind = types(node.this)
    return of_literal(node) if isinstance(node.this, exp.Literal) and not node.this.is_string else _absolute([kind])


def _of_interval(node: exp.Expr, types: Types) -> str | None:
    """The type of a literal interval of one unit, or of one unit to another."""
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return f"interval {unit.this.name.lower()} to {unit.expression.name.lower()}"
    found = None if unit is None else unit_of(unit.name)
    name = (
        {"week": "day", "millisecond": "second", "microsecond": "second"}.get(found.name, found.name) if found else ""
    )
    return f"interval {name}" if any(name in fields for fields in FIELDS) else None


# -- forms with a syntax of their own --------------------------------------------------------------------------------


def _of_tuple(node: exp.Expr, types: Types) -> str | None:
    kinds = [types(item) for item in node.expressions]
    named = [
        f"{getattr(item, 'name', '') or f'col{n}'}:{kind}"
        for n, (item, kind) in enumerate(zip(node.expressions, kinds), 1)
    ]
    return None if None in kinds else f"struct<{','.join(named)}>"


def _of_case(node: exp.Expr, types: Types) -> str | None:
    values = [branch.args["true"] for branch in node.args.get("ifs") or []]
    default = node.args.get("default")
    return common([types(value) for value in (*values, *([default] if default is not None else []))])


def _of_if(node: exp.Expr, types: Types) -> str | None:
    if node.arg_key == "ifs":  # a branch of a CASE
        return types(node.args["true"])
    default = node.args.get("false")
    return common([types(node.args["true"]), VOID if default is None else types(default)])


def _of_field(node: exp.Expr, types: Types) -> str | None:
    """The type of a field of a struct, or of a call of Spark's own function by its schema."""
    if isinstance(node.expression, exp.Anonymous):
        return None if isinstance(node.expression, OwnFunction) else _of_call(node.expression, types)
    return inner(types(node.this), node.expression.name)


def _of_element(node: exp.Expr, types: Types) -> str | None:
    """The type of an element of an array or a map."""
    return inner(types(node.this), "")


def _of_cast(node: exp.Expr, types: Types) -> str | None:
    suffix = str(node.meta.get("number", "")).lower()
    if suffix and not suffix.endswith("bd"):
        return _SUFFIXES.get(suffix[-1])
    return in_words(node.args["to"])


def _of_extract(node: exp.Expr, types: Types) -> str | None:
    return _of_part(node.this)


def _of_part(field: exp.Expr) -> str:
    """The type of a field of a time."""
    return "decimal(8,6)" if field.name.upper().startswith("SEC") else "int"


def _of_subquery(node: exp.Expr, types: Types) -> str | None:
    """The type of a scalar subquery."""
    return types(node.this.selects[0]) if isinstance(node.this, exp.Select) and len(node.this.selects) == 1 else None


def _of_transform(node: exp.Expr, types: Types) -> str | None:
    """The type of `transform(array, lambda)`: an array of the values that the lambda makes."""
    element, each = inner(types(node.this), ""), node.expression
    if not isinstance(each, exp.Lambda) or len(each.expressions) != 1:
        return None
    variable = each.expressions[0].name

    def of(part: exp.Expr) -> str | None:
        if isinstance(part, exp.Identifier):
            return element if part.name == variable else None
        return types(part) if isinstance(part, exp.Column) else type_of(part, of)

    made = of(each.this)
    return None if made is None else f"array<{made}>"


def _of_this(node: exp.Expr, types: Types) -> str | None:
    return types(node.this)


def _text(node: exp.Expr, types: Types) -> str | None:
    return None if types(node.this) in ("binary", None) else "string"


def _always(kind: str) -> Callable[[exp.Expr, Types], str | None]:
    return lambda node, types: kind


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, Types], str | None]] = {
    exp.Literal: lambda node, types: of_literal(cast("exp.Literal", node)),
    exp.Null: _always(VOID),
    exp.Interval: _of_interval,
    exp.Cast: _of_cast,
    exp.Tuple: _of_tuple,
    exp.Case: _of_case,
    exp.If: _of_if,
    exp.Dot: _of_field,
    exp.Bracket: _of_element,
    exp.Extract: _of_extract,
    exp.CurrentDate: _always("date"),
    exp.CurrentTimestamp: _always("timestamp"),
    exp.StrPosition: _always("int"),
    exp.Trim: _text,
    exp.Substring: _text,
    exp.Subquery: _of_subquery,
    exp.Transform: _of_transform,
    exp.Distinct: lambda node, types: types(node.expressions[0]) if len(node.expressions) == 1 else None,
    exp.Neg: _of_negative,
    exp.Paren: _of_this,
    exp.BitwiseNot: _of_this,
    exp.Filter: _of_this,
    exp.Window: _of_this,
    exp.WithinGroup: _of_this,
    exp.IgnoreNulls: _of_this,
    exp.RespectNulls: _of_this,
    exp.Alias: _of_this,
}


# -- calls -----------------------------------------------------------------------------------------------------------


def _of_call(node: exp.Anonymous, types: Types) -> str | None:
    found = rule_of(node.name, len(node.expressions))
    if isinstance(found, str) or found is None:
        return found
    if found is Rule.PART:
        return _of_part(node.expressions[0]) if isinstance(node.expressions[0], exp.Literal) else None
    given = [None if starts_with_unit(node) and i == 0 else types(a) for i, a in enumerate(node.expressions)]
    return _BY_ARGUMENTS[found](given)


def _first(given: Sequence[str | None]) -> str | None:
    return given[0] if given else None


def _rounded(given: Sequence[str | None]) -> str | None:
    kind = (given[0] if len(given) == 1 else None) or ""
    digits = decimals.digits(kind)
    if digits is None:
        return "bigint" if kind in (*WHOLE, *BROKEN, "string") else None
    return f"decimal({min(digits[0] - digits[1] + 1, decimals.MOST)},0)" if digits[1] else f"decimal({digits[0]},0)"


def _nearest(given: Sequence[str | None]) -> str | None:
    return given[0] if given[0] in (*WHOLE, *BROKEN) else None


def _summed(given: Sequence[str | None]) -> str | None:
    """The type of a sum: to a DECIMAL Spark adds ten digits before the point."""
    kind = given[0] or ""
    digits = decimals.digits(kind)
    if digits is not None:
        return decimals.of_sum(*digits).lower()
    if fields_of(kind) is not None:
        return kind
    return "bigint" if kind in WHOLE else "double" if counts(kind) else None


def _mean(given: Sequence[str | None]) -> str | None:
    """The type of a mean: to a DECIMAL Spark adds four digits behind the point."""
    kind = given[0] or ""
    digits = decimals.digits(kind)
    if digits is not None:
        return decimals.of_mean(*digits).lower() if digits[0] <= decimals.MOST - 4 else None
    return scaled(kind) if fields_of(kind) is not None else "double" if counts(kind) else None


def _absolute(given: Sequence[str | None]) -> str | None:
    return "double" if given[0] in ("string", VOID) else given[0]


def _of_texts(given: Sequence[str | None]) -> str | None:
    is_text = all(kind is not None and kind != "binary" and not kind.startswith("array") for kind in given)
    return "string" if is_text else None


def _instant(given: Sequence[str | None]) -> str | None:
    """The type of the last argument, an instant, after it is moved."""
    kind = given[-1]
    return "timestamp_ntz" if kind == "timestamp_ntz" else "timestamp" if kind in TIMES else None


def _window(given: Sequence[str | None]) -> str | None:
    kind = given[0]
    return f"struct<start:{kind},end:{kind}>" if kind in TIMES[1:] else None


_BY_ARGUMENTS: dict[Rule, Callable[[Sequence[str | None]], str | None]] = {
    Rule.FIRST: _first,
    Rule.COMMON: common,
    Rule.COMMON_OF_REST: lambda given: common(given[1:]),
    Rule.ROUNDED: _rounded,
    Rule.NEAREST: _nearest,
    Rule.SUM: _summed,
    Rule.MEAN: _mean,
    Rule.ABSOLUTE: _absolute,
    Rule.TEXTS: _of_texts,
    Rule.INSTANT: _instant,
    Rule.LIST: lambda given: f"array<{given[0]}>" if given and given[0] else None,
    Rule.ARRAY: lambda given: f"array<{kind}>" if (kind := common(given)) else None,
    Rule.ELEMENT: lambda given: inner(given[0], ""),
    Rule.WINDOW: _window,
}
