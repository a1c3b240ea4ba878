"""Comparisons that change together: `y = year(mz_now()) and m = month(mz_now())`.

A month alone comes again each year. A month beside its year comes once: the two are compared as one value.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..sql.text.dialect import is_mz_now
from .logic import comparison
from .monotonicity import is_side
from .ordered import ordered

#: place of a comparison -> (its function of the clock, its other side)
Pairs = dict[int, tuple[exp.Expr, exp.Expr]]
#: the most comparisons in one conjunction that are looked at together
_MOST = 8


def joined(parts: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The conjuncts, where conjuncts that change together are joined into one conjunct."""
    ones = list(parts)
    found = {i for places in _sequences(ones) for i in places}
    if not found:
        return ones
    together = [ones[i] for i in sorted(found)]
    rest = [part for i, part in enumerate(ones) if i not in found]
    whole: exp.Expr = together[0].copy()
    for part in together[1:]:
        whole = exp.And(this=whole, expression=part.copy())
    return [*rest, whole]


def sequences(parts: Sequence[exp.Expr]) -> list[tuple[exp.Tuple, exp.Tuple, list[int]]]:
    """(monotone tuple of functions of the clock, tuple on the other side, places of the parts) for each sequence."""
    found = []
    for places in _sequences(parts):
        pairs = [pair for i in places if (pair := _pair(parts[i])) is not None]
        clocks, others = (exp.Tuple(expressions=[pair[side_].copy() for pair in pairs]) for side_ in (0, 1))
        found.append((clocks, others, places))
    return found


def _sequences(parts: Sequence[exp.Expr]) -> list[list[int]]:
    """The places of comparisons that are monotone as a sequence, and not one by one."""
    pairs = {i: pair for i, part in enumerate(parts) if (pair := _pair(part)) is not None}
    alone = {i for i, (clock, _) in pairs.items() if is_side(clock)}
    if len(alone) == len(pairs) or not alone or len(pairs) > _MOST:
        return []
    equal = [i for i in pairs if isinstance(parts[i].unnest(), (exp.EQ, exp.NullSafeEQ))]
    finer = [i for i in equal if i not in alone]
    ends = [i for i in pairs if i not in alone and i not in equal]
    wholes = [_longest([first], finer, pairs) for first in equal if first in alone]
    return [places for whole in wholes for places in _of_whole(whole, ends, pairs)]


def _of_whole(whole: list[int], ends: list[int], pairs: Pairs) -> list[list[int]]:
    """A sequence of equalities, and the sequences of its first ones and a comparison by order."""
    ended = []
    for last in ends:
        shorter = (whole[:end] for end in range(len(whole), 0, -1))
        ended += [[*places, last] for places in shorter if _is_one([*places, last], pairs)][:1]
    return [whole] * (len(whole) > 1) + ended


def _longest(places: list[int], more: list[int], pairs: Pairs) -> list[int]:
    for place in more:
        if place not in places and _is_one([*places, place], pairs):
            return _longest([*places, place], more, pairs)
    return places


def _is_one(places: list[int], pairs: Pairs) -> bool:
    return ordered(exp.Tuple(expressions=[pairs[i][0].copy() for i in places])) is not None


def _pair(part: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """(the function of the clock, the other side) of a comparison; None for the bare clock and for other parts."""
    found = comparison(part.unnest())
    one = None if found is None or found.operator == "<>" else found.by_clock
    return None if one is None or is_mz_now(one.left.unnest()) else (one.left, one.right)
