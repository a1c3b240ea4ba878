"""Tables of odd columns, in odd places, whose files people move about: each run against the query as Spark answers it.

A run is right, or it is refused in words and changes nothing.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.inputs.changing.input_reads import input_reads
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from support.instants import STEP, T0
from support.project import Project

#: column -> type and value; names that mean something to Spark, or to the statements of a run
RESERVED = {
    "_metadata": (
        "STRUCT<file_path: STRING, file_name: STRING, file_size: BIGINT, file_modification_time: TIMESTAMP, "
        "row_index: BIGINT>",
        "struct('x', 'x', 7L, timestamp_millis(7L), 0L)",
    ),
    "_METADATA": ("STRUCT<file_path: STRING>", "struct('x')"),
    "__metadata": ("STRING", "'x'"),
    "file": ("STRING", "'x'"),
    "size": ("BIGINT", "7L"),
    "modified": ("BIGINT", "7L"),
    "place": ("STRING", "'x'"),
    "relation": ("STRING", "'x'"),
    "mz_at": ("BIGINT", "7L"),
    "mz_p0": ("BIGINT", "7L"),
    "mz_rows": ("BIGINT", "7L"),
    "path": ("STRING", "'x'"),
}
FORMATS = ("parquet", "orc", "csv", "json")
PLACES = ("", "plain", "a b", "50%", "a+b", "über", "x%20y", "k=1")
#: type of the partition column and values
PARTITIONS = {
    "": (),
    "p INT": ("1", "2", "3", "4"),
    "p STRING": ("'a'", "'a b'", "'50%'", "'x=1/y'", "'ü+'"),
    "mz_p0 STRING": ("'a'", "'%20'", "'b'"),
    "file DATE": ("DATE'2024-03-01'", "DATE'2024-03-02'", "DATE'2024-03-03'"),
}
QUERIES = {
    "rows": "select id, k, lo{p} from {t} where {now} >= lo and {now} < hi",
    "pairs": "select a.id, b.id as other{ap} from {t} a join {t} b on a.k = b.k and a.id <> b.id "
    "where {now} >= a.lo and {now} < b.hi",
}


class Layout:
    """A table somewhere, and what people do to its files."""

    def __init__(self, project: Project, folder: Path, name: str, rng: random.Random, **chosen: Any) -> None:
        self.project, self.folder, self.rng = project, folder, rng
        self.name, self.table = name, f"{project.schema}.{name}"
        self.format = chosen.get("format", rng.choice(FORMATS))
        flat = self.format == "csv"
        odd = [c for c in RESERVED if not (flat and RESERVED[c][0].startswith("STRUCT"))]
        hidden = ["_metadata"] * (not flat and rng.random() < 0.25)  # what this one hides tells files apart
        self.reserved = chosen.get("reserved", [*hidden, *rng.sample(odd, rng.choice([0, 1, 1, 3]))])
        lower = [c.lower() for c in self.reserved]
        self.reserved = [c for i, c in enumerate(self.reserved) if c.lower() not in lower[:i]]
        self.part = chosen.get("part", rng.choice(list(PARTITIONS)))
        if self.part.split(" ")[0] in self.reserved:
            self.reserved.remove(self.part.split(" ")[0])
        place = chosen.get("place", rng.choice(PLACES))
        self.shared: dict[str, Path] = {}  # partition -> its directory, of those that were added by hand
        self.next_id = self.copies = 0
        columns = ["id BIGINT", "k INT", "lo BIGINT", "hi BIGINT", *(f"`{c}` {RESERVED[c][0]}" for c in self.reserved)]
        by = f" PARTITIONED BY ({self.part.split(' ')[0]})" if self.part else ""
        columns += [self.part] if self.part else []
        at = f" LOCATION '{self._directory(place)}'" if place else ""
        project.spark.sql(f"CREATE TABLE {self.table} ({', '.join(columns)}) USING {self.format}{by}{at}")
        query = chosen.get("query", rng.choice(["rows", "rows", "pairs"]))
        p = self.part.split(" ")[0]
        self.sql = QUERIES[query].format(t=self.table, p=p and f", {p}", ap=p and f", a.{p}", now="{now}")
        measured = {"pushdown": "statistics", "pushdown_columns": ["k"]}
        self.config = chosen.get("config", rng.choice([{}, {}, measured]))
        self.insert()

    def __repr__(self) -> str:
        return f"{self.format} {self.reserved} by {self.part!r}, {self.config}: {self.sql}"

    def _directory(self, name: str) -> Path:
        made = self.folder / f"{self.name} {name}" / name
        made.mkdir(parents=True, exist_ok=True)
        return made

    def _rows(self, with_part: bool = True) -> str:
        rng, values = self.rng, []
        for _ in range(rng.randrange(1, 4)):
            lo = T0 + rng.randrange(-STEP, 4 * STEP)
            values.append(f"({self.next_id}L, {rng.randrange(3)}, {lo}L, {lo + rng.choice([1, STEP, 10 * STEP])}L)")
            self.next_id += 1
        items = [
            "id",
            "k",
            "lo",
            "hi",
            *(f"CAST({RESERVED[c][1]} AS {RESERVED[c][0]}) AS `{c}`" for c in self.reserved),
        ]
        if self.part and with_part:
            items.append(f"{rng.choice(PARTITIONS[self.part])} AS {self.part.split(' ')[0]}")
        return f"SELECT {', '.join(items)} FROM VALUES {', '.join(values)} AS v(id, k, lo, hi)"

    def files(self) -> list[Path]:
        told = {str(r[0]): str(r[1]) for r in self.project.rows(f"DESCRIBE TABLE EXTENDED {self.table}")}
        root = Path(unquote(told["Location"].removeprefix("file:")))
        return sorted({f for folder in (root, *self.shared.values()) for f in folder.rglob("part-*") if f.is_file()})

    # -- what people do --

    def stays(self) -> None:
        pass

    def insert(self) -> None:
        self.project.spark.sql(f"INSERT INTO {self.table} {self._rows()}")

    def overwrite(self) -> None:
        self.project.spark.sql(f"INSERT OVERWRITE {self.table} {self._rows()}")

    def drop_in(self) -> None:
        """A file that another program puts beside one that is there, or into the directory of a partition."""
        folder = self.rng.choice([*self.shared.values(), *(f.parent for f in self.files())] or [None])
        if folder is not None:
            self._write(folder)

    def _write(self, folder: Path, prefix: str = "part-x") -> None:
        staged = self.folder / "staged"
        self.project.spark.sql(
            f"INSERT OVERWRITE DIRECTORY '{staged}' USING {self.format} {self._rows(with_part=False)}"
        )
        folder.mkdir(parents=True, exist_ok=True)
        for file in staged.glob("part-*"):
            shutil.move(file, folder / file.name.replace("part-", prefix, 1))

    def hide(self) -> None:
        for folder in {f.parent for f in self.files()[:1]}:
            self._write(folder, self.rng.choice(["_part-", ".part-"]))

    def link(self) -> None:
        for file in self.files()[:1]:
            link = file.parent / f"part-link-{self.next_id}{file.suffix}"
            if not link.is_symlink():
                link.symlink_to(file)

    def delete(self) -> None:
        for file in self.files()[:1]:
            file.unlink()

    def rename(self) -> None:
        for file in self.files()[-1:]:
            file.rename(file.with_name(f"part-moved {self.next_id}+{file.suffix}"))

    def add_partition(self) -> None:
        """At a place of its own, or at that of another partition."""
        if not self.part:
            return self.drop_in()
        value = self.rng.choice(PARTITIONS[self.part])
        places = [self._directory(f"elsewhere {len(self.shared)}"), *self.shared.values(), *self.shared.values()]
        folder = self.rng.choice(places)
        name = self.part.split(" ")[0]
        self.project.spark.sql(f"ALTER TABLE {self.table} DROP IF EXISTS PARTITION ({name} = {value})")
        self.project.spark.sql(f"ALTER TABLE {self.table} ADD PARTITION ({name} = {value}) LOCATION '{folder}'")
        self.shared[value] = folder
        if self.rng.random() < 0.5:
            self._write(folder)
        return None

    def drop_partition(self) -> None:
        if self.shared:
            value = self.rng.choice(sorted(self.shared))
            name = self.part.split(" ")[0]
            self.project.spark.sql(f"ALTER TABLE {self.table} DROP IF EXISTS PARTITION ({name} = {value})")
            del self.shared[value]

    def swap(self) -> None:
        """The table, or a partition of it, is a copy of its files from now on."""
        self.copies += 1
        folder = self._directory(f"copy {self.copies}")
        if self.shared:
            value = self.rng.choice(sorted(self.shared))
            if self.shared[
                value
            ].is_dir():  # Spark deletes the files of a partition that is dropped, also of one beside it
                shutil.copytree(self.shared[value], folder, dirs_exist_ok=True)
            partition = f"PARTITION ({self.part.split(' ')[0]} = {value})"
            # an INSERT OVERWRITE drops the partitions that it does not write
            self.project.spark.sql(f"ALTER TABLE {self.table} ADD IF NOT EXISTS {partition}")
            self.project.spark.sql(f"ALTER TABLE {self.table} {partition} SET LOCATION '{folder}'")
            self.shared[value] = folder
        elif not self.part:
            for file in self.files():
                shutil.copy(file, folder)
            self.project.spark.sql(f"ALTER TABLE {self.table} SET LOCATION '{folder}'")


ACTS: list[Callable[[Layout], None]] = [
    Layout.stays, Layout.insert, Layout.insert, Layout.insert, Layout.drop_in, Layout.drop_in, Layout.overwrite,
    Layout.hide, Layout.link, Layout.delete, Layout.rename, Layout.add_partition, Layout.add_partition,
    Layout.add_partition, Layout.drop_partition, Layout.swap,
]  # fmt: skip


def run(project: Project, layout: Layout, now: int) -> str:
    """A run of a model over a layout, without dbt -> how it read its input."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", f"m_{layout.name}")
    sql = layout.sql.format(now="mz_now()")
    invocation = Invocation(now, now, warehouse.settings(), warehouse.version(), project="p")
    current = begin(warehouse, target, Definition(sql, layout.config), invocation)
    list(current.steps(project.spark.sql))
    return " | ".join(one.line for one in input_reads(current.plan.capture))


