"""Queries in queries whose CTEs have one name, or the name of a table: each reads what Spark reads.

dbt makes such texts of ephemeral models (`with __dbt__cte__a as (with source as (...) ...)`), people of derived tables
with a WITH of their own. Each relation here has the same columns and other rows, so a name that is resolved otherwise
gives other rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from support.instants import T0
from support.judged import became, judged
from support.project import Project
from support.sampled import each

#: relations of the schema, by names that CTEs have too
NAMES = ("source", "final", "Renamed")


class Nested:
    """Queries with the columns id, ts and due."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self, depth: int) -> str:
        ctes = self.rng.sample(NAMES, self.rng.choice([0, 1, 1, 2])) if depth > 0 else []
        with_ = ", ".join(f"{self._case(name)} as ({self.query(depth - 1)})" for name in ctes)
        body = self._select(depth)
        if self.rng.random() < 0.15:
            body += f" union all {self._select(depth)}"
        return f"with {with_} {body}" if with_ else body

    def _case(self, name: str) -> str:
        return self.rng.choice([name, name, name.upper()])

    def _select(self, depth: int) -> str:
        rng, (item, x) = self.rng, self._relation(depth)
        y, columns = x, rng.choice(["*", "id, ts, due", f"{x}.id, {x}.ts, due"])
        if rng.random() < 0.25:
            other, y = self._relation(depth, alias="j")
            item, columns = f"{item} join {other} on {x}.id = {y}.id", f"{x}.id, {y}.ts, {x}.due"
        choices = [f"mz_now() >= {x}.ts", f"mz_now() < {y}.due", f"mz_now() between {y}.ts and {x}.due", f"{y}.id > 1"]
        where = [rng.choice([*choices, ""])]
        if depth > 0 and rng.random() < 0.25:
            where.append(f"{x}.id in (select i.id from ({self.query(depth - 1)}) as i)")
        conditions = " and ".join(filter(None, where))
        return f"select {columns} from {item}" + (f" where {conditions}" if conditions else "")

    def _relation(self, depth: int, alias: str = "") -> tuple[str, str]:
        """(an item of a FROM, the name by which columns name it)."""
        rng, name = self.rng, self.rng.choice(NAMES)
        form = rng.random()
        if form < 0.25 and depth > 0:
            name = alias or name
            return f"({self.query(depth - 1)}) as {name}", name
        written = f"{{s}}.{name}" if form < 0.35 else self._case(name)
        alias = alias or ("x" if form > 0.8 else "")
        return (f"{written} as {alias}", alias) if alias else (written, name)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("nested") / "project", spark)
    rows = {
        "source": "(1, 0, 7), (2, 7, 20), (3, -5, 7), (3, -5, 7), (4, null, 7)",
        "final": "(1, 5, 9), (2, -9, 7), (4, 0, null), (5, 7, 8)",
        "Renamed": "(2, 6, 400), (3, 0, 7), (5, -1, 8), (6, null, null)",
    }
    for name, values in rows.items():
        project.sql(
            f"CREATE TABLE {{s}}.{name} USING parquet AS SELECT id, timestamp_millis({T0}L + lo * 1000) AS ts, "
            f"timestamp_millis({T0}L + hi * 1000) AS due FROM VALUES {values} AS f(id, lo, hi)"
        )
    with project.inside():
        yield project
    project.sql("DROP DATABASE {s} CASCADE")


def drive(tables: Project, seed: int, count: int) -> list[str]:
    """Random models -> what was said of those that are not accepted."""
    grammar, said, tried = Nested(random.Random(seed)), [], 0
    while tried < count:
        sql = grammar.query(grammar.rng.choice([1, 2, 2, 3]))
        if "mz_now()" in sql and len(sql) < 2_000:
            kind, words = became(tables, sql)
            if "has no mz_now()" in words:  # the clock is in a CTE that nothing reads
                continue
            said += [] if kind == "accepted" else [f"{sql}\n  {kind}: {words[:300]}"]
            tried += 1
    return said


