"""Several clients of one cluster: dbt with four threads, three dbt processes at a time, and readers beside them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from support.flights import PROJECT
from support.project import Project
from support.thrift_clients import Server, alone

# ---- the flights ---------------------------------------------------------------------------------------------------


def build_flights(server: Server, data: Path, target: Path) -> dict[str, dict[str, Any]]:
    """`dbt build` of all flights with four threads -> what became of each model and test, hooks aside."""
    now = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}"
    variables = json.dumps({"data_path": str(data), "data_now": now})
    folders = ["--target", "thrift", "--target-path", str(target), "--log-path", str(target), "--vars", variables]
    environment = {"FLIGHTS_PORT": str(server.port), "FLIGHTS_SCHEMA": "flights_cluster"}
    process = alone("build", *folders, folder=PROJECT, **environment)
    said, _ = process.communicate(timeout=900)
    assert process.returncode == 0, said
    found = json.loads((target / "run_results.json").read_text())["results"]
    return {r["unique_id"].split(".", 2)[2]: r for r in found if not r["unique_id"].startswith("operation")}


def test_flights_with_four_threads(server: Server, scripts: Any) -> None:
    """All models and their tests, and again with new flights: 27 tests compare views with their sources."""
    data, target = scripts.flights.unpack(server.home / "data"), server.home / "target"
    first = build_flights(server, data, target)
    raw = "flights_cluster.raw_flights"
    (before,) = server.sql(f"SELECT count(*) FROM {raw}").collect()
    others = f"SELECT * EXCEPT (flight), flight + 12000 AS flight FROM {raw} WHERE flight % 50 = 7"
    server.sql(f"INSERT INTO {raw} BY NAME {others}")
    (after,) = server.sql(f"SELECT count(*) FROM {raw}").collect()
    assert after[0] > before[0]
    for results in (first, build_flights(server, data, target)):
        assert {r["status"] for r in results.values()} == {"success", "pass"}
        assert sum(name.startswith("temporal_") for name in results) == 27
        assert len({r["thread_id"] for r in results.values()}) == 4


# ---- three clients and two readers ---------------------------------------------------------------------------------

#: rows of a batch; each enters some 40 ms after the one before
BATCH, SPACING = 2_000, 40
BATCHES = 4
#: what a row of a batch is, of its number: the readers know it without the table
ROW = "id, CAST(id DIV {batch} AS INT) AS b, timestamp_millis({start}L + (id % {batch}) * {spacing}) AS ts"
MODELS = {
    "only_enter": "select id, b from {events} where mz_now() >= ts",
    "leave_too": "select id, b from {events} where mz_now() >= ts and mz_now() < ts + interval 20 seconds",
    "counted": "select b, count(*) as n from {events} where mz_now() >= ts group by b",
}
#: model -> its rows at the clock of a statement, of the rows of all batches
WANTED = {
    "only_enter": "SELECT id, b FROM batches WHERE current_timestamp() >= ts",
    "leave_too": "SELECT id, b FROM batches WHERE current_timestamp() >= ts "
    "AND current_timestamp() < ts + INTERVAL 20 SECONDS",
    "counted": "SELECT b, count(*) AS n FROM batches WHERE current_timestamp() >= ts GROUP BY b",
}


def question(project: Project, model: str, start: int) -> str:
    """SQL -> a row a batch: its number, rows of the view, and rows in which view and query differ, by one clock."""
    row = ROW.format(batch=BATCH, start=start, spacing=SPACING)
    columns = "b, n" if model == "counted" else "id, b"
    return (
        f"WITH batches AS (SELECT {row} FROM range({BATCH * BATCHES})), both_sides AS (\n"
        f"SELECT {columns}, 1 AS x FROM {project.schema}.{model} UNION ALL\n"
        f"SELECT {columns}, -1 AS x FROM ({WANTED[model]})),\n"
        f"summed AS (SELECT {columns}, sum(x) AS s, count_if(x > 0) AS here FROM both_sides GROUP BY {columns})\n"
        f"SELECT b, sum({'here * n' if model == 'counted' else 'here'}), count_if(s <> 0) FROM summed GROUP BY b"
    )


class Reader(threading.Thread):
    """Reads the models in turn until it is told to stop; what it saw of each is a list of {batch: (rows, wrong)}."""

    def __init__(self, ask: Callable[[], Any], project: Project, start: int) -> None:
        super().__init__(daemon=True)
        self.ask, self.project, self.begin = ask, project, start
        self.seen: dict[str, list[dict[int, tuple[int, int]]]] = {name: [] for name in MODELS}
        self.error: Exception | None = None
        self.stop = threading.Event()

    def run(self) -> None:
        try:
            with closing(self.ask()) as connection:
                while not self.stop.wait(0.3):
                    for name, seen in self.seen.items():
                        with connection.cursor() as cursor:
                            cursor.execute(question(self.project, name, self.begin))
                            seen.append({b: (n, wrong) for b, n, wrong in cursor.fetchall()})
        except Exception as error:  # whatever it is, the test shows it
            self.error = error


@contextmanager
def reading(readers: list[Reader]) -> Iterator[None]:
    for reader in readers:
        reader.start()
    try:
        yield
    finally:
        for reader in readers:
            reader.stop.set()
        for reader in readers:
            reader.join(60)


def check(model: str, seen: list[dict[int, tuple[int, int]]]) -> int:
    """Of one reader: each batch is there with all its rows of the instant, or not at all. -> the batches at last."""
    had: dict[int, int] = {}
    most = 0
    for answer in seen:
        here = {b for b, (rows, _) in answer.items() if rows}
        assert all(answer[b][1] == 0 for b in here), (model, answer)
        assert here == set(range(len(here))), (model, answer)  # no batch without those before it
        if model != "leave_too":
            assert all(answer[b][0] >= rows for b, rows in had.items()), (model, had, answer)
            had = {b: answer[b][0] for b in here}
            most = len(here)
        else:
            most = max(most, len(here))
    return most


def test_three_clients_and_two_readers(project: Project, server: Server, scripts: Any, tmp_path: Path) -> None:
    """Clients run models of their own and one that all run, while batches come and the clock moves on."""
    start = int(project.rows("SELECT unix_millis(current_timestamp()) - 10000")[0][0])
    row = ROW.format(batch=BATCH, start=start, spacing=SPACING)
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS SELECT {row} FROM range({BATCH})")
    for name, sql in MODELS.items():
        project.model(name, sql.format(events=f"{project.schema}.events"), lock_timeout="3 minutes")
    project.run()
    logs = iter(range(100))

    def client(*models: str) -> Any:
        places = [
            "--log-path",
            str(tmp_path / f"log{(n := next(logs))}"),
            "--target-path",
            str(tmp_path / f"target{n}"),
        ]
        return alone("run", "-s", *models, *places, folder=project.path)

    readers = [Reader(lambda: scripts.thrift_server.connect(server.port), project, start) for _ in range(2)]
    with reading(readers):
        for batch in range(1, BATCHES):
            project.sql(f"INSERT INTO {{s}}.events SELECT {row} FROM range({batch * BATCH}, {(batch + 1) * BATCH})")
            clients = [client("counted", "only_enter"), client("counted", "leave_too"), client("counted")]
            for process in clients:
                said, _ = process.communicate(timeout=300)
                assert process.returncode == 0, said
    for reader in readers:
        assert reader.error is None and not reader.is_alive(), reader.error
        for model, seen in reader.seen.items():
            assert len(seen) > 5, (model, len(seen))
            batches = check(model, seen)
            # the batches' rows have left leave_too in the end
            assert batches >= (BATCHES - 1 if model != "leave_too" else 1), (model, batches)
    for model in MODELS:
        answer = {b: (n, wrong) for b, n, wrong in project.rows(question(project, model, start))}
        assert all(wrong == 0 for _, wrong in answer.values()), (model, answer)
        assert model == "leave_too" or set(answer) == set(range(BATCHES))
    named = {t for model in MODELS for t in project.state(model).tables}
    theirs = {f"{model}{suffix}" for model in MODELS for suffix in ("", "__live", "__diffs")}
    # chains that were merged away stay for an hour, for slow readers; no lock does
    retired = project.relations() - named - theirs - {"events"}
    assert all(re.fullmatch(rf"({'|'.join(MODELS)})__diffs_\w+", table) for table in retired), retired
