"""Random histories with restarts: `temporal_as_of` gives what readers saw then, as far back as `retain_history` says.

The oracle is the text that the model had then, with the instant put in, over a copy of the inputs as the run of then
read them. Runs restart models by each way that there is; between runs chains are merged, consolidated and swept.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.over_time.reads import inconsistencies
from support.histories import change, event, fill, load_events, small_limits
from support.instants import STEP, T0
from support.project import Project
from support.seeds import a_seed

RETAIN = 35_000
#: model -> texts of it, which are other models to readers; the first one is run first
MODELS = {
    "validity": (
        "select h, id, v from {e} where {now} >= lo and {now} < hi",
        "select h, id, v from {e} where {now} >= lo and ({now} < hi or v > 2)",
        "select id, h, k from {e} where {now} >= lo and {now} < hi",
    ),
    "counted": (
        "select h, k, count(*) as n, sum(v) as total from {e} where {now} >= lo and {now} < hi group by h, k",
        "select h, count(*) as n from {e} where {now} >= lo and {now} < hi group by h",
    ),
    "unless": ("select h, id, k from {e} where {now} >= lo and (hi is null or {now} < hi) or not ({ms} < hi_dec)",),
}
#: over another one of them
OUTER = "select h, count(*) as n from {inner} where {now} < timestamp_millis({end}L) group by h"
FEW = ("", "--full-refresh", "query", "temporal_consolidate")
WAYS = ("", "", "--full-refresh", "--full-refresh", "query", "temporal_restart", "temporal_consolidate")


@dataclass
class Seen:
    """What readers see from the instant of a run on. texts: by model, with {now} and {ms} for the clock."""

    since: int
    texts: dict[str, str] = field(default_factory=dict)


class Story:
    def __init__(self, project: Project, seed: int, histories: int) -> None:
        self.project, self.rng, self.seen = project, random.Random(seed), []  # type: Project, random.Random, list[Seen]
        self.at = dict.fromkeys(MODELS, 0)
        self.rows = {h: [event(self.rng, h) for _ in range(4)] for h in range(histories)}

    def write(self) -> None:
        config = {"retain_history": f"{RETAIN} milliseconds", "diffs_retention": "0", "aggregates": "groups"}
        for name, texts in MODELS.items():
            of_rows = {} if name == "counted" else {"aggregates": "auto"}
            text = fill(self.project, texts[self.at[name]], "mz_now()", "mz_now()")
            self.project.model(name, text, **{**config, **of_rows})
        ref = "{{ ref('unless') }}"
        self.project.model("outer", OUTER.format(inner=ref, now="mz_now()", end=T0 + 10**7), **config)

    def step(self, number: int, way: str) -> None:
        """A restart or none, a run of all models, and a copy of what the run read."""
        now = T0 + number * STEP
        names = [*MODELS, "outer"]
        if way == "query":
            self.at = {name: (self.at[name] + 1) % len(texts) for name, texts in MODELS.items()}
        for name in names if way.startswith("temporal_") else ():
            self.project.dbt("run-operation", way, "--args", f"{{model: {name}}}")
        self.write()
        load_events(self.project, [r for rows in self.rows.values() for r in rows])
        self.project.run(*([way] if way.startswith("--") else []), now=now)
        self.project.sql(f"CREATE TABLE {{s}}.then_{number} USING parquet AS SELECT * FROM {{s}}.events")
        events = f"{self.project.schema}.then_{number}"
        texts = {name: MODELS[name][at].replace("{e}", events) for name, at in self.at.items()}
        texts["outer"] = OUTER.format(inner=f"({texts['unless']})", now="{now}", end=T0 + 10**7)
        self.seen.append(Seen(now, texts))
        self.rows = {h: change(self.rng, rows, h) for h, rows in self.rows.items()}

    def compare(self) -> None:
        """Each model at the ends of what each run showed, and between them."""
        last = self.seen[-1].since
        for name in (*MODELS, "outer"):
            sides = []
            for now, following in zip(self.seen, [*self.seen[1:], Seen(last + STEP)]):
                instants = [now.since, now.since + self.rng.randrange(1, STEP - 1), following.since - 1]
                for t in instants:
                    try:
                        shown = self.project.at(name, t)
                    except TemporalError as error:
                        assert t < last - RETAIN and "retain_history" in str(error), (name, t - T0, str(error))
                        continue
                    oracle = now.texts[name].format(now=f"timestamp_millis({t}L)", ms=f"{t}L")
                    for one, other in ((f"SELECT * FROM {shown}", oracle), (oracle, f"SELECT * FROM {shown}")):
                        sides.append(f"SELECT {t - T0} AS t, count(*) AS n FROM (({one}) EXCEPT ALL ({other}))")
                    assert self._names(f"SELECT * FROM {shown}") == self._names(oracle)
            wrong = self.project.rows(f"SELECT t, n FROM ({' UNION ALL '.join(sides)}) WHERE n > 0")
            assert wrong == [], (name, [s.since - T0 for s in self.seen], self.project.state(name).past, wrong)

    def _names(self, query: str) -> list[str]:
        return self.project.spark.sql(query).columns

    def check_tables(self) -> None:
        """What is kept is what the state names, and no more."""
        for name in ("validity", "counted", "outer"):
            state = self.project.state(name)
            prefix = (f"{name}__diffs_", f"{name}__inputs_", f"{name}__state_")
            there = {relation for relation in self.project.relations() if relation.startswith(prefix)}
            assert there - {t for t, _ in state.retired} == {t for t in state.tables if t.startswith(prefix)}
            assert all(e.until > state.frontier - RETAIN for e in state.past)
            assert all(e.since < e.until <= state.since for e in state.past)


@pytest.mark.landing
@pytest.mark.metastore
@pytest.mark.first(1)
@pytest.mark.parametrize("runs", [2, 4, pytest.param(10, marks=pytest.mark.deep)])
def test_what_was_before_restarts(
    small_plans: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch, runs: int
) -> None:
    small_limits(monkeypatch)
    story = Story(project, a_seed(), 25)
    for number in range(runs):
        story.step(number, FEW[number] if runs <= len(FEW) else story.rng.choice(WAYS) if number else "")
        if number == runs - 1 or runs > len(FEW) and number % 3 == 2:
            story.compare()
    story.check_tables()


@pytest.mark.landing
def test_reads_of_many_instants_end_at_a_restart(project: Project) -> None:
    """They say so in words; so does a read of what is not kept, of what had expired, and of a table that is lost."""
    project.sql("CREATE TABLE {s}.t AS SELECT id, timestamp_millis(id) AS ts FROM range(3)")
    text = f"select id, ts from {project.schema}.t where mz_now() >= ts"
    project.model("m", text, retain_history="1 hour", expiration="5 seconds")
    project.run(now=T0)
    project.run("--full-refresh", now=T0 + 9_000)
    assert len(project.rows(f"SELECT * FROM {project.at('m', T0 + 5_000)}")) == 3
    with pytest.raises(TemporalError, match="it had expired at .*12:00:05.000 UTC, and each read was an error until"):
        project.at("m", T0 + 5_001)
    with pytest.raises(TemporalError, match="`retain_history` says how much of the past stays"):
        project.at("m", T0 - 1)
    for macro in (
        f"temporal_changes(ref('m'), {T0 + 1})",
        f"temporal_at(ref('m'), '(select timestamp_millis({T0}) as i)', 'i')",
    ):
        told = project.dbt("compile", "--inline", f"select * from {{{{ {macro} }}}}", check=False).text
        assert "only temporal_as_of reads what the model was before a restart" in told, told
        assert "instead: instants from 2024-03-01 12:00:09.000 UTC (since) on" in told
    project.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert len(project.rows(f"SELECT * FROM {project.at('m', T0)}")) == 3  # stored rows are given back
    finally:
        project.spark.conf.set("spark.sql.session.timeZone", "UTC")
    (epoch,) = project.state().past
    losses = inconsistencies(Warehouse(project.rows), project.target())
    assert project.rows(losses) == []
    project.sql(f"DROP TABLE {{s}}.{epoch.chains[0]}")
    losses = inconsistencies(Warehouse(project.rows), project.target())
    assert project.rows(losses) == [(epoch.chains[0], "the chain is gone", None)]
    project.sql(f"DROP TABLE {{s}}.{epoch.table}")
    with pytest.raises(TemporalError, match="found: m before its restart at .*, of which the state is gone"):
        project.at("m", T0)
