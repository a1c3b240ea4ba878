"""dbt snapshot under a pinned clock: a temporal_view in it is read as at that instant, which stamps the rows."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from support.instants import T0
from support.project import Project

SEEN = """
{% snapshot seen %}
{{ config(schema='seen', unique_key='id', strategy='check', check_cols=['note'], file_format='delta',
          hard_deletes='invalidate') }}
select id, note from {{ ref('m') }}
{% endsnapshot %}
"""


def test_a_snapshot_of_each_instant(tmp_path: Path, spark: SparkSession) -> None:
    project = Project(tmp_path / "project", spark)
    project.sql(
        "CREATE TABLE {s}.events USING delta AS "
        f"SELECT id, concat('n', id) AS note, timestamp_millis({T0}L + id * 1000) AS ts FROM range(5)"
    )
    rows = "select id, note, ts from {s}.events where {now} >= ts and {now} < ts + interval 3 seconds"
    project.model("m", rows.replace("{now}", "mz_now()").replace("{s}", project.schema))
    project.write("snapshots/seen.sql", SEEN)
    project.run(now=T0)
    for after in (0, 1_000, 2_999, 3_000, 3_001, 60_000):
        project.dbt("snapshot", now=T0 + after)
        current = f"SELECT id, note FROM {project.schema}_seen.seen WHERE dbt_valid_to IS NULL"
        oracle = f"SELECT id, note FROM ({rows.replace('{now}', f'timestamp_millis({T0 + after}L)')})"
        assert sorted(project.rows(current)) == sorted(project.rows(oracle)), after
    every = project.rows(f"SELECT id, count(*) FROM {project.schema}_seen.seen GROUP BY id")
    assert sorted(every) == [(n, 1) for n in range(4)]  # row 4 came and went between two snapshots
    # row n is there for 3 s from n s on: each snapshot stamps what it finds with its own instant
    stamps = "SELECT id, unix_millis(dbt_valid_from), unix_millis(dbt_valid_to), unix_millis(dbt_updated_at)"
    from_to = [(0, 0, 3_000), (1, 1_000, 60_000), (2, 2_999, 60_000), (3, 3_000, 60_000)]
    assert sorted(project.rows(f"{stamps} FROM {project.schema}_seen.seen")) == [
        (n, T0 + first, T0 + last, T0 + first) for n, first, last in from_to
    ]
    project.sql(f"DROP DATABASE {{s}} CASCADE; DROP DATABASE {project.schema}_seen CASCADE")