@pytest.mark.landing
@pytest.mark.usefixtures("small_plans")
@pytest.mark.first(1)
@pytest.mark.parametrize(("seed", "count"), [(0, 6), (2, 15), pytest.param(1, 50, marks=pytest.mark.deep)])
def test_names_mean_what_they_mean_to_spark(tables: Project, seed: int, count: int) -> None:
    said = drive(tables, seed, count)
    assert len(said) <= count / 10, "\n".join(said)


#: as dbt puts ephemeral models together, and shapes that once were read otherwise
KNOWN = {
    "two ephemerals": "with __dbt__cte__a as (with source as (select * from {s}.source), renamed as (select id, ts, "
    "due from source where mz_now() < due) select * from renamed), __dbt__cte__b as (with source as (select * from "
    "{s}.final), renamed as (select source.id, source.ts from source where mz_now() >= ts) select * from renamed), "
    "source as (select a.id, a.due, b.ts from __dbt__cte__a a join __dbt__cte__b b on a.id = b.id) "
    "select * from source",
    "derived tables": "select a.id, b.id as other from (with x as (select * from {s}.source where mz_now() < due) "
    "select * from x) a join (with x as (select * from {s}.final) select * from x where mz_now() >= ts) b "
    "on a.id = b.id",
    "aggregates": "with a as (with source as (select * from {s}.source) select id, count(*) as n from source where "
    "mz_now() < due group by id), b as (with source as (select * from {s}.final) select id, max(ts) as n from source "
    "where mz_now() < due group by id) select a.id, a.n, b.n as m from a left join b on a.id = b.id",
    "of its own name": "with source as (select * from source where mz_now() < due), x as (with source as (select id "
    "from source) select * from source) select * from x",
    "a later CTE of the name of a table": "with w as (select * from final where mz_now() < due), final as (select * "
    "from source) select a.id, b.id as other from w a join w b on a.id = b.id join final on final.id = a.id "
    "where mz_now() >= a.ts and mz_now() >= b.ts",
    "recursive": "with recursive final as (select 1 as id union all select id + 1 from final where id < 4), x as ("
    "with final as (select * from source) select * from final where mz_now() < due) select x.* from x join final "
    "on final.id = x.id",
    "recursive below": "with final as (select * from source where mz_now() < due), x as (with recursive final as ("
    "select 2 as id union all select id + 1 from final where id < 3) select * from final) select final.* from final "
    "join x on final.id = x.id",
    "in a predicate": "with x as (select * from source) select id from x where mz_now() < due and id in (with x as ("
    "select * from final) select id from x) and exists (with x as (select * from renamed) select 1 from x y "
    "where y.id = x.id)",
    "correlated": "select id, (select max(x) from (with o as (select ts as x from final where final.id = source.id) "
    "select * from o) as i) as m from source where mz_now() < due",
    "unused": "with r as (select s.id, j.ts, s.due from source s join final j on s.id = j.id where mz_now() between "
    "s.ts and j.due), other as (select id from r where mz_now() >= ts) select * from r where mz_now() < due",
    "semicolons": "select id from source where mz_now() < due ;;\n-- the end; of it\n;",
}


@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("name", each(3, KNOWN))
def test_known_texts(tables: Project, name: str) -> None:
    assert judged(tables, KNOWN[name]) == "accepted"


@pytest.mark.usefixtures("small_plans")
def test_a_setting_by_which_a_name_means_the_outer_cte(tables: Project) -> None:
    """What Spark then reads otherwise is refused; names that are no other's are read as ever."""
    tables.spark.conf.set("spark.sql.legacy.ctePrecedencePolicy", "LEGACY")
    kind, words = became(tables, KNOWN["two ephemerals"])
    assert kind == "accepted" or "Spark resolves this part otherwise" in words
    kind, words = became(tables, KNOWN["in a predicate"])
    assert kind == "refused" and "Spark resolves this part otherwise" in words, words
    assert judged(tables, KNOWN["derived tables"]) == "accepted"
