"""The registry of Spark's functions: each row is well formed, and no other module has a list of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import dbt.adapters.sparktemporal as adapter
from dbt.adapters.sparktemporal.temporal.sql.functions import calls, others
from dbt.adapters.sparktemporal.temporal.sql.functions.registry import BUILTIN, ROWS, known
from dbt.adapters.sparktemporal.temporal.sql.functions.row import (
    CAST,
    CHANCE,
    CLOCK,
    CODE,
    FILES,
    PLACE,
    SESSION,
    Function,
    Local,
    Takes,
)
from dbt.adapters.sparktemporal.temporal.sql.functions.types import TYPED
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression

ROOT = Path(adapter.__file__).parent
TYPES = {"", "date", "timestamp", "timestamp_ntz", "int", "bigint", "double"}


def faults(row: Function) -> Iterator[str]:
    """What is wrong with a row by itself."""
    indexes = [i for i in (row.increasing, row.decreasing, row.unit, row.zone, row.amount) if i is not None]
    if row.name != row.name.lower() or not row.name.isidentifier():
        yield "the name is no name in lower case"
    if row.type not in TYPES:
        yield "the type is none that is read"
    if indexes and (row.arguments is None or max(indexes) >= row.arguments):
        yield "an index is of no argument"
    if len(set(indexes)) < len(indexes):
        yield "two indexes are of one argument"
    if row.at_ends and row.increasing is None:
        yield "at_ends without an argument that it rises with"
    if (row.farthest is not None) != (row.takes is Takes.INTEGER):
        yield "farthest is of functions of whole numbers"
    if row.moves is not None and not row.moves[0] <= row.moves[1]:
        yield "the least that it moves is more than the most"
    if (row.moves or row.step) and not (row.is_monotone or row.zone is not None):
        yield "it moves an argument that is not named"
    if row.amount is not None and (row.unit is None) == (row.of == ""):
        yield "an amount needs one unit"
    if row.keyword and row.unit is None or row.units and row.unit is None:
        yield "facts of a unit without a unit"
    if row.sign not in (1, -1):
        yield "the sign is none"
    if row.local is Local.UNIT and row.unit is None:
        yield "cut to a unit that is not named"
    if row.depends_on not in ("", CLOCK, CHANCE, PLACE, CODE, FILES, SESSION):
        yield "it depends on something else"
    if row.clock and row.depends_on != CLOCK or row.unless and row.depends_on != CHANCE:
        yield "facts of a clock or of chance without it"
    if (row.step is None) != (row.inverse == ""):
        yield "step and inverse go together"
    if row.inverse and (known(row.inverse, 1).step != row.step or known(row.inverse, 1).takes is row.takes):
        yield "the inverse is none"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}_{row.arguments}")
def test_each_row_is_well_formed(row: Function) -> None:
    assert list(faults(row)) == []
    assert row != Function(row.name, row.arguments) or (row.name, None) in {(r.name, r.arguments) for r in ROWS}


def test_a_row_that_is_not_is_found() -> None:
    row = known("date_add", 2)
    for wrong in (
        replace(row, name="Date_Add"), replace(row, type="day"), replace(row, amount=2), replace(row, amount=0),
        replace(row, increasing=None), replace(row, farthest=1), replace(row, moves=(1, 0)), replace(row, of=""),
        replace(row, units=("DAY",)), replace(row, sign=0), replace(row, local=Local.UNIT), replace(row, step=1),
        replace(row, depends_on="luck"), replace(row, clock="mz_now()"), replace(row, step=1, inverse="unix_micros"),
    ):  # fmt: skip
        assert list(faults(wrong)), wrong


def test_each_form_stands_once() -> None:
    forms = [(row.name, row.arguments) for row in ROWS]
    assert len(set(forms)) == len(forms) > 150
    assert not {row.name for row in ROWS} & (others.NAMES | others.WORDS)
    assert len(BUILTIN) > 400


def test_a_type_is_of_a_name_that_each_spark_has() -> None:
    """Else a function that people made under this name, where Spark lacks it, would have the type of Spark's."""
    assert len(TYPED) > 200 and TYPED <= BUILTIN


@pytest.mark.parametrize("row", [row for row in ROWS if row.parsed_as != CAST], ids=lambda row: row.name)
def test_a_tree_has_it_as_the_row_says(row: Function) -> None:
    general = 9 if any(one.name == row.name and one.arguments is not None for one in ROWS) else 1
    given = [f"a{i}" for i in range(general if row.arguments is None else row.arguments)]
    text = f"{row.name}({', '.join(given)})" if row.parsed_as != "Extract" else "extract(YEAR FROM a1)"
    node = expression(text)
    assert type(node).__name__ == (row.parsed_as or "Anonymous")
    assert calls.function(node) is row
    if row.parsed_as in ("", "Extract"):
        assert len(calls.arguments(node)) == len(given)


# ---- lists of functions elsewhere ----------------------------------------------------------------------------------

#: names of functions that are also types, units, clauses, words of formats and keys of trees
_ALSO = """
    date timestamp timestamp_ntz int bigint double year window any some every count sum first last min max mode replace
    version user concat mean inline measure quarter month day hour minute second struct left abs
"""
#: the grammar of calls with words inside; directions of rounding
NO_LISTS = {
    "temporal/sql/text/grammar.py": {"EXTRACT", "TRIM", "SUBSTRING"},
    "temporal/predicates/bounds.py": {"ceil"},
    "temporal/predicates/fields.py": {"floor", "ceil", "ceiling"},
}
_NAMES = {row.name for row in ROWS} - set(_ALSO.split())


def listed(source: str) -> list[str]:
    """The functions that a module has in a set, a dict, a list or a tuple, or compares a name with."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        items: list[ast.expr | None] = []
        if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
            items = list(node.elts)
        elif isinstance(node, ast.Dict):
            items = list(node.keys)
        elif isinstance(node, ast.Compare):
            items = [node.left, *node.comparators]
        texts = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        found += [text for text in texts if text.lower() in _NAMES]
    return found


def test_no_other_module_has_a_list_of_functions() -> None:
    files = [file for file in ROOT.rglob("*.py") if file.parent.name != "functions"]
    assert len(files) > 100
    found = {str(file.relative_to(ROOT)): set(listed(file.read_text())) for file in files}
    assert {file: names for file, names in found.items() if names} == NO_LISTS


@pytest.mark.parametrize(
    "source",
    ['X = frozenset(["last_day", "x"])', 'X = {"unix_date": 1}', 'name in ("coalesce", "nvl")', 'name == "date_trunc"',
     'f(("LEAST", 1))', 'X = {"date", "to_date"}'],
)  # fmt: skip
def test_a_list_elsewhere_is_found(source: str) -> None:
    assert listed(source)


def test_a_mode_that_a_column_names_is_not_known() -> None:
    for mode, is_random in (("'ECB'", False), ("'ecb'", False), ("ecb", True), ("'GCM'", True)):
        found = calls.nondeterministic(expression(f"aes_encrypt(a, k, {mode})"))
        assert (found is not None) is is_random, mode
