"""The table of refusals in docs/semantics.md: each line has a test which renders it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ERRORS, NAMES = "tests/engine/test_errors.py", "tests/engine/test_names.py"
#: how a line of the table begins -> the tests that render it: a function, or a case by its name
RENDERED = {
    "no clock at all": (ERRORS, "no_clock"),
    "months and hours beside the clock below a date": (ERRORS, "months_and_hours_before_a_day"),
    "an interval or an instant beside the clock": (ERRORS, "test_local_time_on_the_clocks_side"),
    "FLOAT, DOUBLE": (ERRORS, "float", "double", "float_in_an_or"),
    "a STRING column": (ERRORS, "string", "text_of_an_expression"),
    "text beside the clock that is no timestamp": (ERRORS, "text", "text_date", "text_today", "text_time"),
    "text in a list": ("tests/engine/test_sql_shapes.py", "test_text_in_a_list_where_it_is_of_two_instants"),
    "BOOLEAN, other types": (ERRORS, "boolean", "struct"),
    "one `mz_now()` beside a number and a timestamp": (ERRORS, "number_and_timestamp"),
    "a column with the clock and without an alias": (ERRORS, "no_name", "no_name_below"),
    "a relation named like one of the model's own": (NAMES, "test_what_a_run_has_not_made_is_in_its_way"),
    "two models of a project": (NAMES, "test_models_that_would_destroy_each_other"),
    "a recursive query": (ERRORS, "recursive"),
    "the relation that the model itself takes the place of": (
        "tests/engine/test_replaced_relations.py",
        "test_a_model_that_reads_itself",
    ),
    "a column of CHAR": ("tests/iceberg/test_iceberg.py", "test_a_read_that_compares_a_char_is_refused"),
    "a table of files with the option `mode`": (
        "tests/engine/test_statistics.py",
        "test_malformed_rows_depend_on_what_is_read",
    ),
    "all of `_metadata`": ("tests/engine/test_statistics.py", "test_blocks_of_files_are_refused"),
    "`rand()`, `uuid()`": (ERRORS, "random", "random_bound", "random_or", "sample"),
    "a window that slides": ("tests/engine/test_equal_values.py", "sliding"),
    "a view with `mz_now()`": (ERRORS, "test_a_temporal_view_that_is_written_out"),
    "a view with the clock, made": (
        "tests/engine/test_pinned_clocks.py",
        "test_a_view_keeps_the_clock_that_made_it",
    ),
    "a view over a temporal_view": (
        "tests/engine/test_stacked_views.py",
        "test_a_view_that_changed_or_cannot_be_opened",
    ),
    "a correlated subquery above": (ERRORS, "name_in_a_subquery"),
    "two CTEs of one name": (ERRORS, "cte_twice"),
    "a CTE, or a table without its schema": (ERRORS, "cte_of_ours"),
    "QUALIFY": (ERRORS, "qualify"),
    "`${…}`": (ERRORS, "substituted"),
    "PIVOT after another pipe operator": (ERRORS, "pipe", "deep"),
    "the setting `spark.sql.parser.escapedStringLiterals`": (
        "tests/unit/test_literals.py",
        "test_texts_that_a_setting_makes_something_else_of",
    ),
    "a text in double quotes": ("tests/unit/test_literals.py", "test_texts_that_a_setting_makes_something_else_of"),
    "a relation without its schema": ("tests/catalogs/test_named.py", "test_a_plain_view_below"),
    "a schema in a catalog without views, and no `views_in` in the profile": (
        "tests/catalogs/test_without_views.py",
        "test_what_is_refused",
    ),
    "a catalog without views that is none of Iceberg": (
        "tests/catalogs/test_without_views.py",
        "test_another_catalog_without_views",
    ),
    "`grants` in a catalog without views": ("tests/catalogs/test_without_views.py", "test_what_is_refused"),
    "a `views_in` that is no schema, or has other relations of the model's names": (
        "tests/catalogs/test_without_views.py",
        "test_a_schema_for_views_that_is_not_there",
        "test_what_is_refused",
    ),
    "`temporal_read` in a temporal_view": (
        "tests/catalogs/test_without_views.py",
        "test_macros_where_they_are_not_needed",
    ),
    "a schema or alias with other characters": (
        "tests/property/test_hostile_names.py",
        "test_no_statement_reads_a_config_as_sql",
    ),
    "a run by a user who may not": ("tests/unit/test_rights.py", "test_words_of_a_missing_right"),
    "`temporal_sql` of what DuckDB": ("tests/engine/test_duckdb.py", "test_what_is_refused"),
    "a column named like one of ours": (ERRORS, "our_name", "our_name_too", "twice", "untyped"),
    "VARIANT and collated strings": (ERRORS, "collated"),
    "SQL that Spark and the parser used here": (ERRORS, "not_read"),
}


def lines() -> list[str]:
    """The first cell of each line."""
    table = (ROOT / "docs" / "semantics.md").read_text().partition("\n## Refused\n")[2].partition("\n\n")[0]
    return [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]


@cache
def names_in(file: str) -> set[str]:
    """The functions of a module, and the keys of its dictionaries."""
    nodes = list(ast.walk(ast.parse((ROOT / file).read_text())))
    keys = {key for node in nodes if isinstance(node, ast.Dict) for key in node.keys}
    found = {key.value for key in keys if isinstance(key, ast.Constant)}
    return found | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("line", lines())
def test_each_line_has_its_test(line: str) -> None:
    found = [start for start in RENDERED if line.startswith(start)]
    assert len(found) == 1, f"name the test that renders: {line}"


@pytest.mark.parametrize("start", RENDERED)
def test_each_test_is_there(start: str) -> None:
    file, *tests = RENDERED[start]
    assert any(line.startswith(start) for line in lines()), f"no line of the table begins so: {start}"
    assert tests and set(tests) <= names_in(file), f"not in {file}: {set(tests) - names_in(file)}"
