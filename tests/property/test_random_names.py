"""Random names of models, aliases, schemas and of relations in their way, through runs, two days, and temporal_drop.

After each step every model's rows are those of its query as written, or it was refused and nothing of it has changed;
what a user made is as the user made it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.temporal.diffs import chains
from dbt.adapters.sparktemporal.temporal.sql.text.identifiers import Identifiers, folded
from support.instants import HOUR, T0
from support.project import Project, Result
from support.tables import rows_of

pytestmark = pytest.mark.metastore

OLD = f"{T0 - 9 * 24 * HOUR:011x}c0ffee00"  # the id of a run nine days before

STEMS = ("a", "B", "Orders", "x9", "_u", "9z", "Name" * 30)
ENDS = (
    "",
    "",
    "",
    "__live",
    "__diffs",
    "__lock",
    "__diffs_a",
    "__diffs_2024",
    f"__diffs_{OLD}",
    f"__stats_{OLD}",
    "_c1",
)
ODD = ("we`ird", "two words", "dot.ted", "quo'te", "a-b", "ünï", "n" * 240, 'dou"ble', "par(en", "br[ack]et", "a>5")
IN_THE_WAY = (*ENDS[3:], "__diffs_of_mine", f"__diffs_{OLD}_c1", f"__diffs_{OLD}_backup", f"__inputs_{OLD}")
SPELLINGS = (str, str, str.lower, str.upper, str.swapcase)

#: what a refusal says: our three lines, or the catalog's about a name that it does not take
TOLD = ("found: ", "INVALID_SCHEMA_OR_RELATION_NAME", "INVALID_ATTRIBUTE_NAME_SYNTAX", "dbt found two resources")


@dataclass
class Scene:
    """models: file -> (alias, spelling of the schema). above: the files that read n0. mine: a user's relations."""

    models: dict[str, tuple[str, str]] = field(default_factory=dict)
    above: set[str] = field(default_factory=set)
    mine: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(seed: int, schema: str) -> Scene:
        chance, scene = random.Random(seed), Scene()
        stem = chance.choice(STEMS)
        for number in range(chance.choice((2, 2, 3))):
            stem = stem if chance.random() < 0.6 else chance.choice(STEMS)
            alias = chance.choice(SPELLINGS)(stem + chance.choice(ENDS))
            if chance.random() < 0.1:
                alias = chance.choice(ODD)
            spelled = schema.upper() if chance.random() < 0.3 else schema
            scene.models[f"n{number}"] = (alias, spelled)
            if number and chance.random() < 0.5:
                scene.above.add(f"n{number}")
        taken = Identifiers(alias for alias, _ in scene.models.values())
        for _ in range(chance.choice((0, 1, 1, 2))):
            name = chance.choice(SPELLINGS)(
                chance.choice([a for a, _ in scene.models.values()]) + chance.choice(IN_THE_WAY)
            )
            kind = chance.choice(("TABLE {} USING parquet AS SELECT 7 AS x", "VIEW {} AS SELECT 7 AS x"))
            # the relation of a model's own name is dbt's to replace
            if name not in taken and name not in Identifiers(scene.mine) and name.isascii() and name.isidentifier():
                scene.mine[name] = kind
        return scene


@pytest.fixture
def engine_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    now = [T0]
    monkeypatch.setattr(Warehouse, "clock", lambda self: now[0])
    yield now


def everything(project: Project) -> dict[str, Any]:
    """All relations of the schema, and what tells whether they were touched."""
    found: dict[str, Any] = {}
    # temporary views of the session are listed too, in no schema
    for name in (r[1] for r in project.rows("SHOW TABLES IN {s}") if r[0]):
        details = {r[0]: r[1] for r in project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.`{name}`")}
        found[name] = (details["Type"], details["Created Time"], details.get("View Text"))
    return found


def check(project: Project, scene: Scene, ran: Result, before: dict[str, Any], t: int, rows: range) -> set[str]:
    """-> the models whose run was right."""
    after, good = everything(project), set()
    by_name = {result.node.name: result for result in ran.results}
    for file, (alias, _) in scene.models.items():
        result = by_name.get(file)
        if result is not None and str(result.status) == "success":
            found = sorted(row[0] for row in project.rows(f"SELECT id FROM {project.at(alias, t)}"))
            assert found == list(rows), (alias, scene)
            good.add(file)
            continue
        said = ran.text if result is None else str(result.message)
        assert str(getattr(result, "status", "")) == "skipped" or any(words in said for words in TOLD), (said, scene)
        own = {name for name in {*before, *after} if chains.is_relation_of(alias, name)}
        if not any(chains.is_relation_of(scene.models[other][0], name) for other in good for name in own):
            assert {n: before.get(n) for n in own} == {n: after.get(n) for n in own}, (said, scene)
    for name in scene.mine:
        assert after[name.lower()] == before[name.lower()], (name, scene)
    return good


@pytest.mark.first(2)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.quick(1)
def test_names(project: Project, engine_clock: list[int], seed: int) -> None:
    scene = Scene.of(seed, project.schema)
    project.write(
        "macros/s.sql", "{% macro generate_schema_name(custom, node) %}{{ custom or target.schema }}{% endmacro %}"
    )
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 10)}")
    for name, create in scene.mine.items():
        project.sql("CREATE " + create.format(f"{{s}}.{name}"))
    for file, (alias, schema) in scene.models.items():
        source = "{{ ref('n0') }}" if file in scene.above else f"{project.schema}.t"
        sql = f"select id, ts, hi from {source} where mz_now() >= ts and mz_now() < hi"
        project.model(file, sql, alias=alias, schema=schema, diffs_retention="1 hour")
    good: set[str] = set()
    for hours, first in ((1, 0), (2, 5), (50, 5)):
        engine_clock[0] = T0 + hours * HOUR
        project.sql(f"INSERT OVERWRITE {{s}}.t {rows_of(first, first + 10)}")
        before = everything(project)
        ran = project.run(now=engine_clock[0], check=False)
        good = check(project, scene, ran, before, engine_clock[0], range(first, first + 10))
    gone = max(scene.models)
    (project.path / "models" / f"{gone}.sql").unlink()
    before = everything(project)
    drop = project.dbt("run-operation", "temporal_drop", check=False)
    if not drop.success:  # of two models of one name dbt makes no project
        assert "identical database representations" in drop.text and everything(project) == before, (drop.text, scene)
        return
    after, (alias, _) = everything(project), scene.models[gone]
    mine = {name.lower() for name in scene.mine}
    dropped = {n for n in before if chains.is_relation_of(alias, n) and n not in mine} if gone in good else set()
    others = [scene.models[file][0] for file in good if file != gone]
    assert not any(chains.is_relation_of(other, name) for other in others for name in dropped), scene
    assert after == {name: what for name, what in before.items() if name not in dropped}, scene
    assert "t" in map(folded, after)
