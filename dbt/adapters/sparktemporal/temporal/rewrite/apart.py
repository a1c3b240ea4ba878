"""Keep correlated subqueries of a SELECT list apart from a UNION ALL.

Spark's optimizer fails where both meet (`key not found`):

| UNION ALL | Spark | prevented by |
|---|---|---|
| right below | pushes the items into the branches (SPARK-59042) | a lateral view with one row for each row |
| above | takes `item = subquery` for a fact about the rows of a branch | items that Spark knows no fact about |

    select id, (select max(x) from o where o.k = t.k) from mz_core_c0 as t
      ->  … from mz_core_c0 as t lateral view explode(array(0)) mz_apart as mz_one

    select id, x from (select …) union all …
      ->  select if(spark_partition_id() < 0, null, id) as id, … union all …

Filters and projections still pass the lateral view, and filters of the SELECT itself stand below such items.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..sql.text.dialect import parse
from ..sql.text.helper_columns import numbered

_APART = "SELECT 1 FROM t LATERAL VIEW explode(array(0)) mz_apart AS {}"


def keep_apart(residual: exp.Expr) -> None:
    """Add the lateral view, in place, to SELECTs over one source with nested items (`has_nested_items`) and no star."""
    for select in residual.find_all(exp.Select):
        nested = _is_nested(select)
        over_one = select.args.get("from_") is not None and not select.args.get("joins")
        if nested and over_one and not select.args.get("laterals") and not any(i.is_star for i in select.expressions):
            names = {identifier.name.lower() for identifier in select.find_all(exp.Identifier)}
            column = "mz_one" if "mz_one" not in names else numbered("mz_one_", 2, names)
            select.set("laterals", parse(_APART.format(column)).args["laterals"])


def no_fact(value: str) -> str:
    """An expression -> the same value. Spark takes the new expression for one that depends on the partition."""
    return f"IF(spark_partition_id() < 0, NULL, {value})"


def no_facts(names: Sequence[str]) -> list[str]:
    """Quoted columns -> items with the same values and types, about which Spark knows no fact in a UNION ALL above."""
    return [f"{no_fact(name)} AS {name}" for name in names]


def has_nested_items(query: exp.Expr) -> bool:
    """Whether a SELECT of a query has a subquery with a FROM among its items, in its ORDER BY or in its windows."""
    return any(map(_is_nested, query.find_all(exp.Select)))


def _is_nested(select: exp.Select) -> bool:
    above = [*select.expressions, *filter(None, (select.args.get("order"), select.args.get("windows")))]
    return any(n.find(exp.From) for item in above for n in _nodes(item) if isinstance(n, exp.Query))


def _nodes(item: exp.Expr | list[exp.Expr]) -> list[exp.Expr]:
    return [n for i in item for n in i.walk()] if isinstance(item, list) else list(item.walk())
