"""Split a WHERE over the clock that cannot be solved as a whole: a part selects the stored rows, a read filters these.

    select id from t where mz_now() < hi and hour(mz_now()) = hour(ts)
      ->  select id from (select id, ts as mz_read_0 from t where mz_now() < hi) as mz_rows
          where hour(mz_now()) = hour(mz_read_0)

The inner SELECT is a core, or static where no part of the predicate can be solved. A read evaluates the outer SELECT.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from sqlglot import exp

from ...errors import Refusal
from ..predicates.comparisons import Moves
from ..predicates.weakening import Weakened, weaken
from ..sql.names.bind import columns_of
from ..sql.names.ctes import visible_ctes
from ..sql.names.linear import is_inside_a_value, is_linear, makes_groups
from ..sql.names.projection import pushdown_projections, with_field_name
from ..sql.names.scope import Describe, derived, quote_name, row_columns
from ..sql.text.dialect import conjunction, fragment, has_clock, put_in, render, set_where, shown_as, without
from ..sql.text.grammar import VerbatimSpark
from .evaluated import Evaluated
from .kept import Kept
from .stays import Stays

#: in the meta of the SELECT of a core: the reason why rows are kept and not groups
KEPT = "mz_kept"
_ROWS, _COLUMN = "mz_rows", "mz_read_"


def take_apart(
    tree: exp.Query, selects: Sequence[exp.Select], describe: Describe, moves: Moves
) -> tuple[exp.Query, list[exp.Select], list[Evaluated]]:
    """A tree and its temporal SELECTs -> (the changed tree, the SELECTs that can be solved, the filters of reads)."""
    numbers = count()
    found: list[Evaluated] = []
    cores: list[exp.Select] = []
    for select in selects:
        parts = weakened(select, moves)
        if not parts.read:
            cores.append(select)
            continue
        predicate, why = conjunction(parts.read), "; ".join(dict.fromkeys(parts.reasons))
        cut = None if is_inside_a_value(select) else _cut(select, parts, describe, numbers)
        if cut is None:  # a read evaluates the whole predicate
            found.append(Evaluated(fragment(predicate), False, why))
            continue
        written = fragment(predicate)
        outer, inner = cut
        tree = put_in(tree, select, outer)
        windowed = has_clock(inner)
        cores += [inner] if windowed else []
        found.append(Evaluated(written, windowed, why))
    return tree, cores, found


def weakened(select: exp.Select, moves: Moves) -> Weakened:
    """The weakened form of all predicates over the clock of a SELECT: its WHERE, and the ONs of its joins."""
    found = Weakened()
    for predicate in predicates(select):
        one = weaken(predicate, moves)
        found.stored.extend(one.stored)
        found.read.extend(one.read)
        found.reasons.extend(one.reasons)
    return found


def _joins(select: exp.Select) -> list[exp.Join]:
    return [j for j in select.args.get("joins") or [] if j.args.get("on") and has_clock(j.args["on"])]


def predicates(select: exp.Select) -> list[exp.Expr]:
    """The ONs over the clock of a SELECT, and its WHERE."""
    where = select.args.get("where")
    return [*(join.args["on"] for join in _joins(select)), *([where.this] if where is not None else [])]


def without_clock_in_joins(select: exp.Select) -> exp.Select:
    """A copy of a SELECT in which no join has an ON over the clock; an inner join without its ON is a CROSS JOIN."""
    rows = select.copy()
    for join in _joins(rows):
        join.set("on", None)
        if not (join.kind or join.method) or join.kind == "INNER":
            join.set("kind", "CROSS")
    return rows


def _cut(
    select: exp.Select, parts: Weakened, describe: Describe, numbers: count[int]
) -> tuple[exp.Select, exp.Select] | None:
    """(the SELECT that a read evaluates, the SELECT below it); None where the two cannot be separated."""
    rows = without_clock_in_joins(select)
    set_where(rows, parts.stored)
    rows.set("with_", None)
    predicate = conjunction(parts.read)
    visible = visible_ctes(select)
    try:
        if predicate.find(exp.Query):
            outer = _below_the_source(select, rows, predicate)
        elif is_linear(rows):
            outer = _below_the_list(rows, predicate, describe, visible, numbers)
        else:
            inner, outer = pushdown_projections(rows, _ROWS, describe, visible, predicate)
            table = outer.args["from_"].this
            table.replace(exp.Subquery(this=inner, alias=table.args["alias"].copy()))
    except (Stays, Refusal):
        return None
    inner = outer.args["from_"].this.this
    if makes_groups(outer):
        inner.meta[KEPT] = Kept(rows_because=f"{fragment(predicate)} is evaluated when the view is read")
    own = select.args.get("with_")
    if own is not None:
        outer.set("with_", own.copy())
    return outer, inner


def _below_the_source(select: exp.Select, rows: exp.Select, predicate: exp.Expr) -> exp.Select:
    """The SELECT with the filter, over a derived table of all columns: the filter's subquery may name any of them."""
    source = rows.args["from_"].this
    if rows.args.get("joins") or rows.args.get("laterals") or not source.alias_or_name:
        raise Stays  # the columns that its subquery needs are not known
    if any(len(column.parts) > 2 for column in select.find_all(exp.Column)):  # a table's full name, perhaps
        raise Stays
    below = exp.select("*").from_(source.copy())
    below.set("where", rows.args.get("where"))
    outer = select.copy()
    set_where(outer, [predicate])
    outer.set("from_", exp.From(this=derived(below, source.alias_or_name)))
    return outer


def _below_the_list(
    rows: exp.Select, predicate: exp.Expr, describe: Describe, visible: list[exp.CTE], numbers: count[int]
) -> exp.Select:
    """The SELECT with the filter, over a derived table that computes the SELECT list once for each row."""
    # the columns are asked for without the filter, because the filter has the clock
    names = [name for name, _ in columns_of(without(rows, "where"), describe, visible)]
    taken = {name.lower() for name in names}
    if len(taken) < len(names):
        raise Stays
    around = exp.Paren(this=predicate.copy())
    there = _named_in(rows, names)
    for column in row_columns(around):
        text = render(column)
        if text not in there:
            there[text] = next(n for n in (f"{_COLUMN}{i}" for i in numbers) if n not in taken)
            rows.append("expressions", exp.alias_(column.copy(), there[text], quoted=True))
        column.replace(with_field_name(column, shown_as(exp.column(quote_name(there[text])), column)))
    items = [exp.column(quote_name(name)) for name in names]
    return exp.select(*items).from_(derived(rows, _ROWS)).where(around.this.pop(), copy=False, dialect=VerbatimSpark)


def _named_in(rows: exp.Select, names: list[str]) -> dict[str, str]:
    """The columns of the rows that the list has unchanged: text of the column -> name in the list."""
    found = {render(c): c.name for c in rows.expressions if isinstance(c, exp.Column) and not c.is_star}
    # beside `* except (ts)` the list may have another `ts`
    if exp.Star() in rows.expressions and not (rows.args.get("joins") or rows.args.get("laterals")):
        source = rows.args["from_"].this.alias_or_name
        found |= {render(exp.column(name, table=of)): name for name in names for of in {None, source or None}}
    return {text: name for text, name in found.items() if name in names}
