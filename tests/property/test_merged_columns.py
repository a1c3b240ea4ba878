"""Joins that merge columns (USING, NATURAL), stars and what is left out of them, above rows that a run stores.

A merged column is neither side's: `u.k` of a LEFT JOIN USING (k) is NULL where `k` is not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from support.instants import T0
from support.judged import became
from support.project import Project
from support.sampled import each

#: {r}: dbt_utils.deduplicate, as it is rendered for Spark
DEDUPLICATED = (
    "with row_numbered as (select _inner.*, row_number() over (partition by id order by ts desc) as rn from {r} as "
    "_inner) select distinct data.* from {r} as data natural join row_numbered where row_numbered.rn = 1"
)
KNOWN = {
    "the right side's key": "select t.id, u.k as uk, row_number() over (order by t.id, u.x) as r from {s}.t left join "
    "{s}.u using (k) where mz_now() < t.due",
    "counted": "select t.id, count(u.k) as n, percentile(u.x, 0.5) as p from {s}.t left join {s}.u using (k) "
    "where mz_now() < t.due group by t.id",
    "of a right join": "select t.k as tk, k, count(*) as n, collect_list(x) as xs from {s}.t right join {s}.u "
    "using (k) where mz_now() < t.due or t.due is null group by t.k, k",
    "a join behind the merging one": "select v.*, t.id, count(*) over (partition by t.k) as n from {s}.t full join "
    "{s}.u using (K) cross join {s}.v where mz_now() < t.due or t.due is null",
    "deduplicated": DEDUPLICATED.replace("{r}", "{s}.t") + " and mz_now() < data.due",
    "deduplicated before": f"select * from ({DEDUPLICATED.replace('{r}', '{s}.t')}) where mz_now() < due",
    "deduplicated after": "with e as (select * from {s}.t where mz_now() < due), "
    f"d as ({DEDUPLICATED.replace('{r}', 'e')}) select * from d",
    "distinct except": "select distinct * except (ts, id) from {s}.t where mz_now() < due",
    "a table as a query": "select a.id, x from (table {s}.t) a join (table {s}.u) using (k) where mz_now() < due and k "
    "in (select k from (table {s}.u)) union all table {s}.v",
}
#: of a text that Spark refuses too, of names that a view cannot have, of a star over several merging joins
TOLD = ("AMBIGUOUS_REFERENCE", "UNRESOLVED_", "twice", "two columns", "which columns these are is not known here")


class Merged:
    """A query over the clock whose rows are stored below what is not linear."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> str:
        rng = self.rng
        item, names = "{s}.t", ["t"]
        for name in rng.choice([["u"], ["u"], ["u", "v"], ["v"]]):
            kind = rng.choice(["", "", "left ", "right ", "full ", "left semi ", "left anti ", "cross "])
            key = "k" if name == "u" else rng.choice(["k", "x"] if "u" in names else ["k"])
            form = rng.random()
            if form < 0.35 and kind != "cross ":
                item += f" natural {kind}join {{s}}.{name}"
            elif form < 0.85 and kind != "cross ":
                item += f" {kind}join {{s}}.{name} using ({rng.choice([key, key.upper()])})"
            else:
                item += f" {kind}join {{s}}.{name}" + ("" if kind == "cross " else f" on t.k = {name}.k")
            if kind not in ("left semi ", "left anti "):
                names.append(name)
        columns = {"t": ["id", "k", "ts", "due"], "u": ["id", "k", "x"], "v": ["x", "k"]}
        picked = [f"{n}.{rng.choice(columns[n])} as c{i}" for i, n in enumerate(rng.choices(names, k=3))]
        star = rng.choice(["*", "t.*", "* except (id)", f"{names[-1]}.*", "t.* except (k, ts)", "k", "", ""])
        items = ", ".join([*filter(None, [star]), *picked])
        where = "mz_now() < t.due" if rng.random() < 0.7 else "(mz_now() < t.due or t.due is null)"
        shape = rng.random()
        if shape < 0.5:
            return f"select {items}, count(*) over (partition by t.k) as n from {item} where {where}"
        if shape < 0.75:
            return f"select distinct {items} from {item} where {where}"
        of, by = rng.choice(names), rng.choice(["t.k", "k", f"{names[-1]}.k"])
        return (
            f"select {by} as g, count({of}.k) as n, percentile({of}.k, 0.5) as p, min(k) as m from {item} "
            f"where {where} group by {by}"
        )


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("merged") / "project", spark)
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, k, timestamp_millis({T0}L + lo * 1000) AS ts, "
        f"timestamp_millis({T0}L + hi * 1000) AS due FROM VALUES (1, 1, 0, 7), (1, 1, 2, 20), (2, 3, 5, 15), (3, null, "
        "0, 7), (4, 2, 0, null), (5, 9, 0, 400) AS f(id, k, lo, hi);"
        "CREATE TABLE {s}.u USING parquet AS SELECT * FROM VALUES (7, 1, 10), (1, 2, 2), (8, 2, null), (3, null, 1), "
        "(9, 5, 10) AS f(id, k, x);"
        "CREATE TABLE {s}.v USING parquet AS SELECT * FROM VALUES (10, 1), (2, 2), (10, 4), (null, 9) AS f(x, k)"
    )
    yield project
    project.sql("DROP DATABASE {s} CASCADE")


@pytest.mark.landing
@pytest.mark.usefixtures("small_plans")
@pytest.mark.first(1)
@pytest.mark.parametrize(("seed", "count"), [(0, 6), (2, 15), pytest.param(1, 40, marks=pytest.mark.deep)])
def test_merged_columns(tables: Project, seed: int, count: int) -> None:
    grammar, said, accepted = Merged(random.Random(seed)), [], 0
    while accepted < count:
        sql = grammar.query()
        kind, words = became(tables, sql)
        accepted += kind == "accepted"
        if kind == "refused" and not any(known in words for known in TOLD):
            said.append(f"{sql}\n  {words[:300]}")
    assert not said, "\n".join(said)


@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("name", each(3, KNOWN))
def test_known_texts(tables: Project, name: str) -> None:
    assert became(tables, KNOWN[name]) == ("accepted", "")
