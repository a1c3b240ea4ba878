"""The rows without a partner in an outer join: NULL stands in place of the columns of the right side.

select b.id, p.n from b left join p on p.k = b.k  ->  select b.id, CAST(NULL AS INT) as n from b left join p …
"""

from __future__ import annotations

from sqlglot import exp

from ..sql.names.bind import sources_of, typed_columns
from ..sql.names.linear import over_rows_of
from ..sql.names.projection import with_field_name
from ..sql.names.scope import Describe, column_of, is_lambda_variable, resolve
from ..sql.spark.timestamps import sql_type
from ..sql.text.dialect import expression


def before_join(select: exp.Select, place: int) -> exp.Select:
    """A SELECT of the rows of a FROM before the join number `place`."""
    before = over_rows_of(select, exp.Star())
    before.set("joins", before.args["joins"][:place])
    return before


def filled(rows: exp.Select, place: int, describe: Describe, visible: list[exp.CTE]) -> exp.Select:
    """A copy of rows with NULL in place of columns of the right side of join number `place`, except in the join's ON.

    visible: the CTEs in scope.
    """
    sources = sources_of(rows, describe, visible)
    left = sources_of(before_join(rows, place), describe, visible)
    right = len([source for source in left if source.name]) + bool(sources.merged)
    changed = rows.copy()
    join = changed.args["joins"][place]
    later = [one.args.get("on") for one in changed.args["joins"][place + 1 :]]
    uses = []
    for part in filter(None, [*changed.expressions, changed.args.get("where"), *later]):
        for column in part.find_all(exp.Column):
            found = None if is_lambda_variable(column) else resolve(column, sources)
            if found is not None and found[0] == right:
                uses.append((column, found[1], found[2]))
    named = list(dict.fromkeys(name for _, name, _ in uses))
    types: dict[str, str] = {}
    if named:
        probe = exp.select(*(column_of("", name) for name in named)).from_(join.this.copy())
        types = dict(zip(named, (kind for _, kind in typed_columns(probe, describe, visible))))
    for column, name, parts in uses:
        null: exp.Expr = expression(f"CAST(NULL AS {sql_type(types[name])})")
        for field in column.parts[parts:]:
            null = exp.Dot(this=exp.paren(null), expression=field.copy())
        is_item = column.parent is changed and column.arg_key == "expressions"
        column.replace(exp.alias_(null, column.name, quoted=True) if is_item else with_field_name(column, null))
    return changed
