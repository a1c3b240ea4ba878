"""Models of many columns: a Hive metastore keeps a view's text up to a limit, however many columns it names."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from dbt.adapters.sparktemporal.run.commit import ViewTexts
from dbt.adapters.sparktemporal.temporal.diffs.state_text import VIEW_TEXT_LIMIT
from dbt.adapters.sparktemporal.temporal.diffs.view_sql import live_view
from support.instants import HOUR, Y2100
from support.project import Project
from support.sampled import each

pytestmark = pytest.mark.metastore

LIVE = "unix_millis(current_timestamp())"


def names(count: int) -> list[str]:
    """Names of 32 characters that do not compress well."""
    return [f"c{i:04d}_{hash((i, 7)) & (1 << 108) - 1:026x}"[:32] for i in range(count)]


def value(column: int, of: str) -> str:
    """Each column of a type of its own; the number and the version of a row decide the value."""
    kinds = (
        f"{of} + {column}",
        f"concat('v', {of}, '-{column}')",
        f"IF({of} % 3 = 0, NULL, CAST({of} AS DECIMAL(12, 2)))",
        f"CAST({of} AS DOUBLE) / 4",
        f"array({of}, {column})",
        f"named_struct('a', {of}, 'b', 'x')",
    )
    return kinds[column % len(kinds)]


def write(project: Project, columns: list[str], rows: dict[int, tuple[int, int]], name: str = "wide") -> None:
    """rows: number -> (version, the hour in which it leaves)."""
    project.sql(f"DROP TABLE IF EXISTS {{s}}.{name}")
    values = ", ".join(f"({n}L, {v}L, {until}L)" for n, (v, until) in rows.items())
    items = "".join(f", {value(i, '(v * 10 + n)')} AS {c}" for i, c in enumerate(columns))
    project.sql(
        f"CREATE TABLE {{s}}.{name} USING parquet AS\n"
        f"SELECT n AS id, timestamp_millis({Y2100}L + u * {HOUR}L) AS ts{items}\n"
        f"FROM VALUES {values} AS t(n, v, u)"
    )


def text_of(project: Project, view: str) -> str:
    rows = project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.{view}")
    return next(str(r[1]) for r in rows if r[0] == "View Text")


def check(project: Project, written: str, instants: list[int], model: str = "m") -> None:
    """The view at instants, and what is readable of it, against the query as written."""
    text = text_of(project, f"{model}__live")
    assert len(text) <= VIEW_TEXT_LIMIT
    for t in instants:
        wanted = project.rows(written.replace("mz_now()", f"timestamp_millis({t}L)"))
        assert Counter(map(str, project.rows(text.replace(LIVE, f"{t}L")))) == Counter(map(str, wanted)), t


def lives(project: Project, count: int, corrections: int, **config: str) -> list[str]:
    """A wide model, corrected again and again; the texts of its commits."""
    columns = names(count)
    rows = {n: (0, n) for n in range(1, 17)}
    write(project, columns, rows)
    written = "select * from {s}.wide where mz_now() < ts"
    project.model("m", written.replace("{s}", project.schema), **config)
    texts = []
    for turn in range(corrections + 1):
        if turn:
            rows[turn] = (turn, rows[turn][1] + 2)  # one is updated,
            rows.pop(16 - turn // 3, None)  # one is deleted now and then,
            rows[100 + turn] = (0, turn + 3)  # one is new
            write(project, columns, rows)
        now = Y2100 + turn * HOUR // 2
        project.run(now=now)
        check(project, written, [now, Y2100 + (turn // 2 + 2) * HOUR - turn % 2])
        texts.append(text_of(project, "m__live"))
    assert any(c.negative for c in project.state().chains)
    return texts


@pytest.mark.landing
def test_a_wide_model_is_corrected(project: Project) -> None:
    texts = lives(project, 300, 2, expiration="30 days")
    assert all("EXCEPT" in text for text in texts)


@pytest.mark.deep
@pytest.mark.parametrize("count", [100, 300, 1000])
@pytest.mark.parametrize("expiration", ["30 days", None])
def test_a_wide_model_through_ten_corrected_runs(count: int, expiration: str | None, project: Project) -> None:
    lives(project, count, 10, **({"expiration": expiration} if expiration else {}))


@pytest.mark.landing
def test_a_long_query_keeps_its_state_in_a_table(project: Project) -> None:
    """From the first run to a restart: what is no longer named goes, and a table that is lost is told."""
    digits = [f"{(i * 7919) ** 5:x}" for i in range(4000)]
    cases = " ".join(f"when '{d}' then {i}" for i, d in enumerate(digits))
    long = f"case cast(id as string) {cases} else -1 end as k"
    write(project, ["a"], {1: (0, 5), 2: (0, 6)})
    written = f"select id, {long} from {{s}}.wide where mz_now() < ts"
    project.model("m", written.replace("{s}", project.schema), diffs_retention="1 second")
    kept = []
    for turn in range(3):
        write(project, ["a"], {1: (turn, 5), 2: (0, 6 + turn)})
        project.run(now=Y2100 + turn)
        check(project, written, [Y2100 + turn, Y2100 + 5 * HOUR])
        kept.append(project.state().state_table)
    assert len(set(kept)) == 3 and all(kept)
    project.dbt("run-operation", "temporal_restart", "--args", "{model: m}")
    assert project.state().restart
    project.run(now=Y2100 + 3)
    check(project, written, [Y2100 + 3])
    state = project.state()
    project.sql(f"DROP TABLE {{s}}.{state.state_table}")
    told = project.run(now=Y2100 + 4, check=False).text
    assert f"it is in {state.state_table}, which cannot be read" in told
    assert "instead: dbt run --full-refresh -s m" in told
    check(project, written, [Y2100 + 3])  # reads go on
    project.run("--full-refresh", now=Y2100 + 5)
    check(project, written, [Y2100 + 5])


@pytest.mark.landing
def test_a_wide_model_without_rows(project: Project) -> None:
    columns = names(300)
    written = "select * from {s}.wide where mz_now() < ts"
    project.model("m", written.replace("{s}", project.schema), expiration="30 days")
    write(project, columns, {1: (0, -5)})
    for turn, rows in enumerate(({1: (0, -5)}, {2: (0, -6)}, {3: (0, 7)}, {4: (0, -5)})):
        write(project, columns, rows)
        project.run(now=Y2100 + turn)
        check(project, written, [Y2100 + turn, Y2100 + 6 * HOUR])
    project.dbt("run-operation", "temporal_consolidate", "--args", "{model: m}")
    check(project, written, [Y2100 + 3])


@pytest.mark.landing
def test_a_model_that_could_not_be_corrected_is_refused(project: Project) -> None:
    """At its first run, before anything is written, where the catalog does not keep a text so long."""
    write(project, names(2), {1: (0, 5)})
    items = ", ".join(f"sum(id + {i}) over (partition by id) as x{i}" for i in range(800))
    written = "select id, {} from {{s}}.wide where mz_now() < ts"
    branches = " union all ".join(f"select id, {n} as n from {{s}}.wide where mz_now() < ts" for n in range(30))
    project.model("m", written.format(items).replace("{s}", project.schema))
    project.model("many", branches.replace("{s}", project.schema))
    result = project.run(now=Y2100, check=False)
    if project.spark.conf.get("spark.sql.catalogImplementation") == "in-memory":  # it keeps texts of any length
        assert result.success and project.state("many").view_size > VIEW_TEXT_LIMIT
        write(project, names(2), {1: (1, 5), 2: (0, 6)})
        project.run(now=Y2100 + 1)
        for name, query in (("m", written.format("sum(id + 7) over (partition by id) as x7")), ("many", branches)):
            oracle = project.rows(query.replace("mz_now()", f"timestamp_millis({Y2100 + 1}L)"))
            columns = "id, x7" if name == "m" else "id, n"
            shown = project.rows(f"select {columns} from {project.at(name, Y2100 + 1)}")
            assert sorted(shown) == sorted(oracle), name
        assert len(text_of(project, "m__live")) > 32_700
        return
    assert "found: m, a model of 801 columns whose view may take" in result.text
    assert (
        "why: the catalog does not keep a view so long, so runs would fail once its inputs are updated" in result.text
    )
    assert "instead: move static parts of the model" in result.of("m").message
    assert "instead: temporal views with some of its 30 SELECTs" in result.of("many").message
    assert [r[1] for r in project.rows("SHOW TABLES IN {s}") if r[0]] == ["wide"]


@pytest.mark.landing
def test_equal_values_of_wide_models(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a view that names no columns tells -0.0 and the order of maps, as the readable one does."""
    monkeypatch.setattr(ViewTexts, "fits", lambda self, text: "EXCEPT" in text)
    rows = {1: ("-0.0D", "map('b', 1, 'a', 2)"), 2: ("0.0D", "map('a', 2, 'b', 1)"), 3: ("0.0D", "map('b', 1, 'a', 2)")}
    written = f"select * from {project.schema}.t where mz_now() < ts"
    project.model("m", written)
    for turn in range(4):
        values = ", ".join(f"({n // 4}, {d}, array({d}), {m})" for n, (d, m) in rows.items())
        project.sql("DROP TABLE IF EXISTS {s}.t")
        project.sql(
            f"CREATE TABLE {{s}}.t USING parquet AS SELECT *, timestamp_millis({Y2100}L + {HOUR}L) AS ts "
            f"FROM VALUES {values} AS f(k, d, xs, m)"
        )
        project.run(now=Y2100 + turn)
        live = text_of(project, "m__live").replace(LIVE, f"{Y2100 + turn}L")
        oracle = written.replace("mz_now()", f"timestamp_millis({Y2100 + turn}L)")
        shown = "select concat_ws(' ', k, d, CAST(xs AS STRING), CAST(m AS STRING)) from ({}) order by 1"
        assert project.rows(shown.format(live)) == project.rows(shown.format(oracle)), turn
        net = "select CAST(struct(k, d, xs, m) AS STRING) as row, sum(mz_diff) as n from {s}.m__diffs"
        counts = project.rows(f"{net} where mz_timestamp <= {Y2100 + turn} group by 1 having sum(mz_diff) <> 0")
        shown = f"select CAST(struct(k, d, xs, m) AS STRING), count(*) from ({oracle}) group by 1"
        assert sorted(counts) == sorted(project.rows(shown)), turn
        rows = [  # an update to an equal value, a delete, one more
            {**rows, 2: ("-0.0D", "map('a', 2, 'b', 1)")},
            {n: row for n, row in rows.items() if n != 3},
            {**rows, 4: ("0.0D", "map('a', 2, 'b', 1)")},
            rows,
        ][turn]


