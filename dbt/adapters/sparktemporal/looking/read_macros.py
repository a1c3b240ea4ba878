"""The methods of the adapter behind the macros and tests that read committed models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.base.relation import BaseRelation

from ..engine import clones
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import NotRun
from ..over_time import changes, feed, forecast, reads, temporal_at
from ..temporal.sql.text.dialect import string_literal
from . import other_engines, status
from .run_operations import as_dbt_errors

T = TypeVar("T")
#: the commands of dbt that write SQL and execute none of it
_COMPILING = ("compile", "generate")


class ReadMacros(metaclass=AdapterMeta):
    """A mixin of the adapter, with its connections and its config."""

    config: Any
    connections: Any

    @property
    def _warehouse(self) -> Warehouse:
        raise NotImplementedError  # defined by the adapter

    def _target(self, relation: BaseRelation) -> ModelRelations:
        raise NotImplementedError  # defined by the adapter

    def _answer(
        self, relation: BaseRelation, query: Callable[..., T], *arguments: Any, raises: str = "raise_error"
    ) -> T | str:
        """The result of query(warehouse, model, *arguments), for a model or for the model that a clone shows.

        `dbt compile` and `dbt docs generate` execute no query. For a model that has not run, the result is then a
        query that raises when it is executed. raises: the SQL function that raises.
        """
        warehouse, target = self._warehouse, self._target(relation)
        with as_dbt_errors():
            try:
                return query(warehouse, target, *arguments)
            except NotRun as error:
                shown = clones.model_shown(warehouse, target)
                if shown is not None:
                    return query(warehouse, shown, *arguments)
                if not self._only_compiles():
                    raise
                return f"(SELECT {raises}({string_literal(str(error))}) AS mz_not_run)"

    def _only_compiles(self) -> bool:
        args = getattr(self.config, "args", None)
        return getattr(args, "which", None) in _COMPILING and not getattr(args, "inline", None)

    @available
    def temporal_read(self, relation: BaseRelation, instant: Any) -> str:
        """SQL of a model at an instant."""
        return self._answer(relation, reads.as_of, instant)

    @available
    def temporal_now(self, relation: BaseRelation) -> Any:
        """A model at the instant of the query, or at the pinned one: its view, or SQL where the catalog has none."""

        def now(warehouse: Warehouse, target: ModelRelations) -> str | None:
            instant = self.connections.as_of() if self.connections.is_pinned else None
            return reads.now(warehouse, target, instant)

        return self._answer(relation, now) or relation

    @available
    def temporal_sql(self, relation: BaseRelation, dialect: Any, instant: Any, chains: Any) -> str:
        """A query of a model for another engine."""

        def sql(warehouse: Warehouse, target: ModelRelations) -> str:
            at = self.connections.as_of() if instant is None and self.connections.is_pinned else instant
            return other_engines.sql_of(warehouse, target, target.plain_schema, dialect, at, chains)

        return self._answer(relation, sql, raises="error")

    @available
    def temporal_updates(self, relation: BaseRelation) -> Any:
        """The stored updates of a model: the view of them, or SQL where the catalog has none."""

        def updates(warehouse: Warehouse, target: ModelRelations) -> Any:
            shown = clones.model_shown(warehouse, target) or target
            return reads.updates(warehouse, shown) or self._beside(relation, shown, "__diffs")

        return self._answer(relation, updates)

    @available
    def temporal_late(self, relation: BaseRelation) -> Any:
        """The rows of a model that came late: the view of them, or SQL where the catalog has none."""

        def late(warehouse: Warehouse, target: ModelRelations) -> Any:
            return reads.late(warehouse, target) or self._beside(relation, target, "__late")

        return self._answer(relation, late)

    @staticmethod
    def _beside(relation: BaseRelation, model: ModelRelations, suffix: str) -> Any:
        path = {"schema": model.plain_schema, "identifier": f"{model.model}{suffix}"}
        return relation.incorporate(path=path)  # type: ignore[no-untyped-call]  # dbt gives it no types

    @available
    def temporal_match(self, relation: BaseRelation, instants: Any, samples: int, clock: int, float_digits: int) -> str:
        """SQL of the rows in which a model and the query as written differ."""
        return self._answer(relation, reads.matches_source, instants, samples, clock, float_digits)

    @available
    def temporal_inconsistencies(self, relation: BaseRelation) -> str:
        """SQL of one row for each violation in a model's stored diffs."""
        return self._answer(relation, reads.inconsistencies)

    @available
    def temporal_expiry(self, relation: BaseRelation, at_least: Any, clock: int) -> str:
        """SQL of one row when a model expires before clock + at_least."""
        return self._answer(relation, reads.expiry, at_least, clock)

    @available
    def temporal_staleness(self, relation: BaseRelation, within: Any, clock: int) -> str:
        """SQL of one row when the last known run of a model is longer ago than `within`."""
        return self._answer(relation, status.staleness, within, clock, Path(self.config.project_target_path))

    @available
    def temporal_changes(self, relation: BaseRelation, asked: dict[str, Any]) -> str:
        """SQL of the updates of a model's output."""
        return self._answer(relation, changes.changes, changes.Request(**asked))

    @available
    def temporal_feed(
        self, relation: BaseRelation, into: Any, asked: dict[str, Any], verify: Any, each_change: Any
    ) -> str:
        """SQL of the updates of a model's output that a table does not have yet."""
        request, table = changes.Request(**asked), None if into is None else str(into)
        return self._answer(relation, feed.feed, table, request, verify, each_change)

    @available
    def temporal_at(
        self, relation: BaseRelation, instants: Any, column: Any, aggregates: Any = None, group_by: Any = None
    ) -> str:
        """SQL of a model, or of aggregates over it, at each instant of a relation."""

        def at(warehouse: Warehouse, target: ModelRelations) -> str:
            listed = str(instants)
            if self.connections.is_pinned:
                listed = f"(\n{self.connections.pinned(f'SELECT * FROM {listed}')}\n)"
            return temporal_at.at(warehouse, target, listed, column, aggregates, group_by)

        return self._answer(relation, at)

    @available
    def temporal_calendar(self, relation: BaseRelation, count: Any, most: Any, clock: int) -> str:
        """SQL of the next instants at which a model changes."""
        return self._answer(relation, forecast.calendar, count, most, clock)

    @available
    def temporal_forecast(self, relation: BaseRelation, every: Any, until: Any, aggregate: Any, clock: int) -> str:
        """SQL of an aggregate over a model at each step from the clock on."""
        return self._answer(relation, forecast.forecast, every, until, aggregate, clock)
