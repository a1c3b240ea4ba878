"""The sources of a SELECT, and resolution of columns to sources.

Names resolve as in Spark: the alias of a source first, then a column, then a field of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ....errors import Refusal
from ..text.dialect import fragment
from .ctes import with_ctes
from .linear import only_filters

#: SQL of a query -> its columns as (name, Spark type)
#: a query -> its columns as (name, type)
Describe = Callable[[exp.Query], "list[tuple[str, str]]"]


@dataclass(frozen=True)
class Source:
    """A source of a SELECT: a table, view, CTE or derived table with its columns."""

    name: str  # the alias, or the table's own name
    path: tuple[str, ...]  # the table's full name when it has no alias
    columns: tuple[str, ...]


class Sources(list[Source]):
    """The sources of a SELECT. Where USING or NATURAL merge columns, the first source has these, and no name."""

    #: (name of the source, column) for the columns of `*` in Spark's order
    star: Sequence[tuple[str, str]] = ()
    #: for each merging join: the names of the sources up to the join
    merges: tuple[frozenset[str], ...] = ()

    @property
    def merged(self) -> list[str]:
        return [column.lower() for source in self if not source.name for column in source.columns]

    def without(self, is_hidden: Callable[[str], bool]) -> Sources:
        """The sources without the columns of some names."""
        fewer = Sources(replace(s, columns=tuple(c for c in s.columns if not is_hidden(c))) for s in self)
        fewer.star, fewer.merges = [(of, name) for of, name in self.star if not is_hidden(name)], self.merges
        return fewer

    def starred(self, of: str | None) -> list[tuple[str, str]] | None:
        """The columns of `*` or `of.*`, in Spark's order: first those that are merged. None where it is not known."""
        if of is not None:
            return self._starred_of(of)
        names = [name.lower() for _, name in self.star]
        return None if any(names.count(name) > 1 for name in self.merged) else list(self.star)

    def _starred_of(self, of: str) -> list[tuple[str, str]] | None:
        merged = self.merged
        found = [one for source in self if source.name.lower() == of for one in _starred(source)]
        if not any(of in names for names in self.merges):
            return found
        first = sorted((c for c in found if c[1].lower() in merged), key=lambda c: merged.index(c[1].lower()))
        return None if first and len(self.merges) > 1 else first + [c for c in found if c not in first]

    def join(self, source: Source | None, keys: Sequence[str] = ()) -> None:
        """Take in a join. source: its right side, where the columns of that are shown. keys: the merged columns."""
        theirs = [] if source is None else _starred(source)
        if source is not None:
            self.append(source)
        if keys:
            self.merges = (*self.merges, frozenset(one.name.lower() for one in self))
        merged = {key.lower() for key in keys}
        beside = [one for one in (*self.star, *theirs) if one[1].lower() not in merged]
        self.star = [("", key) for key in keys] + beside


def sources_of(select: exp.Select, describe: Describe, ctes: list[exp.CTE]) -> Sources:
    found = Sources()
    found.join(_source(select.args["from_"].this, 0, describe, ctes))
    merged: dict[str, str] = {}
    for join in select.args.get("joins") or []:
        source = _right_side(join, len(found), describe, ctes)
        keys = _merged_by(join, found.star, source)
        merged |= {key.lower(): key for key in keys}
        found.join(None if only_filters(join) else source, keys)
    for view in select.args.get("laterals") or []:
        found.join(_lateral(view))
    if merged:
        found.insert(0, Source("", (), tuple(merged.values())))
    return found


def _right_side(join: exp.Join, position: int, describe: Describe, ctes: list[exp.CTE]) -> Source:
    if isinstance(join.this, exp.Lateral):
        return _lateral(join.this)
    if only_filters(join) and join.method != "NATURAL":
        return Source("", (), ())  # nothing asks for its columns
    return _source(join.this, position, describe, ctes)


def _merged_by(join: exp.Join, left: Sequence[tuple[str, str]], right: Source) -> list[str]:
    """The columns that a join merges, as the side has them that names them."""
    if join.method == "NATURAL":  # a name in another case is another name there
        return [name for _, name in left if name in right.columns]
    named = right.columns if join.side == "RIGHT" else [name for _, name in left]
    keys = [key.name for key in join.args.get("using") or []]
    return [next((name for name in named if name.lower() == key.lower()), key) for key in keys]


def _starred(source: Source) -> list[tuple[str, str]]:
    return [(source.name, column) for column in source.columns]


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
    probe = with_ctes(exp.select("*").from_(node.copy()), ctes)
    columns = tuple(name for name, _ in describe(probe))
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


def derived(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=quote_name(alias)))


def alias_of(table: exp.Table) -> exp.TableAlias:
    """The name of a table in its FROM, for what stands in its place: its alias, or its own name.

    The own name is quoted: `s.union` is a table to Spark, and `(SELECT …) AS union` is an error.

    >>> alias_of(exp.to_table("s.union")).sql("spark")
    '`union`'
    """
    alias = table.args.get("alias")
    return alias.copy() if alias else exp.TableAlias(this=quote_name(table.name))
