"""Projection pushdown: the columns of its inputs that a SELECT that is not linear needs; only these are stored.

    select t.k, count(*) from t join u using (id) where <static> group by t.k
      ->  rows   select t.k from t join u using (id) where <static>
          rest   select t.k, count(*) from mz_core_c0 as t group by t.k

Names resolve as in Spark: the alias of a source first, then a column, then a field of a column. A name that no source
has stays as it is (an alias of the SELECT list, a unit such as DAY): Spark resolves it, or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from ...errors import Refusal
from .dialect import fragment
from .outer_columns import Scopes
from .scope import Source, Sources, quote_name, sources_of

_ROWS = "mz_rows"


def pushdown_projections(
    select: exp.Select,
    placeholder: str,
    describe: Callable[[str], list[tuple[str, str]]],
    ctes: list[exp.CTE],
    at_read: exp.Expr | None = None,
) -> tuple[exp.Select, exp.Select]:
    """A SELECT without clock -> (a query of the rows it reads, the SELECT over the table `placeholder`).

    at_read: a predicate for the WHERE of the second query.
    Changes `select` in place: derived tables without a name get one.
    """
    sources = sources_of(select, describe, ctes)
    rest = select.copy()
    for key in ("where", "joins", "laterals", "hint"):
        rest.set(key, None)
    if at_read is not None:
        rest.set("where", exp.Where(this=at_read.copy()))
    rest.set("from_", None)
    scopes = Scopes(rest, sources, describe, ctes)
    expand_stars(rest, sources)
    _expand_inner_stars(rest, sources)

    wanted: dict[tuple[int, str], str] = {}
    uses: list[tuple[exp.Column, int, str, int]] = []
    for column in list(rest.find_all(exp.Column)):
        found = scopes.own(column)
        if found is not None:
            source, name, parts = found
            wanted.setdefault((source, name), "")
            uses.append((column, source, name, parts))

    taken: set[str] = set()
    for source, name in wanted:
        stored = name
        if stored.lower() in taken:
            stored = f"{sources[source].name}_{name}"
            while stored.lower() in taken:
                stored += "_"
        taken.add(stored.lower())
        wanted[(source, name)] = stored

    single = len(sources) == 1
    alias = sources[0].name if single else _ROWS
    nested = {id(column) for column, *_ in uses if scopes.is_nested(column)}
    if nested:
        scopes.refuse_hidden(alias)
    for column, source, name, parts in uses:
        stored = wanted[(source, name)]
        if id(column) not in nested and (parts <= 2 if single else len(column.parts) == 1 and stored == name):
            continue
        tail = [p.copy() for p in column.parts[parts:]]
        table = quote_name(alias) if single or id(column) in nested else None
        new: exp.Expr = exp.column(quote_name(stored), table=table)
        for part in tail:
            new = exp.Dot(this=new, expression=part)
        own_item = column.parent is rest and column.arg_key == "expressions"
        renamed = own_item and not tail and stored != name
        column.replace(exp.alias_(new, name, quoted=True) if renamed else with_field_name(column, new))

    rows = select.copy()
    for key in _ABOVE_ROWS:
        rows.set(key, None)
    items: list[exp.Expr] = []
    for (source, name), stored in wanted.items():
        items.append(exp.alias_(column_of(sources[source].name, name), stored, quoted=True))
    # a SELECT that needs no column still needs the number of rows
    rows.set("expressions", items or [exp.alias_(exp.true(), "mz_row", quoted=True)])
    rest.set("from_", exp.From(this=exp.to_table(placeholder).as_(exp.to_identifier(alias, quoted=True), table=True)))
    return rows, rest


_ABOVE_ROWS = (
    "expressions", "group", "having", "distinct", "qualify", "windows", "order", "limit", "offset", "sort",
    "cluster", "distribute",
)  # fmt: skip


def column_of(source: str, name: str) -> exp.Column:
    """A column of a source by its name; one that a join merged has no source."""
    return exp.column(quote_name(name), table=quote_name(source) if source else None)


def expand_stars(rest: exp.Select, sources: Sources) -> None:
    """Replace `*` and `t.*` by the names of the columns, in place."""
    items: list[exp.Expr] = []
    for item in rest.expressions:
        of = item.table.lower() if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else None
        if not isinstance(item, exp.Star) and of is None:
            items.append(item)
            continue
        star = item if isinstance(item, exp.Star) else item.this
        left_out, columns = star.args.get("except_") or [], sources.starred(of)
        plain = all(isinstance(n, exp.Identifier) or isinstance(n, exp.Column) and len(n.parts) == 1 for n in left_out)
        others = any(value for key, value in star.args.items() if key != "except_")
        if columns is None or others or not plain:
            raise Refusal(fragment(item), "which columns these are is not known here", "the names of the columns")
        names = {name.name.lower() for name in left_out}
        items += [column_of(source, name) for source, name in columns if name.lower() not in names]
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
                fragment(node.parent or node),
                "the columns of this star are not known here",
                "the names of the columns",
            )
        columns = [exp.column(quote_name(c), table=quote_name(sources[0].name)) for c in sources[0].columns]
        arguments = node.parent.expressions
        at = next(i for i, argument in enumerate(arguments) if argument is node)
        node.parent.set("expressions", [*arguments[:at], *columns, *arguments[at + 1 :]])


def with_field_name(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    """The replacement of an expression. An argument of struct() names a field, so the replacement keeps that name.

    >>> from .dialect import expression, render
    >>> [render(with_field_name(a, exp.column("k"))) for a in expression("struct(s.a, d.f(b))").expressions]
    ['k AS `a`', 'k AS `col2`']
    """
    above = old.parent
    if not isinstance(above, exp.Anonymous) or above.name.lower() != "struct":
        return new
    place = next(i for i, argument in enumerate(above.expressions) if argument is old)
    is_named = isinstance(old, exp.Column) or isinstance(old, exp.Dot) and not isinstance(old.expression, exp.Func)
    name = old.name if is_named else f"col{place + 1}"
    return new if isinstance(new, exp.Column) and new.name == name else exp.alias_(new, name, quoted=True)
