"""Compaction: the due part of a large chain of updates becomes a chain of its own; the future stays in place.

    before   [ since ==== due ==== now | ------------- future ------------- ]
    after    [ base: a row a group ]   + the same chain, live only after now

A read adds up the due updates, so without compaction its cost grows with the clock. Compaction reads only the buckets
that begin before now. After Materialize's correction buffer (src/compute/src/sink/correction_v2.rs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import groups_sql
from .chains import rows_held
from .state import Chain, CoreState


def due(chain: Chain, now: int) -> tuple[int, int]:
    """Estimates of how many updates of a bucketed chain a read at `now` (ms) adds up: (in the base, elsewhere)."""
    parts = list(chain.parts)
    base = 0
    if parts and chain.after is None and parts[0][0] == chain.min_from:
        base = parts.pop(0)[1]
    total = 0.0
    for (begins, rows), following in zip(parts, [*(at for at, _ in parts[1:]), None]):
        if begins > now:
            break
        passed = 1.0 if following is None else min(1.0, (now - begins) / max(following - begins, 1))
        total += rows * passed
    return base, int(total)


def to_split(core: CoreState, now: int) -> list[Chain]:
    """The chains of a core whose due updates are to become a chain of their own; none while too few are due.

    Too few: outside of the bases, at most FEW_UPDATES updates are due, or at most as many as the bases hold.
    """
    if core.sums is None:
        return []
    over = [c for c in core.chains if is_due(c, now)]
    large = [c for c in core.chains if c.bucketed and c.parts and c not in over]
    counted = [*((c.rows, 0) if c.min_from == c.max_from else (0, c.rows) for c in over), *(due(c, now) for c in large)]
    base, others = map(sum, zip((0, 0), *counted))
    if others <= max(groups_sql.FEW_UPDATES, base):
        return []
    return [*over, *(c for c in large if any(due(c, now)))]


def is_due(chain: Chain, now: int) -> bool:
    """Whether all updates of a chain are due: such a chain is merged as a whole."""
    return chain.max_from is not None and chain.max_from <= now


def due_rows(chain: Chain, source: str, now: int) -> str:
    """SQL for a FROM: the updates of a chain up to `now` (ms)."""
    if is_due(chain, now):
        return source
    return f"(SELECT * FROM {source} WHERE mz_bucket <= {now}L AND mz_timestamp <= {now}L)"


def left(source: str, now: int) -> str:
    """A query: the buckets of a chain with updates after `now` (ms), and the number of these updates.

    For buckets that begin later, Spark reads only footers.
    """
    return (
        "SELECT mz_bucket, count(*)\nFROM (\n"
        f"  SELECT mz_bucket FROM {source} WHERE mz_bucket <= {now}L AND mz_timestamp > {now}L\n"
        f"  UNION ALL\n  SELECT mz_bucket FROM {source} WHERE mz_bucket > {now}L\n"
        ") AS mz_left\nGROUP BY mz_bucket"
    )


def without_due(chain: Chain, now: int, buckets: Sequence[tuple[int, int]]) -> Chain:
    """The chain without its updates up to `now` (ms), which another chain holds. buckets: the rows of `left`."""
    found = sorted(buckets)
    parts = [(max(begins, now + 1), rows) for begins, rows in found]
    held, is_known = rows_held(chain)
    return replace(
        chain,
        held=held if is_known else None,
        rows=sum(rows for _, rows in found),
        min_from=now + 1,
        after=now,
        first=found[0][0] if found else None,
        parts=groups_sql.first_parts(parts),
    )
