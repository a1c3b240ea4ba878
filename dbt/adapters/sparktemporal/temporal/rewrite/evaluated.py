"""The parts of a model with the clock that are evaluated when a view is read: conditions, and the clock as a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ...errors import Refusal
from ..predicates.comparisons import Moves
from ..predicates.logic import TRUTHS
from ..predicates.weakening import weaken
from ..sql.functions.calls import is_aggregate_call
from ..sql.names.ctes import inside, visible_ctes, with_ctes
from ..sql.names.linear import over_rows_of
from ..sql.text.dialect import as_written, fragment, has_clock


@dataclass(frozen=True)
class Evaluated:
    """A part of a model that a read evaluates."""

    #: the part as text, because its tree changes later
    text: str
    #: True: evaluated over the rows in a stored window. False: over all rows
    windowed: bool
    #: the reason why a read evaluates the part
    why: str
    #: the word by which the part's SELECT takes a window; "" where only a query below takes one
    takes: str = "and"
    #: the condition, if it would give rows a window as a WHERE, or groups as a HAVING; else ""
    where: str = ""
    #: whether the part is a condition; else the clock is a value in the part
    is_condition: bool = True

    @property
    def note(self) -> str:
        over = "the rows in the window" if self.windowed else "all rows of its inputs"
        return f"evaluated when the view is read, over {over}: {self.text}"


@dataclass(frozen=True)
class AtRead:
    """A call of mz_now() that a read replaces."""

    call: exp.Expr
    select: exp.Select | None
    #: the reason why the call limits no stored rows
    why: str
    #: whether it stands above the rows of its SELECT
    is_above: bool


def evaluated(calls: Iterable[AtRead], cores: Sequence[exp.Select], moves: Moves) -> list[Evaluated]:
    """The conditions and values around calls of mz_now(), each once. moves: see `Moves`."""
    seen: list[exp.Expr] = []
    found: list[Evaluated] = []
    for at in calls:
        predicate = _predicate(at.call)
        part = _largest(at.call) if predicate is None else predicate
        if any(part is one for one in seen):
            continue
        seen.append(part)
        windowed = at.select is not None and _is_windowed(at.select, cores)
        takes = "where" if at.is_above else ""
        where = fragment(part) if at.is_above and not windowed and _is_window(predicate, moves) else ""
        if where and any(map(is_aggregate_call, as_written(part).walk())):
            takes = "having"
        found.append(Evaluated(fragment(part), windowed, at.why, takes, where, predicate is not None))
    return found


def _is_window(predicate: exp.Expr | None, moves: Moves) -> bool:
    """Whether a condition over single rows would give them a window if it stood in the WHERE."""
    if predicate is None or predicate.find(exp.Window, exp.Query, exp.Lambda):
        return False
    if any(map(is_aggregate_call, predicate.walk())):
        return False
    try:
        return not weaken(predicate, moves).read
    except Refusal:
        return False


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
    with_ = with_ctes(over_rows_of(select), visible_ctes(select)).args.get("with_")
    return with_ is not None and any(has_clock(cte) for cte in with_.expressions)


def _predicate(call: exp.Expr) -> exp.Expr | None:
    """The condition around a call: of a WHERE, ON, HAVING, QUALIFY, FILTER, CASE; or the largest predicate, or None."""
    found: exp.Expr | None = None
    node = call
    while node.parent is not None and not isinstance(node.parent, exp.Query):
        above = node.parent
        if isinstance(above, (exp.Where, exp.Having, exp.Qualify, exp.Join)):
            return node
        if isinstance(above, exp.If) and node.arg_key == "this":
            return node
        if isinstance(above, TRUTHS) or isinstance(above, exp.Case) and above.this:
            found = above
        node = above
    return found


def _largest(call: exp.Expr) -> exp.Expr:
    """The item of a SELECT, or of another clause, that has a call."""
    node = call
    while node.parent is not None and not isinstance(node.parent, (exp.Query, exp.Alias, exp.Ordered, exp.Lateral)):
        node = node.parent
    return node
