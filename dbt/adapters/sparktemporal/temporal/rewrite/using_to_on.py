"""USING of a join -> ON, where one source on the left has each column.

select k, p.n from b left join p using (k)  ->  select b.k, p.n from b left join p on b.k = p.k
"""

from __future__ import annotations

from sqlglot import exp

from ..sql.names.scope import Sources, column_of, is_lambda_variable
from ..sql.text.dialect import conjunction, without
from .stays import Stays


def using_to_on(select: exp.Select, join: exp.Join, left: Sources) -> None:
    """Write out the USING of a join of a SELECT without stars, in place. Raises Stays where its meaning is not known.

    left: the sources before the join.
    """
    around = without(select, "from_", "joins")
    if join.side in ("RIGHT", "FULL") or len(list(around.find_all(exp.Query))) > 1:
        raise Stays  # the column is of the right side, or a subquery may name it
    on = []
    for key in join.args["using"]:
        owners = [source for source in left if key.name.lower() in (name.lower() for name in source.columns)]
        if len(owners) != 1 or not owners[0].name:
            raise Stays
        if any(
            item.alias.lower() == key.name.lower() and item.unalias() != exp.column(key.name) for item in select.selects
        ):
            raise Stays  # an ORDER BY may mean this one
        own = column_of(owners[0].name, key.name)
        on.append(exp.EQ(this=own, expression=column_of(join.this.alias_or_name, key.name)))
        _qualify(select, key.name, owners[0].name)
    join.set("using", None)
    join.set("on", conjunction(on))


def _qualify(select: exp.Select, name: str, source: str) -> None:
    """Give a column its source wherever a SELECT names the column alone."""
    for column in list(select.find_all(exp.Column)):
        if column.parts[0].name.lower() != name.lower() or is_lambda_variable(column):
            continue
        if column.find_ancestor(exp.Select) is select:
            if len(column.parts) > 1:
                raise Stays  # a field, or a source of this name
            column.replace(column_of(source, column.name))
