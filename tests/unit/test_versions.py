"""The table of docs/versions.md: what the targets of make wrote down, a row for each pair that pyproject admits."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path

import pytest

import version_matrix as matrix

ROOT = Path(__file__).parents[2]


def test_the_table_is_what_was_written_down() -> None:
    rows = json.loads(matrix.RESULTS.read_text())
    table = matrix.PAGE.read_text().partition(matrix.BEGIN)[2].partition(matrix.END)[0].strip()
    assert table == matrix.rendered(rows)
    assert not [row for row in rows if row["outcome"].startswith("failed")]


def test_a_pair_that_was_not_run_has_a_row() -> None:
    lines = matrix.rendered([]).splitlines()[2:]
    assert len(lines) == len(matrix.SPARK) * len(matrix.DBT) and all(line.endswith("|  | not run |") for line in lines)


@pytest.mark.parametrize(("package", "of"), [("pyspark", "SPARK"), ("dbt-core", "DBT")])
def test_ranges_admit_what_passed_and_what_the_matrix_tries(package: str, of: str) -> None:
    """The first and the last minor version that a range admits have passed, and are those of the matrix."""
    field = "spark" if of == "SPARK" else package
    rows = [row for row in json.loads(matrix.RESULTS.read_text()) if row["outcome"].startswith("passed")]
    passed = {tuple(map(int, row[field].split(".")[:2])) for row in rows}
    tried = [tuple(map(int, minor.split("."))) for minor in getattr(matrix, of)]
    ranges = re.findall(
        rf'"{package}(?:\[connect\])?>=(\d+)\.(\d+),<(\d+)\.(\d+)', (ROOT / "pyproject.toml").read_text()
    )
    assert ranges and len(passed) > 1
    for low, least, high, above in ranges:
        first, last = (int(low), int(least)), (int(high), int(above) - 1)
        assert min(passed) == min(tried) == first and max(passed) == max(tried) == last


def test_pins_admit_the_oldest_python() -> None:
    """`pip install -c constraints.txt` works with the oldest Python: a pin that needs a younger one says so."""
    project = (ROOT / "pyproject.toml").read_text()
    (oldest,) = map(int, re.findall(r'requires-python = ">=3\.(\d+)"', project))
    refused, checked = [], 0
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        name, _, rest = line.partition("==")
        version, _, marker = rest.partition(";")
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # what another target of make installs
        if found.version != version.strip() or marker:
            continue
        checked += 1
        needed = found.metadata.get("Requires-Python", "")
        if any(int(least) > oldest for least in re.findall(r">=? *3\.(\d+)", needed)):
            refused.append(f"{line} needs Python {needed}")
    assert checked > 40 and not refused
