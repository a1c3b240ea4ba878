"""The pages of docs/reference: docs/generate.py makes them of the code, and they have words for all that there is."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest

import generate
import refusals
from dbt.adapters.sparktemporal.contracts import SparkTemporalConfig, TemporalResponse
from dbt.adapters.sparktemporal.errors import Explained, Refusal
from dbt.adapters.sparktemporal.looking import arguments

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.stem)
def test_a_page_is_made_of_the_code(page: Path) -> None:
    assert page.read_text() == generate.written(page), "python docs/generate.py"


def test_each_block_stands_in_a_page() -> None:
    text = "".join(page.read_text() for page in generate.PAGES)
    assert [name for name in generate.BLOCKS if text.count(f"<!-- {name}: begin -->") != 1] == []


def rows(page: str) -> dict[str, list[str]]:
    """The first cell of each row of a page's tables, without backquotes and link -> the others."""
    lines = [line.strip("| ").split(" | ") for line in (DOCS / "reference" / page).read_text().splitlines()]
    return {cells[0].strip("[`").partition("`")[0]: cells[1:] for cells in lines if len(cells) > 1}


def test_each_config_has_a_row() -> None:
    """dbt knows each of them too."""
    made = rows("configs.md")
    assert [name for name in generate.config_names() if not made[name][0]] == []
    assert set(generate.config_names()) <= {field.name for field in dataclasses.fields(SparkTemporalConfig)}


def test_each_macro_and_operation_has_a_row() -> None:
    """An operation is known by its head, which begins with its command line; arguments are checked by `arguments`."""
    files = sorted(file.stem for file in (DOCS.parent / "macros").glob("*.sql"))
    found = {macro.name: macro for macro in generate.macros()}
    assert sorted(found) == files
    assert [name for name, macro in found.items() if not macro.words] == [], "no words at the head of the file"
    made = {"macro": "macros.md", "data test": "data-tests.md", "operation": "operations.md", "other": "macros.md"}
    assert [name for name, macro in found.items() if name not in rows(made[macro.kind])] == []
    operations = {name for name, macro in found.items() if macro.kind == "operation"}
    assert operations >= set(arguments._ARGUMENTS)


def test_each_field_of_a_run_has_a_row() -> None:
    made = rows("run-results.md")
    assert [name for name in generate.response_fields() if not made[name][0]] == [], (
        "no words in TemporalResponse's docstring"
    )
    assert set(generate.described(TemporalResponse)) == set(generate.response_fields())
    assert {field.name for field in dataclasses.fields(TemporalResponse)} > set(generate.response_fields())


def explained(of: type[Explained] = Explained) -> set[str]:
    """The names of the classes of errors that are made with a code."""
    names = {of.__name__} if "code" in inspect.signature(of).parameters else set()
    return names.union(*map(explained, of.__subclasses__()))


def test_each_reason_has_a_code() -> None:
    """A literal where the error is made, unless an error is made of another one. A macro's text begins with it."""
    names, made = explained(), 0
    assert names >= {"Explained", "Refusal", "NotRun", "Altered", "NotPlanned", "Unread", "Unlistable"}
    for file in refusals.PACKAGE.rglob("*.py"):
        text = file.read_text()
        assert file.name == "errors.py" or not re.search(r"[\"']found: |\\nwhy: ", text), f"{file}: not of a class"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in names:
                code = ast.unparse(node.args[0])
                made += refusals.CODE.fullmatch(code[1:-1]) is not None
                assert refusals.CODE.fullmatch(code[1:-1]) or code in ("why.code", "*call.meta[UNLISTED]"), (
                    f"{file}: {code}"
                )
    raised = refusals.raised_by_macros()
    assert all(re.match(r"'ST\d{3} found: ", text) for text in raised), raised
    sql = [*(DOCS.parent / "macros").glob("*.sql"), *(DOCS.parent / "materializations").glob("*.sql")]
    assert len(raised) == sum(file.read_text().count("raise_compiler_error(") for file in sql) > 5
    assert made > 200


def test_no_code_stands_for_two_reasons() -> None:
    """Nor has a reason two codes. A reason that is not in words where the error is made is a reason of its own."""
    whys: dict[str, set[str]] = {}
    codes: dict[str, set[str]] = {}
    for one in refusals.refusals():
        why = one.why if re.search(r"\w", one.why) else f"{one.code} {one.found}"
        whys.setdefault(one.code, set()).add(why)
        codes.setdefault(why, set()).add(one.code)
    assert [(code, told) for code, told in whys.items() if len(told) > 1] == []
    assert [(why, given) for why, given in codes.items() if len(given) > 1] == []


def test_no_number_is_used_again() -> None:
    """Each section counts from 1 on. What is missing is in GONE, so that nothing new gets its number."""
    codes = {one.code for one in refusals.refusals()}
    assert codes & refusals.GONE == set()
    for digit in refusals.SECTIONS:
        numbers = sorted(int(code[3:]) for code in codes | refusals.GONE if code[2] == digit)
        assert numbers == list(range(1, len(numbers) + 1)), f"ST{digit}: take the next number, or name a gone one"


def test_each_code_is_a_heading() -> None:
    """Of the page of errors, alone, so that its anchor is the code. The example of the page is what the code has."""
    page = (DOCS / "reference" / "errors.md").read_text()
    assert re.findall(r"^#### (.*)$", page, flags=re.MULTILINE) == sorted({one.code for one in refusals.refusals()})
    shown = re.search(r"```text\n(ST\d+) found: .*\nwhy: (.*)\ninstead: (.*)\n```", page)
    assert shown and shown.groups() in {(one.code, one.why, one.instead) for one in refusals.refusals()}


def test_a_code_comes_first() -> None:
    assert str(Refusal("ST101", "a: 1", "there is no such config", "b")) == (
        "ST101 found: a: 1\nwhy: there is no such config\ninstead: b"
    )


def test_refusals_are_found() -> None:
    """Those of modules, of macros and of texts that Spark raises, with all three lines."""
    said = {refused.why for refused in refusals.refusals()}
    assert "Spark has no QUALIFY: it filters by a window function in the outer query" in said
    assert "a feed goes on after what the model took before" in said
    assert "updates up to the last change captured are final" in said
    assert "whether the rows change is evaluated at …, and more are to come" in said
    assert len(refusals.refusals()) > 150


def test_words_of_the_house_are_explained_in_the_readme() -> None:
    """Two of them at most, each with a link where it is first met in a sentence."""
    text = re.sub(r"^```.*?^```$|`[^`]*`", "", (DOCS.parent / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    words = r"\b(hydrate[sd]?|diffs?|chains?|cores|frontier|residual|restart\w*)\b"
    assert re.findall(words, re.sub(r"\([^)]*\)", "", text)) == ["hydrates", "diffs"]
    for word in ("hydrates", "diffs"):
        assert f"[*{word}*](docs/glossary.md#" in text


def test_a_reader_decides_in_some_minutes() -> None:
    """README has at most 900 words and two pictures."""
    text = (DOCS.parent / "README.md").read_text()
    assert len(text.split()) <= 900 and text.count("![") + text.count("<picture>") == 2
