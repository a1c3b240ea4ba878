"""DuckDB reads the chains of a catalog of Iceberg: their files, and by PyIceberg the files of a snapshot."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pytest
from pyiceberg.catalog import load_catalog

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.looking import other_engines
from support.histories import small_limits
from support.instants import HOUR, T0
from support.named_catalogs import IN_S3, PLAIN
from support.project import Project, is_named

ROWS = f"SELECT id, id % 3 AS k, timestamp_millis({T0}L + id * 1000) AS ts FROM range({{}}, {{}})"
MODELS = {
    "m": "select id, ts from {s}.events where mz_now() < ts",
    "counted": "select k, count(*) as n, sum(id) as total from {s}.events where mz_now() < ts group by k",
}


@pytest.fixture
def ran(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Chains of three runs: rows that came, a row that was deleted."""
    if not is_named(project.spark):
        pytest.skip("the option --catalog names none")
    if project.connection["catalog"] == PLAIN:
        pytest.skip("the tables are Spark's own Parquet: test_duckdb.py of the engine is about them")
    small_limits(monkeypatch)
    project.sql(f"CREATE TABLE {{s}}.events USING iceberg AS {ROWS.format(0, 50)}")
    for name, sql in MODELS.items():
        project.model(name, sql.format(s=project.schema), aggregates="groups")
    project.run(now=T0 - 2)
    project.sql(f"INSERT INTO {{s}}.events {ROWS.format(50, 54)}")
    project.run(now=T0 - 1)
    project.sql("DELETE FROM {s}.events WHERE id = 51")
    project.run(now=T0)
    assert any(chain.negative for chain in project.state().chains)
    assert any(chain.bucketed for chain in project.state().chains)
    return project


def printed(project: Project, model: str, t: int, chains: str = "files") -> str:
    return other_engines.sql_of(Warehouse(project.rows), project.target(model), project.schema, "duckdb", t, chains)


def rows(connection: Any, model: str, sql: str) -> Counter:
    items = "id, epoch_us(ts)" if model == "m" else "k, n, total"
    return Counter(connection.sql(f"SELECT {items} FROM ({sql}) AS m").fetchall())


def oracle(project: Project, model: str, t: int) -> Counter:
    items = "id, unix_micros(ts)" if model == "m" else "k, n, total"
    written = MODELS[model].replace("mz_now()", f"timestamp_millis({t}L)")
    return Counter(project.rows(f"SELECT {items} FROM ({written}) AS m"))


INSTANTS = [T0, T0 + 1, T0 + 2999, T0 + 3000, T0 + 3001, T0 + 49_999, T0 + 50_000, T0 + 51_000, T0 + 53_000, T0 + HOUR]


def test_the_files_of_the_chains(ran: Project) -> None:
    """Files of older snapshots, which a merge leaves in the folder, are none of them."""
    if ran.connection["catalog"] in IN_S3:
        pytest.skip("DuckDB reads S3 by an extension that it downloads")
    with duckdb.connect() as connection:
        for model in MODELS:
            for t in INSTANTS:
                assert rows(connection, model, printed(ran, model, t)) == oracle(ran, model, t), (model, t)


def test_by_pyiceberg(ran: Project) -> None:
    """PyIceberg plans the scan of a snapshot; DuckDB reads its files under the names of the tables."""
    if ran.connection["catalog"] != "served":
        pytest.skip("PyIceberg is tried against the REST server")
    files_by = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}
    served = load_catalog("served", type="rest", uri=ran.spark.conf.get("spark.sql.catalog.served.uri"), **files_by)
    with duckdb.connect() as connection:
        connection.execute(f'CREATE SCHEMA "{ran.schema}"')
        for chain in {c.table for model in MODELS for c in ran.state(model).chains}:
            tasks = list(served.load_table((ran.schema, chain)).scan().plan_files())
            assert tasks and not any(task.delete_files for task in tasks)
            files = [task.file.file_path.removeprefix("file:") for task in tasks]
            connection.execute(f'CREATE VIEW "{ran.schema}"."{chain}" AS FROM read_parquet({files})')
        for model in MODELS:
            for t in INSTANTS:
                assert rows(connection, model, printed(ran, model, t, "tables")) == oracle(ran, model, t), (model, t)


def test_what_a_list_of_files_does_not_say(ran: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_engines, "_MOST_FILES", 0)
    with pytest.raises(Refusal, match="with more than 0 files\nwhy: .*\ninstead: dbt run --full-refresh"):
        printed(ran, "m", T0)
    monkeypatch.undo()
    table = ran.state().chains[0].table
    how = "'write.delete.mode' = 'merge-on-read', 'format-version' = '2'"
    ran.sql(f"ALTER TABLE {{s}}.{table} SET TBLPROPERTIES ({how})")
    ran.sql(f"DELETE FROM {{s}}.{table} WHERE id = 3")
    with pytest.raises(
        Refusal, match="with files of deletes, or files that are not Parquet\nwhy: .*\ninstead: chains="
    ):
        printed(ran, "m", T0)
