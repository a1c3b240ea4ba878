"""Plain views between temporal views: their text stands in their place, so that what is over them is incremental."""

from __future__ import annotations

from collections import Counter

import pytest

from support.instants import Y2100
from support.project import Project, inputs_of

pytestmark = pytest.mark.landing

MODELS: dict[str, tuple[str, str]] = {
    # name: (the view between, the temporal view over it)
    "plain": ("select * from {{ ref('inside') }}", "select id, hi from {{ ref(view) }} where {late}"),
    "filtered": ("select id + 0 as n, hi from {{ ref('inside') }} where k > 0", "select n from {{ ref(view) }}"),
    "joined": (
        "with live as (with live as (select * from {{ ref('inside') }}) select * from live) "
        "select l.id, d.name, l.hi from live as l join {{ ref('dim') }} as d on d.k = l.k",
        "with live as (with live as (select * from {{ ref(view) }}) select * from live) select a.id, a.name "
        "from live as a where {late}",
    ),
    "grouped": (
        "select k, count(*) as n, max(id) as top from {{ ref('inside') }} group by k",
        "select k, n, top from {{ ref(view) }} where n > 2",
    ),
    "two": (
        "select a.id, b.hi from {{ ref('inside') }} as a join {{ ref('other') }} as b on a.id = b.id",
        "select v.id, w.hi from {{ ref(view) }} as v join {{ ref(view) }} as w on v.id = w.id where {late_w}",
    ),
    "elsewhere": ("select id, hi from {{ ref('inside') }} where k <> 1", "select id from {{ ref(view) }} where {late}"),
    "again": ("select id from {{ ref('filtered_view') }} as f join {{ ref('two_view') }} as t on t.id = f.n",
              "select id from {{ ref(view) }}"),
    "clocked": ("select id, hi from {{ ref('inside') }} where {late}", "select id from {{ ref(view) }}"),
}  # fmt: skip
LATE = "{now} >= hi - interval 10 seconds"
INSIDE = "select id, id % 3 as k, ts, hi from {s}.t where {now} >= ts and {now} < hi"
OTHER = "select id, hi from {s}.t where {now} < hi - interval 5 seconds"


def rows_of(first: int, last: int, lasts: int = 30) -> str:
    """Row n comes at n seconds and goes 30 seconds later."""
    at = f"timestamp_millis({Y2100}L + id * 1000)"
    return f"SELECT id, {at} AS ts, {at} + interval {lasts} seconds AS hi FROM range({first}, {last})"


def fill(text: str, now: str) -> str:
    return text.replace("{late_w}", LATE.replace("hi", "w.hi")).replace("{late}", LATE).replace("{now}", now)


def written(project: Project, over: list[str]) -> None:
    """Models over views, with what is below; the views are made when that has run."""
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 20)}")
    project.sql("CREATE TABLE {s}.names AS SELECT id AS k, concat('n', id) AS name FROM range(1, 3)")
    for name, text in (("inside", INSIDE), ("other", OTHER)):
        project.model(name, fill(text, "mz_now()").replace("{s}", project.schema))
    project.model("dim", f"select * from {project.schema}.names", materialized="table")
    for name in over:
        view, above = MODELS[name]
        where = {"schema": "else"} if name == "elsewhere" else {}
        project.model(f"{name}_view", fill(view, "mz_now()"), materialized="view", **where)
        project.model(name, fill(above, "mz_now()").replace("view)", f"'{name}_view')"))


def oracle(project: Project, name: str, t: int) -> str:
    """The query of a model with everything below it in the place of its name, at an instant."""
    sql = f"{{{{ ref('{name}') }}}}"
    texts = {"inside": INSIDE, "other": OTHER, "dim": "select * from {s}.names"}
    for one, (view, over) in MODELS.items():
        texts |= {f"{one}_view": view, one: over.replace("view)", f"'{one}_view')")}
    while "ref(" in sql:
        for one, text in texts.items():
            sql = sql.replace(f"{{{{ ref('{one}') }}}}", f"({text})")
    return fill(sql, f"timestamp_millis({t}L)").replace("{s}", project.schema)


def check(project: Project, name: str, instants: list[int]) -> None:
    ours = " UNION ALL ".join(f"SELECT {t} AS t, * FROM {q}" for t, q in project.at_each(name, instants).items())
    plain = " UNION ALL ".join(f"SELECT {t} AS t, * FROM ({oracle(project, name, t)})" for t in instants)
    assert Counter(project.rows(ours)) == Counter(project.rows(plain)), name


