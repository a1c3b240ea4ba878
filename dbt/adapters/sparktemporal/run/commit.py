"""The commit of a model: the one statement that publishes a state, in a text that the metastore keeps.

`Commit` is the one place that writes `<model>__live`, for runs, consolidation and operations alike. Its guards:

| found | the commit |
|---|---|
| a view of that name that no run of the model made | is refused (`ForeignRelation`) |
| a commit of another run than the one to follow | fails: what was written may be of an older state |
| a lock that another run took over | fails for the same reason |
| a catalog without views | goes to a table of one row (`engine/commit_records`) |
| a text longer than the metastore keeps | takes a shorter form, or fails |

The plain text is used where the catalog surely keeps a text of its length, else the first shorter form that the catalog
surely keeps. If no form is short enough, a probe tells whether the catalog keeps a view of the length of the shortest
(`view_probe`), and the state remembers a length that is kept. Before a first run or a rebuild writes,
`ViewTexts.refuse_too_long` asks the same about the longest text that later runs may need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..engine import commit_records
from ..engine.commit_records import CREATE_VIEW
from ..engine.committed import live_view, state_of
from ..engine.descriptions import ALTER, ViewInfo
from ..engine.model_relations import ModelRelations
from ..engine.ownership import marked
from ..engine.warehouse import Warehouse
from ..errors import Explained, ForeignRelation, Refusal, without_trace
from ..plurals import quantity
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compact_sql, intervals_sql, readable_updates, view_sql
from ..temporal.diffs.state import Chain, CoreState, State
from ..temporal.diffs.state_text import VIEW_TEXT_LIMIT, Form, embed, is_commit, packed, run_of
from ..temporal.diffs.stores import store_of
from ..temporal.sql.spark.errors import spark_words
from . import lock, view_probe

_STATIC = "move static parts of the model (long CASEs, CTEs, lists of columns) into an upstream model"
_APART = (
    "temporal views with some of its {} that read the clock each, and this model over them as materialized='view', "
    "which is right at each read too"
)
_LIVE = (
    "materialized='view' for this model, which is right at each read too: it has no clock of its own, and reads "
    "temporal views"
)
#: how much the clocks of two engines may differ (ms)
_SKEW = 60_000


#: (the state of a commit, the commit as Spark has it) -> the statements that bring the other relations up to date
FollowedBy = Callable[[State, "ViewInfo | None"], Iterable[Statement]]


@dataclass(frozen=True)
class Commit:
    """A commit that is to follow another commit, or to be the first."""

    #: the texts of the views
    texts: ViewTexts
    #: the run of the commit to follow, None where there is none
    after: str | None
    #: the advice when another run has committed
    again: str

    @staticmethod
    def of_operation(warehouse: Warehouse, target: ModelRelations, state: State) -> Commit:
        """The commit of an operation on a model whose state was read."""
        again = f"the same again, when no run of {target.model} is going on"
        live = live_view(warehouse, target, [f"{target.model}__live"])
        return Commit(ViewTexts(warehouse, target, live, kept=state.view_size), state.run, again)

    def is_due(self) -> bool:
        """Whether the live commit still is the commit to follow."""
        return self._run_of(self._live(self.after)) == self.after

    def is_overtaken(self, run: str, locked: int) -> bool:
        """Whether a rival, which began before this run got the lock, has replaced the commit that this run follows.

        locked: when this run got the lock (ms, by the engine's clock; the rival's clock may be up to a minute ahead).
        """
        rival = self._run_of(self._live(self.after))
        if rival is None or rival in (self.after, run):
            return False
        began, before = chain_rules.run_clock(rival), chain_rules.run_clock(self.after or "")
        return began is not None and (before or 0) <= began <= locked + _SKEW

    def refuse_other(self, run: str) -> None:
        """Raise TemporalError where the live commit is neither of `run` nor the commit to follow."""
        if self._run_of(self._live(self.after)) != run:
            self._expected(self.after, "before")

    def prepare(self, state: State) -> tuple[State, list[Statement]]:
        """(the state as it is published, the statements that publish the state). The last statement is the commit.

        Raises ForeignRelation where the live view is no commit of the model. Raises TemporalError where another run
        committed (ST513) or took the lock over (ST526), or where the catalog keeps no text so long (ST514). A first
        commit needs no look at the live view: CREATE VIEW fails where a view exists, and `refuse_other` tells why.
        """
        live = None if self.after is None else self._expected(self.after, "before")
        prepared = self.texts.committing(state, live.rewrite if live else self.texts.first, self.after)
        lock.refuse_lost(self.texts.warehouse, self.texts.target, state.run, self.again)  # as late as can be
        return prepared

    def send(self, statements: Sequence[Statement]) -> None:
        """Execute the statements of an operation. `Writer` executes the statements of a run."""
        for statement in statements:
            self.texts.warehouse.rows(statement.sql)

    def followed(self, state: State, statements: FollowedBy, run: str | None = None) -> Iterator[Statement]:
        """The statements that bring the other relations up to date, until these relations show the last commit.

        A statement replaces a relation, whatever the relation shows. If another run commits and publishes before the
        server executes the statement, the relation shows the older commit again. So the run reads the live commit
        *after* its statements, and publishes again if the live commit is another one.

        A run that surely has its lock need not read the live commit: nobody else can have committed since. So
        `statements` gets the view as it was before the run's commit. A commit in a table is read once all the same,
        because an UPDATE that finds no row succeeds too.

        state: the state of the commit. run: the run that committed it; None for a run that has committed nothing.
        Raises ForeignRelation, and TemporalError (ST513) where the commit of `run` was never the last one.
        """
        shown, is_seen = "", run is None
        while True:
            if run is not None and lock.is_sure(run) and (shown or not self.texts.is_table):
                live, last, is_seen = self.texts.live, state.run, True
            else:
                live = self._own(state.run)
                last = self._run_of(live) or ""
                is_seen = is_seen or last == run
            if live is None and last != state.run or last == shown:
                break
            if live is not None and last != state.run:
                state = state_of(self.texts.warehouse, self.texts.target, live)
            yield from statements(state, live)
            shown = state.run
        if not is_seen:
            raise self._replaced(live, run, "after")

    def _expected(self, run: str | None, when: str) -> ViewInfo | None:
        live = self._own(run)
        if self._run_of(live) != run:
            raise self._replaced(live, run, when)
        return live

    def _own(self, run: str | None) -> ViewInfo | None:
        """The live commit, or None. Raises ForeignRelation where the live view is no commit of the model."""
        live, model = self._live(run), self.texts.target.model
        if live is not None and not is_commit(live.text, model):
            raise ForeignRelation(f"{model}__live", model)
        return live

    def _replaced(self, live: ViewInfo | None, run: str | None, when: str) -> Explained:
        return Explained(
            "ST513",
            f"{self.texts.target.model}__live is of run {self._run_of(live)}, {run} was expected {when} the commit",
            "another run committed meanwhile; what this one wrote may be of an older state",
            self.again,
        )

    def _live(self, run: str | None) -> ViewInfo | None:
        target = self.texts.target  # a DESCRIBE of a missing view logs an error on the server
        return live_view(self.texts.warehouse, target, None if run is None else [f"{target.model}__live"])

    @staticmethod
    def _run_of(live: ViewInfo | None) -> str | None:
        return None if live is None else run_of(live.text)


@dataclass
class ViewTexts:
    """The texts that the views of a model can have in their catalog."""

    warehouse: Warehouse
    target: ModelRelations
    #: the commit record `<model>__live` as it was before the commit, None where there is none
    live: ViewInfo | None
    #: the verb of the first commit of a model
    first: str = CREATE_VIEW
    #: the bytes of the longest text that the catalog is known to keep
    kept: int = 0

    @property
    def is_table(self) -> bool:
        """Whether the commits of the model go to a table, as the catalog has no views."""
        return commit_records.is_table(self.live.rewrite if self.live else self.first)

    def fits(self, text: str) -> bool:
        return len(text) <= VIEW_TEXT_LIMIT or _size(text) <= self.kept or self._has_no_limit

    def _denial(self, size: int) -> str:
        """Make a view of `size` bytes, as a probe -> the catalog's reason to refuse the view, "" for none."""
        schema = self.target.views_in if self.is_table else self.target.schema
        error = view_probe.refusal(self.warehouse, self.target, schema or self.target.schema, size)
        if error is None:
            self.kept = size
        return "" if error is None else spark_words(without_trace(str(error)))

    @cached_property
    def _has_no_limit(self) -> bool:
        """Whether texts have no limit, as in views of Iceberg.

        With commits in a table, only the catalog of `views_in` may have a limit: the views there have the same texts.
        """
        if self.is_table:
            return not self.target.views_in
        if self.live is not None:
            return self.live.rewrite != ALTER
        return self.warehouse.is_icebergs(self.warehouse.catalog())

    @cached_property
    def _has_star_except(self) -> bool:
        return int(self.warehouse.version().split(".")[0]) >= 4

    def committing(self, state: State, verb: str, after: str | None) -> tuple[State, list[Statement]]:
        """(the state as it is published, the statements that publish the state). The last statement is the commit.

        verb: the verb of the statement that commits. after: the run that committed before. Raises TemporalError (ST514)
        where the catalog keeps no text so long.
        """
        steps: list[Statement] = []
        found = self._fitting(state)
        if found is None and self._has_star_except and not compact_sql.can_write(state):
            state, steps = self._with_chains(state)
            found = self._fitting(state)
        if found is None and not (denial := self._denial(size := self._smallest(state))):
            found = self._fitting(state)
        if found is None:
            raise Explained(
                "ST514",
                f"a view text of {size:,} characters for {state.model}__live",
                f"the catalog does not keep one so long: {denial}",
                _shorter(state, size),
            )
        state, text, form = found
        if form is Form.TABLE:
            table = self.target.table(state.state_table)
            create = (
                f"CREATE TABLE {table} USING parquet {marked(self.target)} AS\nSELECT '{packed(state)}' AS mz_state"
            )
            steps.append(Statement("the state, too long for a view", create))
        commit = commit_records.statement(verb, self.target.name("__live"), text, state.run, after)
        return state, [*steps, Statement("commit", commit)]

    def updates(self, cores: Sequence[CoreState], schema: str) -> str:
        """The text of `<model>__diffs`."""
        plain = readable_updates.as_updates(cores, schema)
        if self.fits(plain) or not self._has_star_except or not all(core.chains for core in cores):
            return plain
        return readable_updates.compact(cores, schema)

    def refuse_too_long(self, later: State, has_clock: bool = True) -> None:
        """Refuse a model whose view may become too long when its inputs are updated.

        later: the longest state of the model. has_clock: False where only the inputs of the model compare the clock.
        """
        updates = self.updates(later.cores, later.schema)
        if self._fitting(later) is not None and self.fits(updates):
            return
        size = max(self._smallest(later), _size(updates))
        if not (denial := self._denial(size)):
            return
        columns = quantity(len(later.columns), "column")
        raise Refusal(
            "ST515",
            f"{later.model}, a model of {columns} whose view may take {size:,} characters",
            f"the catalog does not keep a view so long, so runs would fail once its inputs are updated: {denial}",
            _shorter(later, size) + ("" if self._has_star_except else "; from Spark 4 on the texts are shorter")
            if has_clock
            else _LIVE,
        )

    def _bodies(self, state: State) -> Iterator[str]:
        yield view_sql.live_view(state, splits=False)
        if self._has_star_except and compact_sql.can_write(state):
            yield compact_sql.live_view(state)

    def _fitting(self, state: State) -> tuple[State, str, Form] | None:
        """(the state, its first text that fits, the form), or None. Readable texts come before packed texts."""
        state = replace(state, state_table="", view_size=self.kept)
        text = embed(state, view_sql.live_view(state))  # the fastest to read
        if self.fits(text):
            return state, text, Form.INLINE
        return next((form for form in self._forms(state) if self.fits(form[1])), None)

    def _forms(self, state: State) -> Iterator[tuple[State, str, Form]]:
        """(the state, a text that publishes the state, the form of the text) for each form and body."""
        bodies = list(self._bodies(state))
        for form in Form:
            table = chain_rules.state_name(state.model, state.run) if form is Form.TABLE else ""
            named = replace(state, state_table=table)
            for body in bodies:
                yield named, embed(named, body, form), form

    def _smallest(self, state: State) -> int:
        return min(_size(text) for _, text, _ in self._forms(state))

    def _with_chains(self, state: State) -> tuple[State, list[Statement]]:
        """Give each core without chains an empty chain, which tells its columns -> (the state, the statements)."""
        run_id = chain_rules.next_id(chain_rules.next_id(state.run))
        cores, steps = [], []
        for core in state.cores:
            if not core.chains:
                name = chain_rules.chain_name(state.model, run_id, core.name)
                rows = intervals_sql.no_rows([*core.columns, *store_of(core).times_and_sums])
                create = f"CREATE TABLE {self.target.table(name)} USING parquet {marked(self.target)} AS\n{rows}"
                steps.append(Statement(f"{core.name}: no rows", create))
                core = replace(core, chains=(Chain(name, 0, 0, None, None, None),))
            cores.append(core)
        return replace(state, cores=tuple(cores)), steps


def _size(text: str) -> int:
    return len(text.encode())


def _shorter(state: State, size: int) -> str:
    """The advice for a model whose view text, of `size` bytes, is too long."""
    if len(state.cores) == 1 or 2 * len(state.residual) > size:
        return _STATIC
    return _APART.format(quantity(len(state.cores), "SELECT"))
