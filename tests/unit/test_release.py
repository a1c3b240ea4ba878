"""What is left before a release, and which changes need a line in the changelog: the examples in the docstrings."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[1] / "packaging"


@pytest.mark.parametrize("name", ["release_check", "changelog_gate"])
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PACKAGING))
    spec = importlib.util.spec_from_file_location(name, PACKAGING / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    done = doctest.testmod(module)
    assert done.attempted > 1 and not done.failed
