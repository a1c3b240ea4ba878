"""The state of a model: everything the next run and a read need.

Small by design (chains, instants, the split model); the rows are in the chains. `state_text` keeps it in the text of
`<model>__live`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..clock.schedule import Refreshes
from ..rewrite.core import PLACEHOLDER
from ..rewrite.kept import Kept
from ..rewrite.linear_aggregates import COUNT
from ..sql.text.dialect import quote
from .input_state import ChainId, Fingerprint


@dataclass(frozen=True)
class Chain:
    """A table one run wrote. Times are ms, None when it holds none; `negative` counts rows with mz_diff < 0.

    open: intervals without an end; None where there are no intervals.
    bucketed: it is partitioned by mz_bucket. edges_from: the instant from which its buckets grow, None where that is
    not known. parts: of updates, the first buckets and how many rows each has, as far as that decides how a read goes
    about it. after: only its updates after this instant count, those before are in another chain; first: the bucket in
    which they begin; held: how many rows its table has then.
    """

    table: str
    rows: int
    negative: int
    min_from: int | None
    max_from: int | None
    min_until: int | None
    max_until: int | None
    bucketed: bool = False
    parts: tuple[tuple[int, int], ...] = ()
    open: int | None = None
    after: int | None = None
    first: int | None = None
    held: int | None = None
    edges_from: int | None = None

    def source(self, schema: str) -> str:
        """What counts of it, to stand in a FROM. schema: as SQL names it."""
        table = f"{schema}.{quote(self.table)}"
        if self.after is None:
            return table
        from_bucket = f" AND mz_bucket >= {self.first}L" if self.first is not None else ""
        return f"(SELECT * FROM {table} WHERE mz_timestamp > {self.after}L{from_bucket})"

    @property
    def identity(self) -> ChainId:
        """Equal for equal rows."""
        return ChainId(self.table, self.after)


@dataclass(frozen=True)
class CoreState:
    """columns: of the rows, or the keys of the groups with their `sums`. kept: what that is, and why."""

    name: str
    columns: tuple[tuple[str, str], ...]
    chains: tuple[Chain, ...]
    sums: tuple[tuple[str, str], ...] | None = None
    kept: Kept = Kept()

    @property
    def placeholder(self) -> str:
        return PLACEHOLDER + self.name

    @property
    def read_columns(self) -> tuple[tuple[str, str], ...]:
        """The columns as a residual reads them: of a group the keys, the number of rows, and the sums."""
        return self.columns if self.sums is None else (*self.columns, (COUNT, "BIGINT"), *self.sums)


@dataclass(frozen=True)
class Late:
    """The tables of rows that came late, largest first, with the number of rows of each. columns: a hash of theirs."""

    columns: str
    tables: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Epoch:
    """What a model was before a restart, from `since` to before `until` (ms). table: of its state. chains: tables."""

    table: str
    since: int
    until: int
    chains: tuple[str, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table, *self.chains)


#: a file of an input: its name, size (bytes), time (ms), and place where it is not right in the table's directory
ListedFile = tuple[str, int, int, str]


@dataclass(frozen=True)
class State:
    """One commit of a model.

    schema: quoted, as SQL names it. run: the id of the run that committed.
    since, frontier, started_at, expiration: ms; reads are answered from since to expiration (None: for ever).
    offset: ms from started_at to the expiration. core_hash: of all that decides what the chains hold.
    residual: SQL over the placeholders. written: the model's SQL as compiled; kinds: of its mz_now() calls in order.
    inputs: relation -> its fingerprint when the run read it. read_by: hashes of the plan and the views that read them.
    manifest: the table of the files they had, "" for none; files: these files themselves, where they are few.
    statistics: the table of what is known of these files; measured: a hash of what it knows; measuring: how long the
    last collection took (ms). retired: tables no longer named, and when.
    project: the dbt project that ran it, so that one project never drops what another made.
    refreshes: the instants its content is of, None for every one. restart: the next run is to rebuild it.
    revised: up to this instant (ms) readers may have seen another output, which later commits changed after the fact: a
    run was pinned to the instant of the last one, or the query above the stored rows or one of its functions changed.
    dropped: about how many updates the expiration left out since the last restart. max_restart_delay: how much
    later than it was due a restart came at most (ms). state_table: the table that holds this state, "" where the view
    itself does. late: rows that came when their window was over, None where no run looked for them.
    at_function: it has a SQL table function. past: what it was before its restarts, as far as `retain_history` reaches.
    view_size: bytes of a view's text that the catalog was seen to keep, 0 where it was not asked.
    """

    model: str
    schema: str
    run: str
    since: int
    frontier: int
    started_at: int
    offset: int | None
    expiration: int | None
    core_hash: str
    residual: str
    columns: tuple[tuple[str, str], ...]
    cores: tuple[CoreState, ...]
    written: str
    kinds: tuple[str, ...]
    inputs: dict[str, Fingerprint]
    settings: dict[str, str]
    retired: tuple[tuple[str, int], ...] = ()
    sampled: bool = False
    project: str = ""
    read_by: tuple[str, ...] = ()
    manifest: str = ""
    statistics: str = ""
    measured: str = ""
    measuring: int = 0
    refreshes: Refreshes | None = None
    restart: bool = False
    revised: int | None = None
    dropped: int = 0
    max_restart_delay: int = 0
    state_table: str = ""
    files: dict[str, tuple[ListedFile, ...]] = field(default_factory=dict)
    late: Late | None = None
    at_function: bool = False
    past: tuple[Epoch, ...] = ()
    view_size: int = 0

    @property
    def tables(self) -> tuple[str, ...]:
        """All that it names, so that nothing of it is dropped."""
        return (*(c.table for c in self.chains), *self.beside_chains, *filter(None, (self.state_table,)))

    @property
    def beside_chains(self) -> tuple[str, ...]:
        """The tables that stay as they are when the chains are written anew."""
        late = [name for name, _ in self.late.tables] if self.late else []
        return (*filter(None, (self.manifest, self.statistics)), *late, *(t for e in self.past for t in e.tables))

    @property
    def answers_until(self) -> int | None:
        """The last instant (ms) at which reads are answered: up to the next refresh they show the last one."""
        if self.expiration is None or self.refreshes is None:
            return self.expiration
        return self.refreshes.next(self.expiration + 1) - 1

    @property
    def is_plain(self) -> bool:
        """Whether the model is the rows of its one core, and nothing is made of them when they are read."""
        return len(self.cores) == 1 and self.residual == f"SELECT * FROM {self.cores[0].placeholder}"

    @property
    def chains(self) -> tuple[Chain, ...]:
        return tuple(c for core in self.cores for c in core.chains)

    def advanced(self, **changes: object) -> State:
        return replace(self, **changes)  # type: ignore[arg-type]  # of several types
