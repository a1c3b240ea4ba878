"""The project of the flights, and the modules beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
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


def build_flights(connection: dict[str, Any], folder: Path) -> None:
    """`dbt build` of the flights by a profile of that connection, at noon: all of them, and the views once more."""
    profile = {"target": "dev", "outputs": {"dev": connection}}
    (folder / "profiles.yml").write_text(json.dumps({"flights": profile}))
    with of_the_flights("flights") as modules:
        data = modules.flights.unpack(folder / "data")
    variables = json.dumps({"data_path": str(data), "data_now": NOON, "temporal_now": NOON})
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(folder), "--target-path", str(folder / "target")]
    for select in ([], ["-s", "views"]):
        arguments = ["--quiet", "build", *folders, "--log-path", str(folder), "--vars", variables, *select]
        found = dbtRunner().invoke(arguments)
        assert found.result and found.result.results, found.exception
        built = {r.node.name: str(r.status) for r in found.result.results}
        assert len(built) > 20 and set(built.values()) <= {"success", "pass"}, built
