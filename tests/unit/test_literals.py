"""Literals whose meaning depends on the release and the settings of Spark."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.sql.text import literals


@pytest.mark.parametrize(
    ("written", "settings", "found"),
    [
        (r"k = 'a\tb'", {"spark.sql.parser.escapedStringLiterals": "true"}, r"'a\tb'"),
        ("k = 'it''s'", {"spark.sql.parser.escapedStringLiterals": "true"}, "'it''s'"),
        ("k = r'it'", {"spark.sql.parser.escapedStringLiterals": "true"}, "r'it'"),
        ('k = "it\'s"', {"spark.sql.parser.escapedStringLiterals": "true"}, '"it\'s"'),
        (
            'k = "a"',
            {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"},
            '"a"',
        ),
    ],
)
def test_texts_that_a_setting_makes_something_else_of(written: str, settings: dict[str, str], found: str) -> None:
    with pytest.raises(Refusal) as refused:
        literals.as_read(written, settings, "4.1.4")
    assert refused.value.found == found
    assert list(settings)[-1] in refused.value.why
    assert literals.as_read("k = 'a'", settings, "4.1.4") == "k = 'a'"
