"""The tests themselves: what a test module may import, and which target runs it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = [f for f in sorted(TESTS.rglob("*.py")) if f.name.startswith("test_") or f.name == "conftest.py"]
MAKEFILE = (TESTS.parent / "Makefile").read_text()
HERE = {f.stem for f in FILES} | {folder.name for folder in TESTS.iterdir() if folder.is_dir()} - {"support"}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(TESTS)))
def test_no_test_imports_a_test(file: Path) -> None:
    """What two of them need stands in tests/support."""
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            found.append(str(node.module))
    assert not {name for name in found if HERE & set(name.split(".")) and not name.startswith("dbt.")}


@pytest.mark.parametrize("file", [f for f in FILES if f.name == "conftest.py"], ids=lambda f: f.parent.name)
def test_a_conftest_holds_fixtures_and_hooks(file: Path) -> None:
    for node in ast.parse(file.read_text()).body:
        assert not isinstance(node, ast.ClassDef), node.name
        if isinstance(node, ast.FunctionDef):
            marks = " ".join(map(ast.unparse, node.decorator_list))
            assert node.name.startswith("pytest_") or "fixture" in marks, node.name


def holds(node: ast.expr) -> bool:
    """Whether an expression is true whatever is tested, in one branch at least: `"a" if x else "b" in y`."""
    if isinstance(node, ast.BoolOp):
        return any(map(holds, node.values))
    if isinstance(node, ast.IfExp):
        return holds(node.body) or holds(node.orelse)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts)
    return isinstance(node, (ast.JoinedStr, ast.GeneratorExp)) or isinstance(node, ast.Constant) and bool(node.value)


def test_each_assertion_can_fail() -> None:
    assert holds(ast.parse('"a" if x else "b" in y', mode="eval").body)
    for file in sorted(TESTS.rglob("*.py")):
        found = (n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Assert) and holds(n.test))
        assert not [f"{file.name}:{node.lineno}" for node in found]


def marks(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Of a test, or of all tests of a module (pytestmark)."""
    if isinstance(node, ast.Module):
        given = [n.value for n in node.body if isinstance(n, ast.Assign) and "pytestmark" in ast.unparse(n.targets)]
        found = [mark for one in given for mark in (one.elts if isinstance(one, ast.List) else [one])]
    else:
        found = node.decorator_list
    return {name for one in found for name in re.findall(r"^pytest\.mark\.(\w+)", ast.unparse(one))}


def marked(file: Path) -> dict[str, set[str]]:
    """Test -> its marks, those of its module included."""
    module = ast.parse(file.read_text())
    return {
        node.name: marks(module) | marks(node)
        for node in module.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.lower().startswith("test")
    }


