"""Whether an expression may raise an error over some row, without ANSI rules.

    v + 1, a / b, cast(k as int), upper(k)                  never: NULL, or a number that wraps around
    raise_error('no'), element_at(a, n), from_json(j, 's')  for some values

Moving an instant or a date counts as never: only an instant beyond the year 290000 raises.
"""

from __future__ import annotations

from sqlglot import exp

from .calls import function
from .row import Raises

#: functions that give a value, or NULL, for all arguments of the right types
_NAMES = """
    abs ascii bigint bit_count bit_length boolean bround btrim cardinality cbrt ceil ceiling char_length
    character_length coalesce concat concat_ws contains cos crc32 date date_add date_diff date_sub date_trunc
    dateadd datediff day dayofmonth dayofweek dayofyear decimal degrees double endswith equal_null exp extract float
    floor greatest hash hex hour if ifnull initcap instr int isnan isnotnull isnull last_day lcase least left length
    ln locate log10 lower ltrim md5 minute mod month months_between mz_logical_timestamp mz_now named_struct nanvl
    negative nullif nvl nvl2 positive quarter radians replace reverse right round rtrim second sha1 sign signum sin
    size smallint sqrt startswith string struct substr substring substring_index tan timestamp timestampadd
    timestampdiff tinyint trim trunc ucase unix_date unix_micros unix_millis unix_seconds upper weekday weekofyear
    xxhash64 year
"""
_NEVER = frozenset(_NAMES.split())
#: parts of an expression that raise nothing themselves
_PARTS = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Connector, exp.Not, exp.Neg, exp.Is,
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Case,
    exp.If, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Interval, exp.Var, exp.Dot, exp.Bracket,
    exp.Tuple, exp.CurrentDate, exp.CurrentTimestamp, exp.Extract, exp.Trim, exp.DataType, exp.DataTypeParam,
)  # fmt: skip
#: types to which a cast gives NULL for what does not fit
_TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "date", "timestamp",
)  # fmt: skip


def may_raise(node: exp.Expr) -> bool:
    """Whether an expression may raise an error over some row. A function of a user may.

    >>> from ..text.dialect import expression
    >>> [may_raise(expression(sql)) for sql in ("a / b + int(k)", "element_at(a, n)", "f(a)", "cast(k as interval)")]
    [False, True, True, True]
    """
    return any(map(_raises, node.walk()))


#: casts by the name of a type
_CASTS = frozenset(_TYPES) - {"string"}


def may_raise_by_ansi(node: exp.Expr) -> bool:
    """Whether an expression may raise an error over some row, also by ANSI rules. A number that overflows is left out.

    >>> from ..text.dialect import expression
    >>> [may_raise_by_ansi(expression(sql)) for sql in ("a / b", "cast(k as int)", "int(k)", "a[0]", "a + b", "a / 2")]
    [True, True, True, True, False, False]
    """
    return any(_raises(part) or _raises_by_ansi(part) for part in node.walk())


def _raises_by_ansi(node: exp.Expr) -> bool:
    if isinstance(node, (exp.Div, exp.IntDiv, exp.Mod)):
        return not isinstance(node.expression, exp.Literal)
    if isinstance(node, exp.Cast):
        return not node.args.get("safe") and not isinstance(node.this, exp.Literal)
    return isinstance(node, exp.Bracket) or isinstance(node, exp.Anonymous) and node.name.lower() in _CASTS


def _raises(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return node.to.sql(dialect="spark").lower().partition("(")[0] not in _TYPES
    if isinstance(node, exp.Like):
        return not node.expression.is_string or "\\" in node.expression.name
    called = function(node) if isinstance(node, exp.Anonymous) else None
    if called is not None:
        is_own = isinstance(node.parent, exp.Dot)
        return is_own or called.name not in _NEVER or called.raises is Raises.WORDS
    return not isinstance(node, _PARTS)
