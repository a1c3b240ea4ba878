"""The pages of docs/reference: docs/generate.py makes them of the code, and they have words for all that there is."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparktemporal.contracts import SparkTemporalConfig, TemporalResponse
from dbt.adapters.sparktemporal.looking import arguments

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> Any:
    """docs/generate.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MADE = generator()


@pytest.mark.parametrize("page", MADE.PAGES, ids=lambda page: page.stem)
def test_a_page_is_made_of_the_code(page: Path) -> None:
    assert page.read_text() == MADE.written(page), "python docs/generate.py"


def test_each_block_stands_in_a_page() -> None:
    text = "".join(page.read_text() for page in MADE.PAGES)
    assert [name for name in MADE.BLOCKS if text.count(f"<!-- {name}: begin -->") != 1] == []


def rows(page: str) -> dict[str, list[str]]:
    """The first cell of each row of a page's tables, without backquotes and link -> the others."""
    lines = [line.strip("| ").split(" | ") for line in (DOCS / "reference" / page).read_text().splitlines()]
    return {cells[0].strip("[`").partition("`")[0]: cells[1:] for cells in lines if len(cells) > 1}


def test_each_config_has_a_row() -> None:
    """dbt knows each of them too."""
    made = rows("configs.md")
    assert [name for name in MADE.config_names() if not made[name][0]] == []
    assert set(MADE.config_names()) <= {field.name for field in dataclasses.fields(SparkTemporalConfig)}


def test_each_macro_and_operation_has_a_row() -> None:
    """An operation is known by its head, which begins with its command line; arguments are checked by `arguments`."""
    files = sorted(file.stem for file in (DOCS.parent / "macros").glob("*.sql"))
    found = {macro.name: macro for macro in MADE.macros()}
    assert sorted(found) == files
    assert [name for name, macro in found.items() if not macro.words] == [], "no words at the head of the file"
    made = {"macro": "macros.md", "data test": "data-tests.md", "operation": "operations.md", "other": "macros.md"}
    assert [name for name, macro in found.items() if name not in rows(made[macro.kind])] == []
    operations = {name for name, macro in found.items() if macro.kind == "operation"}
    assert operations >= set(arguments._ARGUMENTS)


def test_each_field_of_a_run_has_a_row() -> None:
    made = rows("run-results.md")
    assert [name for name in MADE.response_fields() if not made[name][0]] == [], (
        "no words in TemporalResponse's docstring"
    )
    assert set(MADE.described(TemporalResponse)) == set(MADE.response_fields())
    assert {field.name for field in dataclasses.fields(TemporalResponse)} > set(MADE.response_fields())


def test_refusals_are_found() -> None:
    """Those of modules and of macros, with all three lines."""
    said = {refused.why for refused in MADE.refusals()}
    assert "Spark has no QUALIFY: it filters by a window function in the outer query" in said
    assert "a feed goes on after what the model took before" in said
    assert "updates up to the frontier are final" in said
    assert len(MADE.refusals()) > 150


def test_a_reader_decides_in_some_minutes() -> None:
    """README has at most 900 words and two pictures."""
    text = (DOCS.parent / "README.md").read_text()
    assert len(text.split()) <= 900 and text.count("![") == 2
