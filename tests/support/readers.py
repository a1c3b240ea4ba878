"""Several engines read the same files: what they are asked, what each answers, and where two answers differ."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from dbt.adapters.sparktemporal.engine.committed import live_view
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.looking.other_engines import sql_of
from support import comet, trino
from support.domains import stored_instants
from support.instants import DAY, HOUR
from support.project import Project

#: instants of each model
FIVE = 5
ROOT = Path(__file__).parents[2]
#: the Python that has Sail: `make test-engines` sets it up
SAIL = Path(os.environ.get("SAIL_PYTHON", ROOT / ".venv-sail" / "bin" / "python"))
CLOCK = "current_timestamp()"


@dataclass(frozen=True)
class Question:
    """A model, and one query of its rows at five instants (ms), which are the first column.

    view: by the text of the view, with the instant for the clock. printed: dialect -> by what `temporal_sql` prints.
    refused: dialect -> why it prints nothing.
    """

    name: str
    view: str
    printed: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    instants: Sequence[int] = ()


@dataclass
class Answer:
    """The rows of a model as a bag, or the error; how long it took (s); operators of Comet and of Spark."""

    rows: Counter[tuple] | None
    error: str = ""
    seconds: float = 0.0
    native: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


# -- what is asked --


def five(own: Iterable[int], frontier: int, last: int | None) -> list[int]:
    """Five instants from the frontier on: a boundary in the middle ± 1 ms, one between two of them, the last one.

    own: the boundaries of a model (ms). last: its expiration, if it has one.

    >>> five([30, 10, 20], 0, None)
    [19, 20, 21, 25, 30]
    >>> five([], 0, None)
    [0, 1, 3600000, 86400000, 2592000000]
    """
    inside = sorted(t for t in set(own) if t > frontier and (last is None or t <= last))
    wanted: list[int] = []
    if inside:
        middle = inside[len(inside) // 2]
        after = next((t for t in inside if t > middle), middle + HOUR)
        wanted = [middle, middle - 1, middle + 1, (middle + after) // 2, inside[-1], inside[-1] + 1, inside[0]]
    wanted += [frontier, frontier + 1, frontier + HOUR, frontier + DAY, frontier + 30 * DAY]
    kept = [t for t in dict.fromkeys(wanted) if t >= frontier and (last is None or t <= last)]
    return sorted(kept[:FIVE])


def asked(
    project: Project,
    model: str,
    in_inputs: Callable[[], Iterable[int]] = tuple,
    dialects: Sequence[str] = ("spark", "duckdb"),
) -> Question:
    """What is asked of a model that has run. in_inputs: where its rows may change if none is stored with an instant."""
    warehouse, target, state = Warehouse(cache(project.rows)), project.target(model), project.state(model)
    own = stored_instants(project, state) or in_inputs()
    instants = five(own, state.frontier, state.expiration)
    view = live_view(warehouse, target)
    assert view is not None and view.text, model
    # the view of a model that never has a row names no clock
    texts = {t: view.text.replace(CLOCK, f"timestamp_millis({t}L)") for t in instants}
    refused, printed = {}, {}
    for dialect in dialects:
        try:
            queries = {t: sql_of(warehouse, target, project.schema, dialect, t, None) for t in instants}
            printed[dialect] = stacked(queries, "L" if dialect == "spark" else "")
        except Refusal as e:
            refused[dialect] = str(e)
    return Question(model, stacked(texts, "L"), printed, refused, instants)


def stacked(queries: dict[int, str], suffix: str) -> str:
    """One query of several. suffix: what makes a number a BIGINT."""
    arms = (f"SELECT {t}{suffix} AS mz_at, mz_one.* FROM (\n{sql}\n) AS mz_one" for t, sql in queries.items())
    return "\nUNION ALL\n".join(arms)


def chains(project: Project, models: Iterable[str]) -> dict[str, tuple[str, bool]]:
    """The chains that models are read from: table -> its folder, and whether that has a folder for each bucket."""
    found = {}
    for model in models:
        for chain in project.state(model).chains:
            found[f"{project.schema}.`{chain.table}`"] = (place_of(project, chain.table), chain.bucketed)
    return found


def place_of(project: Project, table: str) -> str:
    """The folder of a table."""
    described = project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.`{table}`")
    return str(dict(row[:2] for row in described)["Location"]).removeprefix("file:")


# -- who answers --


def by_spark(spark: SparkSession, questions: Iterable[Question]) -> dict[str, Answer]:
    spark.conf.set("spark.comet.enabled", "false")
    return {q.name: _by_session(spark, q) for q in questions}


def by_comet(spark: SparkSession, questions: Iterable[Question]) -> dict[str, Answer]:
    spark.conf.set("spark.comet.enabled", "true")
    try:
        return {q.name: _by_session(spark, q) for q in questions}
    finally:
        spark.conf.set("spark.comet.enabled", "false")


def _by_session(spark: SparkSession, question: Question) -> Answer:
    begin = time.perf_counter()
    try:
        frame = spark.sql(question.view)
        rows = frame.collect()
    except PySparkException as e:
        return Answer(None, str(e), time.perf_counter() - begin)
    seconds = time.perf_counter() - begin
    native, left = comet.shares(frame)
    return Answer(bag(rows), "", seconds, native, left)


def by_duckdb(questions: Iterable[Question]) -> dict[str, Answer]:
    found = {}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for q in questions:
            begin = time.perf_counter()
            try:
                found[q.name] = Answer(None, q.refused.get("duckdb", ""))
                if "duckdb" in q.printed:
                    found[q.name] = Answer(bag(connection.sql(q.printed["duckdb"]).fetchall()))
            except duckdb.Error as e:
                found[q.name] = Answer(None, f"{type(e).__name__}: {e}")
            found[q.name].seconds = time.perf_counter() - begin
    return found


def by_trino(questions: Iterable[Question], port: int) -> dict[str, Answer]:
    """By a server that has the tables of the chains."""
    # the client is installed for this engine alone
    from trino.exceptions import TrinoQueryError

    found = {}
    for q in questions:
        begin = time.perf_counter()
        try:
            found[q.name] = Answer(None, q.refused.get("trino", ""))
            if "trino" in q.printed:
                found[q.name] = Answer(bag(trino.rows(port, q.printed["trino"])))
        except TrinoQueryError as e:
            found[q.name] = Answer(None, f"{type(e).__name__}: {e.message}")
        found[q.name].seconds = time.perf_counter() - begin
    return found


def by_sail(questions: Iterable[Question], tables: Mapping[str, tuple[str, bool]]) -> dict[str, Answer]:
    """Sail has tables of its own over the folders of the chains."""
    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "false"}
    schemas = sorted({table.partition(".")[0] for table in tables})
    statements = [f"CREATE DATABASE {schema}" for schema in schemas]
    for table, (place, bucketed) in tables.items():
        partitioned = "PARTITIONED BY (mz_bucket) " if bucketed else ""
        statements.append(f"CREATE TABLE {table} USING parquet {partitioned}LOCATION '{place}'")
    answers = sail(settings, statements, {q.name: q.printed["spark"] for q in questions})
    return {
        name: Answer(None if rows is None else bag(rows), error, seconds)
        for name, (rows, error, seconds) in answers.items()
    }


def sail(settings: dict[str, str], statements: list[str], queries: dict[str, str]) -> dict[str, Any]:
    """Queries by one process of Sail: key -> (rows or None, error, seconds)."""
    assert SAIL.exists(), f"no {SAIL}: make test-engines sets it up"
    with TemporaryDirectory() as folder:
        given, got = Path(folder, "asked"), Path(folder, "answers")
        given.write_bytes(pickle.dumps((settings, statements, queries)))
        command = [str(SAIL), str(Path(__file__).with_name("sail_worker.py")), str(given), str(got)]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0 and got.exists(), ran.stderr[-3000:]
        found: dict[str, Any] = pickle.loads(got.read_bytes())
    return found


def by(engine: str, spark: SparkSession, query: str, tables: Mapping[str, tuple[str, bool]]) -> Answer:
    """One query by Comet or Sail, or by DuckDB, which has no tables here."""
    question = Question("one", query, {"spark": query, "duckdb": query})
    if engine == "Comet":
        return by_comet(spark, [question])["one"]
    return (by_sail([question], tables) if engine == "Sail" else by_duckdb([question]))["one"]


# -- what is compared --


def bag(rows: Iterable[Iterable[Any]]) -> Counter[tuple]:
    return Counter(tuple(map(plain, row)) for row in rows)


def plain(value: Any) -> Any:
    """A value as all engines have it: the one place in which types are brought together.

    Doubles have nine digits, which the order of a sum does not reach. An instant with a zone is the one in UTC without.
    A struct and a map are their names and values, and a decimal its number.

    >>> plain({"b": -0.0, "a": [Decimal("1.50"), datetime(2024, 1, 1, tzinfo=timezone.utc)]})
    (('a', (Decimal('1.50'), datetime.datetime(2024, 1, 1, 0, 0))), ('b', '0'))
    """
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value or 0.0:.9g}"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, tuple) and hasattr(value, "_names"):  # a struct, as the client of Trino has it
        value = dict(zip(value._names, value))
    if isinstance(value, dict):
        return tuple(sorted(((plain(k), plain(v)) for k, v in value.items()), key=repr))
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    assert value is None or isinstance(value, (bool, int, str, bytes, Decimal, date, timedelta)), type(value)
    return value


def difference(ours: Answer, theirs: Answer) -> str:
    """The first rows that one has and the other has not, or the error of the other; "" where both answer the same."""
    assert ours.rows is not None, ours.error
    if theirs.rows is None:
        return " ".join(theirs.error.split())
    if ours.rows == theirs.rows:
        return ""
    more, less = (dict(list(rows.items())[:2]) for rows in (theirs.rows - ours.rows, ours.rows - theirs.rows))
    return f"other rows: {more} too much, {less} lacking"


# -- what was compared --


@dataclass
class Compared:
    """The models of a group as an engine reads them. found: model -> how its rows differ from Spark's, or ""."""

    group: str
    engine: str
    questions: Sequence[Question]
    answers: dict[str, Answer]
    found: dict[str, str]


COMPARED: pytest.StashKey[dict[tuple[str, str], Compared]] = pytest.StashKey()


def table(compared: Iterable[Compared]) -> Iterator[str]:
    """The lines of a table of engines: models, instants, what differs, seconds; of Comet its share of operators."""
    yield "engine   models at instants    rows  equal refused differ seconds"
    by_engine: dict[str, list[Compared]] = {}
    for one in compared:
        by_engine.setdefault(one.engine, []).append(one)
    for engine, each in by_engine.items():
        answers = [answer for one in each for answer in one.answers.values()]
        texts = [text for one in each for text in one.found.values() if text]
        refused = sum(answer.rows is None for answer in answers)
        rows = sum(answer.rows.total() for answer in answers if answer.rows)
        instants = sum(len(q.instants) for one in each for q in one.questions)
        seconds = sum(answer.seconds for answer in answers)
        native, left = (sum(len(names) for a in answers for names in [getattr(a, what)]) for what in ("native", "left"))
        share = f"  {native} of {native + left} operators are Comet's" if native else ""
        yield (
            f"{engine:8} {len(answers):6} {instants:11} {rows:7} {len(answers) - len(texts):6} {refused:7} "
            f"{len(texts) - refused:6} {seconds:7.1f}{share}"
        )
