"""With an expiration every read up to it is what it is without, over random histories, restarts and stacked models."""

from __future__ import annotations

import json
import random

import pytest

from support.instants import T0
from support.project import Project
from support.seeds import a_seed

EVENTS = "{{ source('raw', 'events') }}"
#: name -> its query; `{over}` is the name of another of the same kind
MODELS = {
    "kept": f"select id, k, hi from {EVENTS} where mz_now() >= lo and mz_now() < hi",
    "either": f"select id from {EVENTS} where mz_now() < hi or not mz_now() < lo + 7000",
    "counted": f"select k, count(*) as n, min(id) as least from {EVENTS} "
    "where mz_now() >= lo and mz_now() < hi group by k",
    "over": "select id, k from {{ ref('kept_{kind}') }} where mz_now() >= hi - 5000",
    "summed": "select count(*) as n from {{ ref('over_{kind}') }}",
}
OFFSETS = {"kept": 12_000, "either": 3_000, "counted": 9_000, "over": 20_000, "summed": 0}
OFF = "off"


def drive(project: Project, models: list[str], steps: int, seed: int) -> int:
    """-> how many runs were restarts."""
    rng = random.Random(seed)
    project.sql("CREATE TABLE {s}.events (id BIGINT, k INT, lo BIGINT, hi BIGINT)")
    table = {"name": "events"}
    said = {"version": 2, "sources": [{"name": "raw", "schema": project.schema, "tables": [table]}]}
    project.write("models/sources.yml", json.dumps(said))
    for name in models:
        query = MODELS[name]
        for kind, offset in (("with", OFFSETS[name]), (OFF, 0)):
            config = {"expiration": f"{offset} milliseconds"} if offset else {}
            if name in ("kept", "counted") and kind != OFF:
                config["restart_every"] = f"{offset * 3 // 4} milliseconds"
            project.model(f"{name}_{kind}", query.replace("{kind}", kind), **config)
    now, restarts = T0, 0
    for step in range(steps):
        rows = []
        for _ in range(rng.randrange(1, 6)):
            lo = now + rng.randrange(-9_000, 9_000)
            hi = rng.choice(["NULL", lo + rng.randrange(25_000)])
            rows.append(f"({rng.randrange(6)}, {rng.choice(['NULL', 0, 1])}, {lo}, {hi})")
        if rng.random() < 0.8 or not step:
            project.sql(f"INSERT INTO {{s}}.events VALUES {', '.join(rows)}")
        else:
            project.sql(f"INSERT OVERWRITE {{s}}.events VALUES {', '.join(rows)}")
        again = ["--full-refresh"] if rng.random() < 0.15 else []
        ran = project.run(*again, now=now)
        restarts += sum(r.adapter_response["action"] == "restarted" for r in ran.results)
        compare(project, models, rng, now, step)
        now += rng.choice([1, 700, 3_000, 3_001, 8_000, 15_000])
    return restarts


def compare(project: Project, models: list[str], rng: random.Random, now: int, step: int) -> None:
    """All models at instants around now and around the expiration, each with and without."""
    reads, wrong = [], []
    for name in models:
        state = project.state(f"{name}_with")
        assert state.expiration is not None and state.expiration >= now
        last = state.expiration
        for t in sorted({now, last, last - 1, rng.randint(now, last), rng.randint(now, last)}):
            for kind in ("with", OFF):
                reads.append((name, t, kind))
    text = project.render(
        "".join(f"select * from {{{{ temporal_as_of(ref('{n}_{kind}'), {t}) }}}} ;;" for n, t, kind in reads)
    )
    answers = [sorted(project.rows(sql), key=repr) for sql in text.split(";;") if sql.strip()]
    for (name, t, _), ours, plain in zip(reads[::2], answers[::2], answers[1::2], strict=True):
        if ours != plain:
            wrong.append((step, name, t, ours, plain))
    assert not wrong, wrong


@pytest.mark.first(1)
@pytest.mark.parametrize("steps", [1, 3])
def test_with_and_without(project: Project, steps: int) -> None:
    drive(project, ["kept", "over"], steps, a_seed())


@pytest.mark.deep
@pytest.mark.parametrize("part", range(3))
def test_with_and_without_for_long(project: Project, part: int) -> None:
    assert drive(project, list(MODELS), 40, a_seed() + part) >= 20
