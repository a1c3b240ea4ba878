"""The text of a commit: which form it takes, that the state survives each, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.engine.committed import state_of
from dbt.adapters.sparktemporal.engine.descriptions import ViewInfo
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal, TemporalError
from dbt.adapters.sparktemporal.run.commit import ViewTexts
from dbt.adapters.sparktemporal.run.published_view import Docs, publish
from dbt.adapters.sparktemporal.temporal.diffs import compact_sql, intervals_read, readable_updates, view_sql
from dbt.adapters.sparktemporal.temporal.diffs.input_state import RowsFingerprint
from dbt.adapters.sparktemporal.temporal.diffs.intervals_sql import nested, pretty
from dbt.adapters.sparktemporal.temporal.diffs.longest_view import worst
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, CoreState, State
from dbt.adapters.sparktemporal.temporal.diffs.state_text import VIEW_TEXT_LIMIT, Form, embed, extract, packed, run_of
from dbt.adapters.sparktemporal.temporal.rewrite.core import Core, TypedCore
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse

TARGET = ModelRelations("`s`", "m")
RUN = "0" * 24
KIND = "spark.sql.catalog"


class Spark:
    """What is asked while a commit is made, and the answers; tables by the literal they were made of.

    keeps: the longest text of a view that the catalog keeps.
    """

    def __init__(self, version: str = "4.1.4", catalog: str = "<undefined>", keeps: int = 32_700) -> None:
        self.keeps = keeps
        self.asked: list[str] = []
        self.tables: dict[str, str] = {}
        here = "spark_catalog"
        self.answers = {"SELECT version()": version, "SELECT current_catalog()": here, f"SET {KIND}.{here}": catalog}

    def rows(self, sql: str) -> list[tuple]:
        self.asked.append(sql)
        if sql in self.answers:
            return [("key", self.answers[sql])] if sql.startswith("SET") else [(self.answers[sql],)]
        made = re.match(
            r"CREATE TABLE (\S+) USING parquet TBLPROPERTIES \([^)]*\) AS\nSELECT '([^']*)' AS mz_state$", sql
        )
        if made:
            self.tables[made.group(1)] = made.group(2)
            return []
        if sql.startswith("CREATE VIEW `s`.`mz_probe_") and len(sql) > self.keeps:
            raise RuntimeError("A truncation error was encountered trying to shrink LONG VARCHAR 'x' to length 32700.")
        if "`s`.`mz_probe_" in sql:
            return []
        table = sql.removeprefix("SELECT mz_state FROM ")
        if table not in self.tables:
            raise RuntimeError(f"[TABLE_OR_VIEW_NOT_FOUND] {table} cannot be found\nat line 1")
        return [(self.tables[table],)]

    def texts(self, live: ViewInfo | None = None) -> ViewTexts:
        return ViewTexts(Warehouse(self.rows), TARGET, live)


def found_in(spark: Spark, text: str) -> State:
    """The state that a run finds in the text of a live view."""
    return state_of(Warehouse(spark.rows, catalog="spark_catalog"), TARGET, ViewInfo(text, {}, None))


def columns(count: int) -> tuple[tuple[str, str], ...]:
    return tuple((f"column_{i:04d}_{'x' * 20}", "decimal(12,2)") for i in range(count))


def a_state(width: int = 2, corrections: int = 1, **changes: object) -> State:
    chains = tuple(Chain(f"m__diffs_{RUN}", 5, corrections, 0, 9, 3) for _ in range(3))
    base = State(
        model="m", schema="`s`", run=RUN, since=0, frontier=20, started_at=10, offset=100, expiration=110,
        core_hash="h", residual="SELECT * FROM mz_core_c0", columns=columns(width),
        cores=(CoreState("c0", columns(width), chains),),
        written="select '*/ $ /* ${x} \\' \"' from t", kinds=("timestamp",),
        inputs={"t": RowsFingerprint(3, None)}, settings={"z": "UTC"},
        project="p",
    )  # fmt: skip
    return base.advanced(**changes)


def a_core(width: int) -> TypedCore:
    return TypedCore(Core("c0", parse("SELECT * FROM t"), ()), columns(width))


def committed(spark: Spark, state: State) -> tuple[State, str]:
    """The state as it is published, and the text of the view."""
    return committed_by(spark, spark.texts(), state)


def committed_by(spark: Spark, texts: ViewTexts, state: State) -> tuple[State, str]:
    made, steps = texts.committing(state, "ALTER VIEW", "r1")
    for step in steps[:-1]:
        spark.rows(step.sql)
    assert steps[-1].sql.startswith("ALTER VIEW `s`.`m__live` AS\n")
    return made, steps[-1].sql.partition(" AS\n")[2]


def test_a_narrow_model_asks_nothing_more() -> None:
    spark = Spark()
    _, text = committed(spark, a_state())
    assert text == embed(a_state(), view_sql.live_view(a_state())) and spark.asked == []


def test_two_arms_are_only_where_they_fit() -> None:
    """The plain text of a read takes their place, and only then the shorter forms."""
    chain = Chain(f"m__diffs_{RUN}", 5, 0, 0, 9, 3, bucketed=True, edges_from=0)
    forms = []
    for width in range(40, 130, 10):
        state = a_state(width, cores=(CoreState("c0", columns(width), (chain,) * 3),))
        _, text = committed(Spark(), state)
        assert len(text) <= VIEW_TEXT_LIMIT
        arms, plain = (embed(state, view_sql.live_view(state, splits)) for splits in (True, False))
        assert ("mz_bucket = " in arms) and ("mz_bucket = " not in plain)
        forms.append("arms" if text == arms else "plain" if text == plain else "shorter")
    assert forms == sorted(forms) and set(forms) == {"arms", "plain", "shorter"}


#: what Python, or sqlglot, takes for the end of a line; what stands for a read
TEXTS = [f"a{c}b" for c in map(chr, range(0x3000)) if len(f"a{c}b".splitlines()) > 1] + [
    "__SQLGLOT__LB__",
    "mz_read_0 ",
    "mz_read__0 mz_read ",
]


def test_no_layout_changes_a_literal() -> None:
    """Nor a name, which has no line feed. All line feeds are of the layout."""
    assert len(TEXTS) > 12
    for text in TEXTS:
        query = parse(f"SELECT '{text}' AS x, `{text.translate({10: 45})}` AS y FROM (SELECT * FROM mz_core_c0) AS z")
        read = parse(f"SELECT '{text}', k FROM t")
        laid_out = view_sql.inline_upstreams(query, {"mz_core_c0": pretty(read)})
        expected = query.copy()
        (table,) = expected.find_all(exp.Table)
        table.replace(read.subquery("mz_core_c0"))
        assert parse(nested(laid_out, "n")[1 : -len("AS n") - 3]) == expected, ascii(text)


def test_an_unknown_edge_is_no_edge() -> None:
    """Of a chain that an earlier version wrote it is not known how its buckets grow: one arm reads it."""
    known, unknown = (Chain("c", 5, 0, 0, 0, 3, bucketed=True, edges_from=edges) for edges in (7, None))
    read = {c.edges_from: intervals_read.read((c,), "s", columns(1), "9L", 0) for c in (known, unknown)}
    assert read[7].count("UNION ALL") == 1 and read[7].count("mz_until") == 2  # in one arm alone
    assert "UNION ALL" not in read[None] and "mz_bucket > 9L" in read[None]


#: what makes a text long -> how it is shortened
LONG = {
    "columns": (a_state(150), True, Form.INLINE),
    "more columns": (a_state(250), True, Form.PACKED),
    "a thousand columns": (a_state(1000), True, Form.PACKED),
    "a query": (a_state(written="select 1 -- " + "x" * 40_000), False, Form.PACKED),
    "a query that is no pattern": (
        a_state(written="".join(Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=90_000))),
        False,
        Form.TABLE,
    ),
}


@pytest.mark.parametrize("what", LONG)
def test_a_long_text_is_shortened(what: str) -> None:
    state, is_compact, form = LONG[what]
    spark = Spark()
    made, text = committed(spark, state)
    assert len(text) <= VIEW_TEXT_LIMIT
    assert ("EXCEPT" in text) == is_compact
    assert ('"packed":' in text, '"in_table":' in text) == (form is Form.PACKED, form is Form.TABLE)
    assert made == replace(state, state_table=f"m__state_{RUN}" if form is Form.TABLE else "")
    assert found_in(spark, text) == made
    assert run_of(text) == RUN and re.search(r'"project":"([^"]*)"', text)
    assert made.tables == (*state.tables, *([f"m__state_{RUN}"] if form is Form.TABLE else []))


@pytest.mark.parametrize("form", Form)
def test_state_survives_each_form(form: Form) -> None:
    state = a_state(state_table="m__state_x" if form is Form.TABLE else "")
    spark = Spark()
    text = embed(state, "SELECT * FROM x", form)
    spark.tables["`s`.`m__state_x`"] = packed(state)
    assert found_in(spark, text) == state
    assert found_in(spark, text.replace("FROM x", "FROM\n  x")) == state
    assert text.count("*/") == 1 and "${" not in text
    for before, after in (("FROM x", "FROM y"), ('"run":"0', '"run":"1'), ('"check":"', '"check":"0')):
        if form is not Form.INLINE and before.startswith('"run'):
            continue  # of the other forms the run that counts is a packed one
        with pytest.raises(TemporalError, match="found: m__live, whose state cannot be used") as raised:
            found_in(spark, text.replace(before, after, 1))
        assert "instead: dbt run --full-refresh -s m" in str(raised.value)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("written", "namespace", "named", "catalog", "schema"), [
    ("`s`", ("lake", "s"), "`s`", "lake", "`s`"),
    ("`s`", ("lake", "s"), "`lake`.`s`", "spark_catalog", "`lake`.`s`"),
    ("`s`", (), "`lake`.`s`", "spark_catalog", "`lake`.`s`"),
    ("`s`", ("lake", "s"), "`views`", "spark_catalog", "`lake`.`s`"),
    ("`s`", ("lake", "s"), "`spark_catalog`.`views`", "lake", "`s`"),
    ("`lake`.`s`", ("spark_catalog", "views"), "`views`", "spark_catalog", "`lake`.`s`"),
    ("`lake`.`s`", ("spark_catalog", "views"), "`spark_catalog`.`views`", "lake", "`s`"),
])  # fmt: skip
def test_chains_are_in_the_schema_of_the_run(
    written: str, namespace: tuple[str, ...], named: str, catalog: str, schema: str, form: Form
) -> None:
    """Whatever schema the view is in, and whichever catalog is the current one of the session that reads."""
    state = a_state(schema=written, state_table="m__state_x" if form is Form.TABLE else "")
    spark = Spark()
    spark.tables[f"{schema}.`m__state_x`"] = packed(state)
    live = ViewInfo(embed(state, "SELECT * FROM x", form), {}, None, namespace=namespace)
    found = state_of(Warehouse(spark.rows, catalog=catalog), ModelRelations(named, "m"), live)
    assert found == replace(state, schema=schema)


BROKEN = {
    "gone": (None, "it is in m__state_x, which cannot be read: [TABLE_OR_VIEW_NOT_FOUND]"),
    "of another run": (packed(a_state(frontier=21)), "its checksum does not match"),
    "cut off": (packed(a_state())[:-8], "what is packed cannot be read"),
    "no letters": ("ä", "what is packed cannot be read"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_state_table_that_is_not_the_views_is_told(how: str) -> None:
    content, why = BROKEN[how]
    spark = Spark()
    if content is not None:
        spark.tables["`s`.`m__state_x`"] = content
    text = embed(a_state(state_table="m__state_x"), "SELECT 1", Form.TABLE)
    with pytest.raises(TemporalError) as raised:
        found_in(spark, text)
    found, reason, instead = str(raised.value).splitlines()
    assert found.startswith("ST504 found: m__live, whose state cannot be used") and why in found
    assert reason == "why: what is stored for m is not known without it, so nothing is read, changed or dropped"
    assert instead == "instead: dbt run --full-refresh -s m"


def test_a_state_table_is_not_read_where_nobody_can() -> None:
    with pytest.raises(TemporalError, match="it is in the table m__state_x"):
        extract(embed(a_state(state_table="m__state_x"), "SELECT 1", Form.TABLE), "m")


def test_views_of_iceberg_have_no_limit() -> None:
    state = a_state(1000)
    plain = embed(state, view_sql.live_view(state))
    spark = Spark(catalog="org.apache.iceberg.spark.SparkSessionCatalog")
    assert committed(spark, state)[1] == plain
    known = spark.texts(ViewInfo("", {}, None, "CREATE OR REPLACE VIEW"))
    asked = len(spark.asked)
    _, steps = known.committing(state, "CREATE OR REPLACE VIEW", "r1")
    assert steps[-1].sql.endswith(plain) and len(spark.asked) == asked
    known.refuse_too_long(worst("m", "`s`", columns(3000), [a_core(3000)], "SELECT 1 + 1 AS x", 1, None))


@pytest.mark.parametrize("expiration", [None, 110])
def test_the_columns_are_not_listed(expiration: int | None) -> None:
    """From 500 columns to 5,000 no character more."""
    narrow, wide = (a_state(width, expiration=expiration) for width in (500, 5000))
    assert len(compact_sql.live_view(narrow)) == len(compact_sql.live_view(wide))
    assert len(compact_sql.as_updates(narrow.cores[0], "`s`")) == len(compact_sql.as_updates(wide.cores[0], "`s`"))


@pytest.mark.landing
def test_too_long_for_any_form() -> None:
    state = a_state(residual="SELECT " + ", ".join(f"{i} AS x{i}" for i in range(4000)) + " FROM mz_core_c0")
    with pytest.raises(TemporalError) as raised:
        committed(Spark(), state)
    found, why, instead = str(raised.value).splitlines()
    assert re.fullmatch(r"ST514 found: a view text of \d\d,\d{3} characters for m__live", found)
    assert why.startswith("why: the catalog does not keep one so long: A truncation error was encountered trying to ")
    assert instead.startswith("instead: move static parts of the model")


def test_a_model_that_could_not_be_corrected_is_refused_at_its_first_run() -> None:
    def later(width: int, residual: str = "SELECT * FROM mz_core_c0") -> State:
        return worst("m", "`s`", columns(width), [a_core(width)], residual, 1, None)

    Spark().texts().refuse_too_long(later(5000))
    with pytest.raises(Refusal) as raised:
        Spark("3.5.9 abc").texts().refuse_too_long(later(300))
    found, why, instead = str(raised.value).splitlines()
    assert re.fullmatch(r"ST515 found: m, a model of 300 columns whose view may take \d{3},\d{3} characters", found)
    assert why.startswith(
        "why: the catalog does not keep a view so long, so runs would fail once its inputs are updated"
    )
    assert instead.endswith("; from Spark 4 on the texts are shorter")
    with pytest.raises(Refusal, match="instead: materialized='view' for this model, which is right at each read too"):
        Spark("3.5.9 abc").texts().refuse_too_long(later(300), has_clock=False)
    Spark("3.5.9 abc").texts().refuse_too_long(later(10))
    with pytest.raises(Refusal, match="a model of 2 columns") as raised:
        Spark().texts().refuse_too_long(later(2, f"SELECT {' + '.join(['length(x)'] * 4000)} AS x FROM mz_core_c0"))
    assert "Spark 4" not in str(raised.value)


def many_cores(count: int) -> State:
    """A UNION ALL of so many SELECTs that read the clock each."""
    residual = " UNION ALL ".join(f"SELECT * FROM mz_core_c{i}" for i in range(count))
    cores = [replace(a_core(2), core=Core(f"c{i}", parse("SELECT * FROM t"), ())) for i in range(count)]
    return worst("m", "`s`", columns(2), cores, residual, 1, None)


def test_a_catalog_that_keeps_long_texts_is_asked_once() -> None:
    """By one view that is made and dropped, and only where no form is short enough; the state remembers the answer."""
    later, spark = many_cores(30), Spark(keeps=400_000)
    texts = spark.texts()
    texts.refuse_too_long(later)
    probes = [sql.partition(" AS ")[0].partition("`.")[0] for sql in spark.asked if "mz_probe" in sql]
    assert probes == ["CREATE VIEW `s", "DROP VIEW IF EXISTS `s"]
    asked = len(spark.asked)
    made, text = committed_by(spark, texts, later)
    assert len(text) > VIEW_TEXT_LIMIT and "mz_probe" not in "".join(spark.asked[asked:])
    assert made.view_size == texts.kept > VIEW_TEXT_LIMIT
    again = ViewTexts(Warehouse(spark.rows), TARGET, None, kept=made.view_size)
    again.refuse_too_long(later)
    assert not [sql for sql in spark.asked[asked:] if "mz_probe" in sql]
    assert found_in(spark, text) == made
    for short in (many_cores(1), worst("m", "`s`", columns(300), [a_core(300)], "SELECT 1 + 1 AS x", 1, None)):
        quiet = Spark(keeps=0)
        quiet.texts().refuse_too_long(short)
        assert not [sql for sql in quiet.asked if "mz_probe" in sql]


@pytest.mark.landing
def test_what_makes_a_text_long_is_what_is_advised() -> None:
    long = "SELECT " + " + ".join(["length(x)"] * 4000) + " AS x FROM mz_core_c0"
    for later, advice in (
        (
            many_cores(30),
            "instead: temporal views with some of its 30 SELECTs that read the clock each, and this model",
        ),
        (worst("m", "`s`", columns(2), [a_core(2)], long, 1, None), "instead: move static parts of the model"),
        (replace(many_cores(3), residual=long), "instead: move static parts of the model"),
    ):
        with pytest.raises(Refusal) as raised:
            Spark().texts().refuse_too_long(later)
        assert str(raised.value).splitlines()[2].startswith(advice)
    denied = Spark()
    denied.rows = lambda sql: (_ for _ in ()).throw(RuntimeError("Permission denied: user=a"))  # type: ignore[method-assign]
    with pytest.raises(Refusal, match="the user of this connection may not"):
        ViewTexts(Warehouse(denied.rows), TARGET, ViewInfo("", {}, None, "ALTER VIEW"))._denial(40_000)


@pytest.mark.parametrize("number", [3, 1000])
def test_the_text_of_a_thin_view_tells_its_columns(number: int) -> None:
    """A view casts to the types that it was made with: another name or type of a column is another text."""
    wide = columns(number)
    (step,) = publish(TARGET, wide, Docs(), None)
    head, _, text = step.sql.partition(" AS\n")
    assert head.count("column_") == number and len(text) < 500
    there = ViewInfo(text, {n: "" for n, _ in wide}, None)
    assert publish(TARGET, wide, Docs(), there) == []
    for others in (wide[:-1], (*wide[1:], wide[0]), ((wide[0][0], "decimal(10,2)"), *wide[1:])):
        (step,) = publish(TARGET, others, Docs(), there)
        assert step.sql.startswith("ALTER VIEW `s`.`m` AS\nSELECT ") and not there.has_text(step.sql[21:])


def test_names_of_the_columns_of_several_cores() -> None:
    """A name that stands for a column of another type is free in its own core and in all before."""
    first = CoreState("c0", (("v", "string"),), ())
    second = CoreState("c1", (("v", "double"), ("v_c1", "double"), ("V_C1_", "int")), ())
    text = readable_updates.as_updates([first, second], "`s`")
    head = text.partition("\nFROM")[0]
    assert re.findall("AS (`[^`]*`)", head)[-4:] == ["`v`", "`v_c1__`", "`v_c1`", "`V_C1_`"]


def test_the_updates_of_cores_without_columns() -> None:
    """A count of all rows has no column beside it."""
    text = readable_updates.as_updates([CoreState("c0", (), ()), CoreState("c1", (), ())], "`s`")
    heads = [line for line in text.splitlines() if "mz_core" in line]
    assert heads == [f"SELECT mz_timestamp, mz_diff, '{core}' AS mz_core" for core in ("c0", "c1")]
