"""Tables below views: what is new of them is read through the views' text, where it means the same there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.instants import T0
from support.project import Project
from support.stories import Step, Story, live
from support.tables import twenty_rows

pytestmark = pytest.mark.metastore

PLAIN = "select id from {s}.v where mz_now() < hi"


@pytest.fixture
def events(project: Project) -> Project:
    twenty_rows(project)
    return project


def add(project: Project, number: int, hi: int = 500_000) -> None:
    project.sql(f"INSERT INTO {{s}}.t SELECT {number}L, timestamp_millis({T0 + hi}L)")


def made(project: Project, sql: str = PLAIN) -> Project:
    project.model("m", sql.replace("{s}", project.schema))
    project.run(now=T0)
    return project


def read(project: Project, sql: str = PLAIN, after: int = 1000) -> str:
    """How a run reads its inputs. The view is right after it."""
    ran = project.run(now=T0 + after).of("m")
    instants = (after, 110_000, 499_999, 500_000)
    ours = " union all ".join(
        f"select {t - T0} as t, * from {read}" for t, read in project.at_each("m", [T0 + t for t in instants]).items()
    )
    plain = " UNION ALL ".join(
        f"SELECT {t}, * FROM ({sql.replace('mz_now()', f'timestamp_millis({T0 + t}L)')})" for t in instants
    )
    assert sorted(project.rows(ours), key=repr) == sorted(project.rows(plain), key=repr)
    return " | ".join(ran.adapter_response["inputs"])


TABLE = f"CREATE TABLE {{t}} AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(100, 120);"
#: beside the instant of the run: where rows leave
INSTANTS = (110_000, 499_999, 500_000)
VIEW = "select id from {v} where mz_now() < hi"


def added(number: int, told: str) -> Step:
    return Step(f"INSERT INTO {{t}} SELECT {number}L, timestamp_millis({T0 + 500_000}L)", told)


def over_views(views: str, sql: str, told: str, runs: int) -> Story:
    steps = [Step(), *(added(number, told) for number in (1, 7, 8, 5)[:runs])]
    return Story(TABLE + views, sql, steps, instants=INSTANTS)


#: views that runs open, over a table with a new file before each run
OPENED = {
    "plain": ("CREATE VIEW {v} AS SELECT * FROM {t}", VIEW),
    "renamed": (
        "CREATE VIEW {v} (id, hi) AS SELECT id + 1 AS a, hi + INTERVAL 1 SECOND AS b FROM {t} WHERE id <> 5", VIEW
    ),
    "names_of_views_and_ctes": (
        "CREATE VIEW {u} AS WITH big AS (WITH big AS (SELECT * FROM {t}) SELECT * FROM big WHERE id > 3) "
        "SELECT *, id % 2 AS odd FROM big;"
        "CREATE VIEW {v} AS SELECT u.id, u.hi FROM {u} AS u JOIN {u} AS w ON w.id = u.id + 1 WHERE w.odd = 1",
        "with v as (with v as (select * from {v}) select * from v) select a.id, b.hi from v as a "
        "join {u} as b using (id) where mz_now() < least(a.hi, b.hi)",
    ),
    "union": (
        "CREATE VIEW {v} AS SELECT id, hi FROM {t} UNION ALL SELECT -id, hi FROM {t}",
        "select v.id from {v} as v where mz_now() < v.hi and v.id <> 7",
    ),
    "names_in_other_cases": (
        "CREATE VIEW {v} AS WITH x AS (SELECT * FROM {t}), Y AS (SELECT x.* FROM X) SELECT y.id, y.hi FROM y",
        "with x as (select * from {v}) select id from x where mz_now() < hi",
    ),
    "texts_and_comments": ("CREATE VIEW {v} AS SELECT 'a\\'b--' AS note, `id`, hi /* 1 */ FROM {t} -- it", VIEW),
}  # fmt: skip
#: views that runs read in full -> why
IN_FULL = {
    "distinct": ("SELECT DISTINCT id, hi FROM {t}", VIEW, "one row of it may decide about others"),
    "grouped": ("SELECT id, max(hi) AS hi FROM {t} GROUP BY id", VIEW, "one row of it may decide about others"),
    "renamed_at_the_read": (
        "SELECT * FROM {t}",
        "select i from {v} as v(i, h) where mz_now() < h",
        "changed below a view: it is read as",
    ),
    **{
        name: (f"SELECT * FROM {{t}} WHERE {which}", VIEW, "full (a view below has a clock or chance in it), ")
        for name, which in {
            "by_the_date": "current_date() > DATE'2020-01-01'",
            "by_chance": "rand(1) < 2",
            "by_the_clock": "now() > TIMESTAMP'2020-01-01'",
        }.items()
    },
}

_MADE = "CREATE OR REPLACE VIEW {v} AS SELECT id, CAST('2024-03-02 00:00:00' AS TIMESTAMP) AS hi FROM {t}"
_ZONE = "SET spark.sql.session.timeZone"
#: the text, the plan and the files are the same, the instants are others
MADE_AGAIN = Story(
    TABLE + _MADE,
    "select id, hi from {v} where mz_now() < hi",
    [
        Step(),
        Step(f"{_ZONE} = America/New_York; {_MADE}; {_ZONE} = UTC", "full (a view below changed)"),
        Step(told="unchanged"),
        Step(_MADE, "full (a view below changed)"),
    ],
)


@pytest.mark.landing
def test_views(project: Project) -> None:
    opened = {
        name: over_views(views, sql, "_t: new files (1 new file of", 4 if name == "plain" else 2)
        for name, (views, sql) in OPENED.items()
    }
    in_full = {
        name: over_views(f"CREATE VIEW {{v}} AS {view}", sql, why, 2) for name, (view, sql, why) in IN_FULL.items()
    }
    live(project, opened | in_full | {"made_again_in_another_zone": MADE_AGAIN})


@pytest.mark.deep
def test_names_in_the_schema_of_the_view(events: Project) -> None:
    """A table of the same name in the current schema is another one."""
    events.sql("CREATE TABLE default.t AS SELECT * FROM {s}.t; USE {s}; CREATE VIEW v AS SELECT * FROM t; USE default")
    try:
        made(events)
        add(events, 1)
        assert ".t: new files (1 new file of" in read(events)
    finally:
        events.sql("DROP TABLE default.t")


OTHERS = [
    ("spark.sql.session.timeZone", "America/New_York"),
    ("spark.sql.ansi.enabled", "true"),
    ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
]


@contextmanager
def under(project: Project, setting: str, value: str) -> Iterator[str]:
    """A setting is another one -> what it was."""
    conf = project.spark.conf
    before, was_set = conf.get(setting), any(row[0] == setting for row in project.rows("SET"))
    conf.set(setting, value)
    try:
        yield before
    finally:
        conf.set(setting, before) if was_set else conf.unset(setting)


@pytest.mark.first(1)
@pytest.mark.parametrize(("setting", "other"), OTHERS)
@pytest.mark.landing
def test_made_under_other_settings(events: Project, setting: str, other: str) -> None:
    """Spark reads a view under the settings it was made under: so do runs."""
    with under(events, setting, other) as before:
        events.sql("CREATE VIEW {s}.v AS SELECT id, date_trunc('DAY', hi) + INTERVAL 1 DAY AS hi FROM {s}.t")
    made(events)
    add(events, 1)
    assert f"changed below a view: {setting} was {other} when it was made, and is {before})" in read(events)


@pytest.mark.deep
def test_set_since_it_was_made(events: Project) -> None:
    """What it was made without it is read without."""
    events.sql("CREATE VIEW {s}.v AS SELECT * FROM {s}.t")
    with under(events, "spark.sql.legacy.timeParserPolicy", "LEGACY"):
        made(events)
        add(events, 1)
        told = read(events)
    assert "spark.sql.legacy.timeParserPolicy was not set when it was made, and is LEGACY)" in told
