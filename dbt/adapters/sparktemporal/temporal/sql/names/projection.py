"""Projection pushdown: find the input columns that a non-linear SELECT needs, so that only these are stored.

    select t.k, count(*) from t join u using (id) where <static> group by t.k
      ->  rows   select t.k as k from t join u using (id) where <static>
          rest   select k, count(*) from mz_core_c0 as mz_rows group by k

Names resolve as in Spark: the alias of a source first, then a column, then a field of a column. A name that no source
has stays as it is (an alias of the SELECT list, a unit such as DAY): Spark resolves it, or raises.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ....errors import Refusal
from ..text.dialect import fragment, set_where, without
from ..text.helper_columns import is_reserved
from .bind import sources_of
from .linear import ABOVE_ROWS
from .outer_columns import Scopes
from .scope import Describe, Source, Sources, column_of, row_columns, shown_by, star_of

_ROWS = "mz_rows"


def pushdown_projections(
    select: exp.Select,
    placeholder: str,
    describe: Describe,
    ctes: list[exp.CTE],
    at_read: exp.Expr | None = None,
) -> tuple[exp.Select, exp.Select]:
    """A SELECT without clock -> (a query of the rows it reads, the SELECT over the table `placeholder`).

    at_read: a predicate for the WHERE of the second query.
    Changes `select` in place: derived tables without a name get one.
    """
    sources = sources_of(select, describe, ctes)
    rest = without(select, "from_", "joins", "laterals", "where", "hint")
    set_where(rest, [] if at_read is None else [at_read])
    scopes = Scopes(rest, sources, describe, ctes)
    expand_stars(rest, sources)
    _expand_inner_stars(rest, sources)

    columns = [(column, scopes.own(column)) for column in rest.find_all(exp.Column)]
    uses = [_Use(column, *found) for column, found in columns if found is not None]
    others = {column.parts[0].name.lower() for column, found in columns if found is None}
    items = {c.name.lower() for c in row_columns(rest) if len(c.parts) == 1 and not scopes.is_nested(c)}
    items -= {use.column.name.lower() for use in uses if len(use.column.parts) == 1}
    stored = _stored_names(uses, sources, others, items)
    single = len(sources) == 1
    alias = sources[0].name if single else _ROWS
    if any(scopes.is_nested(use.column) for use in uses):
        scopes.refuse_hidden(alias)
    for use in uses:
        name, is_nested = stored[use.source, use.name], scopes.is_nested(use.column)
        is_plain = use.parts <= 2 if single else len(use.column.parts) == 1
        if is_nested or not is_plain or name != use.name:
            _put_stored(use, name, alias if single or is_nested else "", rest)
    rest.set("from_", exp.From(this=exp.to_table(placeholder).as_(exp.to_identifier(alias, quoted=True), table=True)))
    return _rows(select, sources, stored), rest


@dataclass(frozen=True)
class _Use:
    """A use of a column of the rows in a SELECT. parts: how many parts of `column` are the name; others are fields."""

    column: exp.Column
    source: int
    name: str
    parts: int

    @property
    def alias(self) -> str:
        """The alias of the item of a SELECT list that is this column, in lower case; else ""."""
        item = self.column.parent
        if not isinstance(item, exp.Alias) or not isinstance(item.parent, exp.Select):
            return ""
        return item.alias.lower() if self.parts == len(self.column.parts) else ""


def _stored_names(
    uses: Sequence[_Use], sources: Sources, others: Collection[str], items: Collection[str]
) -> dict[tuple[int, str], str]:
    """(source, column) -> the name of the stored column: the column's own name if it is free, else `source_column`.

    others: names that mean no column of the sources, such as aliases. A stored column of such a name would hide what
    the name means. items: the `others` that the SELECT itself names, such as an alias in HAVING that is also a column
    of two sources.
    """
    stored: dict[tuple[int, str], str] = {}
    taken: set[str] = set()
    aliases = {(use.source, use.name, use.alias) for use in uses}
    for source, name in dict.fromkeys((use.source, use.name) for use in sorted(uses, key=_may_be_renamed)):
        free = name
        is_item = free.lower() in items and (source, name, free.lower()) not in aliases
        if free.lower() in taken or is_item or is_reserved(name):  # such as the columns of `merge_subqueries`
            free = f"{sources[source].name}_{name}"
            while free.lower() in taken or free.lower() in others and (source, name, free.lower()) not in aliases:
                free += "_"
        taken.add(free.lower())
        stored[source, name] = free
    return stored


def _put_stored(use: _Use, name: str, table: str, rest: exp.Select) -> None:
    """Put the stored column `name` in the place of a column; an item of the SELECT list keeps its name."""
    fields = use.column.parts[use.parts :]
    new: exp.Expr = column_of(table, name)
    for field in fields:
        new = exp.Dot(this=new, expression=field.copy())
    own_item = use.column.parent is rest and use.column.arg_key == "expressions"
    renamed = own_item and not fields and name != use.name
    use.column.replace(exp.alias_(new, use.name, quoted=True) if renamed else with_field_name(use.column, new))


def _rows(select: exp.Select, sources: Sources, stored: dict[tuple[int, str], str]) -> exp.Select:
    """The rows of a SELECT, with the stored columns alone."""
    rows = without(select, *ABOVE_ROWS)
    items = [
        exp.alias_(column_of(sources[source].name, column), name, quoted=True)
        for (source, column), name in stored.items()
    ]
    # a SELECT that needs no column still needs the number of rows
    rows.set("expressions", items or [exp.alias_(exp.true(), "mz_row", quoted=True)])
    return rows


def expand_stars(rest: exp.Select, sources: Sources) -> None:
    """Replace `*` and `t.*` by the names of the columns, in place."""
    items: list[exp.Expr] = []
    for item in rest.expressions:
        star = star_of(item)
        items += [item] if star is None else shown_by(star, item, sources)
    rest.set("expressions", items)


def inner_stars(select: exp.Select) -> Iterator[exp.Expr]:
    """The `*` and `t.*` among the arguments of functions, except in subqueries and in `count(*)`."""
    for star in list(select.find_all(exp.Star)):
        if star.find_ancestor(exp.Select) is not select:
            continue
        node = star.parent if isinstance(star.parent, exp.Column) else star
        above = node.parent
        counts = isinstance(above, exp.Anonymous) and above.name.lower() == "count" and node is star
        if not isinstance(above, exp.Select) and not counts:
            yield node


def _expand_inner_stars(rest: exp.Select, sources: list[Source]) -> None:
    """`max(struct(*))` -> `max(struct(`t`.`k`, `t`.`v`))`, in place."""
    for node in list(inner_stars(rest)):
        star, known = node, len(sources) == 1
        if isinstance(node, exp.Column):
            star, of = node.this, node.table.lower()
            known = known and of == sources[0].name.lower() and len(node.parts) == 2
        if not known or any(star.args.values()) or not isinstance(node.parent, (exp.Anonymous, exp.Distinct)):
            raise Refusal(
                "ST314",
                fragment(node.parent or node),
                "the columns of this star are not known here",
                "the names of the columns",
            )
        columns = [column_of(sources[0].name, c) for c in sources[0].columns]
        arguments = node.parent.expressions
        at = next(i for i, argument in enumerate(arguments) if argument is node)
        node.parent.set("expressions", [*arguments[:at], *columns, *arguments[at + 1 :]])


def with_field_name(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    """The replacement of an expression. A part of a struct names a field, so the replacement keeps that name.

    Raises Refusal for an argument of arrays_zip, whose name no alias keeps.

    >>> from ..text.dialect import expression, render
    >>> [render(with_field_name(a, exp.column("k"))) for a in expression("struct(s.a, d.f(b))").expressions]
    ['k AS `a`', 'k AS `col2`']
    >>> [render(with_field_name(a, exp.column("k"))) for a in expression("(s.a, k)").expressions]
    ['k AS `a`', 'k']
    """
    above = old.parent
    if above is None or not _names_fields(above):
        return new
    place = next(i for i, argument in enumerate(above.expressions) if argument is old)
    is_named = isinstance(old, exp.Column) or isinstance(old, exp.Dot) and not isinstance(old.expression, exp.Func)
    name = old.name if is_named else f"col{place + 1}"
    if isinstance(new, exp.Column) and new.name == name:
        return new
    if above.name.lower() == _ZIPS:
        raise Refusal(
            "ST383",
            fragment(above),
            "its fields have the names of its arguments, and these columns would have others",
            "the call as a column of a derived table",
        )
    return exp.alias_(new, name, quoted=True)


_ZIPS = "arrays_zip"


def _names_fields(node: exp.Expr) -> bool:
    """Whether the parts of an expression name the fields of its value."""
    if isinstance(node, exp.Tuple):  # in the sets of a GROUP BY it is no value
        return not isinstance(node.parent, (exp.GroupingSets, exp.Rollup, exp.Cube))
    return isinstance(node, exp.Anonymous) and node.name.lower() in ("struct", _ZIPS)


def _may_be_renamed(use: _Use) -> bool:
    """False for an argument of arrays_zip, which keeps its name only where the stored column has it."""
    above = use.column.parent
    return not (isinstance(above, exp.Anonymous) and above.name.lower() == _ZIPS)
