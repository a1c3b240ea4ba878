"""Shapes of expressions: SQL whose names `mz_<name>` stand for any expression.

to_timestamp(to_unix_timestamp(mz_x) + mz_n)     to_timestamp(to_unix_timestamp(now()) + 60)
  ->  mz_x: now()     mz_n: 60
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from .dialect import expression

Found = dict[str, exp.Expr]


class Shape:
    """A shape, read once."""

    def __init__(self, sql: str) -> None:
        self._tree = _read(sql)

    def match(self, node: exp.Expr) -> Found | None:
        """Name -> the part that stands for it; None if the expression has another shape. Parentheses do not count.

        >>> from .dialect import render
        >>> found = Shape("coalesce(mz_x, f(mz_x))").match(expression("COALESCE((a + 1), F(a + 1))"))
        >>> {name: render(part) for name, part in found.items()}
        {'mz_x': 'a + 1'}
        >>> Shape("coalesce(mz_x, f(mz_x))").match(expression("coalesce(a, f(b))"))
        """
        found: Found = {}
        return found if _agrees(self._tree, node, found) else None


def filled(sql: str, parts: Mapping[str, exp.Expr]) -> exp.Expr:
    """SQL with expressions in the place of names, in parentheses where they need them.

    >>> from .dialect import render
    >>> render(filled("2 * mz_n", {"mz_n": expression("a + 1")}))
    '2 * (a + 1)'
    """

    def put(node: exp.Expr) -> exp.Expr:
        part = parts.get(node.name) if isinstance(node, exp.Column) else None
        if part is None:
            return node
        return exp.paren(part.copy()) if isinstance(part, exp.Binary) else part.copy()

    return _read(sql).transform(put)


@lru_cache(maxsize=256)
def _read(sql: str) -> exp.Expr:
    return expression(sql)


def _agrees(shape: Any, part: Any, found: Found) -> bool:
    if isinstance(shape, list):
        pairs = zip(shape, part) if isinstance(part, list) and len(shape) == len(part) else None
        return pairs is not None and all(_agrees(one, other, found) for one, other in pairs)
    if not isinstance(shape, exp.Expr) or not isinstance(part, exp.Expr):
        return bool(str(shape).lower() == str(part).lower())
    shape, part = shape.unnest(), part.unnest()
    if isinstance(shape, exp.Column):
        return bool(found.setdefault(shape.name, part) == part)
    if type(shape) is not type(part):
        return False
    names = {name for node in (shape, part) for name, value in node.args.items() if value}
    return all(_agrees(shape.args.get(name), part.args.get(name), found) for name in names)
