"""What is left before a release, which changes need a line in the changelog, what README.md is in a package."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import changelog_gate
import release_check

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hatch_build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A build has an environment of its own with hatchling, of which the hooks need two base classes."""
    for name, base in (("builders.hooks", "BuildHookInterface"), ("metadata", "MetadataHookInterface")):
        interface = ModuleType("interface")
        setattr(interface, base, object)
        monkeypatch.setitem(sys.modules, f"hatchling.{name}.plugin.interface", interface)
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("hatch_build")


def test_examples(hatch_build: ModuleType) -> None:
    for module in (release_check, changelog_gate, hatch_build):
        done = doctest.testmod(module)
        assert done.attempted and not done.failed, module.__name__


def test_readme_of_a_package_leads_into_the_repository(hatch_build: ModuleType) -> None:
    """Each path of README.md is there, and has the address before it."""
    text = (ROOT / "README.md").read_text()
    paths = [found["path"].partition("#")[0] for found in hatch_build._RELATIVE.finditer(text)]
    assert len(paths) > 15 and not [path for path in paths if not (ROOT / path).exists()]
    made = hatch_build.with_address(text, "https://h/o/n/", "v1.0.0")
    assert not hatch_build._RELATIVE.search(made)
    addresses = re.findall(r"https://h/o/n/(?:blob|raw)/v1\.0\.0/([^)\"#]+)", made)
    assert addresses == paths
