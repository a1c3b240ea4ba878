"""A domain of realistic models: its tables, their two changes, its models, and what is expected to be kept of them.

case.yaml of a domain:

    clock       the instants of the three runs: the first one, and one after each change
    tables      name -> columns (name: type) and rows, as the VALUES of SQL write them
    changes     two of: append (table -> rows) | overwrite (table -> a query, mostly over the table itself)
    models      temporal view -> what is expected of it:
      kept      a line for each core: what is stored by the first run
      at_read   predicates that a read evaluates over all rows of its inputs
      inputs    table -> how the second and the third run read it
      why       where more is kept or read than a person would think is needed: the reason
      clock     ms: the model takes mz_now() as a number of milliseconds
      matched   the test temporal_matches_source runs over it too
      refused   instead of all these: words of the refusal; page: the heading that explains it; says: words found there
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml

from dbt.adapters.sparktemporal.engine.committed import read_state
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant
from dbt.adapters.sparktemporal.temporal.diffs.state import CoreState, State
from dbt.adapters.sparktemporal.temporal.diffs.stores import store_of
from support.instants import DAY
from support.project import Project, Result

HERE = Path(__file__).parents[1] / "conformance" / "realistic"
#: the first is the slice of the ordinary suite
DOMAINS = sorted((path.parent.name for path in HERE.glob("*/case.yaml")), key=lambda name: (name != "inventory", name))
INSTANTS = 8

PROJECT = """
name: proj
version: "1.0"
profile: proj
flags: {send_anonymous_usage_stats: false}
models: {proj: {+aggregates: groups}}
"""
_LENGTHS = {"millisecond": 1, "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": DAY, "week": 7 * DAY}
_INTERVAL = re.compile(r"\binterval\s+'?(\d+)'?\s+(millisecond|second|minute|hour|day|week)s?\b", re.IGNORECASE)
_AT_READ = "evaluated when the view is read, over all rows of its inputs: "


class Domain:
    """The models of a folder as a dbt project of their own."""

    def __init__(self, name: str, path: Path, spark: Any) -> None:
        self.case: dict[str, Any] = yaml.safe_load((HERE / name / "case.yaml").read_text())
        self.models: dict[str, dict[str, Any]] = self.case["models"]
        self.clock = [parse_instant(str(at)) for at in self.case["clock"]]
        self.project = Project(path, spark)
        self.texts: dict[str, str] = {}
        for file in sorted((HERE / name).glob("*.sql")):
            self.project.write(f"models/{file.name}", file.read_text())
        # seeds are small: what could be kept is what matters, not whether it pays for some rows
        self.project.write("dbt_project.yml", PROJECT)
        sources = [
            {"name": "raw", "schema": "{{ target.schema }}", "tables": [{"name": t} for t in self.case["tables"]]}
        ]
        matched = [m for m, expected in self.models.items() if expected.get("matched")]
        tested = [{"name": m, "data_tests": ["temporal_matches_source"]} for m in matched]
        self.project.write("models/schema.yml", yaml.safe_dump({"sources": sources, "models": tested}))

    # -- tables --

    def create(self) -> None:
        for name, table in self.case["tables"].items():
            columns = ", ".join(f"`{c}` {t}" for c, t in table["columns"].items())
            self._sql(f"CREATE TABLE {{s}}.{name} ({columns}) USING parquet")
            self._append(name, table["rows"])

    def change(self, number: int) -> None:
        change = self.case["changes"][number]
        for name, rows in change.get("append", {}).items():
            self._append(name, rows)
        for name, query in change.get("overwrite", {}).items():
            self._sql(f"CREATE TABLE {{s}}.changed USING parquet AS {query}")
            self._sql(f"INSERT OVERWRITE {{s}}.{name} SELECT * FROM {{s}}.changed")
            self._sql("DROP TABLE {s}.changed")

    def _append(self, name: str, rows: str) -> None:
        columns = self.case["tables"][name]["columns"]
        items = ", ".join(f"CAST(`{c}` AS {t}) AS `{c}`" for c, t in columns.items())
        names = ", ".join(f"`{c}`" for c in columns)
        self._sql(f"INSERT INTO {{s}}.{name} SELECT /*+ COALESCE(1) */ {items} FROM VALUES {rows} AS v({names})")

    def _sql(self, statement: str) -> None:
        self.project.spark.sql(statement.replace("{s}", self.project.schema))

    # -- runs --

    @property
    def accepted(self) -> list[str]:
        return [name for name, expected in self.models.items() if "refused" not in expected]

    def run(self, number: int) -> Result:
        result = self.project.run("--threads", "2", now=self.clock[number], check=False)
        self.texts = {r.node.name: r.node.compiled_code for r in result.results if r.node.compiled_code}
        return result

    def state(self, model: str) -> State:
        state = read_state(Warehouse(self.project.rows), self._target(model))
        assert state is not None, model
        return state

    def _target(self, model: str) -> ModelRelations:
        return ModelRelations(f"`{self.project.schema}`", model)

    # -- what is kept --

    def kept(self, model: str) -> list[str]:
        return [_kept(core) for core in self.state(model).cores]

    def at_read(self, model: str, result: Result) -> list[str]:
        said = [line.partition(_AT_READ) for line in result.log if f"{model}: {_AT_READ}" in line]
        return [_plain(found) for _, _, found in said]

    def inputs(self, model: str, result: Result) -> dict[str, str]:
        """Table -> how the run read it, how many of its rows, and of a full read why."""
        found = {}
        for line in result.of(model).adapter_response["inputs"]:
            line = re.sub(rf"(\w+\.)?`?{self.project.schema}`?\.", "", line)
            name, way, why, rows = re.fullmatch(r"(\w+): ([\w ]+) \((.*)\), (\d+) rows? read", line).groups()
            found[name] = f"{way}, {rows} rows" + (f": {why}" if way == "full" else "")
        return found

    # -- answers --

    def instants(self, model: str) -> list[int]:
        """Where an answer may be wrong, from the frontier on: at what is stored and at what is in the tables."""
        state = self.state(model)
        last = state.expiration if state.expiration is not None else 2**60
        stored = [t for t in stored_instants(self.project, state) if state.frontier < t <= last]
        in_tables = [t for t in self._in_tables(model) if state.frontier < t <= last]
        after = min(max([state.frontier, *stored, *in_tables]) + DAY, last)
        chosen = {state.frontier, after}
        if stored:  # after the last change there is little to be wrong
            in_tables = [t for t in in_tables if t <= stored[-1]]
        while len(chosen) < INSTANTS and (stored or in_tables):
            if stored:
                t = stored.pop(len(stored) // 2)
                chosen |= {t - 1, t}
            if in_tables and len(chosen) < INSTANTS:
                t = in_tables.pop(len(in_tables) // 2)
                chosen |= {t - 1, t, t + 1}
        chosen = {t for t in chosen if state.frontier <= t <= last}
        between = (after - state.frontier) // (INSTANTS - 1)
        for n in range(1, INSTANTS):
            if len(chosen) < INSTANTS:
                chosen.add(state.frontier + n * between)
        return sorted(chosen)

    def _in_tables(self, model: str) -> list[int]:
        """The instants of the tables, as they are and moved by the lengths that the model's text names."""
        moved, found = lengths(self.texts[model]), set()
        for name, table in self.case["tables"].items():
            if not re.search(rf"\b{name}\b", self._whole_text(model)):
                continue
            columns = [c for c, t in table["columns"].items() if t in ("timestamp", "date")]
            for row in self.project.rows(f"SELECT {', '.join(columns) or '1'} FROM {{s}}.{name}"):
                found |= {_millis(value) + n for value in row if isinstance(value, date) for n in moved}
        return sorted(found)

    def view(self, model: str, instants: Sequence[int]) -> dict[int, Counter]:
        """What the model answers at each instant."""
        warehouse = Warehouse(self.project.rows)
        return answers(self.project, {t: f"SELECT * FROM {as_of(warehouse, self._target(model), t)}" for t in instants})

    def oracle(self, model: str, instants: Sequence[int]) -> dict[int, Counter]:
        """What Spark answers to the text as it was written, with the instant put in."""
        return answers(self.project, {t: self._written_at(model, t) for t in instants})

    def _written_at(self, model: str, t: int) -> str:
        in_milliseconds = [name for name, expected in self.models.items() if expected.get("clock") == "ms"]
        return written_at(model, {name: self.texts[name] for name in self.accepted}, self.project, t, in_milliseconds)

    def _whole_text(self, model: str) -> str:
        """With the texts of the models below it."""
        below = [m for m in self.texts if m != model and re.search(rf"\b{m}\b", self.texts[model])]
        return "\n".join([self.texts[model], *(self._whole_text(m) for m in below)])


