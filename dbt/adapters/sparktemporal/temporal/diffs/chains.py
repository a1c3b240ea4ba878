"""Name the tables of a model, choose the chains to merge, and find the tables to drop."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from ..sql.text.identifiers import Identifiers, folded
from .state import Chain, State

#: each chain has at least RATIO times the rows of the next, and after a merge there are at most CHAIN_CAP chains
RATIO, CHAIN_CAP = 3, 6
#: a run that splits off what is due merges nothing, and makes a chain of what was due beside the chain of its new rows
MOST_CHAINS = CHAIN_CAP + 1

#: chains of so few rows together are written again with what a run adds to them: a statement costs more than the rows
FEW_ROWS = 20_000

#: merges of fewer rows keep all times: the past can still be read, and costs little
SMALL_CHAIN = 100_000

#: chains of at least so many rows are partitioned by bucket; for fewer rows partitions cost more than they save
LARGE_CHAIN = 1_000_000

#: chains that no state ever named are kept this long: their run may still be writing (ms)
LONGEST_RUN_MS = 24 * 3_600_000

#: retired chains that a reading model has not followed yet are kept this long at most (ms)
LONGEST_HELD_MS = 7 * 24 * 3_600_000

#: a lock older than this is taken over (ms)
STALE_LOCK_MS = 3_600_000


def new_run_id(clock: int) -> str:
    """A unique id of a run. The id begins with the clock (ms), so that the age of an orphaned table is known."""
    return f"{max(clock, 0):011x}{secrets.token_hex(3)}00"


def next_id(run_id: str) -> str:
    """Another id for tables of the same run: ids of one run differ in the last two digits."""
    return f"{run_id[:-2]}{int(run_id[-2:], 16) + 1:02x}"


def first_id(run_id: str) -> str:
    """The first id of a run, which its lock has.

    >>> first_id(next_id("018dfa3cc80deadbeef00"))
    '018dfa3cc80deadbeef00'
    """
    return f"{run_id[:-2]}00"


def is_of_run(model: str, table: str, run_id: str) -> bool:
    """Whether a table was written by a run of a model."""
    found = _run_of(model, table)
    return found is not None and found[:-2] == run_id[:-2]


def run_clock(run_id: str) -> int | None:
    return int(run_id[:-8], 16) if re.fullmatch(r"[0-9a-f]{19,24}", run_id) else None


def chain_name(model: str, run_id: str, core: str = "c0") -> str:
    """`<model>__diffs_<run>` for the first core; for any other core the name of the core follows."""
    return f"{model}__diffs_{run_id}" + ("" if core == "c0" else f"_{core}")


def manifest_name(model: str, run_id: str) -> str:
    """The table of the files that a run read."""
    return f"{model}__inputs_{run_id}"


def statistics_name(model: str, run_id: str) -> str:
    """The table of the statistics of the files of the inputs."""
    return f"{model}__stats_{run_id}"


def late_name(model: str, run_id: str) -> str:
    """The table of the rows that came late to a run."""
    return f"{model}__late_{run_id}"


def state_name(model: str, run_id: str) -> str:
    """The table of a state that is too long for the text of a view, or of an epoch that has ended."""
    return f"{model}__state_{run_id}"


#: suffixes of a model's views beside the view that people read: commit record, updates, late rows
VIEWS = ("__live", "__diffs", "__late")
#: suffixes of a model's relations beside the view that people read
BESIDE = (*VIEWS, "__lock")


def is_relation_of(model: str, relation: str) -> bool:
    """Whether a temporal_view has a relation of that name, or may have one after some run.

    >>> is_relation_of("A", "a"), is_relation_of("a", "a__live"), is_relation_of("a", "a__life")
    (True, True, False)
    """
    if not folded(relation).startswith(folded(model)):  # dbt asks about each pair of models
        return False
    names = Identifiers([model, *(model + suffix for suffix in BESIDE)])
    return relation in names or born_of(model, relation) is not None


def is_view_of(model: str, relation: str) -> bool:
    """Whether a temporal_view has a view of that name for people to read, or may have one after some run.

    >>> is_view_of("A", "a__live"), is_view_of("a", "a__lock")
    (True, False)
    """
    return folded(relation) in [folded(model + suffix) for suffix in ("", *VIEWS)]


#: a metastore keeps names of 256 characters, and a directory may have 255
LONGEST_NAME = 255


def longest_name(model: str, cores: Iterable[str]) -> str:
    """The longest name of a table that a run of these cores may write."""
    run_id = new_run_id(0)
    names = [chain_name(model, run_id, core) for core in cores]
    return max([*names, manifest_name(model, run_id), statistics_name(model, run_id)], key=len)


def born_of(model: str, table: str) -> int | None:
    """The clock (ms) of the run that wrote a table of a model; None when no run gives such a name."""
    run_id = _run_of(model, table)
    return None if run_id is None else run_clock(run_id)


def core_of(model: str, table: str) -> str | None:
    """The core (c0, c1, …) whose chain a table of a model is; None when no chain has such a name.

    The name of a model may itself look like the name of a chain, so only the text after it counts.

    >>> run = "018dfa3cc80deadbe00"
    >>> core_of("m", f"m__diffs_{run}"), core_of("M", f"m__diffs_{run}_c1"), core_of("m", f"m__inputs_{run}")
    ('c0', 'c1', None)
    >>> core_of("orders__diffs_2024", f"orders__diffs_2024__diffs_{run}_c1")
    'c1'
    """
    found = _of_a_run(model, table)
    return (found["core"] or "c0") if found is not None and found["kind"].lower() == "diffs" else None


def _run_of(model: str, table: str) -> str | None:
    found = _of_a_run(model, table)
    return None if found is None else found["run"].lower()


def _of_a_run(model: str, table: str) -> re.Match[str] | None:
    if folded(table[: len(model)]) != folded(model):
        return None
    return _OF_A_RUN.fullmatch(table[len(model) :])


#: the text after the name of the model in the names of its tables
_OF_A_RUN = re.compile(
    r"__(?P<kind>diffs|inputs|stats|state|late)_(?P<run>[0-9a-f]{19,24})(?:_(?P<core>c[0-9]+))?", re.IGNORECASE
)


def largest_first(chains: Sequence[Chain]) -> list[Chain]:
    return sorted(chains, key=lambda chain: -chain.rows)


def chains_to_merge(rows: Sequence[int], new: int) -> int:
    """How many of the smallest chains to merge with `new` rows. rows: of each chain, largest chain first.

    Then each chain has at least RATIO times the rows of the next, and there are at most CHAIN_CAP chains.
    After Materialize's correction buffer (src/compute/src/sink/correction_v2.rs): where the cap forces no merge, a row
    is rewritten only into a chain that is at least 1 + 1/RATIO times as large, so O(log N) times in its life.
    """
    taken = 0
    while taken < len(rows):
        smallest = rows[-1 - taken]
        if smallest >= RATIO * new and len(rows) - taken < CHAIN_CAP:
            break
        new, taken = new + smallest, taken + 1
    return taken


def chains_to_rewrite(rows: Sequence[int], new: int) -> int:
    """How many of the smallest chains to write again together with about `new` rows. rows: largest chain first.

    A chain is taken if `chains_to_merge` would take it, or if the total stays within FEW_ROWS; but only while the total
    stays below SMALL_CHAIN. Larger merges move `since`, and wait until the number of new rows is known.
    """
    taken, total = 0, new
    while taken < len(rows):
        smallest = rows[-1 - taken]
        stays = smallest >= RATIO * total and len(rows) - taken < CHAIN_CAP
        if stays and total + smallest > FEW_ROWS or total + smallest >= SMALL_CHAIN:
            break
        total, taken = total + smallest, taken + 1
    return taken


def rows_held(chain: Chain) -> tuple[int, bool]:
    """(the least number of rows in the table of a chain, whether this number is exact)."""
    return (chain.held, True) if chain.held is not None else (chain.rows, chain.after is None)


def is_over(chain: Chain, since: int) -> bool:
    """Whether all intervals of a chain have ended at `since`."""
    return chain.open == 0 and chain.max_until is not None and chain.max_until <= since


@dataclass(frozen=True)
class Sweep:
    """The tables to drop now, and the retired tables that the state remembers: (table, instant of retirement in ms)."""

    drop: tuple[str, ...]
    retired: tuple[tuple[str, int], ...]


def sweep(
    model: str,
    existing: Iterable[str],
    old: State | None,
    new_tables: Iterable[str],
    clock: int,
    retention: int,
    held: Callable[[], Container[str]] = frozenset,
    is_ours: Callable[[str], bool] = lambda table: True,
) -> Sweep:
    """The tables of a model that may be dropped: unnamed by any state for `retention` ms, and orphans of dead runs.

    Without an old state the owner of a table is not known, so nothing is dropped. held: the tables by which models that
    read the model still find changes, kept for a week at most. is_ours: whether a run made a table that no state ever
    named. Both are called only on demand.
    """
    if old is None:
        return Sweep((), ())
    there, named = Identifiers(existing), Identifiers(new_tables)
    retired = _retired(old, named, clock)
    over = [t for t, at in retired.items() if clock - at >= retention and t not in named]
    kept_for = held() if over else ()
    drop = [t for t in over if t not in kept_for or clock - retired[t] >= LONGEST_HELD_MS]
    known = Identifiers([*retired, *named, *old.tables])
    drop += [t for t in there if t not in known and _is_of_dead_run(model, t, clock) and is_ours(t)]
    seen = Identifiers([*there, *old.tables])  # dbt's list may be older than the commit that names a table
    kept = tuple((t, at) for t, at in retired.items() if t not in drop and t in seen)
    return Sweep(tuple(t for t in drop if t in there), kept)


def _retired(old: State, named: Identifiers, clock: int) -> dict[str, int]:
    """The tables that are retired, by the new state or before -> the instant of their retirement (ms)."""
    before = Identifiers(table for table, _ in old.retired)
    return {**dict(old.retired), **{t: clock for t in Identifiers(old.tables) if t not in named and t not in before}}


def _is_of_dead_run(model: str, table: str, clock: int) -> bool:
    born = born_of(model, table)
    return born is not None and clock - born > LONGEST_RUN_MS
