"""The methods of the adapter behind `dbt run-operation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from ..config import PATIENCE, TemporalConfig
from ..engine.warehouse import ModelRelations, Warehouse
from ..errors import Refusal, TemporalError
from ..graph import nodes
from ..graph.time_dependence import dependences
from ..inputs import upstream
from ..run import lock
from ..temporal.sql.dialect import quote
from ..temporal.sql.identifiers import Identifier
from ..words import quantity
from . import arguments, explain_pushdown, leftovers, status
from .consolidate import consolidate


@contextmanager
def as_dbt_errors(node: Any = None) -> Iterator[None]:
    """Our errors as dbt's: a refusal is a compilation error of the model."""
    try:
        yield
    except Refusal as refusal:
        raise CompilationError(str(refusal), node) from None
    except TemporalError as error:
        raise DbtRuntimeError(str(error), node) from None


@contextmanager
def locked(warehouse: Warehouse, target: ModelRelations, patience: int) -> Iterator[tuple[str, int]]:
    """The lock of a model, taken and given back -> (the id of the run that the lock names, the engine's clock in ms).

    patience: how long to wait for another run (ms).
    """
    clock = warehouse.clock()
    run_id, _ = lock.take_lock(warehouse, target, clock, patience)
    try:
        yield run_id, clock
    finally:
        lock.give_back_lock(warehouse, target, run_id)


class RunOperations(metaclass=AdapterMeta):
    """A mixin of the adapter, with its connections, its config and its schemas."""

    config: Any
    connections: Any
    list_schemas: Any

    @property
    def _warehouse(self) -> Warehouse:
        raise NotImplementedError  # defined by the adapter

    @property
    def _views_in(self) -> str | None:
        """See `ModelRelations`."""
        found: str | None = self.config.credentials.views_schema
        return found

    def _model_of(self, node: Mapping[str, Any]) -> tuple[ModelRelations, TemporalConfig]:
        """dbt's node of a temporal_view -> its relations and its config."""
        config = TemporalConfig.parse(node["name"], node["config"])
        return ModelRelations(quote(node["schema"]), node["alias"], self._views_in), config

    @available
    def temporal_arguments(self, operation: str, given: Any, others: Any, graph: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a run-operation, checked: see `arguments`."""
        with as_dbt_errors():
            return arguments.checked(operation, given, others, graph)

    @available
    def temporal_leftovers(self, graph: Mapping[str, Any], schemas: list[str] | None = None) -> list[dict[str, Any]]:
        """The temporal_views that no model of this project names: (model, project, whether this project made it)."""
        # two spellings of one schema share their names: a model under one spelling is no leftover of the other
        named: dict[Identifier, list[str]] = {Identifier(schema): [] for schema in schemas or []}
        named.setdefault(Identifier(self.config.credentials.schema), [])
        for node in graph.get("nodes", {}).values():
            if node.get("resource_type") == "model":
                names = named.setdefault(Identifier(node["schema"]), [])
                if node["config"].get("materialized") == "temporal_view":
                    names.append(node["alias"])
        with as_dbt_errors():
            return [
                {"target": left.target, "project": left.project, "mine": left.project == self.config.project_name}
                for schema in sorted(self.list_schemas(None))
                if Identifier(schema) in named
                for left in leftovers.find(self._warehouse, quote(schema), named[Identifier(schema)], self._views_in)
            ]

    @available
    def temporal_drop(self, target: ModelRelations) -> None:
        """Drop all relations of a temporal_view, under its lock."""
        warehouse = self._warehouse
        with as_dbt_errors(), locked(warehouse, target, PATIENCE):
            for step in leftovers.drop(warehouse, target):
                warehouse.rows(step.sql)

    @available
    def temporal_consolidate(self, model: str, graph: Mapping[str, Any]) -> str:
        """Merge all chains of a model, under its lock -> a message about the result."""
        warehouse = self._warehouse
        with as_dbt_errors():
            node = nodes.named(model, graph)
            target, config = self._model_of(node)
            with locked(warehouse, target, config.lock_timeout) as (run_id, clock):
                before, after = consolidate(warehouse, target, config, run_id, clock, upstream.readers(node, graph))
        return f"{model}: {quantity(before, 'diff')} became {after:,}"

    @available
    def temporal_restart(self, model: str, graph: Mapping[str, Any]) -> str:
        """Make the next run of a model rebuild it -> a message about the result."""
        warehouse = self._warehouse
        with as_dbt_errors():
            target, config = self._model_of(nodes.named(model, graph))
            with locked(warehouse, target, config.lock_timeout) as (run_id, _):
                status.ask_for_restart(warehouse, target, run_id)
        return f"the next run rebuilds {model}; until then the model answers as before"

    @available
    def temporal_status(self, graph: Mapping[str, Any], model: str | None = None) -> list[str]:
        """Lines about every temporal_view of the project, or about one."""
        warehouse = self._warehouse
        with as_dbt_errors():
            chosen = [nodes.named(model, graph)] if model else nodes.every(graph)
            clock, lines = warehouse.clock(), []
            for node in chosen:
                target, config = self._model_of(node)
                lines += status.status(warehouse, target, config, dependences(node, graph), clock)
        return lines

    @available
    def temporal_explain_pushdown(self, model: str, graph: Mapping[str, Any]) -> list[str]:
        """Lines about the reads of a rebuild of a model."""
        warehouse = self._warehouse
        with as_dbt_errors():
            target, config = self._model_of(nodes.named(model, graph))
            return explain_pushdown.explain(warehouse, target, config, self.connections.as_of())