#: models whose views are written without the names of columns
COMPACT = {
    "cores": "select id, k from {s}.e where mz_now() < ts union all select id, -k from {s}.f where mz_now() >= ts",
    "counted": "select k, count(*) as n, sum(v) as total, avg(v) as mean from {s}.e where mz_now() < ts group by k",
    "valued": "select k, max(v) as top, count(distinct v) as n from {s}.e where mz_now() < ts group by k",
    "whole": "select count(*) as n, sum(v) as total from {s}.e where mz_now() < ts",
    "ordered": "select id from {s}.e where mz_now() < ts order by v desc, ts, id limit 3",
    "named": "with live as (select * from {s}.e where mz_now() < ts) select l.id, f.k from live as l join {s}.f as f "
    "on f.id = l.id",
    "ranked": "select id, rank() over w as r from {s}.e where mz_now() < ts window w as (partition by k order by id)",
    "clocked": "select id, mz_now() as seen from {s}.e where mz_now() < ts",
    "both": "select id from {s}.e where mz_now() < ts except all select id from {s}.f where mz_now() < ts",
}
OVER = {
    "over_cores": "select k, count(*) as n from {cores} where k > 0 group by k",
    "over_counted": "select n, k from {counted} where n > 1",
    "over_ordered": "select id from {ordered}",
}


