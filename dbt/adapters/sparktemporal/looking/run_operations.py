"""The methods of the adapter behind `dbt run-operation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from ..config import PATIENCE, TemporalConfig
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal, TemporalError
from ..graph import nodes
from ..graph.lineage import EPHEMERAL, Lineage, materialized
from ..graph.time_dependence import dependences
from ..run import lock
from ..run.writer import Writer
from ..temporal.clock.expiration import Dependence
from ..temporal.decision import Invocation
from ..temporal.sql.spark.errors import SparkError
from ..temporal.sql.text.dialect import quote
from ..temporal.sql.text.identifiers import folded
from . import arguments, explain_pushdown, explain_run, leftovers, report, status, tables
from .consolidate import CONSOLIDATED, consolidate


@contextmanager
def as_dbt_errors(node: Any = None) -> Iterator[None]:
    """Turn this adapter's errors into dbt's: a Refusal becomes a CompilationError of the model."""
    try:
        yield
    except Refusal as refusal:
        raise CompilationError(str(refusal), node) from None
    except TemporalError as error:
        raise DbtRuntimeError(str(error), node) from None
    except SparkError as error:
        raise error.__cause__ or DbtRuntimeError(str(error), node) from None


@contextmanager
def locked(warehouse: Warehouse, target: ModelRelations, patience: int) -> Iterator[tuple[str, list[str]]]:
    """Take the lock of a model, and give the lock back at the end.

    -> (the id of the run in the lock, the ids of the runs that lost the lock).
    patience: how long to wait for another run (ms).
    """
    run_id, displaced = lock.take_lock(warehouse, target, patience)
    try:
        yield run_id, displaced
    except BaseException:
        lock.give_back_after_failure(warehouse, target, run_id)
        raise
    lock.give_back_lock(warehouse, target, run_id)


class RunOperations(metaclass=AdapterMeta):
    """A mixin of the adapter, with its connections, its config and its schemas."""

    config: Any
    connections: Any
    list_schemas: Any
    get_macro_resolver: Any

    @property
    def _warehouse(self) -> Warehouse:
        raise NotImplementedError  # defined by the adapter

    def _begun(self, node: Mapping[str, Any], graph: Mapping[str, Any], sql: str, full_refresh: bool) -> Writer:
        raise NotImplementedError  # defined by the adapter

    def _invocation(self, warehouse: Warehouse, as_of: int, full_refresh: bool) -> Invocation:
        raise NotImplementedError  # defined by the adapter

    @property
    def _views_in(self) -> str | None:
        """The profile's `views_in`, quoted; see `ModelRelations` for its meaning."""
        found: str | None = self.config.credentials.views_schema
        return found

    def _model_of(self, node: Mapping[str, Any]) -> tuple[ModelRelations, TemporalConfig]:
        """dbt's node of a temporal_view -> its relations and its config."""
        return self._target_of(node), TemporalConfig.parse(node["name"], node["config"])

    def _target_of(self, node: Mapping[str, Any]) -> ModelRelations:
        return ModelRelations(quote(node["schema"]), node["alias"], self._views_in)

    @available
    def temporal_arguments(self, operation: str, given: Any, others: Any, graph: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a run-operation, checked: see `arguments`."""
        with as_dbt_errors():
            return arguments.checked(operation, given, others, graph)

    @available
    def temporal_leftovers(self, graph: Mapping[str, Any], schemas: list[str] | None = None) -> list[dict[str, Any]]:
        """The temporal_views under names that no model of this project has now: target, project, mine.

        The schemas of the profile, of the project's models and in `schemas` are searched. Where a model of another
        materialization has the name of a temporal_view, the view answers until the model runs and takes over the name.
        mine: whether this project ran the temporal_view last.
        """
        # two spellings of one schema share their names: a model under one spelling is no leftover of the other
        named: dict[str, list[str]] = {folded(schema): [] for schema in schemas or []}
        named.setdefault(folded(self.config.credentials.schema), [])
        for node in graph.get("nodes", {}).values():
            if node.get("resource_type") == "model":
                names = named.setdefault(folded(node["schema"]), [])
                if materialized(node) != EPHEMERAL:
                    names.append(node["alias"])
        with as_dbt_errors():
            return [
                {"target": left.target, "project": left.project, "mine": left.project == self.config.project_name}
                for schema in sorted(self.list_schemas(None))
                if folded(schema) in named
                for left in leftovers.find(self._warehouse, quote(schema), named[folded(schema)], self._views_in)
            ]

    @available
    def temporal_drop(self, target: ModelRelations) -> None:
        """Drop all relations of a temporal_view, under its lock."""
        warehouse = self._warehouse
        with as_dbt_errors(), locked(warehouse, target, PATIENCE):
            for step in leftovers.drop(warehouse, target):
                warehouse.rows(step.sql)

    @available
    def temporal_dropped(self, found: Sequence[Mapping[str, Any]]) -> tables.Table:
        """A table of leftovers, each with its outcome."""
        rows = []
        for one in found:
            target, project = one["left"]["target"], one["left"]["project"] or "unknown"
            facts = {"schema": target.plain_schema, "model": target.model, "project": project}
            rows.append({**facts, "outcome": one["outcome"]})
        return tables.table(dict.fromkeys(("schema", "model", "project", "outcome"), str), rows)

    @available
    def temporal_consolidate(self, model: str, graph: Mapping[str, Any]) -> tables.Table:
        """Merge the chains of each core of a model, under its lock -> a row with the facts of `CONSOLIDATED`."""
        warehouse = self._warehouse
        with as_dbt_errors():
            node = nodes.named(model, graph)
            target, config = self._model_of(node)
            with locked(warehouse, target, config.lock_timeout) as (run_id, displaced):
                readers = Lineage(node, graph).readers()
                made = consolidate(warehouse, target, config, run_id, readers, displaced)
        return tables.table(CONSOLIDATED, [{"model": model, **made}])

    @available
    def temporal_restart(self, model: str, graph: Mapping[str, Any]) -> tables.Table:
        """Make the next run of a model rebuild it -> a row with the outcome in words."""
        warehouse = self._warehouse
        with as_dbt_errors():
            target, config = self._model_of(nodes.named(model, graph))
            with locked(warehouse, target, config.lock_timeout) as (run_id, displaced):
                status.ask_for_restart(warehouse, target, run_id, displaced)
        outcome = "the next run rebuilds it; until then it answers as before"
        return tables.table({"model": str, "outcome": str}, [{"model": model, "outcome": outcome}])

    @available
    def temporal_status(self, graph: Mapping[str, Any], model: str | None = None) -> tables.Table:
        """The facts of every temporal_view of the project, or of one: a row each, with the columns of `COLUMNS`."""
        with as_dbt_errors():
            return status.as_table(
                [one.facts for one in self._conditions(graph, model, self._clock(), 1, model is not None)]
            )

    def _clock(self) -> int:
        """The clock for reads of this invocation (ms): var temporal_now, else the engine's clock."""
        return self.connections.as_of() if self.connections.is_pinned else self._warehouse.clock()

    def _conditions(
        self, graph: Mapping[str, Any], model: str | None, clock: int, most_runs: int, raises: bool
    ) -> list[status.Condition]:
        """What is known of every temporal_view, or of one: see `status.conditions`."""
        chosen = [nodes.named(model, graph)] if model else nodes.every(graph)
        asked = [status.Asked(self._target_of(node), partial(self._described, node, graph)) for node in chosen]
        folder = Path(self.config.project_target_path)
        return status.conditions(self._warehouse, asked, clock, folder, most_runs, raises)

    def _described(
        self, node: Mapping[str, Any], graph: Mapping[str, Any]
    ) -> tuple[TemporalConfig, Sequence[Dependence]]:
        return self._model_of(node)[1], dependences(Lineage(node, graph))

    @available
    def temporal_report(self, graph: Mapping[str, Any], model: str | None, path: str | None, hours: int) -> str:
        """Write the report about every temporal_view, or about one -> the path of its file."""
        written = Path(path) if path else Path(self.config.project_target_path) / "temporal_report.html"
        with as_dbt_errors():
            if written.is_dir():
                raise Refusal(
                    "ST707", f"path: {str(written)!r}", "it is a folder", "path: of a file, such as report.html"
                )
            clock = self._clock()
            seen = self._conditions(graph, model, clock, report.RUNS, raises=False)
            page = report.page(self._warehouse, seen, self.config.project_name, clock, hours)
            try:
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(page, encoding="utf-8")
            except OSError as error:
                raise Refusal(
                    "ST708", f"path: {str(written)!r}", str(error.strerror), "path: of a file that can be written"
                ) from None
        return str(written)

    @available
    def temporal_printed(self, shown: tables.Table, format: str) -> str:
        """A table of an operation as text."""
        if format != "json" and tuple(shown.column_names) == tuple(status.COLUMNS):
            return f"{tables.printed(status.for_people(shown))}\n{status.WORDS}"
        if format != "json" and explain_run.is_explanation(shown):
            shown = explain_run.for_people(shown)
        return tables.printed(shown, format)

    @available
    def temporal_explain_pushdown(self, model: str, graph: Mapping[str, Any]) -> tables.Table:
        """The parts of inputs that a rebuild of a model would read."""
        warehouse = self._warehouse
        with as_dbt_errors():
            node = nodes.named(model, graph)
            invocation = self._invocation(warehouse, self.connections.as_of(), True)
            config, inputs = self._described(node, graph)
            return explain_run.as_table(
                explain_pushdown.explain(warehouse, self._target_of(node), config, invocation, inputs)
            )

    @available
    def temporal_explain(self, model: str, graph: Mapping[str, Any], full_refresh: bool = False) -> tables.Table:
        """The decisions of the next run of a model, with their reasons. Nothing is written."""
        with as_dbt_errors():
            node = nodes.named(model, graph)
            begun = self._begun(node, graph, self._compiled(node), full_refresh)
            return explain_run.explain(begun)

    def _compiled(self, node: Mapping[str, Any]) -> str:
        """The SQL of a model, as `dbt run` would compile it now."""
        from dbt.compilation import Compiler  # dbt itself, which an operation runs in

        manifest: Any = self.get_macro_resolver()
        compiled = Compiler(self.config).compile_node(manifest.nodes[node["unique_id"]], manifest, write=False)
        return str(compiled.compiled_code)
