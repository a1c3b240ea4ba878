"""Is a first run plain SQL? Counts what `explain` writes ahead, and executes that without Python of the adapter.

python benchmarks/plain_sql.py [--execute realistic|cases|all] [--only NAME ...]

The models are those of tests/conformance. Without --execute no Spark is started.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Template
from plain_sql_session import CLOCK, MARK

from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.looking.explain_model import explain
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import mz_now_spans

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import cases, domains

SESSION = Path(__file__).with_name("plain_sql_session.py")
#: an instant that no text has
_PLACE = 987_654_321_987
ZONE = "Europe/Berlin"
SETTINGS = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}


@dataclass
class Model:
    """A model of the tests. sql: compiled, with the texts of the models below it in place of their names."""

    database: str
    name: str
    sql: str
    #: the same with an instant in place of the clock: `MARK` (ms)
    oracle: str
    types: dict[str, dict[str, str]]
    #: statements that make the inputs
    inputs: list[str]
    #: ms
    now: int
    #: whether the model reads another temporal view
    stacked: bool = False
    instants: list[int] = field(default_factory=list)


class Asked(GivenTypes):
    """Types that answer questions, with the questions that were answered, by their first two words."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.types, model.now)
        self.answered: Counter[str] = Counter()

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        answer = super().__call__(sql)
        self.answered[" ".join(sql.split()[:2]).upper()] += 1
        return answer


@dataclass
class Found:
    """The outcome of `explain`: its text, or the first question that the types do not answer."""

    text: str
    asked: str
    answered: Counter[str]


def realistic() -> Iterator[Model]:
    for folder in domains.DOMAINS:
        case = yaml.safe_load((domains.HERE / folder / "case.yaml").read_text())
        texts = {file.stem: file.read_text() for file in (domains.HERE / folder).glob("*.sql")}
        types = {f"{folder}.{name}": table["columns"] for name, table in case["tables"].items()}
        inputs = [f"CREATE DATABASE {folder}", *(_table(folder, n, t) for n, t in case["tables"].items())]
        for name, expected in sorted(case["models"].items()):
            if "refused" not in expected:
                used: set[str] = set()
                sql = _compiled(folder, texts, name, used)
                oracle = domains.at_instant(sql, _PLACE, expected.get("clock") == "ms").replace(f"{_PLACE}L", MARK)
                stacked = bool(used & case["models"].keys())
                yield Model(folder, name, sql, oracle, types, inputs, parse_instant(case["clock"][0]), stacked)


def _compiled(folder: str, texts: dict[str, str], name: str, used: set[str]) -> str:
    def ref(below: str) -> str:
        used.add(below)
        return f"(\n{_compiled(folder, texts, below, used)}\n)"

    names = {
        "config": lambda **_: "",
        "source": lambda _, table: f"{folder}.{table}",
        "ref": ref,
        "var": lambda _, value: value,
    }
    return Template(texts[name]).render(**names)


def _table(folder: str, name: str, table: dict[str, Any]) -> str:
    items = ", ".join(f"CAST(`{c}` AS {t}) AS `{c}`" for c, t in table["columns"].items())
    names = ", ".join(f"`{c}`" for c in table["columns"])
    return f"CREATE TABLE {folder}.{name} USING parquet AS SELECT {items} FROM VALUES {table['rows']} AS v({names})"


def of_cases() -> Iterator[Model]:
    for case in cases.CASES["cases"]:
        database = f"c_{case['id']}"
        tables = {name: table for name, table in (("t", case), ("u", case.get("u"))) if table}
        inputs = [f"CREATE DATABASE {database}"]
        inputs += [cases.created(f"{database}.{n}", t["columns"], t["rows"]) for n, t in tables.items()]
        at = sorted({parse_instant(check["at"]) for check in case["checks"]})
        types = {name: table["columns"] for name, table in tables.items()}
        clock = MARK if case["mz_now_as"] == "epoch_ms" else f"timestamp_millis({MARK})"
        oracle = case["sql"]
        for start, end in reversed(mz_now_spans(oracle)):
            oracle = f"{oracle[:start]}{clock}{oracle[end:]}"
        yield Model(database, "m", case["sql"], oracle, types, inputs, min(0, *at), instants=at)