@pytest.mark.deep
def test_all_kinds_of_compact_views(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several cores, kept groups, ORDER BY, LIMIT, CTEs, comments, expirations and stacks: the same in either form."""
    monkeypatch.setattr(ViewTexts, "fits", lambda self, text: "EXCEPT (" in text)
    for name, sql in COMPACT.items():
        config = {"expiration": "2 days"} if name != "cores" else {}
        docs = {"relation": True, "columns": True}
        project.model(name, sql.replace("{s}", project.schema), persist_docs=docs, **config)
    refs = {name: f"{{{{ ref('{name}') }}}}" for name in COMPACT}
    for name, sql in OVER.items():
        project.model(name, sql.format(**refs), expiration="2 days")
    columns = {"columns": [{"name": "id", "description": "which"}], "description": "a wide one"}
    models = [{"name": name, **columns} for name in ("ordered", "cores")]
    project.write("models/schema.yml", json.dumps({"models": models}))
    written = {name: sql.format(**{one: f"({text})" for one, text in COMPACT.items()}) for name, sql in OVER.items()}
    written |= COMPACT
    rows = {n: (n % 3, n * n % 7, n % 5) for n in range(1, 12)}
    for turn in range(3):
        for table, shift in (("e", 0), ("f", 2)):
            of_table = {n: row for n, row in rows.items() if n % (4 - shift)}
            values = ", ".join(f"({n}L, {k}L, {v}L, {until + shift}L)" for n, (k, v, until) in of_table.items())
            project.sql(f"DROP TABLE IF EXISTS {{s}}.{table}")
            project.sql(
                f"CREATE TABLE {{s}}.{table} USING parquet AS\n"
                f"SELECT id, k, v, timestamp_millis({Y2100}L + u * {HOUR}L) AS ts "
                f"FROM VALUES {values} AS t(id, k, v, u)"
            )
        project.run(now=Y2100 + turn)
        for name, sql in written.items():
            state, text = project.state(name), text_of(project, f"{name}__live")
            assert "EXCEPT (" in text, name
            instants = (Y2100 + turn, Y2100 + 3 * HOUR - 1, Y2100 + 3 * HOUR, Y2100 + 7 * HOUR)

            def at(form: str, clock: str, instants: tuple[int, ...] = instants) -> Counter:
                each = (f"SELECT {t} AS t, * FROM (\n{form.replace('{t}', clock.format(t))}\n)" for t in instants)
                return Counter(project.rows("\nUNION ALL\n".join(each)))

            oracle = sql.replace("{s}", project.schema).replace("mz_now()", "{t}")
            plain = at(oracle, "timestamp_millis({}L)")
            for form in (text, live_view(state)) if turn == 2 else (text,):
                assert at(form.replace(LIVE, "{t}"), "{}L") == plain, (name, turn)
        rows[1] = (2, turn, 4)  # one is updated,
        rows.pop(5 + turn)  # one is deleted,
        rows[20 + turn] = (1, 3, 6)  # one is new
    told = {str(r[0]): r for r in project.rows("DESCRIBE TABLE EXTENDED {s}.ordered")}
    assert told["id"][2] == "which" and told["Comment"][1] == "a wide one"


@pytest.mark.parametrize("capture", each(2, ["auto", "append"]))
@pytest.mark.parametrize("compact", each(2, [False, True]))
def test_renamed_columns_of_a_corrected_model(
    project: Project, monkeypatch: pytest.MonkeyPatch, capture: str, compact: bool
) -> None:
    """Spark infers conditions from columns that are made of others, twice as many with each column that is renamed.

    With forty columns a statement that has such a column beside the rows ends in an OutOfMemoryError.
    """
    if compact:
        monkeypatch.setattr(ViewTexts, "fits", lambda self, text: "EXCEPT" in text)
    columns, rows = [f"c{i}" for i in range(40)], {n: (0, n) for n in range(1, 9)}
    write(project, columns, rows)
    appended = {"change_capture": "append", "append_column": "id", "lookback": "3 milliseconds"}
    config = appended if capture == "append" else {}
    renamed = ", ".join(f"{c} as x_{c}" for c in columns)
    written = f"select id as number, {renamed} from {{s}}.wide where mz_now() < ts"
    project.model("m", written.replace("{s}", project.schema), **config)
    for turn in range(3):
        if turn:
            rows |= {100 + turn: (0, 9), 98: (0, 3)} if config else {turn: (turn, 5)}
            write(project, columns, rows)
        project.run(now=Y2100 + turn)
    assert config or any(chain.negative for chain in project.state().chains)
    again = ", ".join(f"x_{c} as y_{c}" for c in columns)
    place = "row_number() over (partition by y_c1 order by number) as nth"
    read = f"select *, {place} from (select number, {again} from ({{m}}) as m) as r left join {{s}}.wide on id = number"
    oracle = written.replace("mz_now()", f"timestamp_millis({Y2100 + 2}L)")
    query = "select * from ({}) as f where nth > 0 and (id is null or id > 0 or y_c2 is not null)"
    live = text_of(project, "m__live").replace(LIVE, f"{Y2100 + 2}L")
    found, wanted = (project.rows(query.format(read.replace("{m}", form))) for form in (live, oracle))
    assert Counter(map(str, found)) == Counter(map(str, wanted)) and found
