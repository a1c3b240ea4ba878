"""Many parameters of one kind: make test tries some of them, each landing all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def each(step: int, values: Iterable[Any]) -> list[Any]:
    """The values as parameters of a test; make test takes the first and each step-th after it.

    A tuple is the values of several names.
    """
    several = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*v, marks=[pytest.mark.landing] if n % step else []) for n, v in enumerate(several)]


def asked(request: pytest.FixtureRequest, name: str) -> list[Any]:
    """The values of a parameter that tests of the module will have in this run: what a fixture of theirs prepares."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    of_module = (item.callspec.params for item in items if item.module is request.module and hasattr(item, "callspec"))
    return [params[name] for params in of_module if name in params]
