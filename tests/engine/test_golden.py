"""The SQL that models become, kept as files: whoever changes it sees what changed.

To write them anew: UPDATE_GOLDEN=1 pytest tests/engine/test_golden.py, and read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.pruning import filters
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.diffs.stores import store_of
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.instants import T0
from support.project import Project
from support.time_macros import dbt

FOLDER = Path(__file__).parent / "golden"
AS_OF, EXPIRATION = T0, 1_711_195_200_000

TABLES = {
    "events": "id BIGINT, kind STRING, ts TIMESTAMP, ends_at TIMESTAMP, ms BIGINT, cost DECIMAL(12, 2), day DATE",
    "users": "id BIGINT, name STRING, until TIMESTAMP, plan STRUCT<level: INT, till: TIMESTAMP>, tags ARRAY<STRING>",
}

MODELS = {
    "last_30_days": "select id, kind, ts from events where mz_now() <= ts + interval 30 days",
    "validity": "select * from events where mz_now() >= ts and mz_now() < ends_at",
    "between": "select id from events where mz_now() between ts and ends_at and kind = 'a'",
    "epoch_ms": "select id from events where ms <= mz_now() and mz_now() < ms + 60000",
    "decimal_bound": "select id from events where mz_now() > cost",
    "dates": "select id from events where mz_now() >= day and mz_now() < date_add(day, 7)",
    "tumbling_hour": "select date_trunc('HOUR', ts) as hour, count(*) as n from events "
    "where mz_now() >= date_trunc('HOUR', ts) + interval 1 hour group by 1",
    "to_live_by_kind": "select id from events where mz_now() < ts + case kind when 'a' then interval 1 hour "
    "else interval 2 days end",
    "never_expires": "select id from events where ends_at is null or mz_now() < ends_at",
    "or_plain": "select id from events where mz_now() < ts or kind = 'pinned'",
    "outside": "select id from events where mz_now() not between ts and ends_at",
    "not_equal": "select id from events where mz_now() <> ts and ms != mz_now()",
    "case_of_windows": "select id from events where case when kind = 'trial' then mz_now() < ts + interval 7 days "
    "else mz_now() < ends_at end",
    "clock_minus": "select id from events where ts >= mz_now() - interval 5 minutes",
    "this_hour": "select id from events where date_trunc('HOUR', mz_now()) = date_trunc('HOUR', ts)",
    "today": "select id from events where cast(mz_now() as date) = day",
    "current_date": "select id from events where day >= current_date() - 7",
    "joined": "select e.id, u.name from events e join users u on e.id = u.id and mz_now() < u.until "
    "where mz_now() >= e.ts",
    "with_lookup": "with live as (select id, ts from events where mz_now() < ts) "
    "select live.id, u.name from live left join users u on u.id = live.id",
    "two_windows": "select id, 'soon' as w from events where mz_now() >= ts and mz_now() < ts + interval 1 hour "
    "union all select id, 'late' from events where mz_now() >= ends_at",
    "one_of_two_windows": "select kind, day from events where mz_now() < ts "
    "union select kind, null from events where mz_now() >= ends_at",
    "top_of_the_window": "select * from (select id, kind, row_number() over (partition by kind order by ts desc) as r "
    "from events where mz_now() < ts + interval 1 day) where r <= 3",
    "sums": "with recent as (select * from events where mz_now() <= ts + interval 7 days) "
    "select kind, count(*) as n, sum(cost) as cost, count_if(ms > 0) filter (where day is not null) as dated "
    "from recent group by rollup(kind) having count(*) > 1",
    "mean": "select avg(cost) as mean from events where mz_now() >= ts and mz_now() < ends_at",
    "largest": "select kind, max(cost) as largest from events where mz_now() >= ts and mz_now() < ends_at "
    "group by kind",
    "having_the_clock": "select kind, max(ts) as last from events group by kind "
    "having mz_now() < max(ts) + interval 1 day",
    "seen_at": "select id, mz_now() as seen from events where mz_now() < ends_at order by ts limit 10",
    "exists": "select id from users u where exists (select 1 from events e where e.id = u.id and mz_now() < e.ends_at)",
    "dbt_dateadd": f"select id from events where ts >= {dbt.dateadd('day', -7, 'mz_now()')}",
    "dbt_datediff": f"select id from events where {dbt.datediff('ts', 'mz_now()', 'month')} < 3",
    "fields_and_lists": "select id, tag from users lateral view explode(tags) x as tag where mz_now() < plan.till",
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, spark) -> Iterator[Warehouse]:
    project = Project(tmp_path_factory.mktemp("golden") / "project", spark)
    for name, columns in TABLES.items():
        project.sql(f"CREATE TABLE {{s}}.{name} ({columns}) USING parquet")
    before = spark.catalog.currentDatabase()
    spark.sql(f"USE {project.schema}")
    yield Warehouse(project.rows)
    spark.sql(f"USE {before}")
    project.drop()


@pytest.mark.parametrize("name", MODELS)
def test_golden(name: str, warehouse: Warehouse) -> None:
    model = understand(warehouse, MODELS[name], warehouse.settings(), "4.1.4", AS_OF)
    parts = [f"-- the model\n{MODELS[name]}"]
    for core in model.cores:
        what = "intervals" if core.sums is None else "updates of groups"
        projection = filters.projected(warehouse, core, warehouse.settings(), Range(AS_OF, EXPIRATION))
        parts.append(f"-- core {core.name}: its {what}\n{store_of(core).desired(core, AS_OF, EXPIRATION, projection)}")
    parts.append(f"-- the residual\n{render(parse(model.residual), pretty=True)}")
    parts += [f"-- note: {note}" for note in model.notes]
    text = "\n\n".join(parts) + "\n"
    file = FOLDER / f"{name}.sql"
    if os.environ.get("UPDATE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


def test_no_file_without_a_model() -> None:
    assert {f.stem for f in FOLDER.glob("*.sql")} == set(MODELS) and len(MODELS) >= 25