def folders_of(target: str) -> set[Path]:
    """The folders below tests that the recipe of a target names."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE)
    assert recipe, target
    variables = dict(re.findall(r"^(\w+) := ((?:.*\\\n)*.*)$", MAKEFILE, flags=re.MULTILINE))
    named = re.sub(r"\$\((\w+)\)", lambda found: variables.get(found[1], ""), recipe[1])
    return {TESTS.parent / name for name in re.findall(r"tests/(?!packaging)[\w/]+", named)}


def test_tests_begin_at_one_instant() -> None:
    """It is T0 of tests/support/instants.py."""
    again = [str(f) for f in FILES if re.search(r"^\w+(, \w+)* = 1_709_294_400_000", f.read_text(), flags=re.MULTILINE)]
    assert not again


def test_chance_decides_no_landing() -> None:
    """Random numbers come of a seed, and one place says which: the same for each landing, a fresh one in deep runs."""
    for file in sorted(TESTS.rglob("*.py")):
        if file in (TESTS / "support/seeds.py", Path(__file__)):
            continue
        found = re.findall(
            r"(?<!\.)\brandom\.(?!Random\b)[a-zA-Z]+\(|SystemRandom|(?<!\.)\brandom\.Random\(\)", file.read_text()
        )
        assert not found, (file, found)
    assert "TEST_SEED=$${TEST_SEED:-random}" in MAKEFILE.partition("\ntest-deep-alone:")[2].partition("\n\n")[0]


def test_one_place_reads_a_state() -> None:
    """Project.state and Project.committed, not a helper of a module."""
    assert not [str(f) for f in FILES if "read_state(Warehouse" in f.read_text() and f != Path(__file__)]


LAKES = folders_of("test-lake") | {TESTS / name for name in ("catalogs", "connect", "cluster", "engines")}
MODULES = [f for f in FILES if f.name.startswith("test_")]


@pytest.mark.parametrize("file", MODULES, ids=lambda f: str(f.relative_to(TESTS)))
def test_a_target_runs_each_module(file: Path) -> None:
    """The targets of a landing name the same folders, and marks decide. make test-deep takes what is deep."""
    names = (
        "test",
        "test-landing",
        "test-metastore",
        "test-lake",
        "test-catalog-%",
        "test-connect",
        "test-cluster",
        "test-engines",
    )
    targets = {target: folders_of(target) for target in names}
    assert targets["test"] == targets["test-landing"] == targets["test-metastore"]
    assert any(folder in file.parents for folders in targets.values() for folder in folders)
    assert marked(file)


#: what takes a test out of make test
OUT = {"landing", "deep"}


def test_each_folder_has_a_test_in_make_test() -> None:
    quick = {f.parent for f in MODULES if not all(OUT & of_one for of_one in marked(f).values())}
    assert {f.parent for f in MODULES if not LAKES & {f.parent, *f.parents}} <= quick


def test_the_table_of_features_names_each_module_of_make_test() -> None:
    page = (
        (TESTS.parent / "CONTRIBUTING.md").read_text().partition("## What make test tries\n")[2].partition("\n## ")[0]
    )
    named = re.findall(r"`(\w+(?:/\w+)+)`", page.partition("|---|---|")[2])
    lakes = tuple(LAKES | {TESTS / "unit"})
    quick = {f for f in MODULES if not all(OUT & of_one for of_one in marked(f).values())}
    quick = {f for f in quick if not any(folder in f.parents for folder in lakes)}
    assert sorted(named) == sorted(f.relative_to(TESTS).with_suffix("").as_posix() for f in quick)


def test_a_landing_and_a_night() -> None:
    """Each change is tried with all tests but the deep ones and the lakes', which run each night."""
    workflow = (TESTS.parent / ".github" / "workflows" / "ci.yml").read_text()
    landing = (TESTS.parent / ".ci" / "run").read_text()
    assert re.findall(r"^\s*make (.+)$", landing, flags=re.MULTILINE) == [
        "lint test",
        "test",
        "test-landing test-metastore",
    ]
    assert landing.count("tests/packaging/budget.py build/slice.xml") == 2
    assert "make lint test test-landing test-metastore" in workflow
    assert "target: [test-lake, test-deep-alone]" in workflow
    assert re.search(r"^test-deep: test test-landing test-metastore ", MAKEFILE, flags=re.MULTILINE)


def test_commands_name_marks_that_there_are(pytestconfig: pytest.Config) -> None:
    """pytest refuses `-m` with another mark, and mutmut runs pytest without a word of why."""
    root = TESTS.parent
    pages = [root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]
    files = [root / "Makefile", root / "pyproject.toml", *pages, TESTS / "packaging" / "version_matrix.py"]
    marks = {line.partition(":")[0].partition("(")[0] for line in pytestconfig.getini("markers")}
    found = 0
    for file in files:
        for chosen in re.findall(r"""-m"?,? "([^"]+)\"""", file.read_text()):
            assert set(re.findall(r"\w+", chosen)) - {"not", "and", "or", "pytest", "pip"} <= marks, (file, chosen)
            found += 1
    assert found > 8


@pytest.mark.parametrize("file", sorted((TESTS / "unit").glob("test_*.py")), ids=lambda f: f.stem)
def test_a_unit_test_asks_for_no_session(file: Path) -> None:
    """A fixture of tests/conftest.py that has one would start Spark before the first part of make test is over."""
    tests = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert not {"spark", "project"} & {a.arg for test in tests if test.name[:5] == "test_" for a in test.args.args}
