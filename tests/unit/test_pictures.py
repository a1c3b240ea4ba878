"""The pictures of the documentation are what their scripts write."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def test_the_window() -> None:
    spec = importlib.util.spec_from_file_location("window", IMAGES / "window.py")
    assert spec is not None and spec.loader is not None
    window = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(window)
    drawn = (IMAGES / "window.svg").read_text()
    assert drawn == window.picture()
    ElementTree.fromstring(drawn)
    assert [(first, ids) for first, _, ids in window.answers()][:3] == [(0, ()), (2, (1,)), (9, (1, 2))]
    assert window.answers()[-1][2] == ()
