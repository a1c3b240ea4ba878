"""Subqueries where Spark needs help: in the SELECT list of a model whose inputs change, and over temporal views."""

from __future__ import annotations

import pytest

from support.instants import T0
from support.project import Project

W = "mz_now() < timestamp_millis(a.hi)"
MOST = "(select max(b.amt) from {ew} b where b.grp = a.grp)"
#: model -> its text. {ev}, {ew}: the inputs; a: (id, grp, amt, hi)
TEXTS = {
    "scalar": f"select a.id, a.grp, {MOST} as x from {{ev}} a where {W}",
    "around": f"select a.id, a.grp, coalesce({MOST}, 0) + 1 as x from {{ev}} a where {W}",
    "counted": f"select a.grp, (select count(*) from {{ew}} b where b.grp = a.grp) as x, a.id from {{ev}} a where {W}",
    "there": f"select a.id, a.grp, exists (select 1 from {{ew}} b where b.grp = a.grp) as x from {{ev}} a where {W}",
    "among": f"select a.id, a.grp, a.id in (select id from {{ew}} b where b.grp = a.grp) as x from {{ev}} a where {W}",
    "itself": f"select a.id, a.grp, {MOST.replace('{ew}', '{ev}')} as x from {{ev}} a where {W}",
    "derived": f"select * from (select a.*, {MOST} as x from {{ev}} a) a where {W}",
    "named": f"with c as (select a.*, {MOST} as x from {{ev}} a) select a.grp, a.x from c a where {W}",
    "by_view": f"select a.* from {{v}} a where {W}",
    "joined": f"select a.id, c.grp, c.x from {{ev}} a join {{v}} c on c.id = a.id where {W}",
    "summed": f"select a.grp, a.x, count(*) as n from {{v}} a where {W} group by a.grp, a.x",
    "edge": f"select a.id, a.grp, a.x from {{v}} a where {W} and mz_now() >= timestamp_millis(coalesce(a.x, 0) * 1000)",
    "guarded": f"select a.id, a.grp, a.x from {{v}} a where {W} or a.x > 6",
    "at_read": f"with m as (select * from {{ev}} a where {W}), w as (select * from {{ew}} a where {W} or hi is null) "
    "select m.id, m.grp, (select max(w.amt) from w where w.grp = m.grp) as x from m",
    "over": "select a.id, a.x, (select count(*) from {ew} b where b.grp = a.grp) as y from {scalar} a",
    "over_sums": "select a.grp, a.n, (select sum(n) from {summed} b where b.grp = a.grp) as y from {summed} a",
}
EACH = tuple(TEXTS)
SOME = ("scalar", "there", "by_view", "summed", "guarded", "at_read", "over")
STEPS = (
    "INSERT INTO {s}.ew VALUES (4, 'a', 9, NULL), (5, NULL, 1, 0)",
    f"INSERT INTO {{s}}.ev VALUES (4, 'b', 3, {T0 + 5_000}), (4, 'b', 3, {T0 + 5_000}), (5, 'a', 9, {T0 + 1_000})",
    "INSERT OVERWRITE {s}.ew SELECT id, CASE WHEN id = 4 THEN 'b' ELSE grp END, amt, hi FROM {s}.ew_was",
)


def _instants(n: int) -> list[int]:
    return [T0 + n, T0 + 999, T0 + 1_000, T0 + 5_000]


def _oracle(text: str, names: dict[str, str], t: int) -> str:
    for _ in range(3):
        for name, relation in names.items():
            text = text.replace(f"{{{name}}}", relation)
    return text.replace("mz_now()", f"timestamp_millis({t}L)")


