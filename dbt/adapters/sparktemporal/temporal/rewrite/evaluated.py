"""The messages about predicates over the clock that are evaluated when a view is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..sql.names.ctes import inside, visible_ctes, with_ctes
from ..sql.text.dialect import fragment, has_clock


@dataclass(frozen=True)
class Evaluated:
    """A predicate that a read evaluates."""

    #: the text of the predicate: its tree changes later
    predicate: str
    #: True: evaluated over the rows in a stored window. False: over all rows
    windowed: bool
    #: the reason why no part of the predicate is stored
    why: str = ""
    #: a change of the model, after which a window is stored
    advice: str = "A comparison of mz_now() beside it (`and mz_now() < ts + interval 7 days`) limits both"

    @property
    def note(self) -> str:
        over = "the rows in the window" if self.windowed else "all rows of its inputs"
        return f"evaluated when the view is read, over {over}: {self.predicate}"


def evaluated(calls: Iterable[tuple[exp.Expr, exp.Select | None, str]], cores: Sequence[exp.Select]) -> list[Evaluated]:
    """The predicates around calls of mz_now(). A call outside of a predicate needs no message.

    calls: (a call that a read replaces, its SELECT, why the window of the SELECT is not stored).
    """
    seen: list[exp.Expr] = []
    found: list[Evaluated] = []
    for call, select, why in calls:
        predicate = _predicate(call)
        if predicate is None or any(predicate is one for one in seen):
            continue
        seen.append(predicate)
        windowed = select is not None and _is_windowed(select, cores)
        found.append(Evaluated(fragment(predicate), windowed, why, _BELOW))
    return found


_BELOW = (
    "The window in a CTE that the SELECT reads (`with recent as (select * from … where mz_now() < ts + interval "
    "7 days)`) limits both"
)


def _is_windowed(select: exp.Select, cores: Sequence[exp.Select]) -> bool:
    """Whether a SELECT is windowed, or reads a windowed source.

    A window in a subquery of the WHERE does not count: such a window limits none of the stored rows of the SELECT.
    """
    if any(core is select for core in cores):
        return True
    from_, joins = select.args.get("from_"), select.args.get("joins") or []
    sources = [*filter(None, [from_]), *joins]
    if any(inside(core, source) for core in cores for source in sources):
        return True
    named = exp.Select(from_=from_ and from_.copy(), joins=[join.copy() for join in joins])
    with_ctes(named, visible_ctes(select))
    with_ = named.args.get("with_")
    return with_ is not None and any(has_clock(cte) for cte in with_.expressions)


def _predicate(call: exp.Expr) -> exp.Expr | None:
    """The condition around a call: of a WHERE, ON, HAVING, FILTER or CASE; else the largest comparison."""
    found: exp.Expr | None = None
    node = call
    while node.parent is not None and not isinstance(node.parent, exp.Query):
        above = node.parent
        if isinstance(above, (exp.Where, exp.Having, exp.Qualify, exp.Join)):
            return node
        if isinstance(above, exp.If) and node.arg_key == "this":
            return node
        if isinstance(above, (exp.Predicate, exp.Connector, exp.Not)) or isinstance(above, exp.Case) and above.this:
            found = above
        node = above
    return found


def unbounded(filters: Sequence[Evaluated]) -> tuple[str, ...]:
    """The warning about filters that a read applies to all rows."""
    return tuple(
        f"{found.predicate} is evaluated when the view is read, over all rows of its inputs ({found.why}). "
        f"No window limits what is stored, so a read costs what the query costs over a table. {found.advice}"
        for found in filters
        if found.why and not found.windowed
    )
