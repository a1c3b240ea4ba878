"""The as-of of a run above temporal views whose clocks were ahead of this one's."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.inputs.views import upstream
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from dbt.adapters.sparktemporal.temporal.sql.text.identifiers import Identifiers
from support.instants import T0

SECOND = 1000


@pytest.mark.parametrize("ahead", [(-5, 59, 0), (0, 50, 100), (59, 60, 0)])
def test_the_order_of_inputs_decides_nothing(ahead: tuple[int, ...]) -> None:
    """Less than a minute is the difference of two clocks; a minute or more is not, whichever input comes first."""
    said = set()
    for order in permutations(ahead):
        states: dict[str, Any] = {f"`s`.`i{by}`": SimpleNamespace(frontier=T0 + by * SECOND) for by in order}
        try:
            said.add(upstream.latest("m", states, Invocation(T0, T0 + 9 * SECOND, {}, "")))
        except TemporalError as error:
            said.add(str(error).partition("\n")[0])
    (one,) = said
    late = "ST413 found: a run of m at 2024-03-01 12:00:00.000 UTC, before the last change captured by its input "
    assert one == T0 + 59 * SECOND if max(ahead) < 60 else str(one).startswith(f"{late}i{max(ahead)}, ")


def test_an_invocation_that_lasts() -> None:
    """Another one may have run the inputs meanwhile: the clock has gone on since the instant of the invocation."""
    states: dict[str, Any] = {"`s`.`i`": SimpleNamespace(frontier=T0 + 3600 * SECOND)}
    lasting = Invocation(T0, T0 + 3541 * SECOND, {}, "", pinned=False)
    assert upstream.latest("m", states, lasting) == T0 + 3600 * SECOND
    for other in (replace(lasting, pinned=True), replace(lasting, engine_now=T0 + 3540 * SECOND)):
        with pytest.raises(TemporalError, match="ST413 found: a run of m at"):
            upstream.latest("m", states, other)


@pytest.mark.parametrize(
    ("key", "beside", "found"),
    [
        ("prod.m", "`Prod`", ("`Prod`", "M")),
        ("prod.m", "`dev`", ("`Prod`", "M")),
        ("lake.prod.m", "`prod`", ("`lake`.`Prod`", "M")),
        ("here.prod.m", "`Prod`", ("`Prod`", "M")),
        ("`b.c`.m", "`dev`", ("`b.c`", "m")),
    ],
)
def test_a_key_is_found_in_any_case_and_catalog(key: str, beside: str, found: tuple[str, str]) -> None:
    """Keys of three parts, and a catalog that finds names only as they were written."""
    asked: list[str] = []
    warehouse: Any = SimpleNamespace(
        catalog=lambda: "here",
        rows=lambda sql: asked.append(sql) or [("dev",), ("Prod",)],
        beginning=lambda schema, prefix, suffix: Identifiers(["M__live"] if "Prod" in schema else []),
    )
    there = upstream._as_written(warehouse, key, beside)
    assert (there.schema, there.model) == found
    assert set(asked) <= {"SHOW SCHEMAS", "SHOW SCHEMAS IN `lake`"}
