"""Random commits to an Iceberg table: of rows, of metadata alone, to branches and tags, of the schema, of its history.

Each view is its query after each run, and a run reads no more than what the commits changed of what the model reads.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from support.instants import T0
from support.project import Project, inputs_of
from support.seeds import a_seed

#: what commits did to the rows that a read shows: nothing; some came and went; anything
NONE, SOME, ANY = range(3)
WINDOW = "where {now} < ts + interval 30 seconds"
#: model -> its text, and of what it reads
MODELS = {
    "named": (f"select id, v from {{t}} version as of 'side' {WINDOW}", ("side",)),
    "dotted": (
        f"select id, v from {{t}} {WINDOW} union all select id, v from {{t}}.branch_side {WINDOW}",
        ("main", "side"),
    ),
    "tagged": (
        f"select id, v from {{t}} {WINDOW} union all select id, v from {{t}} version as of 'fixed' {WINDOW}",
        ("main", "fixed"),
    ),
    "joined": (
        f"select a.id, a.v, b.v as w from {{t}} a join {{t}} b on a.k = b.k {WINDOW.replace('ts', 'a.ts')} "
        f"union all select id, v, k from {{t}} {WINDOW}",
        ("main",),
    ),
}
ROWS = "({n}L, {n} % 3, timestamp_millis({at}L), {n}L * 10)"
#: commits of metadata alone
METADATA = (
    "ALTER TABLE {t} CREATE OR REPLACE TAG extra",
    "ALTER TABLE {t} CREATE OR REPLACE BRANCH other; INSERT INTO {t}.branch_other VALUES " + ROWS,
    "ALTER TABLE {t} DROP TAG IF EXISTS extra", "ALTER TABLE {t} DROP BRANCH IF EXISTS other",
    "ALTER TABLE {t} SET TBLPROPERTIES ('loaded' = '{n}')", "ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('loaded')",
    "ALTER TABLE {t} WRITE ORDERED BY id", "ALTER TABLE {t} WRITE UNORDERED",
    "ALTER TABLE {t} ADD PARTITION FIELD bucket({n}, id) AS b{n}",
    "CALL {c}.system.compute_table_stats('{d}')", "CALL {c}.system.rewrite_manifests('{d}')",
    "CALL {c}.system.rewrite_data_files('{d}', options => map('rewrite-all', 'true'))",
    "SET spark.wap.id = w{n}; INSERT INTO {t} VALUES " + ROWS + "; RESET spark.wap.id",
)  # fmt: skip
#: commits of rows: to the table, and to a branch
APPENDS = (
    "INSERT INTO {t} VALUES " + ROWS, "INSERT INTO {t} SELECT id + 1000, k, ts, v FROM {t} WHERE id = {one}",
    "ALTER TABLE {t} ADD PARTITION FIELD k; "
    "INSERT INTO {t} VALUES " + ROWS + "; ALTER TABLE {t} DROP PARTITION FIELD k",
)  # fmt: skip
CHANGES = ("DELETE FROM {t} WHERE id = {one}", "UPDATE {t} SET v = -{n} WHERE id = {one}")
ON_SIDE = (
    "INSERT INTO {t}.branch_side VALUES " + ROWS, "DELETE FROM {t}.branch_side WHERE id = {one}",
    "UPDATE {t}.branch_side SET v = -{n} WHERE k = 1",
)  # fmt: skip
#: commits that may change what any row reads as
SCHEMA = (
    "ALTER TABLE {t} DROP COLUMN v; ALTER TABLE {t} ADD COLUMN v BIGINT",
    "ALTER TABLE {t} RENAME COLUMN v TO o{n}; ALTER TABLE {t} ADD COLUMN v BIGINT",
    "ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT",
    "ALTER TABLE {t} ALTER COLUMN v COMMENT 'of {n}'",
    "ALTER TABLE {t} ADD COLUMN x{n} BIGINT; INSERT INTO {t} (id, k, ts, v, x{n}) VALUES "
    "({n}L, 1, timestamp_millis({at}L), 7L, 5); ALTER TABLE {t} DROP COLUMN x{n}",
    "ALTER TABLE {t} SET TBLPROPERTIES ("
    '\'schema.name-mapping.default\' = \'[ {{"field-id": 1, "names": ["id", "i{n}"]}} ]\')',
    "ALTER TABLE {t} SET IDENTIFIER FIELDS id",
    "ALTER TABLE {t} SET IDENTIFIER FIELDS id; ALTER TABLE {t} DROP IDENTIFIER FIELDS id",
)
MOVED_TAG = ("ALTER TABLE {t} CREATE OR REPLACE TAG fixed",)


@dataclass
class Lake:
    """An Iceberg table. did: what the commits since the last run did to its `main`, its branch `side`, its tag `fixed`;
    told: they themselves. is_of_schema: the latest snapshot is of the present schema; reads_before: that of the last
    run can be read as the run read it, which a join of what changed on both sides needs."""

    project: Project
    table: str
    rng: random.Random
    number: int = 100
    after: int = 0
    did: dict[str, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    is_of_schema: bool = True
    reads_before: bool = True

    def fill(self, text: str) -> str:
        catalog, _, name = self.table.partition(".")
        self.number += 1
        at, one = T0 + self.rng.choice([0, 1, 60_000]), self.rng.randrange(12)
        return text.format(t=self.table, c=catalog, d=name, n=self.number, at=at, one=one)

    def commit(self, text: str, **did: int) -> None:
        """did: of the refs that the commit touched, to those read by models."""
        for statement in self.fill(text).split("; "):
            self.project.spark.sql(statement)
        self.told.append(text)
        if did.get("main") == ANY:
            self.is_of_schema = self.reads_before = False
        elif "INSERT INTO {t} VALUES" in text and did:
            self.is_of_schema = True
        for ref, what in did.items():
            self.did[ref] = max(self.did.get(ref, NONE), what)

    def snapshots(self) -> list[int]:
        """Those of main, the latest first."""
        return [
            snapshot
            for (snapshot,) in self.project.rows(
                f"SELECT snapshot_id FROM {self.table}.history WHERE is_current_ancestor ORDER BY made_current_at DESC"
            )
        ]

    def expire(self) -> None:
        """All that no branch or tag ends with. Of one commit since the last run it is known what it did."""
        moved = {ref: ANY if what else NONE for ref, what in self.did.items()}
        of_now = "older_than => current_timestamp(), retain_last => 1"
        self.commit(f"CALL {{c}}.system.expire_snapshots(table => '{{d}}', {of_now})", **moved)

    def history(self) -> None:
        found = self.snapshots()
        staged = self.project.rows(
            f"SELECT snapshot_id FROM {self.table}.snapshots WHERE summary['wap.id'] IS NOT NULL "
            f"AND snapshot_id NOT IN (SELECT snapshot_id FROM {self.table}.refs) ORDER BY committed_at DESC LIMIT 1"
        )
        kinds = ["fast_forward"]
        kinds += ["rollback", "set"] if len(found) > 1 else []
        kinds += ["cherrypick"] if staged else []
        kind = self.rng.choice(kinds)
        if kind == "cherrypick":
            try:
                self.commit(f"CALL {{c}}.system.cherrypick_snapshot('{{d}}', {staged[0][0]})", main=ANY)
            except Exception as error:
                assert "wap" in str(error).lower() or "cherry" in str(error).lower(), error
        elif kind == "fast_forward":
            self.commit("ALTER TABLE {t} CREATE OR REPLACE BRANCH ahead; INSERT INTO {t}.branch_ahead VALUES " + ROWS
                        + "; CALL {c}.system.fast_forward('{d}', 'main', 'ahead')", main=SOME)  # fmt: skip
        else:
            procedure = "rollback_to_snapshot" if kind == "rollback" else "set_current_snapshot"
            self.commit(f"CALL {{c}}.system.{procedure}('{{d}}', {self.rng.choice(found[1:])})", main=ANY)

    def step(self) -> None:
        kinds = "metadata metadata metadata append append change change side side schema expire history tag"
        kind = self.rng.choice(kinds.split())
        if kind == "metadata":
            self.commit(self.rng.choice(METADATA))
        elif kind == "append":
            self.commit(self.rng.choice(APPENDS), main=SOME)
        elif kind == "change":
            self.commit(self.rng.choice(CHANGES), main=SOME)
        elif kind == "side":
            self.commit(self.rng.choice(ON_SIDE), side=SOME)
        elif kind == "schema":
            self.commit(self.rng.choice(SCHEMA), main=ANY, side=ANY, fixed=ANY)
        elif kind == "tag":
            self.commit(MOVED_TAG[0], fixed=ANY)
        elif kind == "expire":
            self.expire()
        else:
            self.history()

    def run(self) -> None:
        """A run, after which each view is its query, and each input was read no further than needed."""
        self.after += 1
        result = self.project.run(now=T0 + self.after)
        for name, (text, refs) in MODELS.items():
            oracle = self.text(text, f"timestamp_millis({T0 + self.after}L)")
            shown = self.project.rows(f"SELECT * FROM {self.project.at(name, T0 + self.after)}")
            right = self.project.rows(oracle)
            told = inputs_of(result.of(name))
            assert sorted(map(str, shown)) == sorted(map(str, right)), (name, told, self.told)
            did = max(self.did.get(ref, NONE) for ref in refs)
            if did == NONE:
                assert ": unchanged" in told or "0 rows read" in told, (name, told, self.told)
            is_told = name not in ("tagged", "joined") or name == "joined" and self.reads_before
            if name == "dotted":  # what two branches got is not told in one statement
                is_told = self.did.get("main", NONE) == NONE or self.did.get("side", NONE) == NONE
            if did == SOME and is_told:  # of one table at two versions it is not told which came to which
                assert "full (" not in told, (name, told, self.told)
        self.did, self.told, self.reads_before = {}, [], self.is_of_schema

    def text(self, text: str, now: str) -> str:
        """The text of a model: names of three parts at most are names of tables in it, a branch's included."""
        return text.format(t=f"{self.project.schema}.t", s=self.project.schema, now=now)


