"""A catalog by Spark's own interfaces, from Spark 4.2 on: views by its ViewCatalog, tables of Spark's own formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run import first_commit
from support.instants import T0
from support.named_catalogs import PLAIN
from support.project import Project, inputs_of
from support.session import in_the_default_catalog

ROWS = f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range({{}}, {{}})"


@pytest.fixture
def events(project: Project) -> Iterator[Project]:
    if project.connection.get("catalog") != PLAIN:
        pytest.skip("the option --catalog names another one")
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS {ROWS.format(0, 20)}")
    project.model("m", f"select id, ts from {project.schema}.events where mz_now() < ts")
    yield project


@contextmanager
def in_catalog(spark: Any, catalog: str) -> Iterator[None]:
    """The session works in another catalog."""
    before = spark.conf.get("spark.sql.defaultCatalog")
    spark.conf.set("spark.sql.defaultCatalog", catalog)
    spark.sql(f"SET CATALOG {catalog}")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.defaultCatalog", before)
        in_the_default_catalog(spark)


def right_at(project: Project, *instants: int) -> None:
    for t in instants:
        written = f"SELECT id FROM {{s}}.events WHERE timestamp_millis({t}L) < ts"
        assert sorted(project.rows(f"SELECT id FROM {project.at('m', t)}")) == sorted(project.rows(written)), t


def test_new_files_alone_are_read(events: Project) -> None:
    """The first run reads all; a later one what came; one with nothing new writes nothing."""
    assert "hydrated, 20 rows" in events.run(now=T0 - 1).of("m").message
    right_at(events, T0 - 1, T0, T0 + 1, T0 + 5000)
    events.sql(f"INSERT INTO {{s}}.events {ROWS.format(20, 22)}")
    told = inputs_of(events.run(now=T0).of("m"))
    assert "new files" in told and "2 rows read" in told, told
    right_at(events, T0, T0 + 2999, T0 + 3000, T0 + 21_999, T0 + 22_000)
    before = events.relations()
    assert "unchanged" in events.run(now=T0 + 1).of("m").message
    assert events.relations() == before >= {"m", "m__live", "m__diffs"}
    assert not events.rows(f"SHOW DATABASES IN spark_catalog LIKE '{events.schema}'")
    events.sql(f"DROP TABLE {{s}}.events; CREATE TABLE {{s}}.events USING parquet AS {ROWS.format(5, 9)}")
    events.run(now=T0 + 2)
    right_at(events, T0 + 2, T0 + 7999, T0 + 8000)


def test_the_commit_is_one_swap(events: Project, sent: list[str]) -> None:
    """ALTER VIEW is one `replaceView` of the catalog. What people said about the view stays."""
    events.properties({"models": [{"name": "m", "description": "rows that are due"}]})
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts", persist_docs={"relation": True})
    events.run(now=T0 - 1)
    events.sql(f"INSERT INTO {{s}}.events {ROWS.format(20, 22)}; ALTER VIEW {{s}}.m SET TBLPROPERTIES ('of' = 'us')")
    sent.clear()
    events.run(now=T0)
    commits = [sql for sql in sent if "m__live` AS" in sql]
    assert len(commits) == 1 and commits[0].lstrip().startswith(("ALTER VIEW", "/*")) and "ALTER VIEW" in commits[0]
    told = {str(row[0]): str(row[1]) for row in events.rows("DESCRIBE TABLE EXTENDED {s}.m")}
    assert told["Comment"] == "rows that are due" and "of=us" in told["Properties"], told


def test_it_is_asked_once_whether_views_can_be_made(events: Project, sent: list[str]) -> None:
    events.model("n", f"select id, ts from {events.schema}.events where mz_now() < ts")
    events.run(now=T0)
    assert len([sql for sql in sent if "CREATE VIEW" in sql and "mz_probe_" in sql]) == 1
    assert not [name for name in events.relations() if "mz_probe_" in name]


#: a catalog that leaves something out -> words of the refusal of a first run
REFUSED = {
    "unreplaced": ("which makes views and replaces none", "Spark's words: replaceView is not implemented"),
    "undropped": ("which makes views and drops none", "The view `", "which was made to try, stays"),
    "unmarked": ("which keeps no properties of a view", "no later run would know them as the model's"),
}


@pytest.mark.parametrize("catalog", REFUSED)
def test_catalogs_that_leave_something_out(events: Project, tmp_path: Path, catalog: str) -> None:
    """A first run tries all that later runs need. What is refused has written nothing but the view of the trial."""
    with in_catalog(events.spark, catalog):
        events.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{events.schema}")
        there = Project(tmp_path / "there", events.spark, {"method": "session", "host": "local", "catalog": catalog})
        there.sql(f"CREATE TABLE {{s}}.events USING parquet AS {ROWS.format(0, 20)}")
        there.model("m", f"select id, ts from {there.schema}.events where mz_now() < ts")
        ran = there.run(now=T0 - 1, check=False)
        assert not ran.success and all(words in ran.text for words in REFUSED[catalog]), ran.text
        assert [name for name in there.relations() if "mz_probe_" not in name] == ["events"]


def test_texts_and_names_of_a_view(events: Project) -> None:
    """DESCRIBE tells the text and where its names are looked up; SHOW CREATE TABLE is not asked for."""
    events.sql("CREATE VIEW {s}.v AS SELECT 'a\nb' AS `odd name`, 1 AS `# of items`")
    asked: list[str] = []

    def rows(sql: str) -> list[tuple]:
        asked.append(sql)
        return events.rows(sql)

    found = Warehouse(rows, catalog=PLAIN).view(f"{events.schema}.v")
    assert found is not None and found.text == "SELECT 'a\nb' AS `odd name`, 1 AS `# of items`"
    assert found.namespace[0] == PLAIN and len(asked) == 1
    assert Warehouse(rows, catalog=PLAIN).view(f"{events.schema}.events") is None


def test_a_catalog_of_tables_alone_is_refused(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no views, only Iceberg's UPDATE is known as a commit."""
    monkeypatch.setattr(first_commit, "_refusal_of_a_view", lambda *_: "MISSING_CATALOG_ABILITY.VIEWS")
    target = ModelRelations(f"`{events.schema}`", "m", views_in="")
    with pytest.raises(first_commit.Refusal, match="only Iceberg's is known"):
        first_commit.first_commit(Warehouse(events.rows), target)


def test_files_are_left_out_by_their_statistics(events: Project) -> None:
    """The catalog has no functions, so Spark's own are asked for elsewhere."""
    events.sql(f"INSERT INTO {{s}}.events {ROWS.format(100, 110)}")
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts", pushdown="statistics")
    ran = events.run(now=T0 + 60_000)
    said = "\n".join(ran.of("m").adapter_response["pushdown"])
    left = re.search(r"events: statistics leave (\d) of (\d) files", said)
    assert left and int(left[1]) < int(left[2]), said
    right_at(events, T0 + 60_000, T0 + 105_000)


def test_a_function_that_becomes_another(events: Project) -> None:
    """A temporary function is found in Spark's own catalog, and another body is another model."""
    hook = "create or replace temporary function mz_plus(n bigint) returns bigint return n + {}"
    for more in (1, 1000):
        sql = f"select mz_plus(id) as id from {events.schema}.events where mz_now() < ts"
        events.model("m", sql, pre_hook=hook.format(more))
        events.run(now=T0 + 2500 + more)
        assert sorted(events.rows(f"SELECT id FROM {events.at('m', T0 + 17_999)}")) == [(18 + more,), (19 + more,)]
