"""The adapter: dbt-spark's, plus what the macros of temporal_view ask of Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from dbt.adapters.base import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.spark.impl import SparkAdapter, SparkConfig
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt.adapters.sparktemporal import lock, reads
from dbt.adapters.sparktemporal.begin import begin
from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.errors import Refusal, TemporalError
from dbt.adapters.sparktemporal.run import Run
from dbt.adapters.sparktemporal.temporal.clock import parse_instant
from dbt.adapters.sparktemporal.temporal.dialect import quote
from dbt.adapters.sparktemporal.warehouse import Target, Warehouse


@dataclass
class SparkTemporalConfig(SparkConfig):
    expiration: str | None = None
    restart_every: str | None = None
    restart_at: str | None = None
    refresh_every: str | None = None
    refresh_at: str | None = None
    retain_history: str | None = None
    diffs_retention: str | None = None
    change_capture: str | None = None
    append_column: str | None = None
    pushdown: bool | None = None
    pushdown_columns: list[str] | None = None
    pushdown_required: bool | None = None
    max_staleness: str | None = None


@contextmanager
def _told(node: Any = None) -> Iterator[None]:
    """Our errors as dbt's: a refusal is a compilation error of the model."""
    try:
        yield
    except Refusal as refusal:
        raise CompilationError(str(refusal), node) from None
    except TemporalError as error:
        raise DbtRuntimeError(str(error), node) from None


class SparkTemporalAdapter(SparkAdapter):
    ConnectionManager: TypeAlias = SparkTemporalConnectionManager
    AdapterSpecificConfigs: TypeAlias = SparkTemporalConfig

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        self._clocks: dict[str, int] = {}
        self._session: tuple[dict[str, str], str] | None = None
        self._clock_guard = threading.Lock()
        self._locks = threading.local()

    def _rows(self, sql: str) -> list[tuple]:
        _, cursor = self.connections.add_query(sql, auto_begin=False)
        try:
            return [tuple(row) for row in cursor.fetchall() or []]
        except Exception as error:
            raise DbtRuntimeError(str(error)) from error

    @property
    def _warehouse(self) -> Warehouse:
        return Warehouse(self._rows)

    @staticmethod
    def _target(relation: BaseRelation) -> Target:
        return Target(quote(relation.schema), relation.identifier)  # type: ignore[arg-type]

    @available
    def temporal_clock(self, invocation_id: str, temporal_now: Any = None) -> int:
        """The as-of of a dbt invocation (ms): var temporal_now, else the engine's clock, read once."""
        with _told():
            if temporal_now is not None:
                return parse_instant(temporal_now, "var temporal_now")
            with self._clock_guard:
                if invocation_id not in self._clocks:
                    self._clocks[invocation_id] = self._warehouse.clock()
                return self._clocks[invocation_id]

    @available
    def temporal_lock(self, relation: BaseRelation) -> None:
        """Take the model's lock; `post_model_hook` gives it back however the run ends."""
        warehouse, target = self._warehouse, self._target(relation)
        with _told():
            self._locks.clock = warehouse.clock()
            self._locks.held = (target, lock.take_lock(warehouse, target, self._locks.clock))

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        held = getattr(self._locks, "held", None)
        if held is not None:
            self._locks.held = None
            try:
                lock.give_back_lock(self._warehouse, *held)
            finally:
                lock.forget_lock(held[1])
        super().post_model_hook(config, context)

    @available
    def temporal_begin(
        self,
        relation: BaseRelation,
        sql: str,
        model: Mapping[str, Any],
        graph: Mapping[str, Any],
        as_of: int,
        full_refresh: bool,
    ) -> Run:
        """Observe, refuse, decide: see `begin`. The lock is taken before."""
        warehouse = self._warehouse
        if self._session is None:  # all connections of an invocation have the profile's settings
            self._session = (warehouse.settings(), warehouse.version())
        settings, version = self._session
        with _told():
            reads.refuse_temporal_inputs(model, graph)
            return begin(
                warehouse,
                self._target(relation),
                sql,
                model["config"],
                as_of,
                self._locks.clock,
                dict(settings),
                version,
                full_refresh=full_refresh,
                sampled=self._inputs_are_sampled(),
            )

    def _inputs_are_sampled(self) -> bool:
        """Whether dbt puts a part of each input in its place: --empty or --sample (which Jinja's flags do not have)."""
        args = getattr(self.config, "args", None)
        return bool(getattr(args, "empty", None)) or getattr(args, "sample", None) is not None

    @available
    def temporal_steps(self, current: Run, phase: str) -> list[Any]:
        """The statements of one phase of a run: write, merge, commit, publish or clean_up."""
        with _told():
            return getattr(current, phase)()

    @available
    def temporal_read(self, relation: BaseRelation, instant: Any) -> str:
        """SQL of a model at an instant."""
        with _told():
            return reads.as_of(self._warehouse, self._target(relation), instant)

    @available
    def temporal_match(self, relation: BaseRelation, instants: Any, samples: int, clock: int, float_digits: int) -> str:
        """SQL of the rows in which a model and the query as written differ."""
        with _told():
            return reads.matches_source(self._warehouse, self._target(relation), instants, samples, clock, float_digits)

    @available
    def temporal_inconsistencies(self, relation: BaseRelation) -> str:
        """SQL of what is wrong with a model's stored diffs."""
        with _told():
            return reads.inconsistencies(self._warehouse, self._target(relation))

    @available
    def temporal_expiry(self, relation: BaseRelation, at_least: Any, clock: int) -> str:
        """SQL of one row when a model expires before clock + at_least."""
        with _told():
            return reads.expiry(self._warehouse, self._target(relation), at_least, clock)
