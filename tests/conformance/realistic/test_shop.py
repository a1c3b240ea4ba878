"""A shop's project is migrated by the edits of docs/howto, and answers as the models that it had.

shop/ has the models as an analytics engineer writes them for plain dbt: views, tables, incremental models that append,
merge and overwrite partitions, with a clock of Spark's or a macro of dbt's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.domains import answers, differences, put_in, stored_instants, written_at
from support.instants import DAY, HOUR, T0
from support.migration import migrated, with_the_last_of_each_key
from support.project import Project, Result

SHOP = Path(__file__).parent / "shop"
MODELS = {path.stem: path for path in sorted(SHOP.rglob("*.sql"))}
TABLES = yaml.safe_load((SHOP / "tables.yml").read_text())
#: from one run to the next
LATER = T0 + HOUR
#: by how much the models move the clock (ms)
LENGTHS = (0, HOUR, DAY, 2 * DAY, -3 * DAY, 3 * DAY, 7 * DAY, 30 * DAY, 90 * DAY)
MERGED, PARTITIONED = "latest_customers", "daily_revenue"

#: model -> how it is kept after the migration
VIEWS = ("customer_revenue", "dashboard")
#: models that took the rows after their newest one, or that they had not
INCREMENTAL = ("recent_payments", MERGED, "left_baskets")
#: model -> words of its first run as a temporal_view
TOLD = {
    "recent_payments": "configs that do nothing here: incremental_strategy (a run merges nothing into a table",
    "left_baskets": "configs that do nothing here: incremental_strategy",
    "daily_revenue": "partition_by (chains have partitions of their own",
    "open_orders": "the table of that name is dropped",
}
REFUSED = (
    "found: unique_key: 'customer_id'",
    "why: a merge keeps the last row of each key, and a temporal_view has all rows of its query",
    "instead: the query says so: row_number() OVER (PARTITION BY customer_id ORDER BY … DESC) = 1 above the window",
)


@pytest.mark.deep
@pytest.mark.own_catalog
def test_a_shop_is_migrated(project: Project, small_plans: Any) -> None:
    """The project as it was; the same rows after the edits; the incremental models again, after rows that came late."""
    before = {name: path.read_text() for name, path in MODELS.items()}
    after = migrated(before)
    assert len(after) == 13
    create(project)
    write(project, before)
    ran = project.run("--threads", "2", now=T0, check=False)
    written = {r.node.name: r.node.compiled_code for r in ran.results if r.node.name in after}
    # a merge needs a table of Delta or Iceberg, which this session has not
    assert failed(ran) == {MERGED: "Compilation Error"}, ran.text
    in_table = project.columns(PARTITIONED)
    wrong = [f"before: {one}" for name in after if name != MERGED for one in shown(project, name, written, T0)]

    write(project, after)
    ran = project.run("--threads", "2", now=T0, check=False)
    assert set(failed(ran)) == {MERGED}, ran.text
    refusal = ran.of(MERGED).message
    wrong += [f"{words!r} is not in the refusal: {refusal}" for words in REFUSED if words not in refusal]
    wrong += [f"{name} does not tell {words!r}" for name, words in TOLD.items() if words not in told(ran, name)]
    wrong += [f"migrated: {one}" for one in differing(project, ran, written, T0, boundaries=2)]
    # in a table the columns of its partitions are the last ones
    assert in_table == ["method", "payments", "revenue", "day"]
    assert project.columns(PARTITIONED) == by_query(project, written[PARTITIONED])

    change(project)
    write(project, {MERGED: with_the_last_of_each_key(before[MERGED], after[MERGED])})
    ran = project.run("-s", *INCREMENTAL, "--threads", "2", now=LATER)
    wrong += [f"an hour later: {one}" for one in differing(project, ran, written, LATER, boundaries=1)]
    assert not wrong, "\n" + "\n".join(wrong)


def create(project: Project) -> None:
    for name, table in TABLES.items():
        project.sql(f"CREATE TABLE {{s}}.{name} ({', '.join(map(' '.join, table['columns'].items()))}) USING parquet")
        insert(project, name, table["rows"])
    sources = {"name": "raw", "schema": project.schema, "tables": [{"name": name} for name in TABLES]}
    project.properties({"sources": [sources]})


def insert(project: Project, name: str, rows: str) -> None:
    columns = TABLES[name]["columns"]
    items = ", ".join(f"CAST({c} AS {kind}) AS {c}" for c, kind in columns.items())
    project.sql(f"INSERT INTO {{s}}.{name} SELECT {items} FROM VALUES {rows} AS v({', '.join(columns)})")


def change(project: Project) -> None:
    """What came to the tables within the hour: new rows, late rows, a row twice, an order that was shipped."""
    for name, table in TABLES.items():
        if "append" in table:
            insert(project, name, table["append"])
        if "overwrite" in table:
            project.sql(f"CREATE TABLE {{s}}.changed USING parquet AS {table['overwrite']}")
            project.sql(f"INSERT OVERWRITE {{s}}.{name} SELECT * FROM {{s}}.changed; DROP TABLE {{s}}.changed")


def write(project: Project, models: Mapping[str, str]) -> None:
    for name, text in models.items():
        project.write(f"models/{MODELS[name].relative_to(SHOP)}", text)


def failed(ran: Result) -> dict[str, str]:
    """Model -> the first words of its error."""
    return {r.node.name: str(r.message).strip().partition(" in ")[0] for r in ran.results if str(r.status) != "success"}


def by_query(project: Project, text: str) -> list[str]:
    """The columns of a query, in its order."""
    return list(project.spark.sql(text).columns)


def told(ran: Result, name: str) -> str:
    """What dbt prints of a model."""
    return "\n".join(line for line in ran.log if f"temporal_view {name}" in line)


def differing(project: Project, ran: Result, written: Mapping[str, str], now: int, boundaries: int) -> list[str]:
    """What the models of a run do not share with the old ones: at boundaries, 1 ms beside them, and a year later."""
    built = {r.node.name for r in ran.results if r.node.name in written and str(r.status) == "success"}
    views, of_tables = built & set(VIEWS), moments(project, now)
    instants = {name: instants_of(project, name, now, of_tables, boundaries) for name in sorted(built - views)}
    of_views = [now, *spread(sorted({t for times in instants.values() for t in times[1:-1]}), 3)] if views else []
    reads = {name: project.at_each(name, {*times, *of_views}) for name, times in instants.items()}
    instants |= dict.fromkeys(views, of_views)

    def read(name: str, t: int) -> str:
        if name in reads:
            return reads[name][t]
        text = ran.of(name).node.compiled_code  # a view, with what it reads as at the instant
        return f"({put_in(text, project, {below: read(below, t) for below in instants if below in named(text)})})"

    def compared(name: str) -> list[str]:
        found = answers(project, {t: f"SELECT * FROM {read(name, t)}" for t in instants[name]})
        asked = wanted(project, name, written, instants[name])
        none = [] if any(asked.values()) else [f"{name} has rows at none of the instants"]
        return none + [f"{name} {one}" for one in differences(found, asked)]

    with ThreadPoolExecutor(2) as pool:
        wrong = [one for found in pool.map(compared, instants) for one in found]
    # dbt pinned the views of this run to its clock
    return wrong + [one for name in views for one in shown(project, name, written, now)]


def named(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def shown(project: Project, name: str, written: Mapping[str, str], now: int) -> list[str]:
    """How the rows of a relation differ from those of the old model at the instant of the run."""
    columns = ", ".join(by_query(project, written[name]))
    found = answers(project, {now: f"SELECT {columns} FROM {project.schema}.{name}"})
    return [f"{name} {one}" for one in differences(found, wanted(project, name, written, [now]))]


def wanted(project: Project, name: str, written: Mapping[str, str], instants: Sequence[int]) -> dict[int, Counter]:
    """What the text of the old model says at each instant; of a merge the last row of each key."""
    found = answers(project, {t: written_at(name, written, project, t) for t in instants})
    return {t: last_by_key(rows) for t, rows in found.items()} if name == MERGED else found


def last_by_key(rows: Counter) -> Counter:
    """Of latest_customers: the key is its first column, and the last one says which row is newest."""
    return Counter({row[0]: row for row in sorted(rows, key=lambda row: row[-1])}.values())


def instants_of(project: Project, name: str, now: int, of_tables: Sequence[int], n: int) -> list[int]:
    """n instants at which the model changes, n at which a row of the tables may, the ms beside each; a year later."""
    stored = [t for t in stored_instants(project, project.state(name)) if t > now]
    near = {t + ms for t in (*spread(stored, n), *spread(of_tables, n)) for ms in (-1, 0, 1)}
    return [now, *sorted(t for t in near if t > now), now + 365 * DAY]


def spread(instants: Sequence[int], n: int) -> list[int]:
    """n of the instants, as far from each other as from the ends."""
    return [instants[(i + 1) * len(instants) // (n + 1)] for i in range(n)] if instants else []


def moments(project: Project, now: int) -> list[int]:
    """The instants in the tables, moved by the lengths that the models name, from now on."""
    columns = [
        (name, c) for name, table in TABLES.items() for c, kind in table["columns"].items() if kind == "timestamp"
    ]
    each = " UNION ".join(f"SELECT unix_millis({column}) AS t FROM {{s}}.{name}" for name, column in columns)
    found = {row[0] for row in project.rows(each)} - {None}
    return sorted({t + length for t in found for length in LENGTHS if t + length > now})
