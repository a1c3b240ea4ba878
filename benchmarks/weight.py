"""How heavy the code is, and how far a model travels: lines, complexity, imports, parses and prints. Needs no Spark.

python benchmarks/weight.py [--radon PATH]      radon counts complexity, where it is installed
"""

from __future__ import annotations

import argparse
import ast
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sqlglot
from sqlglot.generator import Generator

import dbt.adapters.sparktemporal as product
from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.looking.explain_model import explain

PACKAGE = Path(str(product.__file__)).parent
NOW = 1_709_294_400_000
TABLES = {
    "s.t": {"id": "bigint", "k": "string", "v": "bigint", "ts": "timestamp"},
    "s.u": {"id": "bigint", "name": "string"},
}
WINDOW = "mz_now() <= ts + interval 30 days"
MODELS = {
    "window": f"select id, k, ts from s.t where {WINDOW}",
    "grouped": f"select k, count(*) as n, sum(v) as total from s.t where {WINDOW} group by k",
    "joined CTE": f"with w as (select * from s.t where {WINDOW}) select w.id, u.name from w join s.u on u.id = w.id",
    "filtered at the read": f"select id, k from s.t where {WINDOW} and hour(mz_now()) >= hour(ts)",
    "union with aggregates": f"select k, count(*) as n from (select k, ts from s.t where {WINDOW} union all "
    f"select k, ts from s.t where {WINDOW}) group by k",
}
#: the modules whose records tell a run
OF_A_RUN = (
    "run",
    "inputs/changing/capture.py",
    "temporal/decision.py",
    "temporal/diffs/state.py",
    "temporal/rewrite/model.py",
)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """How often texts are parsed and trees are printed meanwhile."""
    found: Counter[str] = Counter()
    parse, generate = sqlglot.parse, Generator.generate

    def parsed(sql: str, **kwargs: Any) -> Any:
        found["parses"] += 1
        found[f"text {sql}"] += 1
        return parse(sql, **kwargs)

    def generated(*args: Any, **kwargs: Any) -> str:
        found["prints"] += 1
        return generate(*args, **kwargs)

    with patch.object(sqlglot, "parse", parsed), patch.object(Generator, "generate", generated):
        yield found


class Uncounted(GivenTypes):
    """What stands in the place of Spark: its parses are not those of a run."""

    def __init__(self, found: Counter[str]) -> None:
        super().__init__(TABLES, NOW)
        self._found = found

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        before = Counter(self._found)
        answer = super().__call__(sql)
        self._found.clear()
        self._found.update(before)
        return answer


def travels() -> None:
    for name, sql in MODELS.items():
        with counted() as found:
            explain(sql, Uncounted(found), ModelRelations("`s`", "m"), NOW)
        texts = sum(key.startswith("text ") for key in found)
        print(f"  {name:24} {found['parses']:4} parses of {texts} texts {found['prints']:4} prints")


def size() -> None:
    lines: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0] if file.parent != PACKAGE else "(root)"
        lines[room] += len(file.read_text().splitlines())
        modules[room] += 1
    for room, count in lines.most_common():
        print(f"  {room:24} {count:6,} lines {modules[room]:4} modules")
    print(f"  {'together':24} {lines.total():6,} lines {modules.total():4} modules")


def records() -> None:
    """Each dataclass of the modules, with the fields that it declares itself; what it inherits is counted once."""
    every = 0
    for place in (PACKAGE / name for name in OF_A_RUN):
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in node.decorator_list):
                    count = sum(isinstance(part, ast.AnnAssign) for part in node.body)
                    print(f"  {node.name:24} {count:4} fields  {file.relative_to(PACKAGE)}")
                    every += count
    print(f"  {'together':24} {every:4} fields")


def handlers() -> None:
    caught = 0
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            caught += (
                isinstance(node, ast.ExceptHandler)
                and isinstance(node.type, ast.Name)
                and (node.type.id == "Exception")
            )
    print(f"  {'except Exception':24} {caught:4}")


def complexity(radon: str) -> None:
    try:
        told = subprocess.run([radon, "cc", "-s", str(PACKAGE)], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        print(f"  {radon} is not there: pip install radon")
        return
    found = [int(line.rpartition("(")[2][:-1]) for line in told.splitlines() if line.strip()[:2] in ("F ", "M ")]
    print(f"  {'functions':24} {len(found):4}, the highest {max(found)}, on average {sum(found) / len(found):.1f}")
    for most in (25, 20, 15):
        print(f"  {f'above {most}':24} {sum(one > most for one in found):4}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--radon", default="radon")
    radon = parser.parse_args().radon
    for heading, tell in {"size": size, "a model, first run": travels, "records of a run": records}.items():
        print(heading)
        tell()
    print("complexity, as radon counts")
    complexity(radon)
    handlers()


if __name__ == "__main__":
    main()
