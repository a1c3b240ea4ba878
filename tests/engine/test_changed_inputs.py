"""What a run reads of inputs that changed, and what it does when it cannot tell or they change under it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.inputs.observing import file_lists, manifest
from support.instants import T0
from support.project import Project
from support.stories import Step, Story, live


@pytest.fixture
def events(project: Project) -> Project:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(100, 120)")
    project.model("m", f"select id from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    return project


def add(project: Project, *ids: int, table: str = "t") -> None:
    for number in ids:
        project.sql(f"INSERT INTO {{s}}.{table} SELECT {number}L, timestamp_millis({T0}L + 500000)")


def run(project: Project, after: int, *args: str) -> tuple[str, str]:
    """What dbt prints of a run, and how it read its inputs. The view is right after it."""
    ran = project.run(*args, now=T0 + after).of("m")
    read = f"select id from {project.at('m', T0 + after)}"
    oracle = f"SELECT id FROM {{s}}.t WHERE timestamp_millis({T0 + after}L) < hi"
    assert sorted(project.rows(read)) == sorted(project.rows(oracle))
    return ran.message, " | ".join(ran.adapter_response["inputs"])


TABLE = f"CREATE TABLE {{t}} AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(100, 120);"


def row(number: int, table: str = "{t}") -> str:
    return f"INSERT INTO {table} SELECT {number}L, timestamp_millis({T0}L + 500000)"


STORIES = {
    "new_files_alone": Story(
        TABLE,
        "select id from {t} where mz_now() < hi",
        [
            Step(),
            Step(f"{row(1)};{row(2)}", ("advanced, 2 rows", "_t: new files (2 new files of 4), 2 rows read")),
            Step("", ("unchanged", "_t: unchanged (no change), 0 rows read")),
        ],
    ),
    # a file of a partition with the separator in its name is remembered in a table
    "a_name_that_cannot_be_taken_apart": Story(
        "CREATE TABLE {p} (id BIGINT, hi TIMESTAMP, k STRING) USING parquet PARTITIONED BY (k);"
        f"INSERT INTO {{p}} SELECT id, timestamp_millis({T0}L + 90000), 'a|b' FROM range(3)",
        "select id, k from {p} where mz_now() < hi",
        [
            Step(),
            Step(f"INSERT INTO {{p}} SELECT id, timestamp_millis({T0}L + 90000), 'c' FROM range(2)", ": new files ("),
            Step("", "unchanged"),
        ],
    ),
    "a_table_that_only_the_predicate_reads": Story(
        f"{TABLE} CREATE TABLE {{c}} AS SELECT 105L AS id",
        "select id from {t} where mz_now() < hi and id > 115 or id in (select id from {c}) and mz_now() < hi",
        [
            Step(),
            Step("INSERT INTO {c} SELECT 106L", "predicate reads tables"),
            Step(f"INSERT INTO {{c}} SELECT 107L;{row(116)}", "predicate reads tables"),
        ],
    ),
}


@pytest.mark.landing
def test_stories(project: Project) -> None:
    live(project, STORIES)
    state = project.state("a_name_that_cannot_be_taken_apart")
    assert state.manifest and not state.files


@pytest.mark.landing
def test_partitions_that_read_alike(project: Project, tmp_path: Path) -> None:
    """A directory that becomes that of another partition, whose values have the same text side by side."""
    stories = {}
    for name, was, becomes in [
        ("a_comma", "p = 'a, b', q = 'c'", "p = 'a', q = 'b, c'"),
        ("nothing", "p = 'null', q = 'c'", "p = NULL, q = 'c'"),
    ]:
        place = (tmp_path / name).as_uri()
        stories[name] = Story(
            f"CREATE TABLE {{w}} USING parquet LOCATION '{place}' "
            f"AS SELECT 1 AS id, timestamp_millis({T0}L + 90000) AS hi;"
            "CREATE TABLE {t} (id INT, hi TIMESTAMP, p STRING, q STRING) USING parquet PARTITIONED BY (p, q) "
            f"LOCATION '{place}_of_none'; ALTER TABLE {{t}} ADD PARTITION ({was}) LOCATION '{place}'",
            "select id, p, q from {t} where mz_now() < hi",
            [
                Step(),
                Step(
                    f"ALTER TABLE {{t}} DROP PARTITION ({was});"
                    f"ALTER TABLE {{t}} ADD PARTITION ({becomes}) LOCATION '{place}'",
                    "gone or changed: 1 of 1 file",
                ),
                Step("", "unchanged"),
            ],
        )
    live(project, stories)


@pytest.mark.landing
def test_a_default_that_nothing_tells(project: Project, tmp_path: Path) -> None:
    """Rows of before a column have the default with which it was added, until another table stands over the files."""
    place = f"USING parquet LOCATION '{tmp_path.as_uri()}/files'"
    story = Story(
        f"CREATE TABLE {{t}} (id INT, hi TIMESTAMP) {place};"
        f"INSERT INTO {{t}} SELECT 1, timestamp_millis({T0}L + 90000);"
        "ALTER TABLE {t} ADD COLUMN k INT DEFAULT 5; ALTER TABLE {t} ALTER COLUMN k DROP DEFAULT",
        "select id, coalesce(k, 0) as k from {t} where mz_now() < hi",
        [
            Step(),
            Step(
                f"DROP TABLE {{t}}; CREATE TABLE {{t}} (id INT, hi TIMESTAMP, k INT) {place}",
                "its columns, place or options changed",
            ),
            Step("", "unchanged"),
        ],
    )
    live(project, {"one": story})


@pytest.mark.landing
def test_a_story_that_fails_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The story, the step, the instant and the rows."""
    wrong = "(SELECT 1L AS id)"
    monkeypatch.setattr(Project, "at_each", lambda self, model, instants, schema="": dict.fromkeys(instants, wrong))
    query = "select id from {t} where mz_now() < hi and id = 105"
    with pytest.raises(AssertionError) as raised:
        live(project, {"one": Story(TABLE, query, [Step(told="no such words")])})
    assert "one, step 0 (a run): 'no such words' is not told: OK hydrated" in str(raised.value)
    assert """at T0 + 500 ms: without ['{"id":105}'], with ['{"id":1}']""" in str(raised.value)


