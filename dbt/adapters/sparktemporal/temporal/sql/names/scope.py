"""The sources of a SELECT, and resolution of columns to sources.

Names resolve as in Spark: the alias of a source first, then a column, then a field of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ....errors import Refusal
from ..functions.calls import starts_with_unit
from ..spark.described_types import struct_fields
from ..text.dialect import fragment, has_other_parts, quote, render

#: (name, type as Spark calls it) of each column
Columns = list[tuple[str, str]]
#: a query -> its columns, by Spark
Describe = Callable[[exp.Query], Columns]


@dataclass(frozen=True)
class Source:
    """A source of a SELECT: a table, view, CTE or derived table with its columns."""

    name: str  # the alias, or the table's own name
    path: tuple[str, ...]  # the table's full name, or its alias alone
    columns: tuple[str, ...]
    #: column -> its type, "" where only Spark knows the type
    types: Mapping[str, str] = field(default_factory=dict)


class Sources(list[Source]):
    """The sources of a SELECT. If USING or NATURAL merge columns, the first source holds these and has no name."""

    #: (name of the source, column) for the columns of `*` in Spark's order
    star: Sequence[tuple[str, str]] = ()
    #: for each merging join: the names of the sources up to the join
    merges: tuple[frozenset[str], ...] = ()

    @property
    def merged(self) -> list[str]:
        return [column.lower() for source in self if not source.name for column in source.columns]

    def without(self, hidden: Collection[str]) -> Sources:
        """The sources without the columns of these names."""
        fewer = Sources(replace(s, columns=tuple(c for c in s.columns if c not in hidden)) for s in self)
        fewer.star, fewer.merges = [(of, name) for of, name in self.star if name not in hidden], self.merges
        return fewer

    def starred(self, of: str | None) -> list[tuple[str, str]] | None:
        """The columns of `*` or `of.*`, in Spark's order: merged columns first. None where the order is not known."""
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
        """Add a join. source: its right side, None if `*` shows none of its columns. keys: the merged columns."""
        theirs = [] if source is None else _starred(source)
        if source is not None:
            self.append(source)
        if keys:
            self.merges = (*self.merges, frozenset(one.name.lower() for one in self))
        merged = {key.lower() for key in keys}
        beside = [one for one in (*self.star, *theirs) if one[1].lower() not in merged]
        self.star = [("", key) for key in keys] + beside


def _starred(source: Source) -> list[tuple[str, str]]:
    return [(source.name, column) for column in source.columns]


def star_of(item: exp.Expr) -> exp.Star | None:
    """The star of an item `*` or `t.*`; None for any other item."""
    star = item.this if isinstance(item, exp.Column) else item
    return star if isinstance(star, exp.Star) else None


def shown_by(star: exp.Star, item: exp.Expr, sources: Sources) -> list[exp.Column]:
    """The columns that an item with a star shows. Raises Refusal where the columns are not known."""
    left_out = star.args.get("except_") or []
    columns = _fields(item, sources)
    if columns is None:
        starred = sources.starred(item.table.lower() if isinstance(item, exp.Column) else None)
        columns = None if starred is None else [column_of(source, name) for source, name in starred]
    plain = all(isinstance(n, exp.Identifier) or isinstance(n, exp.Column) and len(n.parts) == 1 for n in left_out)
    if columns is None or has_other_parts(star, ("except_",)) or not plain:
        raise Refusal("ST315", fragment(item), "which columns these are is not known here", "the names of the columns")
    names = {name.name.lower() for name in left_out}
    return [column for column in columns if column.name.lower() not in names]


def _fields(item: exp.Expr, sources: Sources) -> list[exp.Column] | None:
    """The fields that the star of a struct shows (`s.*`); None for another star."""
    if not isinstance(item, exp.Column) or any(source.name.lower() == item.table.lower() for source in sources):
        return None
    path = item.parts[:-1]
    found = resolve(_column(path), sources)
    fields = None
    if found is not None:
        source, name, parts = found
        fields = struct_fields(sources[source].types.get(name, ""), [part.name for part in path[parts:]])
    if fields is None:
        raise Refusal("ST315", fragment(item), "which columns these are is not known here", "the names of the columns")
    return [_column([*path, quote_name(field)]) for field in fields]


def _column(parts: Sequence[exp.Expr]) -> exp.Column:
    """A column by the parts of its name, four at most."""
    return exp.Column(**dict(zip(("this", "table", "db", "catalog"), (part.copy() for part in reversed(parts)))))


def column_of(source: str, name: str) -> exp.Column:
    """A column of a source by its name; a column that a join merged has no source."""
    return exp.column(quote_name(name), table=quote_name(source) if source else None)


def resolve(column: exp.Column, sources: list[Source]) -> tuple[int, str, int] | None:
    """A column -> (index of its source, name as the source has it, number of name parts that this took), or None.

    Raises Refusal for a name that a source has twice.
    """
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
            "ST316",
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


def canonical(node: exp.Expr, sources: list[Source]) -> str:
    """The text of an expression, each column with its source: equal texts mean the same.

    Columns and functions are in lower case. A field keeps its case, because it may be a key of a map.
    """
    copy = exp.Paren(this=node.copy())
    for column in list(copy.find_all(exp.Column)):
        source, name, parts = resolve(column, sources) or ("", column.parts[0].name, 1)
        names = [str(source), name.lower(), *(field.name for field in column.parts[parts:])]
        column.replace(quote_name(".".join(map(quote, names))))
    for identifier in list(copy.find_all(exp.Identifier)):
        identifier.replace(quote_name(identifier.name))
    for call in copy.find_all(exp.Anonymous):
        call.set("this", call.name.lower())
    return render(copy)


def row_columns(node: exp.Expr) -> list[exp.Column]:
    """The columns that an expression names, without variables of lambdas and units such as DAY."""

    def is_unit(column: exp.Column) -> bool:
        return starts_with_unit(column.parent) and column.arg_key == "expressions" and column.index == 0

    return [column for column in node.find_all(exp.Column) if not is_lambda_variable(column) and not is_unit(column)]


def around(scope: exp.Select) -> exp.Select | None:
    """The SELECT in which a name is looked up next: a derived table and a CTE do not see the sources beside them."""
    node: exp.Expr = scope
    while isinstance(node.parent, exp.SetOperation):
        node = node.parent
    above = node.parent
    if isinstance(above, exp.Subquery) and isinstance(above.parent, exp.Lateral):
        return above.find_ancestor(exp.Select)
    derived = isinstance(above, exp.CTE) or isinstance(above, exp.Subquery) and isinstance(above.parent, _SOURCES)
    owner = node.find_ancestor(exp.Select)
    return around(owner) if derived and owner is not None else owner


_SOURCES = (exp.From, exp.Join)


def quote_name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def derived(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=quote_name(alias)))


def alias_of(table: exp.Table) -> exp.TableAlias:
    """The alias for a relation that replaces a table: the table's alias, or else its own name.

    The own name is quoted: `s.union` is a table to Spark, and `(SELECT …) AS union` is an error.

    >>> alias_of(exp.to_table("s.union")).sql("spark")
    '`union`'
    """
    alias = table.args.get("alias")
    return alias.copy() if alias else exp.TableAlias(this=quote_name(table.name))
