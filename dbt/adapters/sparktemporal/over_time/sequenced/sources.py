"""The sources of a SELECT at many instants, and the columns that `*` and `t.*` show of them.

A source at many instants has a further column, the instant. No star may show this column, so stars are written out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ...temporal.sql.names.linear import merges_columns, only_filters
from ...temporal.sql.names.projection import inner_stars
from ...temporal.sql.names.scope import star_of
from ...temporal.sql.text.identifiers import folded
from .select_parts import NotSequenced, column

#: the columns of a source by name; None where they are not known
Names = Sequence[str] | None


class Source:
    """A source of a SELECT: its alias, its columns, and the name of its column of instants, "" for none."""

    def __init__(self, alias: str, names: Names, instant: str) -> None:
        self.alias, self.names, self.instant = alias, names, instant
        self.merged: list[str] = []  # columns that a star shows once, for this source and the one before


def expand_stars(select: exp.Select, sources: Sequence[Source]) -> None:
    """Replace `*` and `t.*` by the names of the columns, in place."""
    if any(inner_stars(select)):
        raise NotSequenced
    items: list[exp.Expr] = []
    for item in select.expressions:
        star = star_of(item)
        of = folded(item.table) if isinstance(item, exp.Column) else ""
        items += [item] if star is None else _shown_by(star, of, select, sources)
    select.set("expressions", items)


def _shown_by(star: exp.Star, of: str, select: exp.Select, sources: Sequence[Source]) -> list[exp.Column]:
    """The columns that `*` or `of.*` shows."""
    if any(star.args.values()):
        raise NotSequenced  # EXCEPT and its like
    joins = select.args.get("joins") or []
    of_one_side = of or any(map(only_filters, joins))
    if of_one_side and any(map(merges_columns, joins)):
        raise NotSequenced  # Spark shows merged columns first, also of one side
    named = [source for source in sources if not of or folded(source.alias) == of]
    if not named or any(source.names is None for source in named):
        raise NotSequenced
    merged = [] if of else [n for source in named for n in source.merged]
    once = {folded(n) for n in merged}
    others = [column(n, source.alias) for source in named for n in source.names or () if folded(n) not in once]
    return [*map(column, merged), *others]


def merge(sources: Sequence[Source], source: Source, using: Sequence[str] | None) -> None:
    """Note in `source` the columns that a USING or NATURAL join shows once."""
    if using is None:
        if source.names is None or any(s.names is None for s in sources):
            raise NotSequenced
        theirs = {folded(n) for n in source.names}
        using = [n for s in sources for n in s.names or () if folded(n) in theirs]
    if len(sources) > 1:
        raise NotSequenced  # all joins before decide the place of merged columns in a star
    source.merged = list(using)


def lateral_source(lateral: exp.Expr) -> Source:
    """The source that a LATERAL VIEW, or a join with LATERAL, adds to each row."""
    alias = lateral.args.get("alias")
    return Source(alias.name if alias is not None else "", lateral.alias_column_names or None, "")
