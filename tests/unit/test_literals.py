"""Literals whose meaning depends on the release and the settings of Spark."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.sql.text import literals

NO_ESCAPES = "spark.sql.parser.escapedStringLiterals"
QUOTED_NAMES = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}


@pytest.mark.parametrize(
    ("written", "settings", "found"),
    [
        ("k = 'a'", {NO_ESCAPES: "true"}, f"{NO_ESCAPES}: true"),  # names of files have other characters
        ("k > 1", {NO_ESCAPES: " True "}, f"{NO_ESCAPES}: true"),
        ('k = "a"', QUOTED_NAMES, '"a"'),
    ],
)
def test_texts_that_a_setting_makes_something_else_of(written: str, settings: dict[str, str], found: str) -> None:
    with pytest.raises(Refusal) as refused:
        literals.as_read(written, settings, "4.1.4")
    assert refused.value.found == found
    assert list(settings)[-1] in str(refused.value)
    for others in ({}, {NO_ESCAPES: "false"}, QUOTED_NAMES):
        assert literals.as_read("k = 'a'", others, "4.1.4") == "k = 'a'"
