"""The tests themselves: what a test module may import."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = [f for f in sorted(TESTS.rglob("*.py")) if f.name.startswith("test_") or f.name == "conftest.py"]
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