def explained(model: Model, zone: str = "UTC") -> Found:
    types, target = Asked(model), ModelRelations(f"`{model.database}`", model.name)
    try:
        return Found(explain(model.sql, types, target, model.now, None, zone), "", types.answered)
    except Refusal as error:
        return Found("", " ".join(str(error).split()), types.answered)


def asks_for_sizes(model: Model) -> bool:
    """Whether a count decides between groups and rows, where the config `aggregates` is as by default."""
    try:
        understand(Warehouse(Asked(model)), model.sql, SETTINGS, "4.1.4", model.now)
    except Refusal as error:
        return error.code == "ST901"
    return False


def statements(text: str) -> list[str]:
    """The statements of a first run, of the text that `explain` prints."""
    sent = text.partition("== a first run sends\n")[2]
    return [one.strip() for one in re.split(r";\n\n?(?=-- |\Z)", sent) if one.strip()]


def work(model: Model, text: str) -> dict[str, Any]:
    """A model as the session executes it."""
    sent = statements(text)
    (live,) = [
        sql.partition(" AS\n")[2] for sql in sent if f"CREATE VIEW `{model.database}`.`{model.name}__live`" in sql
    ]
    times = [
        f"SELECT {', '.join(moving)} FROM {name}"
        for name, columns in model.types.items()
        if (moving := [f"`{c}`" for c, t in columns.items() if t in ("timestamp", "date")])
        and re.search(rf"\b{re.escape(name)}\b", model.sql)
    ]
    return {
        "database": model.database,
        "view": f"{model.database}.{model.name}",
        "statements": sent,
        "read": live.replace(CLOCK, MARK),
        "oracle": model.oracle,
        "frontier": model.now,
        "instants": model.instants,
        "times": times,
        "lengths": sorted(domains.lengths(model.sql)),
    }


def report(name: str, models: list[Model]) -> list[tuple[Model, str]]:
    """Print what explain knew of some models -> those it wrote, with the text."""
    found = [(model, explained(model)) for model in models]
    written = [(model, one.text) for model, one in found if one.text]
    print(f"{name}: {len(models)} models, {len(written)} written ahead from the types of their tables")
    for model, one in found:
        if one.asked:
            print(f"  only Spark knows, {model.database}.{model.name}: {one.asked[:150]}")
    answered = Counter(question for _, one in found for question in one.answered)
    print(f"  models that ask what the types answer: {dict(answered.most_common())}")
    print(f"  of those written, groups or rows by a count: {sum(asks_for_sizes(model) for model, _ in written)}")
    moving = [model for model, _ in written if explained(model, ZONE).asked]
    print(f"  in a session of {ZONE} the changes of the zone are asked too: {len(moving)}")
    print(
        f"  over another temporal view, here with its text in place of its name: {sum(m.stacked for m, _ in written)}"
    )
    print(f"  statements of a first run: {dict(sorted(Counter(len(statements(t)) for _, t in written).items()))}")
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--execute", choices=("realistic", "cases", "all"))
    parser.add_argument("--only", nargs="*", help="names of realistic models, or of cases")
    given = parser.parse_args()
    sets = {"realistic": list(realistic()), "cases": list(of_cases())}
    chosen = []
    for name, models in sets.items():
        written = report(name, models)
        if given.execute in (name, "all"):
            chosen += [(m, t) for m, t in written if not given.only or {m.name, m.database[2:]} & set(given.only)]
    if chosen:
        inputs = list(dict.fromkeys(one for model, _ in chosen for one in model.inputs))
        file = Path(tempfile.mkdtemp()) / "work.json"
        file.write_text(json.dumps({"inputs": inputs, "models": [work(m, text) for m, text in chosen]}, indent=1))
        raise SystemExit(subprocess.run([sys.executable, str(SESSION), str(file)]).returncode)


if __name__ == "__main__":
    main()
