"""The methods of the adapter behind the macros and tests that read committed models."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.base.relation import BaseRelation

from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from . import changes, coming, feed, other_engines, over_time, reads
from .run_operations import as_dbt_errors


def _beside(relation: BaseRelation, suffix: str) -> Any:
    path = {"identifier": f"{relation.identifier}{suffix}"}
    return relation.incorporate(path=path)  # type: ignore[no-untyped-call]  # dbt gives it no types


class ReadMacros(metaclass=AdapterMeta):
    """A mixin of the adapter, with its connections."""

    connections: Any

    @property
    def _warehouse(self) -> Warehouse:
        raise NotImplementedError  # defined by the adapter

    def _target(self, relation: BaseRelation) -> ModelRelations:
        raise NotImplementedError  # defined by the adapter

    @available
    def temporal_read(self, relation: BaseRelation, instant: Any) -> str:
        """SQL of a model at an instant."""
        with as_dbt_errors():
            return reads.as_of(self._warehouse, self._target(relation), instant)

    @available
    def temporal_now(self, relation: BaseRelation) -> Any:
        """A model at the instant of the query, or at the pinned one: its view, or SQL where the catalog has none."""
        with as_dbt_errors():
            instant = self.connections.as_of() if self.connections.is_pinned else None
            return reads.now(self._warehouse, self._target(relation), instant) or relation

    @available
    def temporal_sql(self, relation: BaseRelation, dialect: Any, instant: Any, chains: Any) -> str:
        """A query of a model for another engine."""
        with as_dbt_errors():
            if instant is None and self.connections.is_pinned:
                instant = self.connections.as_of()
            return other_engines.sql_of(
                self._warehouse, self._target(relation), str(relation.schema), dialect, instant, chains
            )

    @available
    def temporal_updates(self, relation: BaseRelation) -> Any:
        """The stored updates of a model: the view of them, or SQL where the catalog has none."""
        with as_dbt_errors():
            return reads.updates(self._warehouse, self._target(relation)) or _beside(relation, "__diffs")

    @available
    def temporal_late(self, relation: BaseRelation) -> Any:
        """The rows of a model that came late: the view of them, or SQL where the catalog has none."""
        with as_dbt_errors():
            return reads.late(self._warehouse, self._target(relation)) or _beside(relation, "__late")

    @available
    def temporal_match(self, relation: BaseRelation, instants: Any, samples: int, clock: int, float_digits: int) -> str:
        """SQL of the rows in which a model and the query as written differ."""
        with as_dbt_errors():
            return reads.matches_source(self._warehouse, self._target(relation), instants, samples, clock, float_digits)

    @available
    def temporal_inconsistencies(self, relation: BaseRelation) -> str:
        """SQL of what is wrong with a model's stored diffs."""
        with as_dbt_errors():
            return reads.inconsistencies(self._warehouse, self._target(relation))

    @available
    def temporal_expiry(self, relation: BaseRelation, at_least: Any, clock: int) -> str:
        """SQL of one row when a model expires before clock + at_least."""
        with as_dbt_errors():
            return reads.expiry(self._warehouse, self._target(relation), at_least, clock)

    @available
    def temporal_changes(self, relation: BaseRelation, asked: dict[str, Any]) -> str:
        """SQL of the updates of a model's output."""
        with as_dbt_errors():
            return changes.changes(self._warehouse, self._target(relation), changes.Request(**asked))

    @available
    def temporal_feed(
        self, relation: BaseRelation, into: Any, asked: dict[str, Any], verify: Any, each_change: Any
    ) -> str:
        """SQL of the updates of a model's output that a table does not have yet."""
        with as_dbt_errors():
            request, table = changes.Request(**asked), None if into is None else str(into)
            return feed.feed(self._warehouse, self._target(relation), table, request, verify, each_change)

    @available
    def temporal_at(
        self, relation: BaseRelation, instants: Any, column: Any, aggregates: Any = None, group_by: Any = None
    ) -> str:
        """SQL of a model, or of aggregates over it, at each instant of a relation."""
        with as_dbt_errors():
            listed = str(instants)
            if self.connections.is_pinned:
                listed = f"(\n{self.connections.pinned(f'SELECT * FROM {listed}')}\n)"
            return over_time.at(self._warehouse, self._target(relation), listed, column, aggregates, group_by)

    @available
    def temporal_calendar(self, relation: BaseRelation, count: Any, most: Any, clock: int) -> str:
        """SQL of the next instants at which a model changes."""
        with as_dbt_errors():
            return coming.calendar(self._warehouse, self._target(relation), count, most, clock)

    @available
    def temporal_forecast(self, relation: BaseRelation, every: Any, until: Any, aggregate: Any, clock: int) -> str:
        """SQL of an aggregate over a model at each step from the clock on."""
        with as_dbt_errors():
            return coming.forecast(self._warehouse, self._target(relation), every, until, aggregate, clock)
