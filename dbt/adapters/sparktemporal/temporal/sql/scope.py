"""The sources of a SELECT, and resolution of columns to sources.

Names resolve as in Spark: the alias of a source first, then a column, then a field of a column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from ...errors import Refusal
from .ctes import with_ctes
from .dialect import fragment, render

#: SQL of a query -> its columns as (name, Spark type)
Describe = Callable[[str], "list[tuple[str, str]]"]


@dataclass(frozen=True)
class Source:
    """A source of a SELECT: a table, view, CTE or derived table with its columns."""

    name: str  # the alias, or the table's own name
    path: tuple[str, ...]  # the table's full name when it has no alias
    columns: tuple[str, ...]


def sources_of(select: exp.Select, describe: Describe, ctes: list[exp.CTE]) -> list[Source]:
    found = [_source(select.args["from_"].this, 0, describe, ctes)]
    for join in select.args.get("joins") or []:
        if (join.method or "").upper() == "NATURAL":
            raise Refusal(fragment(join), "the columns of a NATURAL join are not tracked", "JOIN ... USING (...)")
        if isinstance(join.this, exp.Lateral):
            found.append(_lateral(join.this))
        elif (join.kind or "").upper() not in ("SEMI", "ANTI"):
            found.append(_source(join.this, len(found), describe, ctes))
    found += map(_lateral, select.args.get("laterals") or [])
    return found


def _lateral(lateral: exp.Lateral) -> Source:
    alias = lateral.args.get("alias")
    if alias is None or not alias.this or not alias.columns:
        raise Refusal(
            fragment(lateral),
            "its columns have no names here",
            "LATERAL VIEW explode(xs) x AS item, with the names of table and columns",
        )
    return Source(alias.name, (alias.name,), tuple(c.name for c in alias.columns))


def _source(node: exp.Expr, position: int, describe: Describe, ctes: list[exp.CTE]) -> Source:
    if not isinstance(node, (exp.Table, exp.Subquery, exp.Values)):
        raise Refusal(fragment(node), "the columns of this input are not tracked", "an upstream view over it")
    if not node.alias_or_name:
        node.set("alias", exp.TableAlias(this=quote_name(f"mz_source_{position}")))
    probe = exp.select("*").from_(node.copy())
    with_ctes(probe, ctes)
    columns = tuple(name for name, _ in describe(render(probe)))
    path = tuple(p.name for p in node.parts) if isinstance(node, exp.Table) and not node.alias else ()
    name = node.alias_or_name
    return Source(name, path or (name,), columns)


def resolve(column: exp.Column, sources: list[Source]) -> tuple[int, str, int] | None:
    """A column -> (index of its source, name as the source has it, number of name parts that this took), or None."""
    parts = [p.name.lower() for p in column.parts]
    if len(parts) == 1 and is_lambda_variable(column):
        return None
    for index, source in enumerate(sources):
        path = [p.lower() for p in source.path]
        for used in range(min(len(path), len(parts) - 1), 0, -1):
            if parts[:used] == path[-used:]:
                name = _pick(source, parts[used])
                if name is not None:
                    return index, name, used + 1
    for index, source in enumerate(sources):
        name = _pick(source, parts[0])
        if name is not None:
            return index, name, 1
    return None


def _pick(source: Source, name: str) -> str | None:
    found = [c for c in source.columns if c.lower() == name]
    if len(found) > 1:
        raise Refusal(
            f"{', '.join(found)} of {source.name}",
            "the meaning of the name is not known",
            f"an alias for one of them in {source.name}",
        )
    return found[0] if found else None


def is_lambda_variable(column: exp.Column) -> bool:
    name = column.parts[0].name.lower()
    node = column.find_ancestor(exp.Lambda)
    while node is not None:
        if any(p.name.lower() == name for p in node.expressions):
            return True
        node = node.find_ancestor(exp.Lambda)
    return False


def quote_name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def alias_of(table: exp.Table) -> exp.TableAlias:
    """The name of a table in its FROM, for what stands in its place: its alias, or its own name.

    The own name is quoted: `s.union` is a table to Spark, and `(SELECT …) AS union` is an error.

    >>> alias_of(exp.to_table("s.union")).sql("spark")
    '`union`'
    """
    alias = table.args.get("alias")
    return alias.copy() if alias else exp.TableAlias(this=quote_name(table.name))
