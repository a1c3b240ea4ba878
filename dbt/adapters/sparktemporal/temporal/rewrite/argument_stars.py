"""A star among the arguments of a function -> the columns that it stands for.

    select xxhash64(*) as h from (select k, v from t where mz_now() < due) as x
      ->  select xxhash64(x.k, x.v) as h from (select k, v from t where mz_now() < due) as x

Rules add columns to the relations of a FROM, such as the bounds of a window, and no star may show these.
"""

from __future__ import annotations

from sqlglot import exp

from ..sql.names.bind import sources_of
from ..sql.names.ctes import visible_ctes
from ..sql.names.projection import inner_stars
from ..sql.names.scope import Describe, Sources, shown_by, star_of
from ..sql.text.dialect import shown_as
from ..sql.text.identifiers import folded
from .stays import STAYS, Stays


def write_out_argument_stars(tree: exp.Expr, describe: Describe) -> None:
    """Write out the stars among arguments whose columns are known, in place. The rules leave a SELECT with others.

    >>> from ..sql.text.dialect import parse, render
    >>> tree = parse("select struct(*) as s, count(*) as n, count(distinct x.*) as d from t as x group by 1")
    >>> write_out_argument_stars(tree, lambda query: [("k", "string"), ("v", "int")])
    >>> render(tree).partition(" FROM ")[0]
    'SELECT struct(`x`.`k`, `x`.`v`) AS s, count(*) AS n, count(DISTINCT `x`.`k`, `x`.`v`) AS d'
    """
    for select in tree.find_all(exp.Select):
        stars = list(inner_stars(select))
        if not stars or not select.args.get("from_"):
            continue
        try:
            sources = sources_of(select, describe, visible_ctes(select))
            for star in stars:
                _write_out(star, sources)
        except STAYS:
            continue


def _write_out(node: exp.Expr, sources: Sources) -> None:
    star, call = star_of(node), node.parent
    if star is None or not isinstance(call, (exp.Anonymous, exp.Distinct)):
        raise Stays
    columns = shown_by(star, node, sources)
    if len({folded(column.name) for column in columns}) < len(columns):
        raise Stays  # a struct cannot be stored with two fields of one name
    written, at = call.copy(), next(i for i, argument in enumerate(call.expressions) if argument is node)
    call.set("expressions", [*call.expressions[:at], *columns, *call.expressions[at + 1 :]])
    shown_as(call, written)
