"""docs/contributing/adding-a-rewrite-rule.md over the code as it is: its listings, and the order of its calls."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from types import ModuleType
from typing import Any

import pytest

from dbt.adapters.sparktemporal.run.analyze import understand
from support.listings import DOCS, listings

PAGE = "contributing/adding-a-rewrite-rule.md"
REWRITE = "dbt.adapters.sparktemporal.temporal.rewrite"
#: a module: the package has a function of its name
SPLIT: Any = importlib.import_module(f"{REWRITE}.split")
RULES: Any = importlib.import_module(f"{REWRITE}.rules")
FILES = {one.file: one.text for one in listings(PAGE) if one.file}


def executed(name: str, text: str) -> ModuleType:
    module = ModuleType(name)
    module.__package__ = name.rpartition(".")[0]
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def test_the_rule_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    rule: Any = executed(f"{REWRITE}.limit_all", FILES["temporal/rewrite/limit_all.py"])
    monkeypatch.setitem(sys.modules, rule.__name__, rule)
    tests: Any = executed("page", FILES["tests/unit/test_limit_all.py"])
    for sql in tests.CHANGED:
        tests.test_what_changes(sql)
    for sql in tests.KEPT:
        tests.test_what_stays(sql)
    if hasattr(RULES, "without_limit_all"):
        pytest.skip("somebody tries the page in the code itself")
    with pytest.raises(AssertionError):  # the code has no such rule
        tests.test_groups_are_kept()
    first, *others = SPLIT.RULES
    monkeypatch.setattr(SPLIT, "RULES", (first, lambda tree, _: rule.without_limit_all(tree), *others))
    tests.test_groups_are_kept()


def test_the_lines_around_the_call_are_there() -> None:
    (shown,) = (one.text for one in listings(PAGE) if one.language == "diff")
    around = [line[1:] for line in shown.splitlines() if line.startswith(" ")]
    source = inspect.getsource(RULES)
    assert len(around) == 4 and all(f"{line}\n" in source for line in around)


def listed() -> list[str]:
    """The rules of RULES."""
    named = (n for n in ast.walk(ast.parse(inspect.getsource(RULES))) if isinstance(n, ast.AnnAssign))
    (rules,) = (n.value for n in named if ast.unparse(n.target) == "RULES")
    return [ast.unparse(rule.body.func) for rule in rules.elts]


def called(function: Any) -> list[str]:
    """The names that a function calls, in the order of the calls: what is inside of a call comes first."""
    found: list[str] = []

    class Calls(ast.NodeVisitor):
        def visit_Call(self, node: ast.Call) -> None:
            self.generic_visit(node)
            found.append(ast.unparse(node.func))

        def visit_Name(self, node: ast.Name) -> None:
            found.extend(listed() if node.id == "RULES" else [])

    Calls().visit(ast.parse(inspect.getsource(function)))
    return list(dict.fromkeys(found))


def test_the_order_of_the_calls() -> None:
    table = (DOCS / PAGE).read_text().partition("\n## 3. ")[2].partition("\n\n| a rule | stands |")[0]
    rows = [line.split(" | ")[:2] for line in table.splitlines() if line.startswith("| ")][1:]
    first = next(number for number, row in enumerate(rows) if "`split`" in row[0])
    for function, part in ((understand, rows[:first]), (SPLIT.split, rows[first:])):
        named = [name for _, cell in part for name in re.findall(r"`([\w.]+)`", cell)]
        assert [name for name in called(function) if name in named] == named
