"""`temporal_explain`, what operations return, and the numbers in run_results.json."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from dbt.adapters.sparktemporal.plurals import size
from dbt.adapters.sparktemporal.run import announcing
from support.instants import DAY, T0
from support.project import Project


@pytest.fixture
def events(project: Project) -> Project:
    at = f"timestamp_millis({T0}L + id * 1000)"
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS SELECT id, {at} AS ts FROM range(0, 100, 1, 4)")
    window = "mz_now() <= ts + interval 30 days"
    project.model("m", f"select id, ts from {project.schema}.events where {window}", expiration="40 days")
    project.model("few", f"select count(*) as n from {project.schema}.events where {window}")
    return project


def asked(project: Project, capsys: Any, operation: str, now: int | None = T0, **args: Any) -> list[dict[str, Any]]:
    """What an operation prints for machines, alone on standard output."""
    capsys.readouterr()
    project.dbt("--quiet", "run-operation", operation, "--args", json.dumps({**args, "format": "json"}), now=now)
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def rows(found: list[dict[str, Any]], about: str) -> list[tuple[str, str]]:
    return [(row["of"], row["what"]) for row in found if row["about"] == about]


def test_a_model_that_never_ran(events: Project, capsys: Any) -> None:
    before = events.relations()
    found = asked(events, capsys, "temporal_explain", model="m")
    assert events.relations() == before  # nothing is written, not even a lock
    assert rows(found, "does") == [("hydrated", "first run")]
    assert rows(found, "kept")[0] == ("c0", "rows of id bigint, ts timestamp")
    assert ("expiration", "updates up to 5 weeks 5 days after the start") in rows(found, "kept")
    ((name, how),) = rows(found, "read")
    assert name.endswith("events") and how == "full (first run); 4 of 4 files"
    clocks = {row["of"]: row["instant"] for row in found if row["about"] == "clock"}
    assert clocks["as of"] == T0 and clocks["expiration"] == T0 + 40 * DAY
    assert any(f"ts >= timestamp_millis({T0 - 30 * DAY})" in what for _, what in rows(found, "pushdown"))
    assert rows(found, "scan") and rows(found, "window") == [("c0", "mz_now() <= ts + interval 30 days")]
    phases = [phase for phase, _ in rows(found, "statement")]
    assert phases[0] == "lock" and phases[-1] == "write"
    assert [phase for phase, _ in rows(found, "then")] == ["look", "merge", "commit", "publish", "clean_up"]
    assert not events.dbt(
        "run-operation", "temporal_explain", "--args", "{model: m, full_refresh: 2}", check=False
    ).success


def test_a_model_that_ran(events: Project, capsys: Any) -> None:
    events.run(now=T0)
    found = asked(events, capsys, "temporal_explain", now=T0 + 1000, model="m")
    assert rows(found, "statement") == [("none", "nothing is to be written")]
    events.sql(f"INSERT INTO {{s}}.events SELECT 200, timestamp_millis({T0}L)")
    found = asked(events, capsys, "temporal_explain", now=T0 + 1000, model="m")
    assert rows(found, "does") == [("advanced", "what the inputs did")]
    assert rows(found, "read")[0][1] == "new files (1 new file of 5); 1 of 5 files"
    assert rows(found, "statement")[-1][0] == "write" and not rows(found, "pushdown")
    (read,) = [row for row in found if row["about"] == "read"]
    assert (read["files"], read["files_read"]) == (5, 1) and 0 < read["bytes_read"] < read["bytes"]
    assert [row["rows"] for row in found if row["about"] == "core"] == [100]
    whole = asked(events, capsys, "temporal_explain", now=T0 + 1000, model="m", full_refresh=True)
    assert rows(whole, "does")[0][0] == "restarted" and rows(whole, "pushdown")
    text = events.dbt("run-operation", "temporal_explain", "--args", "{model: few}", now=T0 + 1000).text
    assert re.search(r"\| kept +\| c0 +\| groups of ", text), text
    assert "files_read" not in text


@pytest.mark.landing
def test_ephemeral_models_and_refusals(events: Project) -> None:
    """The model is compiled as a run compiles it, and refused as a run refuses it."""
    events.model("late", f"select id, ts from {events.schema}.events where id > 5", materialized="ephemeral")
    events.model("over", "select id from {{ ref('late') }} where mz_now() <= ts")
    assert (
        "GreaterThan(id,5)" in events.dbt("run-operation", "temporal_explain", "--args", "{model: over}", now=T0).text
    )
    events.model("bad", f"select id from {events.schema}.events where mz_now() <= ts + mz_now()")
    told = events.dbt("run-operation", "temporal_explain", "--args", "{model: bad}", now=T0, check=False)
    assert not told.success and "found: " in told.text and "instead: " in told.text


@pytest.mark.landing
def test_what_is_kept_whole(events: Project, capsys: Any) -> None:
    """The first run warns, with the rows and bytes that it keeps; later runs do not, until the text is another one."""
    table = f"{events.schema}.events"
    window = f"(select * from {table} where mz_now() <= ts + interval 1 day)"
    whole = f"select median(id) filter (where mz_now() >= ts) as n{{}} from {table}"
    events.model("whole", whole.format(""))
    events.model("joined", f"select e.id, w.ts from {table} e left join {window} w on w.id > e.id")
    events.model("accepted", f"select id, mz_now() - ts as age from {table}", full_store="allow")

    def warned(*command: str, now: int) -> dict[str, str]:
        lines = [line for line in events.run(*command, now=now).log if "full_store: allow" in line]
        return dict(re.findall(r"temporal_view (\w+) keeps (.*)", "\n".join(lines)))

    def explained() -> dict[str, Any]:
        (row,) = [r for r in asked(events, capsys, "temporal_explain", model="whole") if r["about"] == "full store"]
        return row

    planned = explained()
    assert planned["of"] == "c0" and planned["rows"] > 0 and planned["bytes"] > 0
    assert f"all rows of {table} (c0: about {planned['rows']} rows, {size(planned['bytes'])})" in planned["what"]
    first = warned(now=T0)
    assert first.keys() == {"whole", "joined"}
    where = "`where mz_now() >= ts`, where the other rows do not count"
    assert f"all rows of {table} (c0: 100 rows, {size(stored(events, 'whole'))})" in first["whole"]
    assert where in first["whole"] and where in planned["what"] and "(full_store: warn)" in planned["what"]
    assert f"all rows of {table} (c1: 100 rows, " in first["joined"] and "c0" not in first["joined"]
    events.sql(f"INSERT INTO {{s}}.events SELECT 200, timestamp_millis({T0}L)")
    assert warned(now=T0 + 1000) == warned("--full-refresh", now=T0 + 2000) == {}
    assert explained()["rows"] == 101
    events.model("whole", whole.format(", max(id) as last"))
    again = warned(now=T0 + 3000)
    assert again.keys() == {"whole"} and "(c0: 101 rows), " in again["whole"]  # the bytes of its chain were told before
    events.model("refused", whole.format(""), full_store="error")
    told = events.run("-s", "refused", now=T0, check=False)
    assert f"found: all rows of {table} to be kept by refused, whose full_store is error" in told.text
    assert f"instead: {where}; or full_store: warn" in told.text
    assert not [name for name in events.relations() if "refused" in name]


def test_the_numbers_of_a_run(events: Project) -> None:
    first = events.run(now=T0).of("m").adapter_response
    size = events.rows(
        "SELECT sum(s) FROM (SELECT DISTINCT _metadata.file_path, _metadata.file_size AS s FROM {s}.events)"
    )
    assert (first["files_considered"], first["files_read"], first["files_left_out"]) == (4, 4, 0)
    assert first["bytes_considered"] == first["bytes_read"] == size[0][0] and first["rows_in"] == 100
    assert first["seconds_to_expiration"] == 40 * 86400
    assert first["bytes_written"] == stored(events, "m") and first["statements"] > 5
    events.sql(f"INSERT INTO {{s}}.events SELECT 200, timestamp_millis({T0}L)")
    second = events.run(now=T0 + 1000).of("m").adapter_response
    assert (second["files_considered"], second["files_read"], second["files_left_out"]) == (5, 1, 4)
    assert 0 < second["bytes_read"] < second["bytes_considered"]
    (read,) = second["input_reads"]
    assert (read["tracking"], read["read"], read["rows"], read["files_read"]) == ("files", "new files", 1, 1)
    assert second["bytes_written"] > 0 and second["seconds_to_expiration"] == 40 * 86400 - 1
    third = events.run(now=T0 + 2000).of("m").adapter_response
    assert (third["files_read"], third["bytes_read"], third["bytes_written"]) == (0, 0, 0)
    assert third["statements"] < second["statements"]


@pytest.mark.landing
def test_what_a_join_reads(events: Project) -> None:
    """All of the other side is read beside the new file, although the other side did not change."""
    events.sql("CREATE TABLE {s}.names USING parquet AS SELECT id, 'n' AS name FROM range(0, 100, 1, 3)")
    joined = f"from {events.schema}.events join {events.schema}.names using (id) where mz_now() <= ts + interval 1 day"
    events.model("j", f"select id, name {joined}")
    events.run("-s", "j", now=T0)
    events.sql(f"INSERT INTO {{s}}.events SELECT 7, timestamp_millis({T0}L)")
    response = events.run("-s", "j", now=T0 + 1000).of("j").adapter_response
    read = {one["relation"].rpartition(".")[2]: one for one in response["input_reads"]}
    assert (read["events"]["files_read"], read["events"]["files"]) == (1, 5)
    assert read["names"]["files_read"] == read["names"]["files"] == 3
    assert response["files_left_out"] == 4 and read["names"]["bytes_read"] == read["names"]["bytes"] > 0


@pytest.mark.landing
def test_the_report_of_models_without_rows(project: Project) -> None:
    """Of rows, of groups, and of several windows, one of them without rows."""
    project.sql(f"CREATE TABLE {{s}}.none USING parquet AS SELECT 1 AS id, timestamp_millis({T0}L) AS ts WHERE false")
    window = f"from {project.schema}.none where mz_now() <= ts"
    project.model("r", f"select id {window}")
    project.model("g", f"select count(*) as n {window}")
    project.sql(f"CREATE TABLE {{s}}.one USING parquet AS SELECT 7 AS id, timestamp_millis({T0 + 5_400_000}L) AS ts")
    project.model("u", f"select id {window} union all select id {window.replace('.none', '.one')}")
    project.run(now=T0)
    project.dbt("run-operation", "temporal_report", now=T0)
    page = (project.path / "target" / "temporal_report.html").read_text()
    assert "No forecast" not in page and page.count("Nothing is due") == 2 and "1 leave" in page


@pytest.mark.landing
def test_an_explanation_collects_no_statistics(events: Project, capsys: Any) -> None:
    """What must not be read whole may be left out by statistics, which the run collects first."""
    at = "cast(date_format(ts, 'yyyy-MM-dd HH:mm:ss') as timestamp)"
    sql = f"select id from {events.schema}.events where mz_now() <= {at}"
    events.model("m", sql, pushdown="statistics", pushdown_required=["events"])
    found = asked(events, capsys, "temporal_explain", now=T0, model="m")
    assert rows(found, "statement")[-1][0] == "write" and rows(found, "statistics")
    assert not [name for name in events.relations() if "stats" in name]


@pytest.mark.landing
def test_one_model_that_cannot_be_read(events: Project, capsys: Any) -> None:
    """Its error is a fact in a list, and on the page; the other models are there."""
    events.run(now=T0)
    events.sql("DROP VIEW {s}.few__live")
    events.sql("CREATE VIEW {s}.few__live AS SELECT 1 AS x")
    events.model("bad", "select 1 as id where mz_now() < timestamp '2100-01-01'", expiration="10 dayz")
    bad, few, m = asked(events, capsys, "temporal_status")
    assert bad["state"] == "cannot be read" and "10 dayz" in bad["error"]
    assert few["state"] == "cannot be read" and "found: " in few["error"] and m["rows"] == 100
    events.dbt("run-operation", "temporal_report", now=T0 + 1)
    page = (events.path / "target" / "temporal_report.html").read_text()
    assert "cannot be read" in page and "few__live" in page and "the view has 100 rows" in page
    (chain,) = events.state("m").chains
    events.sql(f"DROP TABLE {{s}}.`{chain.table}`")
    (m,) = [row for row in asked(events, capsys, "temporal_status") if row["model"] == "m"]
    assert m["state"] == "cannot be read" and chain.table in m["error"]
    for name in ("few", "bad", "m"):
        told = events.dbt("run-operation", "temporal_status", "--args", json.dumps({"model": name}), check=False)
        assert not told.success and (chain.table if name == "m" else "found: ") in told.text


@pytest.mark.landing
def test_before_dbt_has_made_the_schema(events: Project, capsys: Any) -> None:
    """In a new project operations come before the first run: the model has not run, and that is all."""
    events.model("there", "select id from {{ ref('m') }} where mz_now() <= ts + interval 20 days", schema="new")
    events.model("over", "select id from {{ ref('there') }} where mz_now() <= timestamp '2100-01-01'", schema="new")
    (facts,) = asked(events, capsys, "temporal_status", model="there")
    assert facts["state"] == "has not run" and facts["schema"].endswith("_new")
    events.dbt("run-operation", "temporal_report", "--args", "{model: there}")
    told = events.dbt("run-operation", "temporal_explain", "--args", "{model: over}", now=T0, check=False).text
    assert "there" in told and "instead: dbt run" in told and "SCHEMA_NOT_FOUND" not in told, told
    events.run("-s", "m", now=T0)
    found = asked(events, capsys, "temporal_explain", now=T0, model="there")
    assert rows(found, "does") == [("hydrated", "first run")]


@pytest.mark.landing
def test_a_long_run_says_what_it_does(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(now: int) -> list[str]:
        return [line for line in events.run("-s", "m", now=now).log if "so far)" in line]

    assert said(T0) == []
    monkeypatch.setattr(announcing, "LONG", 2)
    assert said(T0 + 1) == []  # nothing new
    events.sql(f"INSERT INTO {{s}}.events SELECT id, timestamp_millis({T0}L) FROM range(50)")
    lines = said(T0 + 1000)
    does = [line.split(": ", 1)[1] for line in lines]
    assert [words.split()[0] for words in does] == ["reads", "counts", "makes", "commits"]  # one line a phase
    assert re.fullmatch(r"reads about \d+ rows of \S+events, and writes 1 chain \(\d+\.\d s so far\)", does[0]), does


@pytest.mark.landing
def test_the_report(events: Project, tmp_path: Any) -> None:
    """What it says, and that it is one file; of a project without a run too."""
    page = tmp_path / "deep" / "report.html"
    args = ("--args", json.dumps({"path": str(page), "hours": 6}))
    text = events.dbt("run-operation", "temporal_report", *args, now=T0).text
    assert f"temporal_report: {page}" in text and page.read_text().count("has not run") >= 2
    events.run(now=T0)
    events.sql(f"INSERT INTO {{s}}.events SELECT 200, timestamp_millis({T0 - 30 * DAY + 3_600_000 * 2 + 5})")
    events.run(now=T0 + 1000)
    events.dbt("run-operation", "temporal_report", *args, now=T0 + 2000)
    html = page.read_text()
    does = ("hydrated: first run", "advanced", "new files: 1 new file of 5", "1 of 5")
    words = re.sub(r"<style>.*?</style>|<[^>]*>", "", html, flags=re.DOTALL)
    for part in (*does, "Rows of the view", "1 leave", "last change captured"):
        assert part in words, part
    assert not re.findall(r"\b(?:cores?|frontier|residual|since|diffs?)\b", words)
    assert html.count('<abbr title="a first run: all rows are written">hydrated</abbr>') == 2
    for place in ("<script", "<link", "src=", "http:", "https:", "url("):
        assert place not in html, place
    assert html.count("<svg") == 4 and "inputs are constant" not in html and "No forecast" not in html
    ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    events.dbt("run-operation", "temporal_report", "--args", "{model: m}", now=T0 + 50 * DAY)
    expired = (events.path / "target" / "temporal_report.html").read_text()
    assert "every read raises until the next run" in expired and "few" not in expired
    refused = events.dbt("run-operation", "temporal_report", "--args", "{hours: 0}", check=False)
    assert not refused.success and "found: hours: 0" in refused.text
    blocked = json.dumps({"path": str(page / "below")})
    refused = events.dbt("run-operation", "temporal_report", "--args", blocked, check=False)
    assert not refused.success and "found: path: " in refused.text


def stored(project: Project, model: str) -> int:
    """The bytes of the chains of a model."""
    tables = [chain.table for chain in project.state(model).chains]
    sizes = [
        f"SELECT sum(s) AS s FROM (SELECT DISTINCT _metadata.file_path, _metadata.file_size AS s FROM {{s}}.`{table}`)"
        for table in tables
    ]
    return int(project.rows(f"SELECT sum(s) FROM ({' UNION ALL '.join(sizes)})")[0][0])


def test_the_status_for_machines_and_for_macros(events: Project, capsys: Any) -> None:
    (few, m) = asked(events, capsys, "temporal_status")
    assert m["model"] == "m" and m["state"] == few["state"] == "has not run" and m["chains"] is None
    events.run(now=T0)
    (few, m) = asked(events, capsys, "temporal_status", now=T0 + 1000)
    assert (m["state"], m["seconds_to_expiration"]) == ("answers", 40 * DAY / 1000 - 1)  # by the pinned clock
    (few, m) = asked(events, capsys, "temporal_status", now=None)
    assert m["started"] == "2024-03-01 12:00:00.000 UTC" and m["state"] == "expired, reads raise"
    assert m["seconds_to_expiration"] < 0 and m["rows"] == 100 and m["updates"] == 200 - m["updates_left_out"] == 200
    assert m["bytes"] == stored(events, "m") and few["expiration"] is None
    body = "{% do print(temporal_status(model=model).columns['rows'].values()[0]) %}"
    events.write("macros/rows_of.sql", "{% macro rows_of(model) %}" + body + "{% endmacro %}")
    capsys.readouterr()
    events.dbt("run-operation", "rows_of", "--args", "{model: m}")
    assert capsys.readouterr().out.split()[-1] == "100"
    text = events.dbt("run-operation", "temporal_status").text
    heads = re.search(r"\| model .*", text)
    assert heads and heads[0].split(" | ")[1].strip() == "state"
    refused = events.dbt("run-operation", "temporal_status", "--args", "{format: xml}", check=False)
    assert not refused.success and "found: format: 'xml'" in refused.text and "table or json" in refused.text


@pytest.mark.landing
def test_what_looking_asks(events: Project, sent: list[str], capsys: Any) -> None:
    """One statement a model for the status and three for the report, whatever the models are; and the last run."""
    united = " union all ".join(
        f"select id from {events.schema}.events where mz_now() <= ts + interval {n} days" for n in (1, 2)
    )
    events.model("united", united, expiration="40 days")
    events.run(now=T0)
    events.run(now=T0 + 1000)
    counts = {}
    for operation in ("temporal_status", "temporal_report"):
        sent.clear()
        events.dbt("run-operation", operation, now=T0 + 61_000)
        counts[operation] = list(sent)
    # beside those of the models: the clock, a list of the schema, the sizes; of a report the settings too
    for operation, most in {"temporal_status": 3 + 3 * 1, "temporal_report": 4 + 3 * 3}.items():
        found = counts[operation]
        assert len(found) <= most, "\n".join(" ".join(sql.split())[:150] for sql in found)
    every = asked(events, capsys, "temporal_status", now=T0 + 61_000)
    for row in every:
        assert (row["seconds_since_last_run"], row["last_run_did"]) == (60, "unchanged: no input changed")
        assert row["frontier"].startswith("2024-03-01 12:00:00") and row["bytes"] == stored(events, row["model"])
    page = (events.path / "target" / "temporal_report.html").read_text()
    assert "3 of 3 answer, nearest expiration in 39 days, last run 60 s ago, nothing to do" in page
    # the chains are of another format than the config tells, and nobody here saw a run
    (events.path / "target" / "temporal_runs.jsonl").unlink()
    events.model("united", united, expiration="40 days", file_format="iceberg")
    others = asked(events, capsys, "temporal_status", now=T0 + 61_000)
    assert [row["bytes"] for row in others] == [row["bytes"] for row in every]
    assert {(row["seconds_since_last_run"], row["last_run_did"]) for row in others} == {(61, None)}


@pytest.mark.landing
def test_leftovers_for_machines(events: Project, capsys: Any) -> None:
    assert asked(events, capsys, "temporal_drop") == []
    events.run(now=T0)
    events.model("m", "select 1 as id", materialized="ephemeral")
    (left,) = asked(events, capsys, "temporal_drop", dry_run=True)
    assert (left["model"], left["project"], left["outcome"]) == ("m", "proj", "would be dropped")
    (left,) = asked(events, capsys, "temporal_drop")
    assert left["outcome"] == "dropped" and "m" not in events.relations()