@pytest.mark.landing
def test_a_file_that_vanished(events: Project) -> None:
    add(events, 1)
    run(events, 1000)
    folder = next(r[1] for r in events.rows("DESCRIBE TABLE EXTENDED {s}.t") if r[0] == "Location")
    newest = max(Path(folder.removeprefix("file:")).glob("part-*"), key=lambda f: f.stat().st_mtime)
    newest.unlink()
    events.sql("REFRESH TABLE {s}.t")
    add(events, 2)
    message, told = run(events, 2000)
    assert "advanced, 2 rows" in message and "full (gone or changed: 1 of 3 files)" in told


@pytest.mark.landing
def test_many_new_files(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lists, "MOST_FILES", 1)
    add(events, 1, 2)
    assert "full (2 new files, more than are named one by one), 22 rows read" in run(events, 1000)[1]


@pytest.mark.landing
def test_the_list_of_files_is_gone(lists_in_tables: None, events: Project) -> None:
    state = events.state()
    assert state.manifest
    events.sql(f"DROP TABLE {{s}}.{state.manifest}")
    assert "unchanged" in run(events, 500)[0]
    add(events, 1)
    assert "full (the list of the files it had is gone)" in run(events, 1000)[1]
    add(events, 2)
    assert "new files (1 new file of" in run(events, 2000)[1]