def boundaries(first: int) -> list[int]:
    """Instants (ms after Y2100) about which rows come, leave, and come to the models over the view."""
    return [first, 20_000, 28_000, 29_999, 30_000, 30_001, 46_000]


GROUPS = [["joined", "grouped"], ["plain", "filtered", "two", "again"], ["elsewhere", "clocked"]]


@pytest.mark.first(1)
@pytest.mark.parametrize("over", GROUPS)
def test_over_views(over: list[str], project: Project) -> None:
    """New rows come twice, one of them a short-lived double: each model is right at every boundary, by new chains."""
    written(project, over)
    below = [name for name in ("inside", "other", "dim") if f"ref('{name}')" in str([MODELS[one] for one in over])]
    moving = [name for name in below if name != "dim"]
    project.run("-s", *below, now=Y2100)
    project.run("-s", *(f"{name}_view" for name in over))
    for turn, rows in enumerate(("", rows_of(20, 24), rows_of(3, 6, 5))):
        project.sql(f"INSERT INTO {{s}}.t {rows}" if rows else "")
        ran = project.run("-s", *moving, *over, now=Y2100 + turn * 1000)
        for name in over:
            check(project, name, [Y2100 + t for t in boundaries(turn * 1000)])
            told = ran.of(name).adapter_response
            assert told["action"] in (("hydrated",) if turn == 0 else ("advanced", "unchanged")), (name, told)
            if turn:
                assert f"{project.schema}.inside: new chains (1 new chain of" in inputs_of(ran.of(name)), name
    ran = project.run("-s", *moving, *over, now=Y2100 + 3000)
    assert {ran.of(name).adapter_response["reason"] for name in over} == {"no input changed"}


def test_a_view_that_changed_or_cannot_be_opened(project: Project) -> None:
    """What is over it is rebuilt, or refused with the reason; it is never read as it was."""
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 20)}")
    project.model("inside", fill(INSIDE, "mz_now()").replace("{s}", project.schema))
    project.model("v", "select id, hi from {{ ref('inside') }} where k > 0", materialized="view")
    project.model("outside", fill("select id from {{ ref('v') }} where {late}", "mz_now()"))
    project.run("-s", "inside", now=Y2100)
    told = project.run("-s", "outside", now=Y2100, check=False).text
    assert f"found: the view {project.schema}.v over a temporal_view, as an input of outside" in told
    assert "there is no view of that name yet" in told and "instead: dbt run -s v in a session like this one" in told

    project.run("-s", "v", "outside", now=Y2100, check=False)  # made with the variable: for good as at that instant
    told = project.run("-s", "outside", now=Y2100, check=False).text
    assert "it was made with var temporal_now" in told and "materialized='ephemeral' for v" in told

    project.run("-s", "v")
    assert project.run("-s", "outside", now=Y2100).of("outside").adapter_response["action"] == "hydrated"
    project.model("v", "select id, hi from {{ ref('inside') }} where k = 0", materialized="view")
    assert project.run("-s", "outside", now=Y2100 + 1).of("outside").adapter_response["reason"] == "no input changed"
    project.run("-s", "v")
    ran = project.run("-s", "outside", now=Y2100 + 2)
    reason = f"the text of the view {project.schema}.v changed"
    assert f"{project.schema}.inside: full ({reason})" in inputs_of(ran.of("outside")) and reason in ran.text
    late = Y2100 + 31_000
    now = f"timestamp_millis({late}L)"
    wanted = f"select id from {{s}}.t where id % 3 = 0 and {now} >= hi - interval 10 seconds and {now} < hi"
    assert sorted(project.rows(f"SELECT id FROM {project.at('outside', late)}")) == sorted(project.rows(wanted))

    project.spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        project.run("-s", "v")
    finally:
        project.spark.conf.set("spark.sql.session.timeZone", "UTC")
    told = project.run("-s", "outside", now=Y2100 + 3, check=False).text
    assert "spark.sql.session.timeZone was America/New_York when it was made, and is UTC" in told

    project.sql("CREATE VIEW {s}.by_hand AS SELECT id, hi FROM {s}.inside")
    project.model("unknown", f"select id from {project.schema}.by_hand where mz_now() < hi")
    told = project.run("-s", "unknown", now=Y2100 + 3, check=False).text
    assert "found: inside, a temporal_view, as an input that dbt does not know of" in told
