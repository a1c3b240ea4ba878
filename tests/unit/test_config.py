"""The configs of a model: each mistake is told with what was found, why, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.other_configs import not_carried_out

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "full_read": (
        {"full_read": "maybe"},
        "ST108 found: full_read: 'maybe'\nwhy: this value is not known\ninstead: one of allow, warn, error",
    ),
    "full_read of all": (
        {"full_read": "warn", "change_capture": "full"},
        "ST104 found: full_read: 'warn', change_capture: 'full'\nwhy: every run of this model reads all of its inputs\n"
        "instead: one of the two",
    ),
    "store_late": (
        {"store_late": "yes"},
        "ST109 found: store_late: 'yes'\nwhy: this is neither true nor false\ninstead: true or false",
    ),
    "at_function": (
        {"at_function": 3},
        "ST109 found: at_function: 3\nwhy: this is neither true nor false\ninstead: true or false",
    ),
    "capture": (
        {"change_capture": "cdc"},
        "ST108 found: change_capture: 'cdc'\nwhy: this value is not known\ninstead: one of auto, full, append",
    ),
    "misspelt": (
        {"expirations": "1 day"},
        "ST101 found: expirations: '1 day'\nwhy: there is no such config\ninstead: expiration",
    ),
    "a key": (
        {"unique_key": ["id", "at"], "incremental_strategy": "merge"},
        "ST113 found: unique_key: ['id', 'at']\nwhy: a merge keeps the last row of each key, and a temporal_view has "
        "all rows of its query\ninstead: the query says so: row_number() OVER (PARTITION BY id, at ORDER BY … DESC) = "
        "1 above the window, or max_by(…) by key (docs/howto/migrate-incremental.md). Where each key comes once, no "
        "unique_key",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    config, text = MISTAKES[mistake]
    with pytest.raises(TemporalError) as raised:
        TemporalConfig.parse("m", config)
    assert str(raised.value) == f"the configuration of temporal_view m cannot be used\n{text}"


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(TemporalError) as raised:
        TemporalConfig.parse("m", {"full_read": "no", "store_late": 2, "aggregates": "sums"})
    assert str(raised.value).count("instead: ") == 3


def test_configs_that_do_nothing() -> None:
    line = not_carried_out({"partition_by": "day", "buckets": 4, "location_root": "/lake", "on_schema_change": "fail"})
    assert line.startswith("configs that do nothing here: on_schema_change (a run after a change of the query rebuilds")
    assert (
        "; partition_by, buckets (chains have partitions of their own" in line and "; location_root (chains are" in line
    )
    # what dbt itself fills in, and what a temporal_view carries out
    assert not not_carried_out({"on_schema_change": "ignore", "unique_key": None, "file_format": "delta", "alias": "a"})


def test_defaults() -> None:
    parsed = TemporalConfig.parse("m", {"full_read": None, "store_late": False, "at_function": True})
    assert (parsed.full_read, parsed.store_late, parsed.at_function) == ("allow", False, True)


def test_a_wrong_config_is_told_once() -> None:
    """What it would mean beside others is not known: no second line says that the default of it does not fit."""
    with pytest.raises(TemporalError) as told:
        TemporalConfig.parse(
            "m", {"change_capture": "apend", "append_column": "id", "refresh_at": "2024-01-01", "refresh_every": "x"}
        )
    assert str(told.value).count("found: ") == 2 and "in whose order" not in str(told.value)
    assert "has no meaning without" not in str(told.value)
