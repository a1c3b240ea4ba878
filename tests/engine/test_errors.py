"""Bad input: each error is rendered, names the model and what to write, and nothing is lost or half-published."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.session import substituted
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal, TemporalError
from dbt.adapters.sparktemporal.run import under_lock
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.run.lock import take_lock
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.predicates.ordered import YEARS_END
from support.instants import T0
from support.project import Project

EVENTS = (
    "CREATE TABLE {s}.events USING parquet AS SELECT id, timestamp_millis(1709294400000L + id) AS ts, "
    "id AS ms, 1.5D AS d, CAST(1.5 AS FLOAT) AS f, 'x' AS txt, true AS flag, map('a', 1) AS m, "
    "named_struct('a', 1) AS st, 7 AS mz_diff FROM range(10);"
    "CREATE TABLE {s}.dim USING parquet AS SELECT 1 AS id, 'a' AS name, current_timestamp() AS until"
)

#: what is refused: a WHERE or a whole query -> words of the message
REFUSED: dict[str, tuple[str, tuple[str, ...]]] = {
    "no_parentheses": ("select id from {e} where mz_now < ts", ("found: mz_now\n", "mz_now(), with parentheses")),
    "misspelt": (
        "select id from {e} where mznow() < ts",
        ("found: mznow()", "there is no such function", "instead: mz_now()"),
    ),
    "no_sql": (
        "select id fromm {e} where mz_now() < ts",
        ("[PARSE_SYNTAX_ERROR] Syntax error at", "Spark cannot parse"),
    ),
    "no_clock": ("select id from {e}", ("has no mz_now()", "materialized='view'")),
    "float": ("select id from {e} where mz_now() < f", ("FLOAT", "DIV", "floor")),
    "double": ("select id from {e} where mz_now() < 1000 * (ms / 1000)", ("DOUBLE", "DIV", "floor")),
    "string": ("select id from {e} where mz_now() < txt", ("STRING", "`cast(txt as timestamp)`")),
    "text_of_an_expression": (
        "select id from {e} where mz_now() < coalesce(ts, '2024-03-01')",
        ("STRING", "`cast(coalesce(ts, '2024-03-01') as timestamp)`"),
    ),
    "text": ("select id from {e} where mz_now() between 'noon' and ts", ("'noon' is no instant", "NULL")),
    "text_date": ("select id from {e} where id = 1 or mz_now() < '2024-02-30'", ("'2024-02-30' is no instant",)),
    "text_today": ("select id from {e} where cast(mz_now() as date) = 'today'", ("'today' is no instant", "own clock")),
    "text_time": ("select id from {e} where mz_now() >= '12:30'", ("'12:30' is no instant", "own clock")),
    "text_number": ("select id from {e} where mz_now() >= '1709294400000'", ("the number without quotes",)),
    "qualify": (
        "select id from {e} where mz_now() < ts qualify rank() over (order by ts) = 1",
        ("QUALIFY rank() over (order by ts) = 1", "Spark has no QUALIFY", "rank() OVER (ORDER BY ts) AS rank_1 FROM"),
    ),
    "substituted": (
        "select id, '${{mz.quote}}' as said from {e} where mz_now() < ts",
        ("found: ${mz.quote} in a model", "Spark puts a setting of the session in its place", "{{ var('...') }}"),
    ),
    "pipe": (
        "from {e} |> where mz_now() < ts |> select id, ms |> pivot (sum(ms) for id in (1, 2))",
        ("found: |> where mz_now() < ts", "clauses of a SELECT"),
    ),
    "open_quote": ("select id from {e} where mz_now() < ts and txt = 'a", ("cannot be split", "closed quotes")),
    "deep": (f"select {'abs(' * 900}id{')' * 900} as x from {{e}} where mz_now() < ts", ("900 parentheses", "a CTE")),
    "spark": (
        "select txt, (select max(name) from {d} d where d.id = e.ms) as n from {e} e where mz_now() < ts group by txt",
        ("found: [", "Spark makes no plan"),
    ),
    "boolean": ("select id from {e} where mz_now() = flag", ("BOOLEAN", "predicate of its own")),
    "struct": ("select id from {e} where mz_now() < st", ("STRUCT<A: INT>".replace(": ", ":"),)),
    "arguments": ("select id from {e} where mz_now(5) < ts", ("takes no arguments",)),
    "float_in_an_or": ("select id from {e} where id = 1 or mz_now() < f", ("FLOAT", "DIV")),
    "not_a_predicate": ("select id from {e} where mz_now()", ("BOOLEAN",)),
    "months_and_hours_before_a_day": (
        "select id from {e} where date_trunc('DAY', mz_now() - make_interval(0, 1, 0, 0, 12)) - interval 1 day <= ts",
        ("beside mz_now(), and more", "the interval on the other side: `mz_now() <= ts + "),
    ),
    "bare_name": ("select id from {e} where current_timestamp > ts", ("current_timestamp() for the clock",)),
    "recursive": (
        "with recursive r as (select id from {e} where mz_now() < ts union all select id + 1 from r where id < 3) "
        "select id from r",
        ("not linear", "an upstream table"),
    ),
    "cte_twice": (
        "with a as (select id from {e} where mz_now() < ts), A as (select id from {d}) select * from a",
        ("WITH a AS (...) twice", "two CTEs of one WITH", "one name for each"),
    ),
    "cte_of_ours": (
        "with mz_core_c0 as (select id from {e} where mz_now() < ts) select * from mz_core_c0",
        ("found: FROM mz_core_c0", "stand for what a run stores", "another name for the CTE"),
    ),
    "not_planned": (
        "select id from {e} where mz_now() < ts and ts < timestamp_millis(9223372036854775807)",
        ("found: long overflow", "Spark makes no plan of this query"),
    ),
    "lambda_in_parentheses": (
        "select id from {e} where exists(array(ts), (x) -> x > mz_now())",
        ("found: (x) ->\n", "one parameter of a lambda without parentheses", "instead: x -> "),
    ),
    "lambda_of_a_pair": (
        "select id from {e} where mz_now() < ts and transform(array(ts), ((x, i)) -> i) is null",
        ("[PARSE_SYNTAX_ERROR] Syntax error at or near '->'", "Spark cannot parse"),
    ),
    "number_and_no_timestamp": (
        "select id from {e} where mz_now() not in (ms, ts, null)",
        ("found: mz_now() not in (ms, ts, null)\n", "a number and with a timestamp"),
    ),
    "number_and_timestamp": ("select id from {e} where mz_now() between ms and ts", ("a number and with a timestamp",)),
    "random": ("select id, rand() as r from {e} where mz_now() < ts", ("rand()", "another value at every run")),
    "random_bound": ("select id from {e} where mz_now() < ts + make_dt_interval(0, 0, 0, rand())", ("rand()",)),
    "random_or": ("select id from {e} where mz_now() < ts or rand() < 0.5", ("rand()", "another value at every run")),
    "no_name": ("select id, mz_now() from {e} where mz_now() < ts", ("mz_now() AS a_name", "without an alias")),
    "no_name_below": (
        "select * from (select count_if(mz_now() < ts) from {e}) x",
        ("count_if(mz_now() < ts) AS a_name",),
    ),
    "nothing_read": ("select 1 as id where mz_now() < timestamp '2030-01-01'", ("reads nothing",)),
    "sample": ("select id from {e} tablesample (10 percent) where mz_now() < ts", ("tablesample",)),
    "our_name": ("select id, mz_diff from {e} where mz_now() < ts", ("column mz_diff", "another alias")),
    "our_name_too": ("select id as MZ_UNTIL from {e} where mz_now() < ts", ("column MZ_UNTIL",)),
    "twice": ("select id, id from {e} where mz_now() < ts", ("column id twice",)),
    "twice_by_joins": ("select e.id, d.id from {e} e join {d} d on mz_now() < ts", ("column id twice",)),
    "twice_without_names": ("select count(*), count(1) from {e} where mz_now() < ts", ("column count(1) twice",)),
    "untyped": ("select id, null as nothing from {e} where mz_now() < ts", ("CAST(NULL AS",)),
    "name_in_a_subquery": (
        "select id, (select count(*) from {d} d where d.id > ms) as n, rank() over (order by id) as r "
        "from {e} as name where mz_now() < ts",
        ("name is a name in this subquery, and the alias of the rows", "another alias"),
    ),
    "star_names": ("select *, id + 1, * from {e} where mz_now() < ts", ("id + 1", "id + 1 AS a_name")),
    "two_statements": ("select id from {e} where mz_now() < ts; select 1", ("one query",)),
    "not_read": ("select id from {e} where mz_now() < ts and id !< 1", ("cannot be read",)),
    "collated": (
        "select id, txt collate utf8_lcase as t from {e} where mz_now() < ts",
        ("without its collation",),
    ),
    "clock_type_elsewhere": ("select cast(txt as mz_timestamp) as t from {e} where mz_now() < ts", ("STRING",)),
}

CONFIGS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "words": ({"expiration": "soon"}, ("expiration: 'soon'", "22 days")),
    "negative": ({"expiration": "-3 days"}, ("cannot be negative",)),
    "months": ({"expiration": "1 month"}, ("months and years have no fixed length",)),
    "capture": ({"change_capture": "fast"}, ("change_capture: 'fast'", "full")),
    "format": ({"file_format": "csv"}, ("file_format: 'csv'", "parquet")),
    "typo": ({"expirations": "22 days"}, ("there is no such config", "instead: expiration")),
    "expires_before_it_restarts": (
        {"expiration": "7 days", "restart_every": "1 week"},
        ("the view would raise 1 week after a restart, and the next one is due after 1 week", "three times"),
    ),
    "append_alone": ({"change_capture": "append"}, ("change_capture: 'append'", "append_column: <column>")),
    "append_column_alone": ({"append_column": "ts"}, ("append_column: 'ts'", "in whose order its rows come")),
    "lookback_alone": ({"lookback": "1 hour"}, ("lookback: '1 hour'", "append_column: <column>")),
    "lookback_words": ({"lookback": "late", "change_capture": "append", "append_column": "ts"}, ("lookback: 'late'",)),
    "append_column_elsewhere": (
        {"change_capture": "append", "append_column": "tz"},
        ("append_column: 'tz'", "it is a column of none of spark_catalog."),
    ),
    "append_column_type": (
        {"change_capture": "append", "append_column": "txt"},
        ("'txt', of type string", "TIMESTAMP"),
    ),
    "restart_at_words": (
        {"restart_every": "1 week", "restart_at": "Funday 3"},
        ("restart_at: 'Funday 3'", "Sunday 03:00"),
    ),
    "restart_at_alone": ({"restart_at": "03:00"}, ("restart_at: '03:00'", "restart_every beside it")),
    "restart_at_too_seldom": (
        {"restart_every": "2 days", "restart_at": "Sunday 03:00"},
        ("that time comes every 1 week", "a restart_every of 1 week or more"),
    ),
    "refresh_at_alone": ({"refresh_at": "2024-01-01"}, ("refresh_at: '2024-01-01'", "refresh_every beside it")),
    "refresh_at_words": ({"refresh_every": "1 day", "refresh_at": "noon"}, ("refresh_at: 'noon'", "not an instant")),
    "all_at_once": (
        {"expiration": "soon", "retain_history": "x", "change_capture": "no"},
        ("expiration: 'soon'", "retain_history: 'x'", "change_capture: 'no'"),
    ),
}


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Any:
    project = Project(tmp_path_factory.mktemp("refused") / "project", spark)
    project.sql(EVENTS)
    names = {"e": f"{project.schema}.events", "d": f"{project.schema}.dim"}
    for name, (sql, _) in REFUSED.items():
        project.model("r_" + name, sql.format(**names))
    for name, (config, _) in CONFIGS.items():
        project.model("c_" + name, f"select id from {names['e']} where mz_now() < ts", **config)
    spark.conf.set("mz.quote", "it's")
    begun: Counter[str] = Counter()
    locks: list[str] = []

    def counted(warehouse: Warehouse, target: ModelRelations, *others: Any) -> Any:
        begun[target.model] += 1
        return begin(warehouse, target, *others)

    def locked(warehouse: Warehouse, target: ModelRelations, *others: Any) -> Any:
        locks.append(target.model)
        return take_lock(warehouse, target, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(under_lock, "begin", counted)
        patch.setattr(under_lock.lock, "take_lock", locked)
        result = project.run(now=T0, check=False)
    spark.conf.unset("mz.quote")
    result.begun, result.locks = begun, locks
    yield project, result
    project.drop()


@pytest.mark.parametrize("name", REFUSED)
def test_refused_model(name: str, refusals: Any) -> None:
    _, result = refusals
    outcome = result.of("r_" + name)
    assert outcome.status == "error"
    assert "Compilation Error" in outcome.message and f"r_{name}" in outcome.message
    assert (
        re.search(r"(?s)\n +ST\d{3} found: .*\n +why: .*\n +instead: ", outcome.message)
        and not outcome.adapter_response
    )
    for words in REFUSED[name][1]:
        assert words in outcome.message
    assert result.begun["r_" + name] == 1 and "r_" + name not in result.locks  # decided once, without a lock


@pytest.mark.parametrize("name", CONFIGS)
def test_refused_config(name: str, refusals: Any) -> None:
    _, result = refusals
    outcome = result.of("c_" + name)
    assert outcome.status == "error" and re.search(r"\n +ST[14]\d\d found: ", outcome.message)
    for words in (f"c_{name}", *CONFIGS[name][1]):
        assert words in outcome.message
    assert result.begun["c_" + name] <= 1 and "c_" + name not in result.locks


#: values of a setting -> whether a model with it is refused
SUBSTITUTED = {
    "a": False, "": False, "1, 2": False, "a\nb": False, "a\\nb": False, "{mz.other}": False, "${mz.other}": False,
    "${mz.circle}": True, "${nobody:x}": True, "a','b": True, "a' 'b": True, "x' || 'y": True, "it's": True,
    'a"b"': True, "p', r'p' -- ": True, "p' /* ' */": True, 'a", "b': True, "''": True, '"': True,
}  # fmt: skip
REFERENCES = (
    "'${mz.value}', '${spark:mz.value}', '${hiveconf:mz.value}' /* ${mz.value} */, '${hivevar:mz.value}${mz.none}', "
    "'${${mz.value}}${a$b}', '${env:HOME}', '${system:user.dir}', '${env:NO_SUCH}${nobody:mz.value}', '${mz. value}'",
    "'$${mz.value}'",
)


@pytest.mark.parametrize("value", SUBSTITUTED)
def test_a_text_with_values_of_settings_is_what_spark_reads(value: str, spark: Any) -> None:
    warehouse = Warehouse(lambda sql: [tuple(row) for row in spark.sql(sql).collect()])
    refused = []
    for key, text in {"mz.value": value, "mz.other": "O", "mz.circle": "${mz.circle}"}.items():
        spark.conf.set(key, text)
    for written in REFERENCES:
        try:
            read = substituted(warehouse, f"SELECT {written}")
        except Refusal as refusal:
            assert refusal.code == "ST355"
            refused.append(written)
        else:
            assert warehouse.rows(f"SELECT {written}") == warehouse.rows(read)
    for key in ("mz.value", "mz.other", "mz.circle"):
        spark.conf.unset(key)
    assert (REFERENCES[0] in refused) is SUBSTITUTED[value]


def test_nothing_is_left_of_what_was_refused(refusals: Any) -> None:
    project, _ = refusals
    found = project.rows("SHOW TABLES IN {s}")
    assert {name for _, name, is_temporary in found if not is_temporary} == {"events", "dim"}


def healthy(project: Project) -> None:
    project.sql(EVENTS)
    project.model("m", f"select id from {project.schema}.events where mz_now() >= ts")
    project.run(now=T0 + 5)
    assert project.rows("SELECT count(*) FROM {s}.m") == [(10,)]


def test_missing_chain(project: Project) -> None:
    healthy(project)
    ((_, chain, _),) = project.rows("SHOW TABLES IN {s} LIKE 'm__diffs_*'")
    project.sql(f"DROP TABLE {{s}}.{chain}")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):  # an error, not fewer rows
        project.rows("SELECT count(*) FROM {s}.m")
    result = project.run(now=T0 + 6, check=False)
    assert f"m without its chain {chain}" in result.text and "dbt run --full-refresh -s m" in result.text
    merged = project.dbt("run-operation", "temporal_consolidate", "--args", "{model: m}", check=False).text
    assert "ST505 found: chains that are gone: " in merged and chain in merged
    project.run("--full-refresh", now=T0 + 6)
    assert project.rows("SELECT count(*) FROM {s}.m") == [(10,)]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda t: t.replace('"frontier":17', '"frontier":16'), "checksum does not match"),
        (lambda t: t.replace("mz_from <=", "mz_from <"), "checksum does not match"),
        (lambda t: t.replace('"format":2', '"format":99'), "its format is 99"),
    ],
)
@pytest.mark.landing
def test_hand_edited_state(project: Project, edit: Any, said: str) -> None:
    healthy(project)
    rows = project.rows("DESCRIBE TABLE EXTENDED {s}.m__live")
    text = next(r[1] for r in rows if r[0] == "View Text")
    assert edit(text) != text
    project.spark.sql(f"ALTER VIEW {project.schema}.m__live AS {edit(text)}")
    before = project.rows("SHOW TABLES IN {s}")
    result = project.run(now=T0 + 6, check=False)
    assert said in result.text and "m__live" in result.text and "--full-refresh -s m" in result.text
    assert project.rows("SHOW TABLES IN {s}") == before
    project.run("--full-refresh", now=T0 + 6)
    assert project.rows("SELECT count(*) FROM {s}.m") == [(10,)]


@pytest.mark.landing
def test_view_text_over_its_limit(project: Project) -> None:
    healthy(project)

    def of(columns: int) -> Any:
        long = ", ".join(f"{n} as column_number_{n}" for n in range(columns))
        where = f"select id from {project.schema}.events where mz_now() >= ts"
        project.model("m", f"with w as ({where}) select {long} from w")
        return project.run(now=T0 + 6, check=False)

    assert of(600).success  # in a text that does not say all
    assert len(project.rows("SELECT * FROM {s}.m")[0]) == 600
    result = of(1500)
    keeps_all = project.spark.conf.get("spark.sql.catalogImplementation") == "in-memory"
    assert result.success == keeps_all and len(project.rows("SELECT * FROM {s}.m")[0]) == (1500 if keeps_all else 600)
    for words in () if keeps_all else ("a view text of", "the catalog does not keep one so long", "upstream model"):
        assert words in result.text
    assert project.rows("SELECT count(*) FROM {s}.m") == [(10,)]


@pytest.mark.landing
def test_a_temporal_view_that_is_written_out(project: Project) -> None:
    project.sql(EVENTS)
    project.model("m", f"select id, ts from {project.schema}.events where mz_now() >= ts")
    project.model("by_name", f"select id from {project.schema}.m where mz_now() >= ts")
    project.run("-s", "m", now=T0)
    # dbt's graph does not know of an input that is written out; Spark's plan does
    text = project.run("-s", "by_name", now=T0, check=False).text
    assert "m, a temporal_view, as an input that dbt does not know of" in text and "{{ ref('m') }}" in text


@pytest.mark.landing
def test_reads_of_what_is_no_temporal_view(project: Project) -> None:
    project.sql(EVENTS)
    project.model("plain", f"select id from {project.schema}.events", materialized="view")
    project.run()
    text = "select * from {{ temporal_as_of(ref('plain'), 5) }}"
    assert "not a temporal_view that has run" in project.dbt("compile", "--inline", text, check=False).text


@pytest.mark.parametrize("instant", ["'tomorrow'", "'2024-03-01 12:00:00.0001'", "true", "1.5"])
@pytest.mark.quick(1)
def test_bad_instants(project: Project, instant: str) -> None:
    healthy(project)
    text = f"select * from {{{{ temporal_as_of(ref('m'), {instant}) }}}}"
    found = project.dbt("compile", "--inline", text, check=False)
    assert not found.success and "temporal_as_of" in found.text


def test_bad_temporal_now(project: Project) -> None:
    project.sql(EVENTS)
    project.model("m", f"select id from {project.schema}.events where mz_now() >= ts")
    assert "var temporal_now: 'noon'" in project.run(now="noon", check=False).text


@pytest.mark.landing
def test_spark_errors_are_about_the_model(project: Project) -> None:
    project.sql(EVENTS)
    project.model("m", f"select id, nothing_there from {project.schema}.events where mz_now() >= ts")
    text = project.run(now=T0, check=False).text
    assert "UNRESOLVED_COLUMN" in text and "nothing_there" in text


@pytest.mark.parametrize(
    ("zone", "where", "words"),
    [
        ("America/St_Johns", "mz_now() - interval 1 day <= ts", "found: mz_now() - interval 1 day\n"),
        ("America/St_Johns", "id = 1 or mz_now() - ts < interval 1 hour", "found: mz_now() - ts\n"),
        ("America/St_Johns", "timestampdiff(HOUR, ts, mz_now()) < 3", "timestampdiff(HOUR, ts, mz_now())"),
        ("America/St_Johns", "ts >= dateadd(DAY, -1, mz_now())", "found: dateadd(DAY, -1, mz_now())\n"),
        ("America/St_Johns", "cast(mz_now() as date) = cast(ts as date)", "found: cast(mz_now() as date)"),
    ],
)
@pytest.mark.landing
def test_local_time_on_the_clocks_side(project: Project, zone: str, where: str, words: str) -> None:
    project.sql(EVENTS)
    warehouse = Warehouse(project.rows)
    sql = f"select id from {project.schema}.events where {where}"
    settings = {**warehouse.settings(), "spark.sql.session.timeZone": zone}
    in_2001 = 978_307_200_000
    with pytest.raises(Refusal, match="follows local time, which .*goes back") as raised:
        understand(warehouse, sql, settings, "4.1.4", in_2001)
    assert words in str(raised.value) and zone in str(raised.value)
    understand(warehouse, sql, {**settings, "spark.sql.session.timeZone": "Asia/Tokyo"}, "4.1.4", in_2001)


def test_fields_beyond_the_years_whose_order_is_known(project: Project) -> None:
    """A read filters what is made of them, at any clock at which no search would be right."""
    project.sql(EVENTS)
    warehouse = Warehouse(project.rows)
    sql = f"select id from {project.schema}.events where date_format(mz_now(), 'yyyy-MM') <= date_format(ts, 'yyyy-MM')"
    told = [
        understand(warehouse, sql, warehouse.settings(), "4.1.4", as_of).notes
        for as_of in (-12_000_000_000_000, T0, YEARS_END - 1, YEARS_END)
    ]
    assert [len(notes) for notes in told] == [1, 0, 0, 1] and told[0][0].startswith("evaluated when the view is read")
    project.model("m", sql)
    said = project.run(now=T0).log
    state = project.state("m")
    assert state.expiration == YEARS_END - 1 and state.expires is None and not any("expires" in line for line in said)
    assert project.rows(f"SELECT count(*) FROM {project.at('m', YEARS_END - 1)}") == [(0,)]
    with pytest.raises(TemporalError, match="7999-12-31 23:59:59.999 UTC .expiration."):
        project.at("m", YEARS_END)


@pytest.mark.landing
def test_now_is_read_as_the_clock_and_said(project: Project) -> None:
    project.sql(EVENTS)
    project.model("m", f"select id, current_date() as today from {project.schema}.events where now() >= ts")
    log = project.run(now=T0 + 3).text
    assert "temporal_view m: now() is read as mz_now()" in log and "m: current_date() is read as mz_now()" in log
    at = f"select id, today from {project.at('m', T0 + 4)}"
    assert sorted(map(str, project.rows(at)))[-1] == "(4, datetime.date(2024, 3, 1))"


@pytest.mark.landing
def test_what_is_evaluated_at_read_time_is_said(project: Project) -> None:
    project.sql(EVENTS)
    schema = project.schema
    project.sql("CREATE TABLE {s}.plain USING parquet AS SELECT id, ts FROM {s}.events")
    inner = f"select 1 from {schema}.plain e where e.id <= o.id and e.id >= o.id and mz_now() >= e.ts"
    project.model("m", f"select id from {schema}.dim o where exists ({inner})")
    assert "evaluated when the view is read, over all rows of its inputs: e.id <= o.id" in project.run(now=T0 + 1).text
    at = f"select id from {project.at('m', T0 + 1)}"
    assert project.rows(at) == [(1,)]


@pytest.mark.landing
def test_bounds_at_the_ends_of_a_bigint_beside_a_step(project: Project) -> None:
    """The search by halves is over a range that comes down to a millisecond, whatever the row's other bound."""
    last, day = 2**63 - 1, 86_400_000
    project.sql(
        f"CREATE TABLE {{s}}.far USING parquet AS SELECT * FROM VALUES (1, {-last}L, {last}L), (2, {last}L, {last}L), "
        f"(3, 0L, {last - 1}L), (4, {last - 5}L, {last}L), (5, {-last}L, {T0}L) AS v(id, lo, hi)"
    )
    where = "lo <= mz_now() and mz_now() < hi and datediff(mz_now(), date '2024-03-01') >= 2"
    project.model("m", f"select id from {project.schema}.far where {where}")
    project.model("n", f"select id from {project.schema}.far where mz_now() < hi and datediff(mz_now(), date "
                  f"'2024-03-01') >= 2 or lo >= mz_now() and false")  # fmt: skip
    project.run(now=T0 - day)
    midnight = T0 + day // 2 + day  # 2024-03-03
    for model, inside in (("m", [1, 3]), ("n", [1, 2, 3, 4])):
        at = {}
        for t in (midnight - 1, midnight, midnight + 1):
            at[t - midnight] = sorted(r[0] for r in project.rows(f"select id from {project.at(model, t)}"))
        assert at == {-1: [], 0: inside, 1: inside}, model
