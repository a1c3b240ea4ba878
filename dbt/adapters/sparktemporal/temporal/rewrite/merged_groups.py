"""Put one core in the place of a UNION ALL of cores kept per group: a read then adds up the chains of all at once.

    SELECT k, sum(mz_n) AS n FROM (SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c1) AS u GROUP BY k
      ->  SELECT k, sum(mz_n) AS n FROM mz_core_c0_c1 AS u GROUP BY k

An aggregation above such a UNION ALL adds up the parts of a group, whichever core has them. So the parts may be added
up before, by the read of the chains. The aggregation above is then over one row a group, see `one_row_groups`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from sqlglot import exp

from ..sql.names.linear import is_aggregation
from .core import PLACEHOLDER
from .union_groups import cores_read


def merge_groups(residual: exp.Query, forms: Mapping[str, Hashable]) -> tuple[exp.Query, dict[str, tuple[str, ...]]]:
    """A residual -> (a copy with merged cores, placeholder of each merged core -> the placeholders of its cores).

    forms: the placeholder of each core that is kept per group -> its columns and sums.
    """
    residual = residual.copy()
    merged: dict[str, tuple[str, ...]] = {}
    for union in list(residual.find_all(exp.Union)):
        below = union.parent
        if not isinstance(below, exp.Subquery) or not isinstance(below.parent, exp.From) or below.alias_column_names:
            continue
        reader = below.parent.parent
        if not isinstance(reader, exp.Select) or not is_aggregation(reader) or reader.args.get("joins"):
            continue
        names = cores_read(union)
        if len({*names}) < len(names) or len({forms.get(name) for name in names}) != 1 or names[0] not in forms:
            continue
        name = PLACEHOLDER + "_".join(one.removeprefix(PLACEHOLDER) for one in names)
        merged[name] = tuple(names)
        below.replace(exp.Table(this=exp.to_identifier(name), alias=below.args["alias"].copy()))
    return residual, merged
