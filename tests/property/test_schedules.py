"""Stacks of three temporal views with schedules: each against its query over the one below, run after run.

    events --> one --> two --> three        each with or without refreshes, restarts and an expiration

Runs come at odd minutes, of all models or of some. A model at t shows its query over the model below at the refresh
that t belongs to. What was read at an instant before the frontier stays as it was read, or is refused.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.looking.consolidate import consolidate
from dbt.adapters.sparktemporal.run.host import run_model
from dbt.adapters.sparktemporal.run.plan import HostFacts
from dbt.adapters.sparktemporal.temporal.diffs import view_sql
from dbt.adapters.sparktemporal.temporal.diffs.chains import new_run_id
from dbt.adapters.sparktemporal.temporal.diffs.state import State
from support.histories import mismatches, small_limits
from support.project import Project
from support.seeds import SAMPLE, a_seed

MINUTE = 60_000
#: 2024-01-01 00:00
MIDNIGHT = 1_704_067_200_000
EVERY = {"30 minutes": 30 * MINUTE, "1 hour": 60 * MINUTE, "3 hours": 180 * MINUTE}
#: level -> queries over the level below, of id, k, lo and hi
QUERIES = (
    (
        "select id, k, lo, hi from {below} where {now} < hi",
        "select id, k, lo, hi from {below} where {now} >= lo and {now} < hi",
    ),
    (
        "select id, k, lo, hi from {below}",
        "select id, k, lo, hi from {below} where {now} >= lo - interval 20 minutes",
        "select k, count(*) as n, min(id) as id, min(lo) as lo, max(hi) as hi from {below} group by k",
    ),
    (
        "select id, k from {below}",
        "select id, k from {below} where {now} < hi - interval 15 minutes",
        "select k, count(*) as n from {below} group by k",
        "select id, case when {now} < lo + interval 1 hour then 'new' else 'old' end as age from {below}",
    ),
)
NAMES = ("one", "two", "three")
#: what may be refused: an input that did not run after its expiration
REFUSED = ("which expired at",)


class Stack:
    """The models of one seed, as a host that has no dbt. `read`: what was read of each at which instant."""

    def __init__(self, project: Project, rng: random.Random) -> None:
        self.project, self.rng, self.now = project, rng, MIDNIGHT + 607 * MINUTE
        self.sql = dict(zip(NAMES, map(rng.choice, QUERIES)))
        self.configs = {name: self._config() for name in NAMES}
        self.read: dict[str, dict[int, list[tuple[Any, ...]]]] = {name: {} for name in NAMES}
        self.first: dict[str, int] = {}
        self.log: list[str] = []

    def _config(self) -> dict[str, Any]:
        rng, config = self.rng, {}
        if rng.random() < 0.7:
            config["refresh_every"] = rng.choice(list(EVERY))
            config |= {"refresh_at": MIDNIGHT} if rng.random() < 0.6 else {}
        config |= {"restart_every": "5 hours"} if rng.random() < 0.3 else {}
        config |= {"expiration": "6 hours"} if rng.random() < 0.3 else {}
        config |= {"retain_history": "90 minutes"} if rng.random() < 0.3 else {}
        return config | {"aggregates": "groups"}

    # -- of a host --

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.project.rows(sql)

    def relations(self, model: str) -> ModelRelations:
        return ModelRelations(f"`{self.project.schema}`", model)

    def config(self, model: str) -> Mapping[str, Any]:
        return self.configs[model]

    def facts(self, model: str) -> HostFacts:
        at = NAMES.index(model)
        return HostFacts(
            below=[self.relations(name) for name in NAMES[:at]],
            readers=[self.relations(name) for name in NAMES[at + 1 : at + 2]],
        )

    def say(self, line: str) -> None:
        self.log.append(line)

    # -- what happens --

    def query(self, model: str, below: str, now: str) -> str:
        return self.sql[model].format(below=below, now=now)

    def below(self, model: str, t: int) -> str:
        at = NAMES.index(model)
        return self.project.at(NAMES[at - 1], t) if at else f"{self.project.schema}.events"

    def load(self) -> None:
        """Rows that come, go and change, whose times are minutes around now, and full hours."""
        rng, rows = self.rng, []
        for number in range(rng.choice([0, 6, 12])):
            lo = self.now + rng.choice([rng.randrange(-120, 200) * MINUTE, -self.now % (60 * MINUTE)])
            rows.append((number, rng.choice("ab"), lo, lo + rng.choice([5, 35, 60, 95, 300, 100_000]) * MINUTE))
        rows += [*self.kept, *self.kept[:1]] if rng.random() < 0.6 else self.kept[2:]
        self.kept = rows[:40]
        values = ", ".join(
            f"({n}, '{k}', timestamp_millis({lo}L), timestamp_millis({hi}L))" for n, k, lo, hi in self.kept
        )
        table = f"SELECT * FROM VALUES {values} AS t(id, k, lo, hi)" if values else self._nothing
        self.project.sql(f"CREATE TABLE IF NOT EXISTS {{s}}.events USING parquet AS {self._nothing}")
        self.project.sql(f"INSERT OVERWRITE {{s}}.events {table}")

    kept: list[tuple[int, str, int, int]] = []
    _nothing = "SELECT id, 'a' AS k, timestamp_millis(id) AS lo, timestamp_millis(id) AS hi FROM range(0)"

    def run(self, model: str, full_refresh: bool) -> str:
        below = f"{self.project.schema}.{NAMES[NAMES.index(model) - 1]}" if model != "one" else self.below(model, 0)
        sql = self.query(model, below, "mz_now()")
        try:
            did = run_model(self, model, sql, as_of=self.now, full_refresh=full_refresh)
        except TemporalError as error:
            assert any(known in str(error) for known in REFUSED), (model, str(error))
            return "refused"
        if did["action"] != "waiting":
            self.first.setdefault(model, self.project.state(model).frontier)
        return did["action"]

    def another_schedule(self, model: str) -> None:
        self.configs[model]["refresh_every"] = self.rng.choice(list(EVERY))
        self.first.pop(model, None)  # without refresh_at the refreshes are counted from the next run on

    def consolidated(self, model: str) -> None:
        warehouse, config = Warehouse(self.rows), TemporalConfig.parse(model, self.configs[model])
        clock = warehouse.clock()
        consolidate(warehouse, self.relations(model), config, new_run_id(clock), clock, self.facts(model).readers)

    # -- what is right --

    def shown(self, model: str, state: State, t: int) -> int:
        """The refresh to which an instant from the frontier on belongs, by the configs alone."""
        every = EVERY.get(self.configs[model].get("refresh_every", ""))
        anchor = self.configs[model].get("refresh_at", self.first[model])
        return t if every is None else max(t - (t - anchor) % every, state.frontier)

    def check(self, model: str) -> int:
        """The model as it ran a moment ago, over the model below -> how many instants were compared."""
        state = self.project.state(model)
        chosen = {state.frontier, self.now, self.now + 1, self.now + self.rng.randrange(400) * MINUTE}
        chosen |= {state.refreshes.next(self.now + 1) + d for d in (-1, 0)} if state.refreshes else set()
        last = state.answers_until
        chosen = {t for t in chosen if last is None or t <= last}

        def oracle(t: int) -> str:
            s = self.shown(model, state, t)
            return self.query(model, self.below(model, s), f"timestamp_millis({s}L)")

        found = mismatches(self.project, model, oracle, sorted(chosen))
        assert found == [], f"{found[:5]}\n{self.told(model)}"
        live = view_sql.live_view(replace(state, expiration=None))
        live = live.replace("current_timestamp()", f"timestamp_millis({self.now}L)")
        assert mismatches(self.project, model, lambda t: live, [max(self.now, state.frontier)]) == [], "the live view"
        return len(chosen)

    def rows_at(self, model: str, instants: Iterable[int]) -> dict[int, list[tuple[Any, ...]]]:
        found: dict[int, list[tuple[Any, ...]]] = {t: [] for t in instants}
        each = " UNION ALL ".join(
            f"SELECT {t}L AS mz_t, * FROM {read}" for t, read in self.project.at_each(model, found).items()
        )
        for t, *row in self.rows(each) if found else ():
            found[t].append(tuple(row))
        return {t: sorted(rows, key=str) for t, rows in found.items()}

    def remember(self) -> None:
        for name in NAMES:
            state = self.project.committed(name)
            if state and state.since <= self.now and (state.answers_until is None or self.now <= state.answers_until):
                self.read[name] |= self.rows_at(name, [self.now])

    def check_the_past(self, model: str) -> int:
        """What was read before the frontier is read again, where the model still knows that instant."""
        state = self.project.state(model)
        ranges = [(state.since, state.frontier), *((epoch.since, epoch.until) for epoch in state.past)]
        before = self.read[model].items()
        known = {t: rows for t, rows in before if any(first <= t < last for first, last in ranges)}
        self.read[model] = known
        assert self.rows_at(model, known) == known, f"in the past: {self.told(model)}"
        return len(known)

    def told(self, model: str) -> str:
        states = [(name, state) for name in NAMES if (state := self.project.committed(name))]
        facts = [
            f"{name}: since {(state.since - MIDNIGHT) / MINUTE}, frontier {(state.frontier - MIDNIGHT) / MINUTE}, "
            f"{state.refreshes}, {self.configs[name]}, {self.sql[name]}"
            for name, state in states
        ]
        return "\n".join([f"{model} at {(self.now - MIDNIGHT) / MINUTE}", *facts, *self.log])


def drive(project: Project, seed: int, steps: int) -> Counter[str]:
    """-> what happened how often."""
    rng, did = random.Random(seed), Counter[str]()
    stack = Stack(project, rng)
    for step in range(steps):
        stack.load()
        if step and rng.random() < 0.3:
            stack.consolidated(rng.choice([name for name in NAMES if project.committed(name)]))
            did["consolidated"] += 1
        if rng.random() < 0.15:
            stack.another_schedule(rng.choice(NAMES))
        some = NAMES if not step else rng.choice([NAMES, NAMES, NAMES[:1], NAMES[:2], NAMES[1:]])
        anew = rng.choice(some) if rng.random() < 0.2 else ""
        for name in some:
            action = stack.run(name, name == anew)
            did[action] += 1
            if action not in ("waiting", "refused"):
                did["compared"] += stack.check(name)
                did["remembered"] += stack.check_the_past(name)
        stack.now += rng.choice([7, 13, 31, 60, 95]) * MINUTE
        stack.remember()
    return did


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("number", range(3))
def test_schedules(project: Project, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    if number % 2:
        small_limits(monkeypatch)
    did = drive(project, SAMPLE + number, 5)
    assert did["compared"] > 20, did


@pytest.mark.deep
@pytest.mark.parametrize("number", range(40))
def test_schedules_for_long(project: Project, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    if number % 2:
        small_limits(monkeypatch)
    did = drive(project, a_seed() + number, 12)
    assert did["compared"] > 40, did
