"""`explain` without Spark: a model's cores, residual and first statements, from its SQL and given types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..engine import ownership
from ..engine.given_types import GivenTypes
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..run import full_stores, published_view
from ..run.analyze import understand
from ..run.published_view import Docs
from ..temporal.clock.instants import format_instant
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import readable_updates, view_sql
from ..temporal.diffs.state import Chain, CoreState, State
from ..temporal.diffs.stores import store_of
from ..temporal.predicates import clock_text
from ..temporal.rewrite.model import Model
from ..temporal.sql.spark.errors import SparkError, spark_words
from ..temporal.sql.spark.settings import ZONE
from ..temporal.sql.text.dialect import render
from ..temporal.sql.text.readable import in_words

#: takes the place of a run's id in the names of tables
_RUN = "run"


def explain(
    sql: str, types: GivenTypes, target: ModelRelations, as_of: int, offset: int | None = None, zone: str = "UTC"
) -> str:
    """The cores, the residual, and the statements of a first run, as text. Raises Refusal.

    sql: the model, as dbt compiled it. as_of: the instant of the run (ms); offset: the config expiration (ms).
    zone: the session's time zone.
    """
    warehouse = Warehouse(types)
    with in_words(sql), _as_refusals():
        settings = {**warehouse.settings(), ZONE: zone}
        model = understand(warehouse, sql, settings, warehouse.version(), as_of, None, "groups")
        written = clock_text.written_at(model.written, model.calls, f"{as_of}L")
        columns = tuple(warehouse.describe(written))
        expiration = None if offset is None else as_of + offset
        return "\n".join(_lines(model, target, _state(model, columns, target, as_of, expiration)))


@contextmanager
def _as_refusals() -> Iterator[None]:
    try:
        yield
    except SparkError as error:
        raise Refusal(
            "ST908",
            spark_words(str(error)),
            "nothing of that name, or more than one, is given",
            "names and columns as --schema has them",
        ) from None


def _lines(model: Model, target: ModelRelations, state: State) -> Iterator[str]:
    until = "no expiration" if state.expiration is None else f"expiration {format_instant(state.expiration)}"
    yield f"-- {target.model} as of {format_instant(state.frontier)}, {until}"
    for note in model.notes:
        yield f"-- note: {note}"
    if model.whole:
        yield f"-- warning: all rows of {full_stores.listed(model)} are kept: {full_stores.why(model)}"
        yield f"-- to keep less: {full_stores.instead(model)}"
    for core in model.cores:
        yield f"\n== core {core.name}: {core.form}"
        yield f"{render(core.core.query)};"
    yield "\n== residual, evaluated by each read"
    yield f"{model.residual};"
    yield "\n== a first run sends"
    for statement in _statements(model, target, state):
        yield f"-- {statement.purpose}\n{statement.sql};\n"


def _statements(model: Model, target: ModelRelations, state: State) -> Iterator[Statement]:
    lock = target.name("__lock")
    yield Statement("the lock", f"CREATE TABLE {lock} (mz_owner STRING) USING parquet")
    using = f" {ownership.using(target, 'parquet')}"
    for core, chain in zip(model.cores, state.chains):
        rows = store_of(core).desired(core, state.frontier, state.expiration)
        yield Statement(f"{core.name}: a chain", store_of(core).create(target.table(chain.table), rows, using))
    text = view_sql.live_view(state)
    yield Statement("commit, with the state in a comment", f"CREATE VIEW {target.name('__live')} AS\n{text}")
    yield from published_view.publish(target, state.columns, Docs(), None)
    updates = readable_updates.as_updates(state.cores, state.schema)
    yield Statement("the updates, readable", f"CREATE VIEW {target.name('__diffs')} AS\n{updates}")
    yield Statement("the lock is given back", f"DROP TABLE {lock}")


def _state(
    model: Model, columns: tuple[tuple[str, str], ...], target: ModelRelations, as_of: int, expiration: int | None
) -> State:
    """The state that a first run would commit, with placeholders for what only a run knows, such as numbers of rows."""
    tables = {core.name: chain_rules.chain_name(target.model, _RUN, core.name) for core in model.cores}
    chains = {name: (Chain(table, 1, 0, None, None, None),) for name, table in tables.items()}
    return State(
        model=target.model,
        schema=target.schema,
        run=_RUN,
        since=as_of,
        frontier=as_of,
        started_at=as_of,
        offset=None,
        expiration=expiration,
        core_hash="",
        residual=model.residual,
        columns=columns,
        cores=tuple(CoreState(c.name, c.stored, chains[c.name], c.sums, c.core.kept) for c in model.cores),
        written=model.written,
        kinds=model.calls,
        inputs={},
        settings={},
    )
