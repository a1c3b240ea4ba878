"""What operations show: for people as a table, for machines as JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.looking import report_charts, sizes, status, tables
from dbt.adapters.sparktemporal.looking.run_operations import RunOperations
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError

COLUMNS = {"name": str, "rows": int, "share": float, "is_on": bool}


def test_as_text_and_as_json() -> None:
    rows = [{"name": "m", "rows": 1_234_567, "share": 0.5, "is_on": True}, {"name": "null"}]
    shown = tables.table(COLUMNS, rows)
    lines = tables.printed(shown).splitlines()
    assert lines[0].split() == ["|", "name", "|", "rows", "|", "share", "|", "is_on", "|"]
    assert lines[2].split() == ["|", "m", "|", "1234567", "|", "0.5", "|", "True", "|"]
    assert json.loads(tables.printed(shown, "json")) == [
        {"name": "m", "rows": 1_234_567, "share": 0.5, "is_on": True},
        {"name": "null", "rows": None, "share": None, "is_on": None},
    ]
    assert json.loads(tables.printed(tables.table(COLUMNS, []), "json")) == []
    assert tables.printed(tables.table(COLUMNS, [])).count("\n") == 1


def test_long_texts_go_on_in_rows_of_their_own() -> None:
    text = " ".join(f"word{n}" for n in range(60))
    shown = tables.table({"about": str, "rows": int}, [{"about": text, "rows": 7}, {"about": "x" * 250, "rows": None}])
    lines = tables.printed(shown).splitlines()
    assert max(map(len, lines)) < 120
    cells = [line.split("|")[1].strip() for line in lines[2:]]
    assert " ".join(cells[:-3]) == text and "".join(cells[-3:]) == "x" * 250
    assert [row["about"] for row in json.loads(tables.printed(shown, "json"))] == [text, "x" * 250]


def test_the_status_of_one_model_and_of_several() -> None:
    facts = {"model": "m", "schema": "s", "state": status.ANSWERS, "rows": 5, "seconds_to_expiration": 90_061.5}
    one = tables.printed(status.for_people(status.as_table([facts])))
    assert "| rows " in one and "90,061.5" in one and "expiration_reason" not in one
    told = {"since": "2024", "frontier": "2025", "seconds_since_frontier": 7.0, "chains": 1}
    one = tables.printed(status.for_people(status.as_table([{**facts, **told}])))
    assert re.findall(r"^\| (\w+) +\| (?:2024|2025|7) +\|$", one, flags=re.MULTILINE) == [
        "readable_from", "last_change_captured", "seconds_since_change",
    ]  # fmt: skip
    assert set(told) <= json.loads(tables.printed(status.as_table([{**facts, **told}]), "json"))[0].keys()
    for format, is_explained in (("table", True), ("json", False)):
        printed = RunOperations.temporal_printed(None, status.as_table([facts]), format)
        assert printed.endswith(status.WORDS) == is_explained
    assert "last change captured" in status.for_people(status.as_table([facts, facts])).column_names
    both = status.for_people(status.as_table([facts, {"model": "n", "schema": "s", "state": status.NOT_RUN}]))
    assert both.columns["left"].values() == ("1 day 1 hour", None)
    assert [row["state"] for row in both.rows] == [status.ANSWERS, status.NOT_RUN]
    assert status.for_people(status.as_table([])).columns["model"].values() == ()


def test_the_charts_of_a_report() -> None:
    """Bars stand on the zero line, the curve has a point an hour, marks that are near have labels on other lines."""
    chart = report_charts.bars([(4, 0), (0, 2), (0, 0)], ["a", "b", "c"])
    assert [(bar.kind, bar.text) for bar in chart.bars] == [("in", "a: 4 enter"), ("out", "b: 2 leave")]
    first, second = chart.bars
    assert first.y + first.height == chart.zero == second.y and abs(first.height - 2 * second.height) < 0.1
    assert not report_charts.bars([(0, 0)], ["a"]).bars
    curve = report_charts.curve([(0, 10), (1, 5), (2, 0)], 2, ["a", "b", "c"])
    assert curve.path.startswith("M") and curve.path.count("H") == 2 and len(curve.dots) == 3
    assert report_charts.curve([], 2, []).path == "" and curve.level is None
    assert report_charts.curve([(0, 7), (1, 7)], 2, ["a", "b"]).level == 7
    line = report_charts.timeline({"started": 0, "frontier": 10, "now": 1000}, 1000, (0, 10), None)
    assert [mark.line for mark in line.marks] == [0, 1, 0] and line.lines == 2 and line.begin < line.frontier < line.end


def test_the_sizes_of_many_chains() -> None:
    """A statement for each hundred; of those that name a table that is gone nothing is told, nor of a hidden name."""
    asked: list[str] = []

    def rows(sql: str) -> list[tuple[Any, ...]]:
        if "current_catalog" in sql:
            return [("spark_catalog",)]
        asked.append(sql)
        if "`gone`" in sql:
            raise SparkError("[TABLE_OR_VIEW_NOT_FOUND] it is gone")
        return [(int(n), 10 + int(n)) for n in re.findall(r"SELECT (\d+) AS mz_n", sql) if n != "7"]

    chains = [sizes.Stored(f"`s`.`c{n}`", "parquet") for n in range(150)]
    chains += [sizes.Stored(f"`s`.`hides{n}`", "parquet", True) for n in range(3)] + [sizes.Stored("`gone`", "parquet")]
    found = sizes.of_chains(Warehouse(rows), chains)
    assert len(asked) == 2 and found == {f"`s`.`c{n}`": 0 if n == 7 else 10 + n for n in range(100)}
    asked.clear()
    assert len(sizes.of_chains(Warehouse(rows), chains[:150])) == 150 and len(asked) == 2
    sizes.of_chains(Warehouse(rows), [sizes.Stored("`s`.`i`", "iceberg")])
    assert "FROM `s`.`i`.files" in asked[-1]
