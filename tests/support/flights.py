"""The project of the flights, and the modules beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.cli.main import dbtRunner

NOON = "2024-03-01 12:00:00"
PROJECT = Path(__file__).parents[2] / "integration_tests"


@contextmanager
def of_the_flights(*names: str) -> Iterator[SimpleNamespace]:
    """Modules of the project, imported as `make demo` imports them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PROJECT))
        yield SimpleNamespace(**{name: import_module(name) for name in names})


def flights_with(profile: dict[str, Any], folder: Path) -> Callable[..., dict[str, str]]:
    """`dbt build` of the flights under a profile, at noon: arguments -> node and its status."""
    (folder / "profiles.yml").write_text(json.dumps({"flights": profile}))
    with of_the_flights("flights") as modules:
        data = modules.flights.unpack(folder / "data")
    variables = json.dumps({"data_path": str(data), "data_now": NOON, "temporal_now": NOON})
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(folder), "--target-path", str(folder / "target")]

    def build(*select: str) -> dict[str, str]:
        arguments = ["--quiet", "build", *folders, "--log-path", str(folder), "--vars", variables, *select]
        found = dbtRunner().invoke(arguments)
        assert found.result and found.result.results, found.exception
        return {r.node.name: str(r.status) for r in found.result.results}

    return build