def stored_instants(project: Project, state: State) -> list[int]:
    """The instants at which rows or groups of a model enter, change or leave."""
    times = [
        f"({store_of(core).times(chain.source(state.schema))})"
        for core in state.cores
        for chain in core.chains
        if chain.rows
    ]
    if not times:
        return []
    every = f"SELECT DISTINCT t FROM ({' UNION ALL '.join(times)}) WHERE t IS NOT NULL"
    return sorted(row[0] for row in project.rows(every))


def answers(project: Project, queries: Mapping[int, str]) -> dict[int, Counter]:
    """{instant: query} -> {instant: the rows}, by one statement."""
    arms = [f"SELECT {t}L AS mz_at, mz_one.* FROM (\n{sql}\n) AS mz_one" for t, sql in queries.items()]
    found: dict[int, Counter] = {t: Counter() for t in queries}
    for row in project.rows("\nUNION ALL\n".join(arms)):
        found[row[0]][tuple(_value(v) for v in row[1:])] += 1
    return found


def put_in(text: str, project: Project, relations: Mapping[str, str]) -> str:
    """The text with a FROM item in the place of each relation of the project that is named."""
    for name, item in relations.items():
        named = rf"`?{project.schema}`?\.`?{name}`?(?!\w)"
        text = re.sub(named, lambda _, item=item: item, text)
    return text


