"""The as-of of a run above temporal views whose clocks were ahead of this one's."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.inputs.views import upstream
from support.instants import T0

SECOND = 1000


@pytest.mark.parametrize("ahead", [(-5, 59, 0), (0, 50, 100), (59, 60, 0)])
def test_the_order_of_inputs_decides_nothing(ahead: tuple[int, ...]) -> None:
    """Less than a minute is the difference of two clocks; a minute or more is not, whichever input comes first."""
    said = set()
    for order in permutations(ahead):
        states: dict[str, Any] = {f"`s`.`i{by}`": SimpleNamespace(frontier=T0 + by * SECOND) for by in order}
        try:
            said.add(upstream.latest("m", states, T0))
        except TemporalError as error:
            said.add(str(error).partition("\n")[0])
    (one,) = said
    late = "ST413 found: a run of m at 2024-03-01 12:00:00.000 UTC, before the last change captured by its input "
    assert one == T0 + 59 * SECOND if max(ahead) < 60 else str(one).startswith(f"{late}i{max(ahead)}, ")
