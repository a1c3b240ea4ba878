"""docs/alternatives.md against the models that benchmarks/alternatives.py measures."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODELS = sorted((ROOT / "benchmarks" / "alternative_models").glob("*.sql"))


@pytest.mark.parametrize("model", MODELS, ids=lambda file: file.stem)
def test_the_page_shows_the_model(model: Path) -> None:
    assert model.read_text() in (ROOT / "docs" / "alternatives.md").read_text()


def test_the_page_shows_the_live_window() -> None:
    program = (ROOT / "benchmarks" / "alternative_models" / "live_window.py").read_text().splitlines()
    page = (ROOT / "docs" / "alternatives.md").read_text()
    shown = page.partition("```python\n")[2].partition("```")[0].splitlines()
    assert shown and set(shown) <= set(program)