@pytest.mark.landing
@pytest.mark.metastore
@pytest.mark.parametrize("names", [SOME, pytest.param(EACH, marks=pytest.mark.deep)], ids=("some", "each"))
def test_each_run_is_the_written_query(project: Project, names: tuple[str, ...]) -> None:
    s, texts = project.schema, {name: TEXTS[name] for name in names}
    for name in ("ev", "ew"):
        project.sql(f"CREATE TABLE {{s}}.{name} (id INT, grp STRING, amt BIGINT, hi BIGINT) USING parquet")
    project.sql(
        f"INSERT INTO {{s}}.ev VALUES (1, 'a', 5, {T0 + 1_000}), (2, NULL, 5, {T0 + 5_000}), (3, 'c', 7, NULL), "
        f"(1, 'a', 5, {T0 + 1_000}); INSERT INTO {{s}}.ew VALUES (1, 'a', 5, NULL), (2, NULL, 8, 1)"
    )
    project.sql(f"CREATE VIEW {{s}}.v AS SELECT a.*, {MOST.format(ew=f'{s}.ew')} AS x FROM {s}.ev a")
    inputs = {name: f"{s}.{name}" for name in ("ev", "ew", "v")}
    models = {name: f"{{{{ ref('{name}') }}}}" for name in texts}
    for name, text in texts.items():
        project.model(name, text.format(**inputs, **models), store_late=name == "scalar")
    nested = {name: f"({text})" for name, text in texts.items()}
    for n, step in enumerate(("", *STEPS)):
        if "OVERWRITE" in step:
            project.sql("CREATE TABLE {s}.ew_was USING parquet AS SELECT * FROM {s}.ew")
        project.sql(step)
        project.run(now=T0 + n)
        for name, text in texts.items():
            shown = project.at_each(name, _instants(n))
            oracle = {t: _oracle(text, {**inputs, **nested}, t) for t in shown}
            got, right = (
                sorted(
                    project.rows(" UNION ALL ".join(f"SELECT {t - T0}, * FROM ({q})" for t, q in side.items())), key=str
                )
                for side in (shown, oracle)
            )
            assert got == right, (step, name)
    project.properties({"models": [{"name": name, "data_tests": ["temporal_matches_source"]} for name in texts]})
    project.dbt("test", now=T0 + 3)
    for name in texts:
        coming = f"{{{{ temporal_forecast(ref('{name}'), every='5 seconds', until={T0 + 6_000}) }}}}"
        forecast = project.rows(f"SELECT unix_millis(forecast_at), value FROM {project.render(coming, now=T0 + 3)}")
        assert len(forecast) == 2
        for t, value in forecast:
            assert value == len(project.rows(_oracle(texts[name], {**inputs, **nested}, t)))


P, Q = "{{ ref('p') }}", "(select id, lo, hi from {s}.ev where {now} >= lo and {now} < hi)"
#: over a temporal_view, with BIGINT edges that only a BETWEEN tells the clock
BETWEEN = (
    "select a.id from {p} a left join {p} b on a.id = b.id where {now} between a.lo and a.hi",
    "select a.id from {p} a where a.id in (select id from {p} b where {now} between b.lo and b.hi - 1)",
    "select a.id, c.lo from {p} a left join (select * from {p} where {now} not between lo and 5000) c on c.id = a.id",
    "select a.id from {p} a where exists (select 1 from {p} b where b.id = a.id and {now} < b.hi)",
)


@pytest.mark.landing
def test_between_over_temporal_views(project: Project) -> None:
    project.sql("CREATE TABLE {s}.ev (id INT, lo BIGINT, hi BIGINT) USING parquet")
    project.sql(f"INSERT INTO {{s}}.ev VALUES (1, 0, {T0 + 10}), (2, 5, {T0 + 20}), (3, {T0 + 5}, NULL), (4, NULL, 1)")
    project.model("p", Q[1:-1].replace("{s}", project.schema).replace("{now}", "mz_now()"))
    for i, text in enumerate(BETWEEN):
        project.model(f"m{i}", text.replace("{p}", P).replace("{now}", "mz_now()"))
    project.run(now=T0)
    for i, text in enumerate(BETWEEN):
        for t in (T0, T0 + 4, T0 + 5, T0 + 9, T0 + 10, T0 + 19, T0 + 20):
            right = project.rows(text.replace("{p}", Q).replace("{now}", f"{t}L"))
            assert sorted(project.rows(f"SELECT * FROM {project.at(f'm{i}', t)}"), key=str) == sorted(right, key=str), i

    project.model(
        "x", f"select a.id from {P} a where exists (select 1 from {P} b where b.id < a.id and mz_now() < b.hi)"
    )
    refused = project.run("-s", "x", now=T0, check=False).text
    assert f"found: a subquery over the temporal_view {project.schema}.p, which names columns from outside" in refused
    assert "instead: IN in the place of EXISTS" in refused
