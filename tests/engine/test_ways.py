"""The ways of a run, each forced: append, merge, compare, rebuild. The answer is the same, and the past where asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt.adapters.sparktemporal.run.ways import Sizes
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import T0
from support.project import Project

#: row k is there until `hi`, which is k / 2 seconds after T0
ROWS = f"SELECT CAST(id AS INT) AS k, timestamp_millis({T0}L + id * 500) AS hi FROM range({{}}, {{}})"
QUERIES = {
    "plain": "select k, hi from {table} where mz_now() < hi",
    "grouped": "select k % 3 as g, count(*) as n, sum(k) as total from {table} where mz_now() < hi group by k % 3",
}
#: model -> its query, its config
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("plain", {}),
    "grouped": ("grouped", {}),
    "plain_kept": ("plain", {"retain_history": "1 day"}),
    "grouped_kept": ("grouped", {"retain_history": "1 day"}),
}


def right(project: Project, model: str, instants: dict[int, str]) -> None:
    """The model is its query at each instant, over the table as it was then."""
    query = QUERIES[MODELS[model][0]]
    columns = ", ".join(project.spark.table(f"{project.schema}.{model}").columns)
    sides = []
    for t, read in project.at_each(model, list(instants)).items():
        oracle = query.format(table=f"{{s}}.{instants[t]}").replace("mz_now()", f"timestamp_millis({t}L)")
        sides += [f"SELECT {t}L AS t, 1 AS x, * FROM ({read})", f"SELECT {t}L, -1, * FROM ({oracle})"]
    found = project.rows(
        f"SELECT t, {columns}, sum(x) FROM ({' UNION ALL '.join(sides)}) GROUP BY ALL HAVING sum(x) <> 0"
    )
    assert found == [], (model, found[:10])


@pytest.mark.landing
def test_each_way_has_the_same_answer(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {ROWS.format(0, 60)}")
    for name, (query, config) in MODELS.items():
        project.model(name, QUERIES[query].format(table=f"{project.schema}.t"), aggregates="groups", **config)
    assert "way " not in project.run(now=T0).text
    changed = "SELECT k, hi + interval 1 second * (k % 2) AS hi FROM {{s}}.t{} WHERE k % 5 > 0"
    steps = [
        # new rows; whether chains are merged at all; whether a rebuild costs less; the ways
        (ROWS.format(60, 62), False, False, "append", "append"),
        (ROWS.format(62, 64), True, False, "merge", "merge"),
        (changed.format(2), True, False, "compare", "compare"),
        (ROWS.format(64, 90), True, True, "rebuild", "merge"),
        (changed.format(4), True, True, "rebuild", "compare"),
    ]
    project.sql("CREATE TABLE {s}.t0 USING parquet AS SELECT * FROM {s}.t")
    known = {"FEW_ROWS": chains.FEW_ROWS, "RATIO": chains.RATIO}
    for number, (rows, merges, costs_less, way, way_kept) in enumerate(steps, 1):
        project.sql(f"INSERT {'OVERWRITE' if way_kept == 'compare' else 'INTO'} {{s}}.t {rows}")
        project.sql(f"CREATE TABLE {{s}}.t{number} USING parquet AS SELECT * FROM {{s}}.t")
        for limit, value in known.items():
            monkeypatch.setattr(chains, limit, value if merges else 0)
        monkeypatch.setattr(Sizes, "is_rebuilt", costs_less)
        now = T0 + 1000 * number
        if costs_less:  # what a run would do, before it does so
            capsys.readouterr()
            asked = json.dumps({"model": "plain", "format": "json"})
            project.dbt("--quiet", "run-operation", "temporal_explain", "--args", asked, now=now)
            explained = json.loads(capsys.readouterr().out)
            (foreseen,) = [row["of"] for row in explained if row["about"] == "way"]
            assert foreseen == way and [row["of"] for row in explained if row["about"] == "does"] == ["restarted"]
        ran = project.run(now=now)
        for name, (_, config) in MODELS.items():
            expected, said = way_kept if config else way, ran.text.split(f"temporal_view {name}: ")[1]
            assert f"\n  way {expected}: " in said.split("temporal_view ")[0], (number, name, said)
            assert ("restarted" in ran.of(name).message) is (expected == "rebuild")
            ahead = {now + t: f"t{number}" for t in (0, 499, 500, 20_000, 45_000)}
            since = number if expected == "rebuild" else 0
            past = {T0 + 1000 * n + t: f"t{n}" for n in range(since, number) for t in (0, 999)}
            right(project, name, past | ahead)
    assert "so few rows keep their past" in ran.text
    with pytest.raises(Exception, match="ST627"):  # what a rebuild has left is refused, not answered from what is now
        project.rows(project.at("plain", T0 + 4999))


def test_full_read_error_forbids_a_rebuild(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever costs less: a run that may not read all of its inputs reads what changed, or fails."""
    monkeypatch.setattr(Sizes, "is_rebuilt", True)
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {ROWS.format(0, 60)}")
    project.model("plain", QUERIES["plain"].format(table=f"{project.schema}.t"), full_read="error")
    project.run(now=T0)
    project.sql(f"INSERT INTO {{s}}.t {ROWS.format(60, 62)}")
    ran = project.run(now=T0 + 1000)
    assert "advanced" in ran.of("plain").message and "  way merge: " in ran.text
    project.sql(f"INSERT OVERWRITE {{s}}.t {ROWS.format(0, 70)}")
    refused = project.run(now=T0 + 2000, check=False).text
    assert "ST415" in refused and "to be read by plain, whose full_read is error" in refused
    assert project.state("plain").frontier == T0 + 1000


@pytest.mark.landing
def test_a_large_table_that_is_written_anew(project: Project) -> None:
    """By the rule itself: 100,000 stored rows and more are rebuilt, and kept for whom needs their past."""
    select = "SELECT CAST(id AS INT) AS k, timestamp_millis({}L + id * 500 + {}) AS hi FROM range({})"
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {select.format(T0 + 60_000, 0, 120_000)}")
    project.sql(f"CREATE TABLE {{s}}.t0 USING parquet AS {select.format(T0 + 60_000, 0, 120_000)}")
    for name in ("plain", "plain_kept"):
        project.model(name, QUERIES["plain"].format(table=f"{project.schema}.t"), **MODELS[name][1])
    project.run(now=T0)
    project.sql(f"INSERT OVERWRITE {{s}}.t {select.format(T0 + 60_000, '(id % 10) * 1000', 120_000)}")
    ran = project.run(now=T0 + 1000)
    why = "all rows of its inputs are read anyway, and cost less to write than to compare with 120,000 stored rows"
    assert f"plain: restarted ({why})" in ran.text and f"  way rebuild: {why}" in ran.text
    kept = "all rows of its inputs are compared with 120,000 stored rows, because retain_history needs their past"
    assert f"  way compare: {kept}" in ran.text
    ahead = {T0 + t: "t" for t in (1_000, 70_000, 3_000_000)}
    right(project, "plain", ahead)
    right(project, "plain_kept", ahead | {T0: "t0", T0 + 999: "t0"})
