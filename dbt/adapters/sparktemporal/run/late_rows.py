"""Late rows, which came when their window was over: with `store_late` a run keeps them in `<model>__late`.

| a row comes | it is late when |
|---|---|
| as a change of an input | its window was over at the instant of the run |
| as a change, under a general condition | all its windows were over, and the last one ended after the run before |
| in a full read of the inputs | its window ended after the run before, and the chains do not have the row |
| in a full read, of a core with groups or a general condition | not looked for: its chains hold no whole windows |

A general condition is a predicate that is more than comparisons of mz_now() joined by AND.

A run that rebuilds the model finds no late rows. The late rows are in tables: a run adds one, and tables of like size
are merged into one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..config import TemporalConfig
from ..engine import ownership
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import CHANGES_OF_DELTA, Warehouse
from ..plurals import quantity
from ..pushdown.sargable import Range
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import intervals_sql, late_sql
from ..temporal.diffs.state import Late
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.text.identifiers import Identifiers, folded
from . import chain_rows, refused
from .plan import RunPlan
from .progress import Tools


def find(tools: Tools, plan: RunPlan) -> tuple[str, ...]:
    """Queries of the late rows, one for each statement that writes them; none where the run does not look for them."""
    if not plan.config.store_late or plan.built_on is None:
        return ()
    found = {core.name: _missed(tools, plan, core, plan.built_on.frontier) for core in plan.changed}
    rows = {name: sql for name, sql in found.items() if sql}
    queries = late_sql.of_run(plan.model.cores, rows, plan.run_id, plan.decision.as_of)
    if any(CHANGES_OF_DELTA in query for query in queries):
        return tuple(queries)  # Spark looks a name up once a statement, and another core may read the table itself
    return ("\nUNION ALL\n".join(queries),) if queries else ()


def _missed(tools: Tools, plan: RunPlan, core: TypedCore, frontier: int) -> str:
    as_of, delta = plan.decision.as_of, plan.capture.cores[core.name]
    if delta.is_incremental:
        came, went = ([_windows(part, frontier) for part in signed] for signed in (delta.inserts, delta.deletes))
        return late_sql.missed(core, came, went, as_of) if came else ""
    if core.sums is not None or core.core.condition is not None:
        return ""
    since_then = Range(frontier, as_of)
    narrowed = tools.pruning.narrowed(core, since_then)
    narrowed = delta.pin(narrowed) if delta.pin else narrowed
    projection = tools.pruning.condition(core, since_then)
    wanted = intervals_sql.desired(_shown(narrowed), frontier, None, projection)
    chains = plan.old_chains(core.name)
    stored = [chain_rows.stored(plan, core, chains, frontier)] if chains else []
    return late_sql.missed(core, [wanted], stored, as_of)


def _windows(part: TypedCore, frontier: int) -> str:
    start = intervals_sql.ALWAYS if part.core.condition is None else frontier
    return intervals_sql.desired(_shown(part), start, None, whole=True)


def _shown(core: TypedCore) -> TypedCore:
    return core.showing(late_sql.columns_of(core))


def write(plan: RunPlan, missed: Sequence[str]) -> list[Statement]:
    """The statements that write the table of the late rows, also where no row is late. missed: what `find` gave."""
    if not missed:
        return []
    table, (first, *others) = plan.target.table(plan.late()), missed
    writes = [f"CREATE TABLE {table}{plan.using} AS\n{first}", *(f"INSERT INTO {table}\n{query}" for query in others)]
    return [Statement("rows that came when their window was over", sql) for sql in writes]


def old(plan: RunPlan) -> Late:
    """The late rows of earlier runs; none where the columns of the model have changed."""
    kept, none = plan.old.late if plan.old else None, _none(plan)
    return kept if kept is not None and kept.tables and kept.columns == none.columns else none


def _none(plan: RunPlan) -> Late:
    """No late rows. `shown` tells their columns where a core is kept per group, whose own columns are only the keys."""
    columns = late_sql.of_cores(plan.model.cores)
    is_grouped = any(core.sums is not None for core in plan.model.cores)
    return Late(late_sql.identity(columns), (), tuple(late_sql.columns(columns)) if is_grouped else ())


def tables_to_merge(plan: RunPlan, rows: int) -> tuple[tuple[str, int], ...]:
    """(name, number of rows) of each table to merge with a new table of `rows` rows."""
    tables = old(plan).tables
    number = chain_rules.chains_to_merge([n for _, n in tables], rows) if rows else 0
    return tables[len(tables) - number :]


def merge(plan: RunPlan, rows: int | None) -> list[Statement]:
    """The statements after the write: an empty table is dropped, a new table is merged with tables of like size.

    rows: how many rows the new table has; None if the run wrote no table.
    """
    if rows is None:
        return []
    new = plan.target.table(plan.late())
    if not rows:
        return [Statement("no row came late", f"DROP TABLE {new}")]
    together = tables_to_merge(plan, rows)
    if not together:
        return []
    refused.refuse_missing(plan.target, "late rows", [name for name, _ in together], plan.existing)
    names = [*(plan.target.table(name) for name, _ in together), new]
    one = late_sql.together(names, ())
    create = f"CREATE TABLE {plan.target.table(plan.late(merged=True))}{plan.using} AS\n{one}"
    return [Statement(f"{quantity(len(names), 'table')} of late rows -> one", create)]


def committed(plan: RunPlan, rows: int | None) -> Late | None:
    """The late rows after the run; None for a model that keeps none.

    Late rows of earlier runs stay until the columns change or a full refresh, even without `store_late`.
    rows: how many rows the new table has; None or 0 if no row came late.
    """
    if not plan.config.store_late and (plan.old is None or plan.old.late is None or plan.invocation.full_refresh):
        return None
    before = _none(plan) if plan.invocation.full_refresh else old(plan)
    if not rows:
        return before
    together = tables_to_merge(plan, rows)
    kept = before.tables[: len(before.tables) - len(together)]
    tables = (*kept, (plan.late(merged=bool(together)), rows + sum(n for _, n in together)))
    return Late(before.columns, tuple(sorted(tables, key=lambda named: -named[1])))


def view(plan: RunPlan, late: Late | None) -> str | None:
    """The text of `<model>__late`; None for no view."""
    if late is None:
        return None
    tables: Sequence[str] = [plan.target.table(name) for name, _ in late.tables]
    return late_sql.together(tables, late_sql.columns(late_sql.of_cores(plan.model.cores)))


def refuse_foreign(
    warehouse: Warehouse, target: ModelRelations, config: TemporalConfig, existing: Sequence[str]
) -> list[str]:
    """With `store_late`, raise ForeignRelation where another relation has the name `<model>__late`.

    existing: the relations of the model -> these, without a `<model>__late` that was dropped after it was listed.
    """
    if not config.store_late:
        return list(existing)
    name, of, there = f"{target.model}__late", target, Identifiers(existing)
    if target.outside is not None:
        of, there = target.outside, Identifiers(warehouse.tables(target.outside.schema, target.model))
    if name in there and not ownership.refuse_foreign(warehouse, of, "__late"):
        return [one for one in existing if folded(one) != folded(name)]
    return list(existing)