def right(project: Project, layout: Layout, now: int, told: object) -> None:
    project.spark.sql(f"REFRESH TABLE {layout.table}")
    oracle = project.rows(layout.sql.format(now=f"{now}L"))
    found = project.rows(f"SELECT * FROM ({project.at(f'm_{layout.name}', now)})")
    assert sorted(found, key=repr) == sorted(oracle, key=repr), (layout, told)


def drive(project: Project, layouts: list[Layout], runs: int, rng: random.Random) -> set[str]:
    ways = set()
    for number in range(runs):
        now = T0 + number * STEP
        for layout in layouts:
            done = [act.__name__ for act in rng.choices(ACTS, k=rng.choice([1, 1, 2])) if number and not act(layout)]
            before = project.committed(f"m_{layout.name}")
            try:
                told = run(project, layout, now)
            except TemporalError as error:
                assert all(word in str(error) for word in ("found: ", "why: ", "instead: "))
                assert project.committed(f"m_{layout.name}") == before
                continue
            ways.add(told.partition(": ")[2].partition(" (")[0])
            right(project, layout, now, (number, done, told))
    return ways


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("count", [1, 2])
def test_odd_layouts(project: Project, tmp_path: Path, count: int) -> None:
    rng = random.Random(5)
    layouts = [Layout(project, tmp_path, f"t{i}", rng) for i in range(count)]
    drive(project, layouts, 3, rng)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(8))