@pytest.mark.landing
def test_files_move_from_the_state_to_a_table_and_back(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files are in the state, many are in a table. Whichever the last run chose, the next one finds what is new."""
    assert events.state().files and not events.state().manifest
    for number, few in enumerate((30, -1, -1, 30, 3, 30), start=1):
        monkeypatch.setattr(manifest, "FEW", few)
        add(events, number)
        assert "new files (1 new file of" in run(events, 1000 * number)[1]
        state = events.state()
        assert bool(state.files) != bool(state.manifest)
        assert "unchanged" in run(events, 1000 * number + 500)[0]
    assert len(events.state().files) in (0, 1)


@pytest.mark.deep
def test_full_between(events: Project) -> None:
    """A run that reads everything remembers no files: the next one cannot take older files for new ones."""
    where = f"select id from {events.schema}.t where mz_now() < hi"
    events.model("m", where, change_capture="full")
    add(events, 1)
    message, told = run(events, 1000)
    assert "advanced, 1 row" in message and "full (config change_capture: full), 21 rows read" in told
    events.model("m", where)
    add(events, 2)
    message, told = run(events, 2000)
    assert "advanced, 1 row" in message and "full (the list of the files it had is gone)" in told


@pytest.mark.landing
def test_files_remembered_of_another_state(lists_in_tables: None, events: Project) -> None:
    state = events.state()
    events.sql(
        f"INSERT INTO {{s}}.{state.manifest} SELECT relation, 'x', size, modified, place FROM {{s}}.{state.manifest}"
    )
    add(events, 1)
    assert "full (the files remembered are not those of its state)" in run(events, 1000)[1]


@pytest.mark.landing
def test_columns_named_with_the_schema(events: Project) -> None:
    """A subquery in place of the table has no such name: the column is named without the schema there."""
    name = f"{events.schema}.t"
    events.model("m", f"select {name}.id from {name} where mz_now() < {name}.hi")
    events.run("--full-refresh", now=T0)
    before = events.rows(f"SELECT * FROM {events.at('m', T0 + 1000)}")
    add(events, 1)
    message, told = run(events, 1000)
    assert "advanced, 1 row" in message and "new files (1 new file of 3)" in told
    assert len(events.rows(f"SELECT * FROM {events.at('m', T0 + 1000)}")) == len(before) + 1


@pytest.mark.deep
def test_rows_that_decide_about_others(events: Project) -> None:
    events.model("m", f"select distinct id from {events.schema}.t where mz_now() < hi", aggregates="rows")
    events.run("--full-refresh", now=T0)
    add(events, 1)
    assert "new files (1 new file of" in run(events, 1000)[1]  # the rows are kept, DISTINCT is of the reader
    events.model(
        "m", f"select id from (select id, max(hi) as hi from {events.schema}.t group by id) where mz_now() < hi"
    )
    events.run("--full-refresh", now=T0)
    add(events, 2)
    assert "changed, and one row of it may decide about others)" in run(events, 2000)[1]


def disturb(events: Project, times: int, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """Before each of the first statements that write a chain something else happens."""
    original, left = SparkTemporalConnectionManager.add_query, [times]

    def disturbed(self: Any, statement: str, *args: Any, **kwargs: Any) -> Any:
        if "CREATE TABLE" in statement and "m__diffs_" in statement and left[0]:
            left[0] -= 1
            events.sql(sql)
        return original(self, statement, *args, **kwargs)

    monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", disturbed)


@pytest.mark.landing
def test_an_input_that_grows_during_the_run(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes meanwhile is the next run's."""
    add(events, 1)
    disturb(events, 1, monkeypatch, f"INSERT INTO {{s}}.t SELECT 50L, timestamp_millis({T0}L + 500000)")
    ran = events.run(now=T0 + 1000).of("m")
    assert "advanced, 1 row" in ran.message
    assert ran.adapter_response["inputs"][0].endswith("new files (1 new file of 3), 1 row read")
    message, told = run(events, 2000)
    assert "advanced, 1 row" in message and "new files (1 new file of 4), 1 row read" in told


@pytest.mark.first(1)
@pytest.mark.parametrize("times", [1, 9])
@pytest.mark.landing
def test_an_input_that_changes_during_the_run(events: Project, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read of two states is dropped and read again; when it never stays, the run fails and nothing is lost."""
    monkeypatch.setattr("dbt.adapters.sparktemporal.run.write_chains.PAUSES", (0.0,) * 5)
    add(events, 1)
    disturb(events, times, monkeypatch, f"INSERT OVERWRITE {{s}}.t SELECT 50L, timestamp_millis({T0}L + 500000)")
    before = sorted(events.rows("SHOW TABLES IN {s}"))
    if times == 1:
        _, told = run(events, 1000)
        assert "full (gone or changed: 2 of 2 files), 1 row read" in told
        return
    text = events.run(now=T0 + 1000, check=False).text
    assert (
        "inputs of m that changed during each of 5 attempts" in text
        and f"nothing writes to spark_catalog.{events.schema}.t" in text
    )
    assert sorted(events.rows("SHOW TABLES IN {s}")) == before
    monkeypatch.undo()
    assert "files), 1 row read" in run(events, 2000)[1]


@pytest.mark.landing
def test_full_reads_are_told_and_refused(events: Project) -> None:
    """Where a table was written anew: a warning, or an error before anything is written. A full refresh may."""

    def model(full_read: str, **config: Any) -> None:
        events.model("m", f"select id from {events.schema}.t where mz_now() < hi", full_read=full_read, **config)

    model("error")
    add(events, 1)
    assert "new files" in run(events, 1000)[1]
    events.sql(f"INSERT OVERWRITE {{s}}.t SELECT 50L, timestamp_millis({T0}L + 500000)")
    before = sorted(events.rows("SHOW TABLES IN {s}"))
    text = events.run(now=T0 + 2000, check=False).text
    assert (
        f"found: all of spark_catalog.{events.schema}.t to be read by m, whose full_read is error" in text
        and "cannot be read by what changed: gone or changed: 3 of 3 files" in text
        and "instead: dbt run --full-refresh -s m, which reads all once; or full_read: warn" in text
    )
    assert sorted(events.rows("SHOW TABLES IN {s}")) == before
    model("warn")
    assert "full (gone or changed" in run(events, 2000)[1]
    events.sql(f"INSERT OVERWRITE {{s}}.t SELECT 51L, timestamp_millis({T0}L + 500000)")
    ran = events.run(now=T0 + 3000)
    assert (
        "WARN" in ran.text
        and f"m read all of its inputs, not what changed. spark_catalog.{events.schema}.t" in ran.text
    )
    model("error")
    events.sql(f"INSERT OVERWRITE {{s}}.t SELECT 52L, timestamp_millis({T0}L + 500000)")
    assert "restarted" in run(events, 4000, "--full-refresh")[0]


@pytest.mark.landing
def test_late_rows(events: Project) -> None:
    """One that comes when its window is over is reported, not stored; one that comes in its window appears."""
    for number, hi in ((1, 999), (2, 1000), (3, 1001), (4, -86_400_000)):
        events.sql(f"INSERT INTO {{s}}.t SELECT {number}L, timestamp_millis({T0}L + {hi})")
    ran = events.run(now=T0 + 1000)
    assert ran.of("m").adapter_response["rows_late"] == 3 and "advanced, 1 row" in ran.of("m").message
    assert "3 rows came after the window was over" in ran.text
    read = f"select id from {events.at('m', T0 + 1000)} where id < 10"
    assert events.rows(read) == [(3,)]
    add(events, 5)
    assert events.run(now=T0 + 1001).of("m").adapter_response["rows_late"] == 0


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.landing
def test_files_of_partitions_are_listed_by_their_first_rows(project: Project, vectorized: str) -> None:
    """Each once, however many row groups and tasks it is read in; as by all of their rows, with one of no partition."""
    project.sql(
        "CREATE TABLE {s}.p USING parquet PARTITIONED BY (day, `a b`) OPTIONS ('parquet.block.size' '2048') AS "
        "SELECT id, uuid() AS word, nullif(id % 3, 2) AS day, concat('x=', id % 2, '/') AS `a b` "
        "FROM range(0, 9000, 1, 2)"
    )
    project.sql("INSERT INTO {s}.p SELECT id, 'none', 1, 'x' FROM range(9) WHERE false")
    partitions = ("day", "a b")
    settings = {"spark.sql.parquet.enableVectorizedReader": vectorized, "spark.sql.files.maxPartitionBytes": "8192"}
    for key, value in settings.items():
        project.spark.conf.set(key, value)
    try:
        rows_of = "SELECT file, size, modified, place FROM ({})"
        by_first, by_all = (
            sorted(project.rows(rows_of.format(file_lists.by_rows(f"{project.schema}.p", partitions, provider))))
            for provider in ("parquet", "orc")
        )
    finally:
        for key in settings:
            project.spark.conf.unset(key)
    assert by_first == by_all and len(by_first) == 12 and len(set(by_first)) == 12
    assert {place for *_, place in by_first} >= {"{true, null, x=0/, null, 4}", "{true, 1, x=1/, 1, 4}"}


@pytest.mark.landing
@pytest.mark.parametrize("few", [True, False])
def test_files_of_partitions_are_listed_twice(
    project: Project, sent: list[str], monkeypatch: pytest.MonkeyPatch, few: bool
) -> None:
    """Each list opens every file: one is made when the run begins, one when it has read, however many files are."""
    monkeypatch.setattr(manifest, "FEW", 30 if few else -1)
    project.sql(f"CREATE TABLE {{s}}.p USING parquet PARTITIONED BY (day) AS SELECT id, timestamp_millis({T0}L + "
                "id * 1000) AS hi, id % 2 AS day FROM range(1, 9)")  # fmt: skip
    project.model("m", f"select id, day from {project.schema}.p where mz_now() < hi")
    project.run(now=T0)
    for number, added, said in ((9, 1, "1 new file"), (10, 1, "1 new file"), (11, 0, "unchanged")):
        if added:
            project.sql(f"INSERT INTO {{s}}.p SELECT {number}L, timestamp_millis({T0}L + {number} * 1000), 7L")
        sent.clear()
        ran = project.run(now=T0 + 7000)
        assert said in str(ran.of("m").adapter_response["inputs"])
        assert len([sql for sql in sent if "row_index = 0" in sql]) == 1 + added
    assert sorted(project.rows(f"SELECT id, day FROM {project.at('m', T0 + 7000)}")) == [(8, 0), (9, 7), (10, 7)]


def test_short_lists_are_compared_as_spark_compares_them(project: Project) -> None:
    """Files that stay, change, come, go, and are in several places; names that sort by case and by bytes."""
    chance = random.Random(5)
    names = ["a.parquet", "B.parquet", "\u00e9.parquet", "z=1", "a", "a-1", "\U0001f600"]
    entries = [(name, size, 7, place) for name in names for size in (1, 22) for place in ("", "/x/y")]
    warehouse = Warehouse(project.rows)
    for _ in range(8):
        before, now = (tuple(chance.sample(entries, chance.randrange(7))) for _ in "bn")
        listing = file_lists.named(now)
        wanted = file_lists.compare(warehouse, listing, file_lists.named(before))
        found = file_lists.compare_few(before, file_lists.summary(warehouse, listing))
        assert found is not None and found.files is not None and wanted.files is not None
        # Spark's entries are none where a file is in several places
        assert replace(found, files=None, entries=None) == replace(wanted, files=None, entries=None)
        assert sorted(found.files) == sorted(wanted.files)
