"""docs/tutorial.md and the example of README.md, as they stand: what they show is what their commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.listings import follow
from support.project import Project


@pytest.mark.landing
def test_the_tutorial(project: Project) -> None:
    try:
        assert follow(project, "tutorial.md") > 8
    finally:
        project.drop_schema("tutorial")


@pytest.mark.landing
def test_the_example_of_the_readme(project: Project) -> None:
    """Its model, run over the one event, prints what stands below it."""
    text = (Path(__file__).parents[2] / "README.md").read_text()
    model = next(block for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if "temporal_view" in block)
    shown = next(block for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL) if "$ dbt run" in block)
    event = "1 AS id, 'hello' AS content, timestamp'2024-03-01 12:00:00' AS event_ts"
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS SELECT {event}")
    project.write("models/recent_events.sql", model.replace("{{ ref('events') }}", f"{project.schema}.events"))
    printed = project.run(now="2024-03-02 09:00:00").text
    query = re.search(r'--inline "(.*)"', shown)
    assert query is not None
    printed += project.dbt("show", "--inline", query[1]).text
    lines = [line.partition("…")[0] for line in shown.splitlines() if line and not line.startswith("$")]
    lines = [line[: line.rindex("|") + 1] if "|" in line else line for line in lines]  # without the remarks
    assert len(lines) == 5 and [line for line in lines if line not in printed] == [], printed
