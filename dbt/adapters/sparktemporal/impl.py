"""The adapter: dbt-spark's, plus the methods that the macros of temporal_view call."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.events.base_types import EventLevel
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from .connections import SparkTemporalConnectionManager
from .contracts import SparkTemporalConfig, TemporalResponse
from .engine import ownership
from .engine.known_relations import KnownRelations
from .engine.model_relations import ModelRelations
from .engine.warehouse import Warehouse
from .graph.collisions import refuse_collisions
from .graph.lineage import TEMPORAL, VIEW, Lineage
from .graph.plain_names import refuse_names, refuse_schema
from .graph.time_dependence import dependences
from .looking import leftovers, run_log
from .looking.read_macros import ReadMacros
from .looking.run_operations import RunOperations, as_dbt_errors
from .plurals import quantity
from .run import lock
from .run import report as reports
from .run.plan import Definition, HostFacts
from .run.plan_run import begin
from .run.published_view import Docs
from .run.under_lock import start
from .run.writer import Step, Writer
from .temporal.clock.instants import parse_instant
from .temporal.clock.zones import Zone
from .temporal.decision import Invocation
from .temporal.sql.text.dialect import quote
from .temporal.sql.text.identifiers import SESSION_CATALOG, folded

logger = AdapterLogger("sparktemporal")


def _say(line: str) -> None:
    """Log a line at level INFO, as dbt logs its own notes."""
    fire_event(Note(msg=line), level=EventLevel.INFO)


class SparkTemporalAdapter(RunOperations, ReadMacros, SparkAdapter):
    ConnectionManager: TypeAlias = SparkTemporalConnectionManager
    AdapterSpecificConfigs = SparkTemporalConfig
    connections: SparkTemporalConnectionManager

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        self._zones: dict[str, Zone] = {}
        self._locks = threading.local()

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connections.own():
            _, cursor = self.connections.add_query(sql, auto_begin=False)
        try:
            return [tuple(row) for row in cursor.fetchall() or []]
        except Exception as error:  # each client has classes of its own
            raise DbtRuntimeError(str(error)) from error

    @property
    def _warehouse(self) -> Warehouse:
        with as_dbt_errors():
            self.connections.refuse_other_catalog(self._rows)
        return Warehouse(self._rows, zones=self._zones, facts=self.connections.facts, session=self.connections.session)

    def _target(self, relation: BaseRelation) -> ModelRelations:
        schema, model = quote(relation.schema), relation.identifier  # type: ignore[arg-type]  # a model has both
        return ModelRelations(schema, model, self._views_in)  # type: ignore[arg-type]

    @available
    def temporal_clock(self, temporal_now: Any = None) -> int:
        """The as-of of a dbt invocation (ms): var temporal_now, else the engine's clock, read once."""
        with as_dbt_errors():
            if temporal_now is not None:
                return parse_instant(temporal_now, "var temporal_now")
            return self.connections.as_of()

    @available
    def temporal_with_clock(self, sql: str, as_of: int, is_pinned: bool, tested: str | None) -> str:
        """The statement of a unit test with each mz_now() replaced by an instant.

        as_of: the instant (ms). tested: dbt's id of the tested model. If the model is a temporal_view, or if the clock
        is pinned, the instant replaces Spark's own clocks too.
        """
        node = getattr(self.get_macro_resolver(), "nodes", {}).get(tested)
        is_temporal = node is not None and node.config.materialized == "temporal_view"
        return self.connections.with_clock(sql, as_of, functions=is_pinned or is_temporal)

    def pre_model_hook(self, config: Mapping[str, Any]) -> Any:
        """Refuse a model for its names, its collisions or the pinned clock, before any hook, statement or drop."""
        node, manifest = getattr(config, "model", None), self.get_macro_resolver()
        if node is not None and manifest is not None:
            with as_dbt_errors(node):
                if config.get("materialized") == "temporal_view":
                    refuse_names(node)
                refuse_collisions(node, getattr(manifest, "nodes", {}).values(), self._views_in)
        if config.get("materialized") in ("table", "incremental") and getattr(node, "language", "sql") == "sql":
            self.connections.look_ahead(getattr(node, "compiled_code", None))
        return super().pre_model_hook(config)

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        failed = sys.exc_info()[0] is not None  # dbt calls this in a `finally`
        self.connections.run_is_on(False)
        self.connections.look_ahead(None)
        if config.get("materialized") != "temporal_view":  # a model of Python writes by no statement of this session
            self.connections.facts.shared.forget()
        # where the model failed, people should read its error and not one from here
        with suppress(DbtRuntimeError) if failed else nullcontext():
            self._give_back()
        with suppress(DbtRuntimeError) if failed else nullcontext():
            self._settle(config, failed)
        super().post_model_hook(config, context)

    def _give_back(self) -> None:
        held, run = getattr(self._locks, "held", None), getattr(self._locks, "run", None)
        if held is None:
            return
        self._locks.held = self._locks.run = None
        try:
            with suppress(DbtRuntimeError), as_dbt_errors():  # the run has failed
                if run is not None:
                    run.abandon()
            target, token = held
            with as_dbt_errors():
                lock.give_back_lock(self._warehouse, target, token, run is not None and run.is_committed)
        finally:
            lock.forget_lock(held[1])

    def _settle(self, config: Any, failed: bool) -> None:
        """Clean up after a model that is no temporal_view any more, or is a clone now: see `leftovers.replaced`."""
        node = getattr(config, "model", None)
        is_clone = getattr(getattr(self.config, "args", None), "which", None) == "clone"
        if node is None or config.get("materialized") == "temporal_view" and not is_clone:
            return
        relation = self.Relation.create_from(self.config, node)
        live = self._known(relation, f"{relation.identifier}__live")
        if live is None:
            return
        with as_dbt_errors():
            replaced = leftovers.replaced(self._warehouse, self._target(relation), Docs.of(node.to_dict()), failed)
        for statement in replaced.statements:
            self._rows(statement.sql)
        if not replaced.statements:
            return
        if replaced.is_dropped:
            dropped = quantity(len(replaced.statements), "relation")
            logger.info(f"{relation.identifier} is no temporal_view any more: {dropped} of it dropped")
            self.cache_dropped(live)
        else:
            logger.info(f"{relation.identifier} was not made: the temporal_view of that name answers as before")
            self.cache_added(relation.incorporate(type="view"))  # type: ignore[no-untyped-call]  # dbt's own

    @property
    def _catalog_is_named(self) -> bool:
        """Whether the profile names another catalog than `spark_catalog`, the session's own."""
        return folded(self.connections.wanted_catalog) != SESSION_CATALOG

    def _make_match_kwargs(self, database: str, schema: str, identifier: str) -> dict[str, str]:
        """The names by which dbt finds a relation in its cache. Only a named catalog keeps the case of names."""
        wanted = super()._make_match_kwargs(database, schema, identifier)
        return {**wanted, "identifier": identifier} if self._catalog_is_named and identifier else wanted

    def create_schema(self, relation: BaseRelation) -> None:
        """Create a schema as dbt-spark does; refuse a name that dbt-spark cannot write into SQL."""
        with as_dbt_errors():
            refuse_schema(relation.schema)
        super().create_schema(relation)

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """dbt-spark's list, plus the views of a named catalog, whose SHOW TABLES lists tables alone."""
        with as_dbt_errors():
            refuse_schema(schema_relation.schema)
        relations = super().list_relations_without_caching(schema_relation)
        if not self._catalog_is_named:
            return relations
        with as_dbt_errors():
            views = self._warehouse.views(quote(schema_relation.schema or ""))
        tables = [known for known in relations if known.identifier not in views]
        view = RelationType.View
        return tables + [self.Relation.create(schema=schema_relation.schema, identifier=v, type=view) for v in views]

    def _known(self, relation: BaseRelation, name: str) -> BaseRelation | None:
        """The relation `name` in the schema of `relation`, as dbt's cache has it; None if there is none."""
        return self.get_relation(relation.database, relation.schema, name)  # type: ignore[arg-type]  # no database

    @available
    def temporal_begin(
        self,
        relation: BaseRelation,
        sql: str,
        model: Mapping[str, Any],
        graph: Mapping[str, Any],
        as_of: int,
        full_refresh: bool,
        existing: BaseRelation | None = None,
    ) -> Writer:
        """Begin a run: observe, refuse, decide (see `plan_run.begin`). A run that will write holds the model's lock.

        existing: the relation of the model's name, as dbt's cache has it.
        `post_model_hook` gives the lock back however the run ends.
        """
        warehouse, target = self._warehouse, self._target(relation)
        self.connections.run_is_on(True)  # until `temporal_response`, or `post_model_hook` where it fails
        with as_dbt_errors():
            definition = Definition(sql, model["config"], Docs.of(model))
            invocation = self._invocation(warehouse, as_of, full_refresh)
            host_facts = self._host_facts(relation, model, graph, existing)

            def taken(token: str) -> None:
                self._locks.held = (target, token)

            run = start(warehouse, target, definition, invocation, host_facts, taken)
            if getattr(self._locks, "held", None) is not None:
                self._locks.run = run
            return run

    def _begun(self, node: Mapping[str, Any], graph: Mapping[str, Any], sql: str, full_refresh: bool) -> Writer:
        """A run that has observed and decided, without a lock: see `plan_run.begin`."""
        relation = self.Relation.create(schema=node["schema"], identifier=node["alias"])
        existing = self.get_relation(None, node["schema"], node["alias"])  # type: ignore[arg-type]  # no database
        warehouse, target = self._warehouse, self._target(relation)
        self.connections.run_is_on(True)
        try:
            definition = Definition(sql, node["config"], Docs.of(node))
            invocation = self._invocation(warehouse, self.connections.as_of(), full_refresh)
            return begin(warehouse, target, definition, invocation, self._host_facts(relation, node, graph, existing))
        finally:
            self.connections.run_is_on(False)

    def _invocation(self, warehouse: Warehouse, as_of: int, full_refresh: bool) -> Invocation:
        return Invocation(
            as_of=as_of,
            engine_now=warehouse.clock(),
            settings=warehouse.settings(),
            version=warehouse.version(),
            full_refresh=full_refresh,
            sampled=self._inputs_are_sampled(),
            project=self.config.project_name,
            pinned=self.connections.is_pinned,
        )

    def _host_facts(
        self, relation: BaseRelation, model: Mapping[str, Any], graph: Mapping[str, Any], existing: BaseRelation | None
    ) -> HostFacts:
        """What dbt knows around a model. existing: the relation of the model's name, as dbt's cache has it."""
        is_current = self._refuse_foreign_diffs(relation)
        lineage = Lineage(model, graph)
        return HostFacts(
            below=lineage.inputs(TEMPORAL),
            between=lineage.inputs(VIEW),
            readers=lineage.readers(),
            inputs=dependences(lineage),
            in_the_way=existing is not None and not existing.is_view,
            known=self._known_relations(relation) if is_current else None,
            macros=lineage.macros_over(),
        )

    def _known_relations(self, relation: BaseRelation) -> KnownRelations | None:
        """The relations of a model as dbt's cache has them; None where a statement may have changed them since."""
        if self.connections.facts.is_touched(str(relation.identifier)):
            return None
        relations = self.list_relations(relation.database, relation.schema)  # type: ignore[arg-type]  # a model has one
        model = folded(relation.identifier or "")
        own = [known for known in relations if folded(known.identifier or "").startswith(model)]
        here = [known for known in own if folded(known.schema or "") == folded(relation.schema or "")]
        information = {folded(known.identifier or ""): getattr(known, "information", None) or "" for known in here}
        return KnownRelations(tuple(known.identifier or "" for known in here), information)

    def _refuse_foreign_diffs(self, relation: BaseRelation) -> bool:
        """Raise ForeignRelation where another relation has the name `<model>__diffs`.

        -> False where dbt's list still has such a relation, which was dropped since; else True. For most models the
        list answers, without a question to Spark.
        """
        target, name = self._target(relation), folded(f"{relation.identifier}__diffs")
        relations = self.list_relations(relation.database, relation.schema)  # type: ignore[arg-type]  # a model has one
        there = [known for known in relations if folded(known.identifier or "") == name]
        if there and not ownership.says_marked(getattr(there[0], "information", None)):
            return ownership.refuse_foreign(self._warehouse, target, "__diffs")
        return True

    def _inputs_are_sampled(self) -> bool:
        """Whether dbt reads a part of each input, by --empty or --sample. The flags that Jinja sees lack both."""
        args = getattr(self.config, "args", None)
        return bool(getattr(args, "empty", None)) or getattr(args, "sample", None) is not None

    @available
    def temporal_write(self, current: Writer) -> Iterator[Step]:
        """Execute a run: yield each step, then send its statement."""
        logger.debug(f"temporal_view {current.plan.target.model}:\n{current.plan}")
        with as_dbt_errors():
            yield from current.steps(lambda sql: self.execute(sql, auto_begin=True), _say)

    @available
    def temporal_response(self, current: Writer) -> AdapterResponse:
        """End a run -> its response for run_results.json, which is also added to the log of runs."""
        self.connections.run_is_on(False)
        if current.plan.old is None or current.plan.old.columns != current.plan.columns:  # its view may be new
            self.connections.facts.shared.forget()
        message = f"OK {reports.outcome(current)}"
        response = TemporalResponse(
            _message=message,
            code="OK",
            rows_affected=current.written.rows,
            statements=self.connections.statements_of_run,
            **reports.report(current),
        )
        folder, ran_at = Path(self.config.project_target_path), self.connections.as_of()
        run_log.append(folder, current.plan.target, get_invocation_id(), ran_at, response.to_dict())
        return response

    @available
    def temporal_summary(self, current: Writer) -> list[str]:
        """The lines of a run for the log."""
        return reports.summary(current)

    @available
    def temporal_warnings(self, current: Writer) -> list[str]:
        """The warnings after a run."""
        return reports.warnings(current)
