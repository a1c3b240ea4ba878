"""What tests/engines asks at which instants, and how it compares the values of several engines."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from support.instants import DAY, HOUR
from support.readers import Answer, Compared, Question, bag, difference, five, plain, table


@pytest.mark.parametrize(
    ("own", "last", "instants"),
    [
        ([30, 10, 20], None, [19, 20, 21, 25, 30]),
        ([20, 20], None, [19, 20, 21, 20 + HOUR // 2, 0]),
        ([0, -5], None, [0, 1, HOUR, DAY, 30 * DAY]),
        ([10, 20], 15, [0, 1, 9, 10, 11]),
    ],
)
def test_five_instants(own: list[int], last: int | None, instants: list[int]) -> None:
    assert five(own, 0, last) == sorted(instants)


IN_TWO_HOURS = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, Decimal("1.00"), True),
        (1, 2, False),
        (None, 0, False),
        (None, "", False),
        (0.1 + 0.2, 0.3, True),
        (0.3, 0.30001, False),
        (-0.0, 0.0, True),
        (float("nan"), float("nan"), True),
        (bytearray(b"a"), b"a", True),
        ({"a": 1, "b": None}, {"b": None, "a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ([1, [2]], (1, (2,)), True),
        ([1, 2], [2, 1], False),
        (datetime(2024, 1, 1, 2, tzinfo=IN_TWO_HOURS), datetime(2024, 1, 1), True),
        (datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1000), False),
    ],
)
def test_values_of_two_engines(one: Any, other: Any, equal: bool) -> None:
    assert (plain(one) == plain(other)) == equal


def test_bags_of_rows() -> None:
    rows = [(1, "a"), (1, "a"), (2, None)]
    ours = Answer(bag(rows))
    assert not difference(ours, Answer(bag(reversed(rows))))
    assert "lacking" in difference(ours, Answer(bag(rows[1:])))
    assert difference(ours, Answer(bag(rows[1:]))) == "other rows: {} too much, {(1, 'a'): 1} lacking"
    assert difference(ours, Answer(None, "no\n function")) == "no function"


def test_the_table_counts_each_kind() -> None:
    questions = [Question(name, "", instants=(1, 2)) for name in "abc"]
    ours = {name: Answer(Counter({(1,): 2}), seconds=1.0) for name in "abc"}
    theirs = {
        "a": ours["a"],
        "b": Answer(None, "no"),
        "c": Answer(Counter({(1,): 1}), native=["CometScan"], left=["Sort"]),
    }
    found = {name: difference(ours[name], theirs[name]) for name in "abc"}
    lines = list(table([Compared("g", "Spark", questions, ours, {}), Compared("g", "Comet", questions, theirs, found)]))
    assert [line.split()[:7] for line in lines[1:]] == [
        ["Spark", "3", "6", "6", "3", "0", "0"],
        ["Comet", "3", "6", "3", "1", "1", "1"],
    ]
    assert lines[2].endswith("1 of 2 operators are Comet's")
