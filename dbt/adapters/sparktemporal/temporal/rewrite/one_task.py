"""Have one task read the rows below an aggregation of a residual, where they are few: GROUP BY needs no shuffle then.

    SELECT k, count(x) AS n FROM (SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c1) AS u GROUP BY k
      ->  SELECT k, count(x) AS n FROM (SELECT /*+ COALESCE(1) */ * FROM (<the same>) AS mz_few) AS u GROUP BY k

A shuffle of few rows takes longer than adding them up. The hint changes no row.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from ..sql.names.linear import first_source, is_inside_a_value, makes_groups
from ..sql.names.scope import alias_of
from ..sql.text.dialect import has_other_parts, parse
from .core import is_placeholder
from .union_groups import cores_read

_FEW = "mz_few"


def few_by_one_task(residual: exp.Expr, rows: Mapping[str, int], most: int) -> exp.Expr:
    """A copy of a residual, in which one task reads the rows below an aggregation, where they are at most `most`.

    rows: the placeholder of each core that is kept as rows -> the number of its stored rows.
    """
    residual = residual.copy()
    for select in list(residual.find_all(exp.Select)):
        source = first_source(select)
        if source is None or not makes_groups(select) or any(select.args.get(key) for key in _STAYS):
            continue
        names = _cores_of(source)
        # a subquery in place of a value may be evaluated for each row around it
        if not names or sum(rows.get(name, most + 1) for name in names) > most or is_inside_a_value(select):
            continue
        few = source.copy()
        few.set("alias", exp.TableAlias(this=exp.to_identifier(_FEW)))
        by_one = parse(f"SELECT /*+ COALESCE(1) */ * FROM {_FEW}")
        by_one.set("from_", exp.From(this=few))
        alias = alias_of(source) if isinstance(source, exp.Table) else source.args.get("alias")
        source.replace(exp.Subquery(this=by_one, alias=alias))
    return residual


#: parts of a SELECT beside which its FROM stays as it is
_STAYS = ("joins", "laterals", "hint")


def _cores_of(source: exp.Expr) -> list[str]:
    """The placeholders of the cores whose rows a FROM passes on as they are; none where it reads anything else."""
    if has_other_parts(source, ("this", "alias")):
        return []
    if isinstance(source, exp.Table):
        return [source.name] if is_placeholder(source) else []
    return cores_read(source.this) if isinstance(source, exp.Subquery) else []
