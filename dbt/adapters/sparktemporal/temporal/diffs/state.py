"""The state of a model: all that a read or the next run has to know, except the rows.

The rows are in the chains, so a state is small. `state_text` keeps the state in the text of `<model>__live`, or a long
state in a table that this text names.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..clock.schedule import Refreshes
from ..predicates.ordered import YEARS_END
from ..rewrite.core import PLACEHOLDER
from ..rewrite.kept import Kept
from ..rewrite.linear_aggregates import COUNT
from ..sql.text.dialect import quote
from .input_state import ChainId, Fingerprint


@dataclass(frozen=True)
class Chain:
    """A table that one run wrote. Instants are ms, None when the table has none."""

    table: str
    rows: int
    #: the number of rows with mz_diff < 0
    negative: int
    min_from: int | None
    max_from: int | None
    #: the last end of an interval; None where no interval has an end, and for a chain of updates
    max_until: int | None
    #: whether the table is partitioned by mz_bucket
    bucketed: bool = False
    #: (bucket, its rows) for the first buckets of a chain of updates, as far as a read depends on these buckets
    parts: tuple[tuple[int, int], ...] = ()
    #: the number of intervals without an end; None for a chain of updates
    open: int | None = None
    #: only updates after this instant belong to the chain; earlier updates of the table are in another chain now
    after: int | None = None
    #: the bucket of the first updates after `after`
    first: int | None = None
    #: with `after`: the number of all rows in the table; None where not known
    held: int | None = None
    #: the instant from which the buckets grow; None where not known
    edges_from: int | None = None

    def source(self, schema: str) -> str:
        """The rows of the chain, for a FROM. schema: as SQL names it."""
        table = f"{schema}.{quote(self.table)}"
        if self.after is None:
            return table
        from_bucket = f" AND mz_bucket >= {self.first}L" if self.first is not None else ""
        return f"(SELECT * FROM {table} WHERE mz_timestamp > {self.after}L{from_bucket})"

    @property
    def identity(self) -> ChainId:
        """The identity of the chain. Equal identities mean equal rows."""
        return ChainId(self.table, self.after)


@dataclass(frozen=True)
class CoreState:
    """A core, as the last commit has it."""

    name: str
    #: (name, type): the columns of rows, or the keys of groups
    columns: tuple[tuple[str, str], ...]
    chains: tuple[Chain, ...]
    #: (name, type): the sums of groups; None for rows
    sums: tuple[tuple[str, str], ...] | None = None
    #: the form, rows or groups, and its reason
    kept: Kept = Kept()

    @property
    def placeholder(self) -> str:
        return PLACEHOLDER + self.name

    @property
    def is_uncorrected(self) -> bool:
        """Whether the core is kept as rows, and each stored interval is one of its rows."""
        return self.sums is None and not any(chain.negative for chain in self.chains)

    @property
    def read_columns(self) -> tuple[tuple[str, str], ...]:
        """The columns that a residual reads; for groups these are the keys, the number of rows, and the sums."""
        return self.columns if self.sums is None else (*self.columns, (COUNT, "BIGINT"), *self.sums)


@dataclass(frozen=True)
class Late:
    """The tables of the rows that came late."""

    #: a hash of the columns of the tables
    columns: str
    #: (table, its rows), largest first
    tables: tuple[tuple[str, int], ...] = ()
    #: (name, type): these columns, where neither a table nor the columns of the cores tell them
    shown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Epoch:
    """The past of a model before a restart, from `since` to before `until` (ms)."""

    #: the table of the state of that time
    table: str
    since: int
    until: int
    #: the tables of the chains
    chains: tuple[str, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table, *self.chains)


#: a file of an input: its name, size (bytes), time (ms), and place (see `file_lists`)
ListedFile = tuple[str, int, int, str]


@dataclass(frozen=True)
class State:
    """One commit of a model, which answers reads from `since` to `answers_until`. Instants are ms."""

    model: str
    #: the schema, quoted
    schema: str
    #: the id of the run that committed
    run: str
    since: int
    #: the instant of the run: updates up to the frontier are final
    frontier: int
    #: the instant of the last rebuild
    started_at: int
    #: the time from started_at to the expiration (ms)
    offset: int | None
    #: None for ever
    expiration: int | None
    #: a hash of all that decides the rows in the chains
    core_hash: str
    #: SQL over the placeholders of the cores
    residual: str
    columns: tuple[tuple[str, str], ...]
    cores: tuple[CoreState, ...]
    #: the compiled SQL of the model
    written: str
    #: the kinds of the mz_now() calls in `written`, in order
    kinds: tuple[str, ...]
    #: relation -> its fingerprint when the run read the relation
    inputs: dict[str, Fingerprint]
    settings: dict[str, str]
    #: (table, since when no commit names it)
    retired: tuple[tuple[str, int], ...] = ()
    #: whether the run read a sample of the inputs
    sampled: bool = False
    #: the dbt project that ran the model: no project drops the tables of another
    project: str = ""
    #: hashes of the plan and of the views through which the inputs were read
    read_by: tuple[str, ...] = ()
    #: the table of the inputs' files, "" for none
    manifest: str = ""
    #: the table of the statistics of these files, "" for none
    statistics: str = ""
    #: a hash of all that the statistics depend on besides the files
    measured: str = ""
    #: how long the last collection of statistics took (ms)
    measuring: int = 0
    #: None for a model without refreshes
    refreshes: Refreshes | None = None
    #: whether the next run must rebuild the model
    restart: bool = False
    #: up to this instant readers may have seen another output: a run was not after the frontier, or the query above the
    #: stored rows changed, or a function in it. None for no such instant
    revised: int | None = None
    #: about how many updates the expiration left out since the last restart
    dropped: int = 0
    #: the longest time that a restart, once due, has waited for a run (ms)
    max_restart_delay: int = 0
    #: the table that holds this state, "" where the view holds the state
    state_table: str = ""
    #: the inputs' files themselves, where they are few: relation -> files
    files: dict[str, tuple[ListedFile, ...]] = field(default_factory=dict)
    #: None where no run looked for late rows
    late: Late | None = None
    #: whether the model has a SQL table function
    at_function: bool = False
    #: the time before restarts, as far as `retain_history` reaches
    past: tuple[Epoch, ...] = ()
    #: the bytes of the longest view text that the catalog is known to keep, 0 where the catalog was not asked
    view_size: int = 0

    def shown_sql(self, t: str) -> str:
        """SQL of the instant whose rows a read at t shows: the last refresh, or since; t without refreshes.

        t: SQL of BIGINT, ms.
        """
        return t if self.refreshes is None else f"greatest({self.refreshes.last_sql(t)}, {self.since}L)"

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that the state names, so that no run drops them."""
        return (*(c.table for c in self.chains), *self.beside_chains, *filter(None, (self.state_table,)))

    @property
    def beside_chains(self) -> tuple[str, ...]:
        """The tables of manifest, statistics, late rows and epochs. temporal_consolidate leaves them as they are."""
        late = [name for name, _ in self.late.tables] if self.late else []
        return (*filter(None, (self.manifest, self.statistics)), *late, *(t for e in self.past for t in e.tables))

    @property
    def answers_until(self) -> int | None:
        """The last instant (ms) at which reads are answered; None for ever.

        A model with refreshes answers until right before the first refresh after the expiration, because reads show the
        last refresh.
        """
        if self.expiration is None or self.refreshes is None:
            return self.expiration
        return self.refreshes.next(self.expiration + 1) - 1

    @property
    def expires(self) -> int | None:
        """`answers_until` as shown to people: None also for a model that is limited only by YEARS_END."""
        until = self.answers_until
        return None if until is None or until >= YEARS_END - 1 else until

    @property
    def is_plain(self) -> bool:
        """Whether the model has exactly the rows of its one core."""
        return len(self.cores) == 1 and self.residual == f"SELECT * FROM {self.cores[0].placeholder}"

    @property
    def chains(self) -> tuple[Chain, ...]:
        return tuple(c for core in self.cores for c in core.chains)

    def advanced(self, **changes: object) -> State:
        return replace(self, **changes)  # type: ignore[arg-type]  # of several types
