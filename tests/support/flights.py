"""The project of the flights, and the modules beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

PROJECT = Path(__file__).parents[2] / "integration_tests"


@contextmanager
def of_the_flights(*names: str) -> Iterator[SimpleNamespace]:
    """Modules of the project, imported as `make demo` imports them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PROJECT))
        yield SimpleNamespace(**{name: import_module(name) for name in names})
