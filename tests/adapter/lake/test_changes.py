"""What a run reads of a Delta table that changed: its change data feed, where it has one that tells all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.inputs.observing import snapshots
from support.instants import T0
from support.project import Project


@pytest.fixture
def events(tmp_path: Path, spark: SparkSession) -> Iterator[Project]:
    made = Project(tmp_path / "project", spark)
    made.sql(
        "CREATE TABLE {s}.events USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
        f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range(10)"
    )
    made.model("m", f"select id from {made.schema}.events where mz_now() < ts + interval 30 seconds")
    made.run(now=T0)
    yield made
    spark.sql(f"DROP DATABASE IF EXISTS {made.schema} CASCADE")


def read_as(project: Project, after: int) -> tuple[str, str]:
    """A run: what dbt prints of it, and how it read its input. The view is right after it."""
    ran = project.run(now=T0 + after).of("m")
    read = project.render(f"select id from {{{{ temporal_as_of(ref('m'), {T0 + after}) }}}}")
    oracle = f"SELECT id FROM {{s}}.events WHERE timestamp_millis({T0 + after}L) < ts + interval 30 seconds"
    assert sorted(project.rows(read)) == sorted(project.rows(oracle))
    return ran.message, ran.adapter_response["inputs"][0].partition("events: ")[2]


def test_the_change_data_feed(events: Project) -> None:
    assert read_as(events, 1)[1].startswith("unchanged")
    events.sql(f"INSERT INTO {{s}}.events VALUES (20, timestamp_millis({T0}L))")
    message, told = read_as(events, 2)
    assert "advanced, 1 row" in message and told == "changes (version 1), 1 row read"
    events.sql("DELETE FROM {s}.events WHERE id = 3; UPDATE {s}.events SET id = 44 WHERE id = 4; OPTIMIZE {s}.events")
    message, told = read_as(events, 3)
    assert "advanced, 3 rows" in message and told == "changes (versions 2 to 4), 3 rows read"
    events.sql("ALTER TABLE {s}.events SET TBLPROPERTIES ('mine' = 'x')")
    assert read_as(events, 4)[1].startswith("full (after version 4 came SET TBLPROPERTIES)")
    events.sql("RESTORE TABLE {s}.events TO VERSION AS OF 1")
    assert read_as(events, 5)[1].startswith("full (after version 5 came RESTORE)")
    events.sql("DELETE FROM {s}.events WHERE id = 2")
    assert read_as(events, 6)[1] == "changes (version 7), 1 row read"


def test_without_a_change_data_feed(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What blind appends added is in new files; anything else is read in full."""
    events.sql("ALTER TABLE {s}.events SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    read_as(events, 1)
    events.sql(f"INSERT INTO {{s}}.events VALUES (20, timestamp_millis({T0}L)), (21, timestamp_millis({T0}L))")
    events.sql(f"INSERT INTO {{s}}.events VALUES (20, timestamp_millis({T0}L))")
    message, told = read_as(events, 2)
    assert "advanced, 3 rows" in message and told == "changes (versions 2 to 3, append only), 3 rows read"
    events.sql("DELETE FROM {s}.events WHERE id = 3")
    message, told = read_as(events, 3)
    assert "advanced, 1 row" in message and "and it has no change data feed" in told
    events.sql("INSERT INTO {s}.events SELECT id + 100, ts FROM {s}.events WHERE id = 4")
    assert "advanced, 1 row" in read_as(events, 4)[0]
    monkeypatch.setattr(snapshots, "MOST_FILES", 0)
    events.sql(f"INSERT INTO {{s}}.events VALUES (22, timestamp_millis({T0}L))")
    message, told = read_as(events, 5)
    assert "advanced, 1 row" in message and "1 file, more than are named one by one" in told


@pytest.mark.parametrize("later", [0, 1])
def test_a_copy_that_went_its_own_way(events: Project, later: int) -> None:
    """A copy in the place of the table has its id, and other rows at the same version. later: versions after it."""
    detail = events.spark.sql(f"DESCRIBE DETAIL {events.schema}.events").first()
    place = Path(detail["location"].removeprefix("file:"))
    copy = place.with_name("copy")
    shutil.copytree(place, copy)
    events.sql(f"INSERT INTO {{s}}.events VALUES (20, timestamp_millis({T0}L))")
    read_as(events, 1)
    for number in range(1 + later):
        events.sql(f"INSERT INTO delta.`{copy}` VALUES ({30 + number}, timestamp_millis({T0}L))")
    place.rename(place.with_name("gone"))
    copy.rename(place)
    events.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # as another session sees the folder
    assert read_as(events, 2)[1].startswith("full (version 1 is not the commit that was read)")
    events.sql(f"INSERT INTO {{s}}.events VALUES (50, timestamp_millis({T0}L))")
    assert read_as(events, 3)[1] == f"changes (version {2 + later}), 1 row read"


def test_a_schema_that_grew(events: Project) -> None:
    """With columns the old version does not have, the old rows of a join cannot be read as they are now."""
    events.sql("ALTER TABLE {s}.events SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    read_as(events, 1)
    events.sql("ALTER TABLE {s}.events ADD COLUMNS (more STRING)")
    events.sql(f"INSERT INTO {{s}}.events VALUES (20, timestamp_millis({T0}L), 'x')")
    message, told = read_as(events, 2)
    assert "advanced, 1 row" in message and told.startswith("full (")


def test_columns_named_like_those_of_the_change_data_feed(events: Project) -> None:
    """Such a table has no feed; what blind appends added is in new files, and anything else is read in full."""
    events.sql(
        "CREATE TABLE {s}.odd USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false') AS SELECT id, "
        "'delete' AS _change_type, 0L AS _commit_version, ts AS _commit_timestamp, struct('x' AS file_path) AS "
        "_metadata, ts FROM {s}.events"
    )
    columns = "id, _change_type, _commit_version as v, _commit_timestamp, _metadata.file_path as place"
    select = f"select {columns} from {events.schema}.odd where mz_now() < ts + interval 30 seconds"
    events.model("odd_ones", select)
    events.run(now=T0)
    changes = {
        "INSERT INTO {s}.odd SELECT id + 20, 'insert', 9L, ts, struct('y' AS file_path), ts FROM {s}.events "
        "WHERE id < 3": "append only",
        "DELETE FROM {s}.odd WHERE id = 3": "and it has no change data feed",
        "UPDATE {s}.odd SET _change_type = 'insert' WHERE id = 4": "and it has no change data feed",
    }
    for after, (change, why) in enumerate(changes.items(), 1):
        events.sql(change)
        (line,) = events.run(now=T0 + after).of("odd_ones").adapter_response["inputs"]
        assert why in line
        oracle = events.rows(select.replace("mz_now()", f"timestamp_millis({T0 + after}L)"))
        found = events.rows(f"SELECT * FROM {events.at('odd_ones', T0 + after)}")
        assert sorted(found, key=repr) == sorted(oracle, key=repr)
    with pytest.raises(Exception, match="_change_type|CHANGE_DATA|CDC"):
        events.sql("ALTER TABLE {s}.odd SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")


WINDOW = "{now} < e.ts + interval 30 seconds"
#: several places in one statement are read as they are, as they were, or by what came and went
JOINS = {
    "joined": f"select e.id, c.name from {{s}}.events e join {{s}}.names c on e.id % 3 = c.k where {WINDOW}",
    "itself": f"select e.id, o.id as o from {{s}}.events e join {{s}}.events o on e.id % 3 = o.id % 3 where {WINDOW}",
    "three": "select e.id, c.name, o.id as o from {s}.events e join {s}.names c on e.id % 3 = c.k join {s}.events o on "
    f"o.id = e.id where {WINDOW}",
    "union_all": f"select e.id, 'a' as name from {{s}}.events e where {WINDOW} union all "
    f"select e.id, c.name from {{s}}.events e join {{s}}.names c on e.id % 3 = c.k where {WINDOW}",
}
STEPS = (
    ["DELETE FROM {s}.names WHERE k = 1", "DELETE FROM {s}.events WHERE id = 5"],
    ["INSERT INTO {s}.names VALUES (1, 'again')",
     "INSERT INTO {s}.events SELECT id + 20, ts FROM {s}.events WHERE id > 7",
     "INSERT INTO {s}.events SELECT id + 40, ts - interval 1 hour FROM {s}.events WHERE id = 8"],
    ["UPDATE {s}.names SET name = 'u' WHERE k = 2", "UPDATE {s}.events SET ts = ts - interval 1 second WHERE id < 4"],
)  # fmt: skip


@pytest.mark.parametrize("names_have_a_feed", [True, False])
def test_changes_of_several_places(events: Project, names_have_a_feed: bool) -> None:
    events.sql(
        f"CREATE TABLE {{s}}.names USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = '{names_have_a_feed}') "
        "AS SELECT id AS k, concat('n', id) AS name FROM range(3)"
    )
    for name, sql in JOINS.items():
        events.model(name, sql.format(s=events.schema, now="mz_now()"), store_late=True)
    events.run(now=T0)
    for after, statements in enumerate(STEPS, 1):
        for statement in statements:
            events.sql(statement)
        ran = events.run(now=T0 + after)
        for name, sql in JOINS.items():
            oracle = events.rows(sql.format(s="{s}", now=f"timestamp_millis({T0 + after}L)"))
            assert sorted(events.rows(f"SELECT * FROM {events.at(name, T0 + after)}")) == sorted(oracle), (name, after)
            told = " ".join(ran.of(name).adapter_response["inputs"])
            assert "full" not in told or not names_have_a_feed and "names" in told, (name, told)
    for name, sql in JOINS.items():
        if name != "union_all" and not names_have_a_feed:
            continue  # read in full, a row that was over before the run before is not looked for
        late = f"id, {'o' if name == 'itself' else 'name'}"
        over = sql.replace(WINDOW, "e.id = 48").format(s="{s}")
        missed = events.rows(f"SELECT DISTINCT {late} FROM {{s}}.{name}__late")
        assert sorted(missed) == sorted(set(events.rows(f"SELECT {late} FROM ({over})"))), name
