"""Each accepted conformance and realistic model at five instants: Spark and other engines read the same rows.

Comet, Sail and DuckDB read Parquet; Trino reads Iceberg, behind the REST server of the catalog `served`.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from dbt.adapters.sparktemporal.looking.readers import chains_sql
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant
from support.cases import CASES, REFUSED, create_inputs, create_rejected, is_beyond, model_name, over_rejected
from support.domains import DOMAINS, Domain
from support.histories import small_limits
from support.instants import DAY, HOUR, T0
from support.named_catalogs import SERVED
from support.project import Project, is_named
from support.readers import (
    COMPARED,
    Answer,
    Compared,
    Question,
    asked,
    bag,
    by,
    by_comet,
    by_duckdb,
    by_sail,
    by_spark,
    by_trino,
    chains,
    difference,
    place_of,
)
from support.trino import serving

#: at least this share of the operators of all plans is Comet's
SHARE = 0.6
#: engine -> name -> says: what it does otherwise, models: group -> where; of what is theirs why, and a reproduction
LISTED: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("differences.yaml").read_text())
GROUPS = ["cases", *DOMAINS]
#: groups with an input that Iceberg has no type for
WITH_INTERVALS = ["logistics"]
#: instants at which the rows of a model may change, where no instant is stored with them
InInputs = Callable[[], Iterable[int]]


class Group:
    """The models of a project that has run, and what Spark reads of them."""

    def __init__(self, name: str, path: Path, spark: Any, port: int) -> None:
        self.spark, self.port = spark, port
        self.project, in_inputs = cases(path, spark) if name == "cases" else domain(name, path, spark)
        dialects = ("trino",) if is_named(spark) else ("spark", "duckdb")
        self.questions = [asked(self.project, model, own, dialects) for model, own in in_inputs.items()]
        self.tables = chains(self.project, in_inputs)

    @cached_property
    def by_spark(self) -> dict[str, Answer]:
        return by_spark(self.spark, self.questions)


def cases(path: Path, spark: Any) -> tuple[Project, dict[str, InInputs]]:
    """The conformance cases, and what a strict implementation refuses, in one run before all that is asked."""
    project = Project(path, spark)
    those = [case for case in CASES["cases"] if not is_beyond(case, spark)]
    texts = create_inputs(project, those)
    create_rejected(project)
    own: dict[str, InInputs] = {}
    first = 0
    for case in those:
        project.model(model_name(case), texts[case["id"]])
        checked = [parse_instant(check["at"]) for check in case["checks"]]
        own[model_name(case)], first = checked.copy, min(first, *checked)
    for number, entry in enumerate(CASES["reject"]):
        if entry["why"] not in REFUSED:
            project.model(f"r_{number}", over_rejected(entry["sql"], project))
            own[f"r_{number}"] = [1000, HOUR, DAY].copy
    project.run("--threads", "2", now=first)
    return project, own


def domain(name: str, path: Path, spark: Any) -> tuple[Project, dict[str, InInputs]]:
    """The models of a domain after their three runs."""
    made = Domain(name, path, spark)
    made.create()
    for number in range(3):
        if number:
            made.change(number - 1)
        made.run(number)
    return made.project, {model: partial(made.instants, model) for model in made.accepted}


ENGINES: dict[str, Callable[[Group], dict[str, Answer]]] = {
    "Comet": lambda group: by_comet(group.spark, group.questions),
    "Sail": lambda group: by_sail(group.questions, group.tables),
    "DuckDB": lambda group: by_duckdb(group.questions),
    "Trino": lambda group: by_trino(group.questions, group.port),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each engine reads in the catalog that it can read."""
    if metafunc.function is test_same_rows:
        is_served = metafunc.config.getoption("--catalog") == SERVED
        metafunc.parametrize("name", [name for name in GROUPS if not is_served or name not in WITH_INTERVALS])
        metafunc.parametrize("engine", [name for name in ENGINES if (name == "Trino") is is_served])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[int]:
    """Of Trino, over the catalog of the session; 0 where the session has no such catalog."""
    if not is_named(spark):
        yield 0
        return
    with serving(tmp_path_factory, spark) as port:
        yield port


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory, spark: Any, port: int) -> Iterator[Callable[[str], Group]]:
    """The group of a name, made once. Chains of 40 rows are large there: some are in buckets."""
    made: list[Group] = []

    @cache
    def one(name: str) -> Group:
        with pytest.MonkeyPatch.context() as patch:
            small_limits(patch)
            made.append(Group(name, tmp_path_factory.mktemp("engines") / name, spark, port))
        return made[-1]

    yield one
    for each in made:
        each.project.drop()


def test_same_rows(name: str, engine: str, group: Any, pytestconfig: pytest.Config) -> None:
    """A difference is listed in differences.yaml, or is a mistake; what is listed and is equal is one too."""
    read: Group = group(name)
    ours, theirs = read.by_spark, ENGINES[engine](read)
    found = {model: difference(ours[model], theirs[model]) for model in ours}
    compared = pytestconfig.stash.setdefault(COMPARED, {})
    compared[name, "Spark"] = Compared(name, "Spark", read.questions, ours, {})
    compared[name, engine] = Compared(name, engine, read.questions, theirs, found)
    listed = {
        model: (why, entry["says"])
        for why, entry in LISTED.get(engine, {}).items()
        for model in entry["models"].get(name, [])
    }
    wrong = [f"{model}: listed as {why}, and is equal" for model, (why, _) in listed.items() if not found[model]]
    for model, text in found.items():
        why, says = listed.get(model, ("nothing", "(?!)"))
        if text and not re.search(says, text):
            wrong.append(f"{model}, listed as {why}: {text}")
    assert not wrong, "\n".join(wrong)
    # a bag without rows is equal to another one, whatever an engine does
    with_rows = {model for model, answer in ours.items() if answer.rows}
    assert len(with_rows) >= 0.6 * len(ours), set(ours) - with_rows
    if engine == "Comet":
        assert_comet_read(ours, theirs)


