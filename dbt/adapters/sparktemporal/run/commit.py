"""The commit of a model: the one statement that publishes a state, in a text that the metastore keeps.

A view of Hive's metastore keeps a text up to a limit, one of Iceberg's any. The plain texts are used while they fit:
nothing more is asked of Spark then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ..engine.ownership import marked
from ..engine.warehouse import ModelRelations, ViewInfo, Warehouse
from ..errors import Refusal, TemporalError
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compact_sql, intervals_sql, view_sql
from ..temporal.diffs.state import VIEW_TEXT_LIMIT, Chain, CoreState, Form, State, embed, packed
from ..temporal.diffs.stores import store_of
from ..words import quantity

_SHORTER = "move static parts of the model (long CASEs, CTEs, lists of columns) into an upstream model"
_CATALOG = "spark.sql.catalog.spark_catalog"


@dataclass
class ViewTexts:
    """What texts the views of a model may have. live: a view of the model that is there."""

    warehouse: Warehouse
    target: ModelRelations
    live: ViewInfo | None

    def fits(self, text: str) -> bool:
        return len(text) <= VIEW_TEXT_LIMIT or self._has_no_limit

    @cached_property
    def _has_no_limit(self) -> bool:
        """Whether a view of this schema is one of Iceberg's."""
        if self.live is not None:
            return self.live.rewrite != "ALTER VIEW"
        return "iceberg" in str(self.warehouse.rows(f"SET {_CATALOG}")[0][1]).lower()

    @cached_property
    def _has_star_except(self) -> bool:
        return int(self.warehouse.version().split(".")[0]) >= 4

    def commit(self, state: State, verb: str) -> tuple[State, list[Statement]]:
        """The statements that publish a state, the commit last; and the state as it is published."""
        steps: list[Statement] = []
        found = self._fitting(state)
        if found is None and self._has_star_except and not compact_sql.can_write(state):
            state, steps = self._with_chains(state)
            found = self._fitting(state)
        if found is None:
            shortest = min(len(embed(state, body, Form.TABLE)) for body in self._bodies(state))
            raise TemporalError(
                f"found: a view text of {shortest:,} characters for {state.model}__live\n"
                f"why: a metastore keeps {VIEW_TEXT_LIMIT:,} at most, and a longer one would be lost\n"
                f"instead: {_SHORTER}"
            )
        state, text, form = found
        if form is Form.TABLE:
            table = self.target.table(state.state_table)
            create = (
                f"CREATE TABLE {table} USING parquet {marked(self.target)} AS\nSELECT '{packed(state)}' AS mz_state"
            )
            steps.append(Statement("the state, too long for a view", create))
        return state, [*steps, Statement("commit", f"{verb} {self.target.name('__live')} AS\n{text}")]

    def updates(self, core: CoreState, schema: str) -> str:
        """The text of `<model>__diffs`."""
        plain = store_of(core).as_updates([c.source(schema) for c in core.chains])
        if self.fits(plain) or not self._has_star_except or not core.chains:
            return plain
        return compact_sql.as_updates(core, schema)

    def refuse_too_long(self, later: State) -> None:
        """Refuse a model that could not follow an UPDATE of its inputs. later: the worst that it may come to."""
        if self._fitting(later) is not None and self.fits(self.updates(later.cores[0], later.schema)):
            return
        longest = min(len(embed(later, body, Form.TABLE)) for body in self._bodies(later))
        longest = max(longest, len(self.updates(later.cores[0], later.schema)))
        columns = quantity(len(later.columns), "column")
        raise Refusal(
            f"{later.model}, a model of {columns} whose view may take {longest:,} characters",
            f"a metastore keeps {VIEW_TEXT_LIMIT:,} at most, so runs would fail once its inputs are updated",
            _SHORTER + ("" if self._has_star_except else "; from Spark 4 on the texts are shorter"),
        )

    def _bodies(self, state: State) -> Iterator[str]:
        yield view_sql.live_view(state)
        if self._has_star_except and compact_sql.can_write(state):
            yield compact_sql.live_view(state)

    def _fitting(self, state: State) -> tuple[State, str, Form] | None:
        """The first of the texts that fits: readable ones before packed ones."""
        state = replace(state, state_table="")
        text = embed(state, view_sql.live_view(state))
        if self.fits(text):
            return state, text, Form.INLINE
        bodies = list(self._bodies(state))
        for form in Form:
            named = state
            if form is Form.TABLE:
                named = replace(state, state_table=chain_rules.state_name(state.model, state.run))
            for body in bodies:
                text = embed(named, body, form)
                if self.fits(text):
                    return named, text, form
        return None

    def _with_chains(self, state: State) -> tuple[State, list[Statement]]:
        """The same with an empty chain where a core has none: it tells the columns."""
        run_id = chain_rules.next_id(chain_rules.next_id(state.run))
        cores, steps = [], []
        for core in state.cores:
            if not core.chains:
                name = chain_rules.chain_name(state.model, run_id, core.name)
                rows = intervals_sql.no_rows([*core.columns, *store_of(core).times_and_sums])
                create = f"CREATE TABLE {self.target.table(name)} USING parquet {marked(self.target)} AS\n{rows}"
                steps.append(Statement(f"{core.name}: no rows", create))
                core = replace(core, chains=(Chain(name, 0, 0, None, None, None, None),))
            cores.append(core)
        return replace(state, cores=tuple(cores)), steps
