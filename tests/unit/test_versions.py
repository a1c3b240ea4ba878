"""README's table of versions is that of `docs/versions.json`, and pyproject's ranges are those that passed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = json.loads((ROOT / "docs" / "versions.json").read_text())


def test_readme_shows_the_rows() -> None:
    text = (ROOT / "README.md").read_text()
    shown = text.partition("<!-- versions: begin -->\n")[2].partition("\n<!-- versions: end -->")[0].splitlines()
    names = ("method", "catalog", "format", "spark", "dbt-core", "outcome")
    assert shown[2:] == [f"| {' | '.join(row[name] for name in names)} |" for row in ROWS] and len(ROWS) > 5


@pytest.mark.parametrize(("package", "field"), [("pyspark", "spark"), ("dbt-core", "dbt-core")])
def test_the_ranges_are_what_passed(package: str, field: str) -> None:
    wanted = re.search(rf'"{package}>=([\d.]+),<(\d+)\.(\d+)', (ROOT / "pyproject.toml").read_text())
    assert wanted is not None
    passed = {tuple(map(int, row[field].split(".")[:2])) for row in ROWS if row["outcome"].startswith("passed")}
    assert min(passed) == tuple(map(int, wanted[1].split("."))), passed
    assert max(passed) == (int(wanted[2]), int(wanted[3]) - 1), passed
