"""The way of a run with changes, where correctness leaves a choice: append, merge, compare or rebuild.

| way | the run reads | and writes |
|---|---|---|
| append | the rows that changed | these rows, as a chain |
| merge | the rows that changed, and the chains that are hardly larger, or small | one chain of both |
| compare | all rows of its inputs, and the stored rows | the differences, as a chain |
| rebuild | all rows of its inputs | all rows, as a restart does |

A rebuild has the answer of the other ways from its instant on, and no past. So a run rebuilds only where nobody has
asked for the past, and where the numbers of rows say that a rebuild clearly costs less.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.lineage import FEED, OF_THE_PAST
from ..inputs.changing.capture import BYTES_OF_ROW
from ..plurals import quantity
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs.input_state import FilesFingerprint
from ..temporal.rewrite.core import TypedCore
from .plan import RunPlan
from .progress import Written

APPEND, MERGE, COMPARE, REBUILD = "append", "merge", "compare", "rebuild"

#: the cost of the statements of a run, whatever the rows, in reads of a row (as `benchmarks/choices.py` measures it)
STATEMENTS = 1_000_000
#: the cost for each row of bringing equal rows together, a shuffle by all columns, in reads of a row
SHUFFLED = 2.0
#: a rebuild has to cost less than the other way by this factor, because the past goes with it
CLEARLY = 1.1


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows, from which the costs of the ways follow. Reading a row costs 1, and so does writing a row."""

    #: rows of the inputs that are read to go on with what is stored
    read: int
    #: rows of the inputs; None where not known
    every: int | None
    #: rows of the chains
    stored: int
    #: rows of the chains that are written again by the statement that writes the new rows
    joined: int = 0
    #: rows of the chains that are written again by a later statement
    merged: int = 0
    #: whether the rows that are read are compared with the stored rows
    compares: bool = False
    #: whether rows are summed by group before they are written
    grouped: bool = False

    @property
    def going_on(self) -> float:
        """The cost of a run that goes on with what is stored. Differences are taken to be few."""
        if self.compares:
            return STATEMENTS + self._reading * self.read + self.stored + SHUFFLED * 2 * self.stored
        new = self.read + self.joined
        return STATEMENTS + (self._reading + 1) * (new + (new + self.merged if self.merged else 0))

    @property
    def rebuilding(self) -> float | None:
        """The cost of a rebuild; None where not known."""
        if self.every is None:
            return None
        return STATEMENTS + self._reading * self.every + self.stored + (0 if self.compares else self.read)

    @property
    def _reading(self) -> float:
        return 1 + SHUFFLED if self.grouped else 1

    @property
    def is_rebuilt(self) -> bool:
        """Whether a run rebuilds, as far as its costs say: a rebuild clearly costs less."""
        rebuilding = self.rebuilding
        is_less = rebuilding is not None and self.going_on > CLEARLY * rebuilding
        return is_less and self.stored >= chain_rules.SMALL_CHAIN  # smaller chains keep their past, as in merges


def sizes(plan: RunPlan) -> Sizes:
    """The sizes of a run, from what the run has asked already: counted rows, else the bytes of files."""
    capture = plan.capture
    taken = [_taken(plan, core) for core in plan.changed if capture.cores[core.name].is_incremental]
    return Sizes(
        read=capture.rows_expected,
        every=_every(plan),
        stored=sum(chain.rows for core in plan.model.cores for chain in plan.old_chains(core.name)),
        joined=sum(joined for joined, _ in taken),
        merged=sum(merged for _, merged in taken),
        compares=any(not delta.is_same and not delta.is_incremental for delta in capture.cores.values()),
        grouped=any(core.sums is not None for core in plan.changed),
    )