def test_odd_layouts_for_long(project: Project, tmp_path: Path, part: int) -> None:
    ways = set()
    for seed in range(5 * part, 5 * part + 5):
        rng = random.Random(seed)
        layouts = [Layout(project, tmp_path / str(seed), f"t{seed}_{i}", rng) for i in range(3)]
        ways |= drive(project, layouts, 8, rng)
    assert {"full", "new files", "unchanged"} <= ways, ways


@pytest.mark.parametrize("kind", ["parquet", "orc by p", "json", "parquet, statistics"])
@pytest.mark.quick(1)
def test_a_column_named_as_the_hidden_one(project: Project, tmp_path: Path, kind: str) -> None:
    """`select *, _metadata from files`, kept as a table: its files are told by Spark's column, not by the table's."""
    rng = random.Random(1)
    layout = Layout(
        project, tmp_path, "t", rng, format=kind.split()[0].strip(","), reserved=["_metadata"], place="",
        part="p INT" if "by p" in kind else "", query="rows",
        config={"pushdown": "statistics", "pushdown_columns": ["k"]} if "statistics" in kind else {},
    )  # fmt: skip
    run(project, layout, T0)
    for number in (1, 2):
        layout.insert()
        now = T0 + number * STEP
        told = run(project, layout, now)
        assert "new files (" in told, told
        right(project, layout, now, told)


@pytest.mark.landing
def test_two_partitions_at_one_place(project: Project, tmp_path: Path) -> None:
    """A new file is new in both; a new partition at a known place has rows that no file tells apart."""
    layout = Layout(
        project, tmp_path, "t", random.Random(1), format="parquet", reserved=[], place="", part="p INT", query="rows",
        config={"pushdown": "statistics", "pushdown_columns": ["k"]},
    )  # fmt: skip
    shared = layout._directory("shared")
    layout._write(shared)
    steps = {
        "ADD PARTITION (p = 7)": "new files (",
        "ADD PARTITION (p = 8)": "gone or changed: ",
        "": "new files (",
        "DROP PARTITION (p = 7)": "gone or changed: ",
    }
    run(project, layout, T0)
    for number, (step, said) in enumerate(steps.items(), 1):
        place = f" LOCATION '{shared}'" if step.startswith("ADD") else ""
        if step:
            project.spark.sql(f"ALTER TABLE {layout.table} {step}{place}")
        else:
            layout._write(shared)
        now = T0 + number * STEP
        told = run(project, layout, now)
        assert said in told, told
        right(project, layout, now, told)


@pytest.mark.landing
@pytest.mark.metastore
def test_files_dropped_into_a_table_of_hive(project: Project, tmp_path: Path) -> None:
    """A session remembers which files such a table has, until it is told to look again."""
    layout = Layout(
        project, tmp_path, "t", random.Random(1), format="parquet", reserved=[], place="", part="", query="rows",
        config={},
    )  # fmt: skip
    folder = layout._directory("hive")
    project.spark.sql(f"DROP TABLE {layout.table}")
    project.spark.sql(
        f"CREATE TABLE {layout.table} (id BIGINT, k INT, lo BIGINT, hi BIGINT) STORED AS PARQUET LOCATION '{folder}'"
    )
    for number in range(3):
        layout._write(folder)
        now = T0 + number * STEP
        told = run(project, layout, now)
        right(project, layout, now, told)
