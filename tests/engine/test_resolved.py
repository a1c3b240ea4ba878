"""What dbt resolves a ref() to is what a run reads: --defer, --favor-state, clones, targets, packages, versions."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from support.instants import Y2100
from support.project import Project, Result, inputs_of

pytestmark = pytest.mark.landing

#: each row says in which schema dbt made the relation that holds the row
INSIDE = "select id, id % 3 as k, hi, '{{ target.schema }}' as made_in from {s}.t where {now} >= ts and {now} < hi"
WINDOW = "{now} >= hi - interval 9 seconds"
#: what is read, by how dbt names it
PATHS = {
    "direct": "ref('inside')",
    "view": "ref('pv')",
    "views": "ref('ppv')",
    "ephemeral": "ref('ep')",
    "ephemeral_over_a_view": "ref('epv')",
    "version": "ref('ver', v=1)",
    "package": "ref('pkg', 'packed')",
    "named": "ref('renamed')",
}
TEMPORAL = ("inside", "ver", "packed", "renamed")
VIEWS = {"pv": "ref('inside')", "ppv": "ref('pv')"}
EPHEMERAL = {"ep": "ref('inside')", "epv": "ref('pv')"}


@dataclass(frozen=True)
class Way:
    """A way by which dbt resolves the refs of the models over PATHS.

    own: what stands in the schema of the run, made there. clones: the targets that clone from one another, the last
    one is where the run is. arguments: of the run. resolves: the target whose relations are read.
    """

    own: Sequence[str] = ()
    clones: Sequence[str] = ()
    arguments: Sequence[str] = ()
    resolves: str = "prod"


TARGETS = ("prod", "between", "here", "fresh")
DEFER = ("--defer", "--state", "state/prod")
WAYS = {
    "deferred": Way(arguments=DEFER),
    "cloned_over_its_own": Way(own=TEMPORAL, clones=("here",)),
    "cloned_twice": Way(clones=("between", "here")),
    "favored": Way(own=(*TEMPORAL, *VIEWS), arguments=(*DEFER, "--favor-state")),
    "not_favored": Way(own=(*TEMPORAL, *VIEWS), arguments=DEFER, resolves="here"),
    "cloned": Way(clones=("here",)),
    "cloned_and_deferred": Way(clones=("here",), arguments=DEFER),
    "another_target": Way(own=(*TEMPORAL, *VIEWS), resolves="here"),
}


def rows_of(first: int, last: int) -> str:
    """Row n comes at n seconds and goes 30 seconds later."""
    at = f"timestamp_millis({Y2100}L + id * 1000)"
    return f"SELECT id, {at} AS ts, {at} + interval 30 seconds AS hi FROM range({first}, {last})"


@pytest.fixture
def targets(project: Project) -> Iterator[Project]:
    """A temporal_view with views over it, and targets of schemas of their own."""
    project.has_artifacts = True
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {rows_of(0, 20)}")
    project.model("inside", inside_of(project))
    for name, below in {**VIEWS, **EPHEMERAL}.items():
        kind = "ephemeral" if name in EPHEMERAL else "view"
        project.model(name, f"select * from {{{{ {below} }}}} where k <> 1", materialized=kind, file_format="delta")
    profiles = json.loads((project.path / "profiles.yml").read_text())
    outputs = profiles["proj"]["outputs"]
    outputs |= {one: {**outputs["dev"], "schema": f"{project.schema}_{one}"} for one in TARGETS}
    project.write("profiles.yml", json.dumps(profiles))
    yield project
    for one in TARGETS:
        for schema in (f"{project.schema}_{one}", f"{project.schema}_{one}_else"):
            project.drop_schema(schema)


@pytest.fixture
def stack(targets: Project) -> Project:
    """The models over PATHS; what is below them stands in the target prod."""
    inside = inside_of(targets)
    targets.model("ver", inside, alias="ver_one")
    targets.model("renamed", inside, alias="OtherName", schema="else")
    targets.write("dbt_packages/pkg/dbt_project.yml", "name: pkg\nversion: '1.0'")
    targets.write("dbt_packages/pkg/models/packed.sql", "{{ config(materialized='temporal_view') }}\n" + inside)
    targets.write("packages.yml", f"packages: [{{local: '{targets.path}/dbt_packages/pkg'}}]")
    targets.properties({"models": [{"name": "ver", "versions": [{"v": 1, "defined_in": "ver"}]}]})
    for name, named in PATHS.items():
        targets.model(f"over_{name}", over(named))
    made(targets, "prod", TEMPORAL, VIEWS)
    return targets


def inside_of(project: Project) -> str:
    return INSIDE.replace("{s}", project.schema).replace("{now}", "mz_now()")


def over(named: str) -> str:
    return f"select id, made_in from {{{{ {named} }}}} where {WINDOW}".replace("{now}", "mz_now()")


def made(project: Project, target: str, temporal: Sequence[str], views: Sequence[str] = (), now: int = Y2100) -> None:
    """Runs in a target; views as they are made without temporal_now. What they made is a state of that name."""
    project.run("--target", target, "-s", *temporal, now=now)
    if views:
        project.run("--target", target, "-s", *views)
    keep(project, target)


def keep(project: Project, target: str) -> None:
    """The manifest of the last command is the state of a target."""
    (project.path / "state" / target).mkdir(parents=True, exist_ok=True)
    shutil.copy(project.path / "target" / "manifest.json", project.path / "state" / target)


def clone(project: Project, before: str, after: str, names: Sequence[str], *arguments: str) -> None:
    state = ["--state", str(project.path / "state" / before)]
    project.dbt("clone", "-s", *names, *state, "--target", after, *arguments)
    keep(project, after)


def run_over(project: Project, way: Way, now: int, names: Sequence[str] = tuple(PATHS)) -> Result:
    arguments = [str(project.path / one) if one.startswith("state/") else one for one in way.arguments]
    over = [f"over_{name}" for name in names]
    return project.run("--target", "here", "-s", *over, *arguments, now=now, check=False)


def check(project: Project, way: Way, instants: Sequence[int]) -> None:
    """Each model over PATHS against its query over the rows, at instants."""
    where = project.schema + "_" + way.resolves
    for name in PATHS:
        views = "" if name in ("direct", "version", "package", "named") else "and k <> 1"
        ours, plain = [], []
        for t, read in project.at_each(f"over_{name}", instants, f"{project.schema}_here").items():
            now = f"timestamp_millis({t}L)"
            ours.append(f"SELECT {t} AS t, * FROM {read}")
            inside = INSIDE.replace("{{ target.schema }}", where).replace("{now}", now)
            plain.append(f"SELECT {t}, id, made_in FROM ({inside}) WHERE {WINDOW.replace('{now}', now)} {views}")
        found, wanted = (Counter(project.rows(" UNION ALL ".join(one))) for one in (ours, plain))
        assert found == wanted, name


@pytest.mark.first(3)
@pytest.mark.first(2)
@pytest.mark.parametrize("way", WAYS)
def test_what_dbt_resolved_is_read(way: str, stack: Project) -> None:
    """Two runs, with new rows between them: right at boundaries, by new chains."""
    chosen = WAYS[way]
    if chosen.own:
        made(stack, "here", chosen.own, [one for one in VIEWS if one in chosen.own])
    for before, after in zip(("prod", *chosen.clones), chosen.clones):
        clone(stack, before, after, (*TEMPORAL, *VIEWS), *(["--full-refresh"] if chosen.own else []))
    for turn in range(2):
        if turn:
            stack.sql(f"INSERT INTO {{s}}.t {rows_of(20, 24)}")
            made(stack, chosen.resolves, TEMPORAL, now=Y2100 + 1000)
        ran = run_over(stack, chosen, Y2100 + turn * 1000)
        assert ran.success, ran.text
        at = [Y2100 + t for t in (turn * 1000, 21_000, 29_999, 30_000, 30_001, 42_000, 50_000)]
        check(stack, chosen, at)
        if turn:
            for name in PATHS:
                assert ": new chains (1 new chain of" in inputs_of(ran.of(f"over_{name}")), (name, ran.text)


def test_a_part_of_a_deferred_view_is_all_that_is_stored(targets: Project) -> None:
    """With --empty no row, with --sample the rows of the time: of the view itself, and by views over it."""
    project = targets
    project.model("inside", inside_of(project), event_time="hi")
    made(project, "prod", ["inside"], ["pv"])
    for name in ("direct", "view"):
        project.model(f"over_{name}", over(PATHS[name]))
    ran = run_over(project, Way(arguments=(*DEFER, "--empty")), Y2100, ["direct", "view"])
    assert ran.success, ran.text
    stored = {name: ran.of(f"over_{name}").adapter_response["rows_written"] for name in ("direct", "view")}
    assert stored == {"direct": 0, "view": 0}, ran.text
    part = "{'start': '2100-01-01 00:00:30', 'end': '2100-01-01 00:00:35'}"
    ran = run_over(project, Way(arguments=(*DEFER, "--sample", part)), Y2100, ["direct"])
    assert ran.success, ran.text
    assert ran.of("over_direct").adapter_response["rows_written"] == 5, ran.text
    read = project.at_each("over_direct", [Y2100 + 29_000], f"{project.schema}_here")[Y2100 + 29_000]
    assert sorted(row[0] for row in project.rows(f"SELECT id FROM {read}")) == [0, 1, 2, 3, 4]


def test_a_view_at_an_instant_is_refused_in_each_way(targets: Project) -> None:
    """A view made with temporal_now shows that instant for good: by whatever name dbt or a person resolves it."""
    project, prod = targets, targets.schema + "_prod"
    project.run("--target", "prod", "-s", "inside", "pv", now=Y2100)
    project.run("--target", "prod", "-s", "ppv")
    keep(project, "prod")
    sources = {"sources": [{"name": "core", "schema": prod, "tables": [{"name": "pv"}]}]}
    project.properties(sources)
    named = {"view": "ref('pv')", "views": "ref('ppv')", "ephemeral": "ref('epv')", "source": "source('core', 'pv')"}
    for name, how in named.items():
        project.model(f"over_{name}", over(how))
    state = ["--defer", "--state", str(project.path / "state" / "prod")]
    clone(project, "prod", "between", ["inside", "pv", "ppv"])
    ways = {"prod": [], "here": state, "fresh": [*state, "--favor-state"], "between": []}
    for target, arguments in ways.items():
        models = [f"over_{name}" for name in named]
        ran = project.run("--target", target, "-s", *models, *arguments, now=Y2100 + 1000, check=False)
        for name in named:
            told = ran.of(f"over_{name}")
            assert str(told.status) == "error" and "temporal_now" in told.message and "for good" in told.message
            assert "found: the view " in told.message and ".pv" in told.message, (target, name, told.message)
            assert "instead: " in told.message and "materialized='ephemeral' for" in told.message


MACROS = {
    "as_of": ("table", "select * from {{ temporal_as_of(ref('inside'), '2100-01-01 00:00:31') }}"),
    "diffs": ("table", "select * from {{ temporal_diffs(ref('inside')) }}"),
    "changes": ("table", "select * from {{ temporal_changes(ref('inside')) }}"),
    "fed": ("incremental", "select * from {{ temporal_feed(ref('inside')) }}"),
    "next": ("table", "select * from {{ temporal_next_change(ref('inside')) }}"),
    "forecast": ("table", "select * from {{ temporal_forecast(ref('inside'), every='1 hour', until='2100-01-02') }}"),
    "read": ("table", "select * from {{ temporal_read(ref('inside')) }}"),
}  # fmt: skip
TESTS = ["temporal_matches_source", "temporal_diffs_consistent", "temporal_not_expired"]


def test_what_reads_a_clone_or_a_model_that_has_not_run(targets: Project) -> None:
    """Macros and tests read what a clone of a clone shows. What only compiles does not ask whether a model has run."""
    project = targets
    for name, (kind, sql) in MACROS.items():
        project.model(name, sql, materialized=kind)
    project.write("analyses/duck.sql", "select * from {{ temporal_sql(ref('inside')) }}")
    project.properties({"models": [{"name": "inside", "data_tests": TESTS}]})
    for command in (["compile"], ["docs", "generate"]):
        project.dbt(*command, "--target", "fresh")
    for target in ("fresh", "here"):
        told = project.dbt("test", "--target", target, check=False).text
        assert told.count("why: inside is not a temporal_view that has run") >= len(TESTS), told
    project.dbt("compile", "--target", "fresh")
    compiled = (project.path / "target/compiled/proj/models/as_of.sql").read_text()
    with pytest.raises(Exception, match="inside is not a temporal_view that has run"):
        project.rows(compiled)
    assert "error('ST624 found: " in (project.path / "target/compiled/proj/analyses/duck.sql").read_text()

    made(project, "prod", ["inside"])
    made(project, "here", ["inside"])
    project.sql(f"INSERT INTO {{s}}.t {rows_of(20, 24)}")
    made(project, "prod", ["inside"], now=Y2100 + 1000)
    clone(project, "prod", "between", ["inside"])
    clone(project, "between", "here", ["inside"], "--full-refresh")
    here = f"{project.schema}_here"
    assert project.relations(here) == {"inside"}  # what stood there is dropped with its chains
    read = Y2100 + 25_000
    for target in ("prod", "here"):
        project.dbt("build", "--target", target, "-s", *MACROS, "test_type:data", now=read)
    for name in MACROS:
        both = [f"SELECT * FROM {project.schema}_{one}.{name}" for one in ("prod", "here")]
        assert project.rows(f"{both[0]} EXCEPT ALL {both[1]}") == project.rows(f"{both[1]} EXCEPT ALL {both[0]}") == []
        assert project.rows(f"SELECT count(*) > 0 FROM {here}.{name}") == [(True,)], name
    assert project.rows(f"SELECT DISTINCT made_in FROM {here}.as_of") == [(f"{project.schema}_prod",)]
