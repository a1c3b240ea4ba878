"""Refusals that write SQL out: Spark takes what they suggest, and so does a temporal view.

Each refused text is made of parts that are hard to print again: quoted names, long expressions, CTEs of one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.analyze import understand
from support.instants import T0
from support.judged import became
from support.project import Project
from support.sampled import each

LONG = " || ".join(f"'{n:08}'" for n in range(40))
#: operands of a type: some quoted, some longer than a message shows
TEXTS = ("txt", "`we ird`", "x.txt", "coalesce(`we ird`, '2024-03-01')", "CASE WHEN id = 1 THEN txt ELSE `we ird` END",
         f"if(id > 0, txt, {LONG})")  # fmt: skip
DOUBLES = ("d", "x.d + 1", "1000 * (ms / 1000)", "d + " + " + ".join(["d"] * 120))
#: what a SELECT list has and gives no name
NAMELESS = ("count_if(mz_now() < `d ue`)", f"max(if(mz_now() < `d ue`, {LONG}, ''))")
IN_NEW_YORK = {"spark.sql.session.timeZone": "America/New_York"}
FROM = "FROM {s}.w AS x"

#: QUALIFY, wherever it stands
RANKED = "row_number() OVER (PARTITION BY k ORDER BY `d ue`)"
QUALIFIED = (
    "with w as (select * from {s}.w where mz_now() < `d ue`) select id, k from w qualify {r} = 1 order by ms",
    "with w as (with w as (select * from {s}.w) select id as `or der`, k, ms from w where mz_now() < `d ue` "
    "qualify {r} < 3), v as (with w as (select * from w) select * from w qualify rank() over (order by `or der`) = 1) "
    "select * from v",
    "select id from (select * from {s}.w x where mz_now() < `d ue` qualify count(*) over (partition by x.k) > 1 and "
    "x.ms > 0) qualify rank() over (order by id) = 1 limit 3",
    "select distinct k, upper(txt) from {s}.w where mz_now() < `d ue` qualify {r} = 1",
    "select k, count(*) as n from {s}.w where mz_now() < `d ue` group by k qualify rank() over (order by count(*)) = 1 "
    "union all (select k, id from {s}.w where mz_now() >= `d ue` qualify rank() over win = 1 "
    "window win as (order by id))",
    "select a.id, b.ms from {s}.w a join {s}.w b on a.id = b.id where mz_now() < a.`d ue` qualify rank() over "
    "(partition by a.k order by b.ms desc) = 1 order by b.id",
)
#: refused -> what it becomes: each SQL that the message writes out, put into its place
CASES: dict[str, tuple[str, str]] = {
    **{f"text {n}": (f"SELECT id {FROM} WHERE mz_now() < {one}", one) for n, one in enumerate(TEXTS)},
    **{f"double {n}": (f"SELECT id {FROM} WHERE mz_now() < {one}", one) for n, one in enumerate(DOUBLES)},
    **{f"nameless {n}": (f"SELECT {one} {FROM} WHERE mz_now() < ts", one) for n, one in enumerate(NAMELESS)},
    "a list": (
        f"SELECT id {FROM} WHERE mz_now() IN ('2024-03-01', `d ue`, {', '.join(['ts'] * 90)})",
        f"mz_now() IN ('2024-03-01', `d ue`, {', '.join(['ts'] * 90)})",
    ),
    "months": (
        f"SELECT id {FROM} WHERE DATE_TRUNC('DAY', mz_now() - MAKE_INTERVAL(0, 1, 0, 0, 12)) - INTERVAL '1' DAY <= ts",
        "DATE_TRUNC('DAY', mz_now() - MAKE_INTERVAL(0, 1, 0, 0, 12)) - INTERVAL '1' DAY <= ts",
    ),
    "bare": (f"SELECT id {FROM} WHERE current_timestamp < ts", "current_timestamp"),
    "collated": (
        f"SELECT `a b` FROM (SELECT txt COLLATE utf8_lcase AS `a b`, ts {FROM}) WHERE mz_now() < ts",
        "SELECT `a b`",
    ),
    **{f"qualify {n}": (one.replace("{r}", RANKED), "") for n, one in enumerate(QUALIFIED)},
}


def written_out(name: str, refusal: Refusal) -> list[str]:
    """The SQL that a message suggests."""
    kind, instead = name.split()[0], refusal.instead
    if kind in ("text", "double", "months"):
        return re.findall(r"(?:^|: |, |\()`(.*?)`(?= for|, or|\), their|$)", instead)
    if kind == "bare":
        return [instead.partition(" ")[0]]
    if kind == "collated":
        return ["SELECT " + instead.partition(", or ")[0] + " AS c"]
    return [instead]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("suggested") / "project", spark)
    project.sql(
        f"CREATE TABLE {{s}}.w USING parquet AS SELECT id, id % 2 AS k, timestamp_millis({T0}L + id * 1000) AS ts, "
        f"timestamp_millis({T0}L + id * 7000) AS `d ue`, {T0}L + id AS ms, CAST({T0} AS DOUBLE) + id AS d, "
        "'2024-03-01 12:00:05' AS txt, '2024-03-01' AS `we ird` FROM range(6)"
    )
    yield project
    project.sql("DROP DATABASE {s} CASCADE")


@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("name", each(4, CASES))
def test_what_is_suggested_is_taken(tables: Project, name: str) -> None:
    written, place = CASES[name]
    written, warehouse = written.replace("{s}", tables.schema), Warehouse(tables.rows)
    settings = {**warehouse.settings(), **(IN_NEW_YORK if name == "a list" else {})}
    with pytest.raises(Refusal) as refused:
        understand(warehouse, written, settings, "4.1.4", T0)
    suggested = written_out(name, refused.value)
    assert len(suggested) == (2 if name.startswith("text") else 1), refused.value
    for sql in suggested:
        assert "..." not in sql, sql
        before, _, after = written.rpartition(place) if place else ("", "", "")
        model = before + sql + after
        understand(warehouse, model, settings, "4.1.4", T0)
        if name.startswith("qualify"):
            assert became(tables, model)[0] == "accepted", model
