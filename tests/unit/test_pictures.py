"""The pictures of the documentation are what their scripts write."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

IMAGES = Path(__file__).parents[2] / "docs" / "images"
REPOSITORY = IMAGES.parents[1]
PACKAGE = REPOSITORY / "dbt" / "adapters" / "sparktemporal"


def drawn_by(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A script of docs/images, whose picture is as the script draws it."""
    monkeypatch.syspath_prepend(IMAGES)
    script = importlib.import_module(name)
    drawn = (IMAGES / f"{name}.svg").read_text()
    assert drawn == script.picture(), f"python docs/images/{name}.py"
    ElementTree.fromstring(drawn)
    return script


def test_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    window = drawn_by("window", monkeypatch)
    assert [(first, ids) for first, _, ids in window.answers()][:3] == [(0, ()), (2, (1,)), (9, (1, 2))]
    assert window.answers()[-1][2] == ()


def test_the_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each station names files that are there. The tables of docs/architecture.md have the stations in this order."""
    paths = drawn_by("paths", monkeypatch)
    page = (IMAGES.parent / "architecture.md").read_text()
    for title, stations in (("model", paths.PATH_OF_A_MODEL), ("run", paths.PATH_OF_A_RUN)):
        section = page.partition(f"## The path of a {title}\n")[2].partition("\n## ")[0]
        rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
        assert rows[1:] == [one.name for one in stations]
        for module in (name for one in stations for name in one.modules):
            beside = (PACKAGE / module, PACKAGE / f"{module}.py", REPOSITORY / module)
            assert any(file.exists() for file in beside), module


def test_the_expiration(monkeypatch: pytest.MonkeyPatch) -> None:
    expiration = drawn_by("expiration", monkeypatch)
    assert [last for _, last, *_ in expiration.READS][:-1] == [at for at, _ in expiration.MARKS.values()][1:]


def test_the_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model of the page has its picture."""
    monkeypatch.syspath_prepend(IMAGES)
    patterns = importlib.import_module("patterns")
    drawn = {file.stem: file.read_text() for file in (IMAGES / "patterns").glob("*.svg")}
    assert drawn == {name: patterns.picture(name) for name in patterns.PATTERNS}, "python docs/images/patterns.py"
    for picture in drawn.values():
        ElementTree.fromstring(picture)
    page = (IMAGES.parent / "howto" / "patterns.md").read_text()
    assert re.findall(r"-- models/(\w+)\.sql", page) == list(patterns.PATTERNS)
    assert re.findall(r"\(\.\./images/patterns/(\w+)\.svg\)", page) == list(patterns.PATTERNS)
    assert [line.name for line in patterns.PATTERNS["hops"] if line.is_shown] == ["from 0", "from 10", "from 20"]
