"""The order of the packages: each module imports only what is below its own package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dbt.adapters.sparktemporal as adapter

ROOT = Path(adapter.__file__).parent
PACKAGE = adapter.__name__
DOCS = ROOT.parents[2] / "docs"
#: from the bottom up, by storey; a file of the root is a room of its own
STOREYS = {
    "the materialization": [
        "errors", "plurals", "temporal/sql/functions", "temporal/sql/text", "temporal/sql/spark", "temporal/sql/names",
        "temporal/sql", "temporal/clock", "temporal/predicates", "temporal/rewrite", "temporal/diffs", "temporal/ivm",
        "temporal", "pushdown", "other_configs", "config_kinds", "config", "engine", "graph", "inputs/views",
        "inputs/observing", "inputs/changing", "inputs", "pruning", "run",
    ],
    "over time": ["over_time/sequenced", "over_time"],
    "to look at and to reach": ["looking/readers", "looking"],
    "the adapter of dbt": ["spark_log", "connections", "contracts", "impl", "__version__", "__init__", "__main__"],
}  # fmt: skip
ROOMS = [room for rooms in STOREYS.values() for room in rooms]
PURE = ("temporal", "pushdown", "over_time.sequenced", "looking.readers")
FORBIDDEN = {"dbt", "dbt_common", "pyspark", "agate", "py4j"}


def modules() -> dict[str, Path]:
    """Dotted name below the package -> its file, of all depths."""
    found = {}
    for file in ROOT.rglob("*.py"):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = file
    return found


MODULES = modules()


def room(name: str) -> str:
    return "/".join(name.split(".")[:-1]) or name if name not in _PACKAGES else name.replace(".", "/")


_PACKAGES = {name for name, file in MODULES.items() if file.name == "__init__.py" and name != "__init__"}


def imported(name: str) -> set[str]:
    """The modules of the package that a module imports, also inside of functions and for types alone."""
    package = name.split(".") if name in _PACKAGES else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names if f"{alias.name}.".startswith(f"{PACKAGE}.")]
            found |= {one[len(PACKAGE) + 1 :] or "__init__" for one in dotted}
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) + 1 - node.level], *filter(None, [node.module])]
            if not node.level:
                if not f"{node.module}.".startswith(f"{PACKAGE}."):
                    continue
                base = [(node.module or "")[len(PACKAGE) + 1 :]]
            for alias in node.names:
                full = ".".join(filter(None, [*base, alias.name]))
                found.add(full if full in MODULES else ".".join(filter(None, base)) or "__init__")
    return found - {name}


def test_each_room_imports_only_what_is_below() -> None:
    assert {room(name) for name in MODULES} == set(ROOMS), {room(name) for name in MODULES} ^ set(ROOMS)
    wrong = [
        f"{name} imports {other}"
        for name in MODULES
        for other in imported(name)
        if ROOMS.index(room(other)) > ROOMS.index(room(name))
    ]
    assert not wrong, "\n".join(sorted(wrong))
    assert sum(len(imported(name)) for name in MODULES) > 300


@pytest.mark.parametrize("storey", ["the materialization", "over time", "to look at and to reach"])
def test_a_storey_is_as_large_as_the_page_says(storey: str) -> None:
    """docs/architecture.md, to a tenth."""
    page = (DOCS / "architecture.md").read_text()
    told = re.search(rf"storey: {storey},.*?([\d,]+) lines\n", page)
    lines = sum(MODULES[name].read_text().count("\n") for name in MODULES if room(name) in STOREYS[storey])
    assert told and abs(int(told[1].replace(",", "")) / lines - 1) < 0.1, lines


def test_modules_of_a_room_import_each_other_in_one_direction() -> None:
    order: list[str] = []
    open_: list[str] = []

    def visit(name: str) -> None:
        assert name not in open_, " -> ".join([*open_[open_.index(name) :], name])
        if name in order:
            return
        open_.append(name)
        for other in sorted(imported(name)):
            visit(other)
        order.append(open_.pop())

    for name in MODULES:
        visit(name)
    assert len(order) == len(MODULES)


def _is_pure(name: str) -> bool:
    return f"{name}.".startswith(tuple(f"{pure}." for pure in PURE))


def test_the_pure_rooms_know_neither_dbt_nor_spark() -> None:
    checked = 0
    for name, file in MODULES.items():
        if not _is_pure(name):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for one in names:
                assert one.split(".")[0] not in FORBIDDEN, (name, one)
            checked += len(names)
        outside = {other for other in imported(name) if not _is_pure(other) and other not in ("errors", "plurals")}
        assert not outside, (name, outside)
    assert checked > 100


#: what stands between dbt and the rooms below: another host needs only its own of these
OF_DBT = (
    "impl",
    "connections",
    "spark_log",
    "contracts",
    "looking.run_operations",
    "looking.read_macros",
    "looking.tables",
    "__init__",
)


def test_few_modules_know_dbt() -> None:
    """The engine asks through one function that takes SQL and gives rows; nothing else of it is dbt's or Spark's."""
    for name, file in MODULES.items():
        roots = {
            found.split(".")[0]
            for node in ast.walk(ast.parse(file.read_text()))
            for found in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and node.level == 0
                else []
            )
        }
        assert not roots & FORBIDDEN or name in OF_DBT, (name, roots & FORBIDDEN)
    assert set(OF_DBT) <= set(MODULES)


def test_each_room_says_what_it_is_for() -> None:
    for name in _PACKAGES:
        said = ast.get_docstring(ast.parse(MODULES[name].read_text())) or ""
        assert said.count("\n") >= 2 and ("ay import" in said or name == "temporal"), name


def test_each_module_says_in_a_sentence_what_it_does() -> None:
    """docs/architecture/code.md is made of these."""
    for name in set(MODULES) - _PACKAGES - {"__init__", "__version__"}:
        said = (ast.get_docstring(ast.parse(MODULES[name].read_text())) or "").partition("\n\n")[0]
        assert said.rstrip(".") and len(said) < 200, name


def test_the_paths_name_modules_that_are_there() -> None:
    """What stands in backquotes in the last column of a table of docs/architecture.md, and has a slash in it."""
    page = (DOCS / "architecture.md").read_text().partition("## The packages")[0]
    cells = [line.rstrip(" |").rpartition("|")[2] for line in page.splitlines() if line.startswith("| ")]
    named = {name for cell in cells for name in re.findall(r"`([\w/]+)`", cell) if "/" in name}
    assert len(named) > 20
    assert named <= {name.replace(".", "/") for name in MODULES}, named - {n.replace(".", "/") for n in MODULES}


def longest_path() -> int:
    """Of modules that import one another, how many stand in a row at most."""
    known: dict[str, int] = {}

    def length(name: str) -> int:
        if name not in known:
            known[name] = 1 + max(map(length, imported(name)), default=0)
        return known[name]

    return max(map(length, MODULES))


if __name__ == "__main__":
    arrows = {(room(name), room(other)) for name in MODULES for other in imported(name) if room(name) != room(other)}
    print(
        f"modules {len(MODULES)}, imports {sum(len(imported(name)) for name in MODULES)}, longest path {longest_path()}"
    )
    print(f"rooms {len(ROOMS)}, arrows between them {len(arrows)}")