def _every(plan: RunPlan) -> int | None:
    """About how many rows the inputs have; None where that would take a question."""
    capture, rows = plan.capture, 0
    for name, seen in capture.inputs.items():
        if name in capture.read and capture.read[name] is None:
            rows += capture.rows_about(name)
        elif isinstance(seen.fingerprint, FilesFingerprint):
            new, size = capture.counts.get(name), capture.sizes.get(name)
            of_row = size / new if new and size else BYTES_OF_ROW  # other files have rows like the new ones
            rows += int(seen.fingerprint.files.size / of_row)
        else:
            return None
    return rows


def _taken(plan: RunPlan, core: TypedCore) -> tuple[int, int]:
    """The rows of the chains that are written again (with the new rows, later), by an estimate of the new rows."""
    old = [chain.rows for chain in plan.old_chains(core.name)]
    new = plan.capture.rows_about_for(core.name)
    joined = chain_rules.chains_to_rewrite(old, new)
    left, joined_rows = old[: len(old) - joined], sum(old[len(old) - joined :])
    merged = chain_rules.chains_to_merge(left, new + joined_rows)
    return joined_rows, sum(left[len(left) - merged :])


# -- the choice --


def why_rebuild(plan: RunPlan) -> str:
    """The reason for which a run rebuilds although it could go on with what is stored; "" where it goes on."""
    if not _is_open(plan):
        return ""
    found = sizes(plan)
    if not found.is_rebuilt or _needed_by(plan):
        return ""
    if found.compares:
        return f"all rows of its inputs are read anyway, and cost less to write than to compare with {_stored(found)}"
    return f"{_read(found)} would be merged with {quantity(found.merged, 'row')}, and a rebuild reads and writes less"


def _is_open(plan: RunPlan) -> bool:
    """Whether a run has a choice: it has changes and reads no sample, and could go on with what is stored."""
    goes_on = plan.built_on is not None and not plan.writes_nothing
    return goes_on and not plan.capture.is_same and not plan.invocation.sampled


def _needed_by(plan: RunPlan) -> str:
    """What needs the rows as they are stored, so that a run does not rebuild by choice; "" for nothing."""
    config, host_facts = plan.config, plan.host_facts
    needs = {
        f"full_read: {config.full_read}": config.full_read != "allow",
        "retain_history": config.retain_history is not None,
        "store_late": config.store_late,
        "at_function": config.at_function,
        "change_capture: append": config.append_column is not None,
        "full_refresh: false": plan.definition.config.get("full_refresh") is False,
        "a temporal view over it": bool(host_facts.readers),
        "a feed of it": FEED in host_facts.macros,
        "a query of its past": not host_facts.macros.isdisjoint(OF_THE_PAST),
    }
    return next((name for name, is_needed in needs.items() if is_needed), "")


# -- in words --


def choice(plan: RunPlan, written: Written | None = None) -> tuple[str, str] | None:
    """(the way of a run over changes, its reason); None for a run that has no choice.

    written: what the run has written; None for a run that has not written yet, whose merges follow from estimates.
    """
    if plan.decision.by_cost:
        return REBUILD, plan.decision.reason
    if not _is_open(plan):
        return None
    found = sizes(plan)
    if found.compares:
        return COMPARE, f"all rows of its inputs are compared with {_stored(found)}, because {_kept(plan, found)}"
    merges = found.joined or found.merged if written is None else written.joined or written.merged
    if merges:
        return MERGE, f"{_read(found)} and the last chains are of like size, or few"
    return APPEND, f"{_read(found)} are few beside {_stored(found)}"


def _kept(plan: RunPlan, found: Sizes) -> str:
    """Why a run that compares does not rebuild."""
    if found.stored < chain_rules.SMALL_CHAIN:
        return "so few rows keep their past"
    return f"{_needed_by(plan)} needs their past" if found.is_rebuilt else "a rebuild would not clearly cost less"


def _read(found: Sizes) -> str:
    return f"about {quantity(found.read, 'new row')}"


def _stored(found: Sizes) -> str:
    return quantity(found.stored, "stored row")