def assert_comet_read(without: dict[str, Answer], answers: dict[str, Answer]) -> None:
    """Comet executes nothing of what Spark reads, and each scan and most operators of what it reads itself."""
    assert not [model for model, answer in without.items() if answer.native]
    native = Counter(one for answer in answers.values() for one in answer.native)
    left = Counter(one for answer in answers.values() for one in answer.left)
    assert any("Scan" in one for one in native) and not [one for one in left if "parquet" in one], (native, left)
    assert native.total() >= SHARE * (native.total() + left.total()), (native, left)


@pytest.mark.parametrize(
    ("engine", "why"), [(e, why) for e, listed in LISTED.items() for why in listed if "query" in listed[why]]
)
def test_a_difference_is_theirs(engine: str, why: str, project: Project) -> None:
    """The smallest query in which it shows: what Spark answers to it, and what the other engine does."""
    project.sql("CREATE TABLE {s}.one USING parquet AS SELECT 1 AS g, 2 AS v")
    entry = LISTED[engine][why]
    query = entry["query"].replace("{s}", project.schema)
    answer = by(engine, project.spark, query, {f"{project.schema}.one": (place_of(project, "one"), False)})
    assert bag(project.spark.sql(query).collect()) == bag(entry["spark"])
    if "theirs" in entry:
        assert answer.rows == bag(entry["theirs"])
    else:
        assert answer.rows is None and re.search(entry["says"], answer.error)


# -- faults that are planted --


@pytest.fixture
def window(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A model of 90 rows, each of which leaves at an instant of its own, in a chain with buckets."""
    small_limits(monkeypatch)
    items = f"id, timestamp_millis({T0}L + id * 9999) AS hi"
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT {items} FROM range(90)")
    project.model("m", f"select id from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    assert project.state().chains[0].bucketed
    return project


def read_by_each(project: Project, question: Question, tables: dict[str, tuple[str, bool]]) -> dict[str, str]:
    """Engine -> how its rows differ from Spark's of the same files."""
    ours = by_spark(project.spark, [asked(project, "m")])["m"]
    return {
        "Comet": difference(ours, by_comet(project.spark, [question])["m"]),
        "Sail": difference(ours, by_sail([question], tables)["m"]),
        "DuckDB": difference(ours, by_duckdb([question])["m"]),
    }


def test_a_bound_that_is_off_is_found(window: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row leaves a millisecond late in what is printed for DuckDB."""
    tables = chains(window, ["m"])
    assert read_by_each(window, asked(window, "m"), tables) == {"Comet": "", "Sail": "", "DuckDB": ""}
    right = chains_sql.conditions
    monkeypatch.setattr(
        chains_sql, "conditions", lambda *given: [one.replace("mz_until > ", "mz_until >= ") for one in right(*given)]
    )
    found = read_by_each(window, asked(window, "m"), tables)
    late = {(T0 + number * 9999, number): 1 for number in (45, 89)}
    assert found["DuckDB"] == f"other rows: {late} too much, {{}} lacking"
    assert not found["Comet"] and not found["Sail"]


def test_an_altered_row_is_found(window: Project, tmp_path: Path) -> None:
    """Each engine reads a copy of the chain in which one row leaves a millisecond later."""
    question, ((table, (place, bucketed)),) = asked(window, "m"), chains(window, ["m"]).items()
    at = T0 + 45 * 9999
    assert at in question.instants
    copy = shutil.copytree(place, tmp_path / "altered")
    with duckdb.connect() as connection:
        files = f"read_parquet('{copy}/*/*.parquet', filename=true)"
        ((file,),) = connection.sql(f"SELECT filename FROM {files} WHERE mz_until = {at}").fetchall()
        later = f"SELECT * REPLACE (mz_until + CAST(mz_until = {at} AS BIGINT) AS mz_until)"
        source = f"read_parquet('{file}', hive_partitioning=false)"
        connection.execute(f"COPY ({later} FROM {source}) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").rename(file)
    window.sql(f"CREATE TABLE {{s}}.altered USING parquet LOCATION '{copy}'")
    window.sql("MSCK REPAIR TABLE {s}.altered")
    quoted = table.replace(window.schema, f"`{window.schema}`")
    elsewhere = replace(
        question,
        view=question.view.replace(quoted, f"{window.schema}.altered"),
        printed={
            "spark": question.printed["spark"].replace(quoted, f"{window.schema}.altered"),
            "duckdb": question.printed["duckdb"].replace(place, str(copy)),
        },
    )
    found = read_by_each(window, elsewhere, {f"{window.schema}.altered": (str(copy), bucketed)})
    assert set(found.values()) == {f"other rows: {{({at}, 45): 1}} too much, {{}} lacking"}