@pytest.fixture
def lake(project: Project) -> Lake:
    table = f"spark_catalog.{project.schema}.t"
    project.spark.sql(f"CREATE TABLE {table} (id BIGINT NOT NULL, k INT, ts TIMESTAMP, v BIGINT) USING iceberg")
    project.spark.sql(
        f"INSERT INTO {table} SELECT id, id % 3, timestamp_millis({T0}L + id * 1000), id * 10 FROM range(10)"
    )
    for text in ("CREATE BRANCH side", "CREATE TAG fixed", "SET TBLPROPERTIES ('write.wap.enabled' = 'true')"):
        project.spark.sql(f"ALTER TABLE {table} {text}")
    made = Lake(project, table, random.Random(a_seed()))
    for name, (text, _) in MODELS.items():
        project.model(name, made.text(text, "mz_now()"), file_format="parquet")
    made.did = {"main": ANY, "side": ANY, "fixed": ANY}
    made.run()
    return made


def test_metadata_alone(lake: Lake) -> None:
    """Between two runs, beside an append, and with the snapshot of the last run expired."""
    for text in METADATA:
        lake.commit(text)
    lake.run()
    lake.commit(APPENDS[0], main=SOME)
    for text in METADATA:
        lake.commit(text)
    lake.run()
    lake.expire()
    lake.run()
    lake.commit(APPENDS[0], main=SOME)
    lake.expire()
    lake.did["main"] = SOME
    lake.run()


def test_a_snapshot_of_another_schema(lake: Lake) -> None:
    """Read by its number, a snapshot shows what a column held that was dropped and added again since."""
    lake.commit(SCHEMA[0], main=ANY, side=ANY, fixed=ANY)
    lake.run()
    lake.commit(APPENDS[0], main=SOME)
    lake.run()
    lake.commit(APPENDS[0], main=SOME)
    lake.commit(ON_SIDE[0], side=SOME)
    lake.run()


@pytest.mark.parametrize("steps", [6, pytest.param(40, marks=pytest.mark.deep)])
def test_random_commits(lake: Lake, steps: int) -> None:
    for _ in range(steps):
        for _ in range(lake.rng.choice([1, 1, 2, 3])):
            lake.step()
        lake.run()
