"""What is left before a release, which changes need a line in the changelog, what README.md is in a package."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "tests" / "packaging"
Load = Callable[[Path], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load a file that is no module of a package."""
    monkeypatch.syspath_prepend(str(PACKAGING))
    # a build has an environment of its own with hatchling, of which the hooks need two base classes
    for name, base in (("builders.hooks", "BuildHookInterface"), ("metadata", "MetadataHookInterface")):
        interface = ModuleType("interface")
        setattr(interface, base, object)
        monkeypatch.setitem(sys.modules, f"hatchling.{name}.plugin.interface", interface)

    def loaded(place: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(place.stem, place)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.mark.parametrize(
    "place",
    [PACKAGING / "release_check.py", PACKAGING / "changelog_gate.py", ROOT / "hatch_build.py"],
    ids=lambda place: place.stem,
)
def test_examples(load: Load, place: Path) -> None:
    done = doctest.testmod(load(place))
    assert done.attempted and not done.failed


def test_readme_of_a_package_leads_into_the_repository(load: Load) -> None:
    """Each path of README.md is there, and has the address before it."""
    text = (ROOT / "README.md").read_text()
    hook = load(ROOT / "hatch_build.py")
    paths = [found["path"].partition("#")[0] for found in hook._RELATIVE.finditer(text)]
    assert len(paths) > 15 and not [path for path in paths if not (ROOT / path).exists()]
    made = hook.with_address(text, "https://h/o/n/", "v1.0.0")
    assert not hook._RELATIVE.search(made)
    addresses = re.findall(r"https://h/o/n/(?:blob|raw)/v1\.0\.0/([^)\"#]+)", made)
    assert addresses == paths