def written_at(
    model: str, texts: Mapping[str, str], project: Project, t: int, in_milliseconds: Collection[str] = ()
) -> str:
    """The text of a model with an instant for the clock, and with the texts of models below it in their places."""
    inner = {
        name: f"({written_at(name, texts, project, t, in_milliseconds)})"
        for name in texts
        if name != model and put_in(texts[model], project, {name: ""}) != texts[model]
    }
    return at_instant(put_in(texts[model], project, inner), t, model in in_milliseconds)


def lengths(text: str) -> set[int]:
    """How far (ms) the intervals of a text move an instant: by none, forward, backward."""
    named = [int(n) * _LENGTHS[unit.lower()] for n, unit in _INTERVAL.findall(text)]
    return {0, *named, *(-n for n in named)}


def at_instant(text: str, t: int, milliseconds: bool) -> str:
    """The text of a model with an instant in place of the clock."""
    now = f"timestamp_millis({t}L)"
    clock = f"{t}L" if milliseconds else now
    text = re.sub(r"\bmz_(now|logical_timestamp)\s*\(\s*\)", clock, text, flags=re.IGNORECASE)
    text = re.sub(r"\bcurrent_date\s*\(\s*\)", f"CAST({now} AS DATE)", text, flags=re.IGNORECASE)
    return re.sub(r"\b(current_timestamp|now)\s*\(\s*\)", now, text, flags=re.IGNORECASE)


def differences(view: dict[int, Counter], oracle: dict[int, Counter]) -> Iterator[str]:
    for t in oracle:
        if view[t] != oracle[t]:
            at = datetime.fromtimestamp(t / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
            more, less = (dict(list(rows.items())[:3]) for rows in (view[t] - oracle[t], oracle[t] - view[t]))
            yield f"at {at} ({t}): the view has {more} too much and lacks {less}"


def _kept(core: CoreState) -> str:
    rows = sum(chain.rows for chain in core.chains)
    columns = ", ".join(name for name, _ in core.columns)
    if core.sums is None:
        because = f" because {core.kept.rows_because}" if core.kept.rows_because else ""
        never = sum(chain.open or 0 for chain in core.chains)
        return f"rows of {columns}{because}: {rows} intervals, {never} without an end"
    sums = "".join(f", {name}" for name, _ in core.sums)
    return f"{core.kept.groups.removesuffix(' are kept')} by ({columns}){sums}: {rows} updates"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _millis(value: date) -> int:
    at = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return (at.replace(tzinfo=timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def _value(value: Any) -> Any:
    """A value as something that can be counted; doubles to nine digits, which the order of a sum does not reach."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        return tuple(sorted((repr(_value(k)), _value(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(_value(v) for v in value)
    return value
