"""The facts of the registry of functions, compared with Spark: each row over samples, whatever its facts are."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.predicates.shifts import moved
from dbt.adapters.sparktemporal.temporal.sql.functions import others
from dbt.adapters.sparktemporal.temporal.sql.functions.registry import BUILTIN, KNOWN, ROWS
from dbt.adapters.sparktemporal.temporal.sql.functions.row import (
    CAST,
    CHANCE,
    CLOCK,
    DAY,
    PLACE,
    SESSION,
    Aggregate,
    Function,
    Local,
    Picks,
    Raises,
    Takes,
    Window,
)
from dbt.adapters.sparktemporal.temporal.sql.functions.types import TYPED
from dbt.adapters.sparktemporal.temporal.sql.spark.routines import of_description
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression
from support.session import ALL_FUNCTIONS

INSTANTS = (
    "1600-02-29 23:59:59.999999", "1883-11-18 17:00:00", "1969-12-31 23:59:59.5", "1970-01-01 00:00:00.000001",
    "2023-02-28 12:00:00", "2023-12-31 23:59:59.999", "2024-01-01 00:00:00", "2024-01-30 23:59:59",
    "2024-01-31 00:00:00", "2024-02-28 12:00:00", "2024-02-29 23:59:59.999999", "2024-03-01 00:00:00",
    "2024-03-10 06:59:59.999", "2024-03-10 07:00:00", "2024-03-31 12:34:56.789", "2024-11-03 05:30:00",
    "2024-11-03 06:05:00", "2024-12-30 00:00:00", "2999-12-31 23:59:59",
)  # fmt: skip
SAMPLES = {
    Takes.INSTANT: [f"timestamp '{text}Z'" for text in INSTANTS],
    Takes.INTEGER: [f"{number}L" for number in (-(10**10), -86_401, -1_000, -1, 0, 1, 999, 1_000, 86_400, 10**10)],
    Takes.NUMBER: [f"{number}BD" for number in ("-2.500", "-1.501", "-1.5", "-0.5", "0", "0.499", "0.5", "1.5", "2.5")],
    Takes.DOUBLE: [f"{number}D" for number in ("-2147483648", "-1.5", "-0.5", "0", "0.9", "1.5", "2147483647.9")],
    Takes.ANY: [f"{number}BD" for number in ("-1000.5", "-1", "0", "0.5", "1", "9999999.999")],
}
UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
OTHER, ZONES, WORDS, AMOUNTS = SAMPLES[Takes.INSTANT][12], ("'Europe/Berlin'", "'UTC'"), ("'TU'",), (-400, 0, 31)
#: it takes no TIMESTAMP
OF_DATES = ("unix_date",)
MONOTONE = [row for row in ROWS if row.is_monotone]
#: functions without arguments whose value is always the same
CONSTANTS = {"e", "pi"}


@pytest.fixture(scope="module")
def of_this_spark(spark: Any) -> frozenset[str]:
    return frozenset(str(name) for (name,) in spark.sql(ALL_FUNCTIONS).collect())


@pytest.fixture(autouse=True)
def is_there(request: pytest.FixtureRequest, of_this_spark: frozenset[str]) -> None:
    """Facts are of functions that some version of Spark has."""
    row = getattr(request.node, "callspec", None) and request.node.callspec.params.get("row")
    if row is not None and row.name in others.YOUNGER and row.parsed_as != CAST and row.name not in of_this_spark:
        pytest.skip("a later Spark has this function")


def calls(row: Function, x: str, at: int) -> Iterator[str]:
    """Calls of a function with x as its argument number `at`, with all sorts of others."""
    x = f"CAST({x} AS DATE)" if row.name in OF_DATES else x
    units = row.units or (UNITS if not row.by_date else UNITS[6:])
    for unit in units if row.unit is not None else ("",):
        for amount in AMOUNTS if row.amount is not None else (0,):
            for zone in ZONES if row.zone is not None else ("",):
                known = {row.unit: unit if row.keyword else f"'{unit}'", row.amount: str(amount), row.zone: zone,
                         row.of_zone: ZONES[0], at: x}  # fmt: skip
                rest = "1" if row.takes is Takes.NUMBER else WORDS[0] if row.raises is Raises.WORDS else OTHER
                given = [known.get(i, rest) for i in range(row.arguments or 1)]
                if row.parsed_as == CAST:
                    yield f"CAST({x} AS {row.name.upper()})"
                elif row.parsed_as == "Extract":
                    yield f"extract({unit} FROM {x})"
                else:
                    yield f"{row.name}({', '.join(given)})"


def answers(spark: Any, items: list[str]) -> list[Any]:
    return list(spark.sql(f"SELECT {', '.join(items)}").collect()[0])


@contextmanager
def settings(spark: Any, **values: str) -> Iterator[None]:
    keys = {"zone": "spark.sql.session.timeZone", "ansi": "spark.sql.ansi.enabled"}
    old = {keys[name]: spark.conf.get(keys[name]) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(keys[name], value)
        yield
    finally:
        for key, value in old.items():
            spark.conf.set(key, value)


def in_order(spark: Any, texts: list[str], samples: list[str], sign: str) -> list[str]:
    """The calls over x whose values fall (for "<=": rise) somewhere along the samples."""
    arrays = [f"transform(array({', '.join(samples)}), x -> {text})" for text in texts]
    pairs = f"forall(sequence(0, {len(samples) - 2}), i -> get(v, i) {sign} get(v, i + 1))"
    items = [f"aggregate(array({array}), true, (a, v) -> a AND {pairs})" for array in arrays]
    return [text for text, holds in zip(texts, answers(spark, items)) if holds is not True]


@pytest.mark.landing
@pytest.mark.parametrize("row", MONOTONE, ids=lambda row: f"{row.name}_{row.arguments}")
def test_it_is_monotone(row: Function, spark: Any) -> None:
    samples = SAMPLES[row.takes]
    with settings(spark, zone="America/New_York" if row.local is Local.NOTHING else "Asia/Tokyo"):
        for at, sign in ((row.increasing, "<="), (row.decreasing, ">=")):
            if at is not None:
                assert in_order(spark, list(calls(row, "x", at)), samples, sign) == []


def test_what_falls_now_and_then(spark: Any) -> None:
    """Where months end, and where the zone's local time goes back; not between instants that are so far apart."""
    slack = {row.name: row.slack for row in ROWS if row.slack}
    differences = ["timestampdiff", "datediff", "date_diff"]
    assert slack == dict.fromkeys(["months_between", *differences], 3 * DAY)
    falls = {"months_between(x, timestamp '2023-02-28 12:00:00')": ("<=", "2023-03-30 12:00:00", "2023-03-31 00:00:00")}
    around = (">=", "2023-01-29 23:59:59", "2023-01-30 00:00:00")
    falls |= {f"{name}(MONTH, x, timestamp '2023-03-01 12:00:00')": around for name in differences}
    with settings(spark, zone="UTC"):
        for text, (sign, before, after) in falls.items():
            assert in_order(spark, [text], [f"timestamp '{before}'", f"timestamp '{after}'"], sign) == [text]
            at_each_hour = [text.replace("x", f"(x + interval {hours} hours)", 1) for hours in range(24)]
            every = [f"timestamp '2023-01-26' + interval {3 * n} days" for n in range(30)]
            assert in_order(spark, at_each_hour, every, sign) == []


def test_what_is_not_monotone_is_found(spark: Any) -> None:
    """Else the others here would pass whatever the rows say."""
    texts = ["hour(x)", "months_between(x, date '2023-02-28')", "date_part('MONTH', x)", "-unix_micros(x)"]
    assert in_order(spark, texts, SAMPLES[Takes.INSTANT], "<=") == texts
    with settings(spark, zone="America/New_York"):
        assert in_order(spark, ["CAST(x AS TIMESTAMP_NTZ)"], SAMPLES[Takes.INSTANT], "<=")


@pytest.mark.parametrize("row", [row for row in ROWS if row.type], ids=lambda row: f"{row.name}_{row.arguments}")
def test_it_has_the_type(row: Function, spark: Any) -> None:
    texts = list(calls(row, SAMPLES[row.takes][5], row.moved))
    assert set(answers(spark, [f"typeof({text})" for text in texts])) == {row.type}


@pytest.mark.parametrize("row", [row for row in ROWS if row.moves], ids=lambda row: f"{row.name}_{row.arguments}")
def test_it_moves_an_instant_as_far(row: Function, spark: Any) -> None:
    far = []
    for text in calls(row, "x", row.moved):
        step = moved(expression(text))
        if step is None and "DAYOFYEAR" in text:
            continue
        assert step is not None, text
        least, most = step[1]
        apart = f"unix_micros(CAST({text} AS TIMESTAMP)) - unix_micros(x)"
        samples = f"array({', '.join(SAMPLES[Takes.INSTANT])})"
        far.append((text, f"forall({samples}, x -> {apart} BETWEEN {least}L AND {most}L)"))
    found = answers(spark, [item for _, item in far])
    assert [text for (text, _), holds in zip(far, found) if holds is not True] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.by_date and row.is_monotone], ids=lambda row: row.name)
def test_the_local_date_alone_decides(row: Function, spark: Any) -> None:
    at = row.moved
    with settings(spark, zone="America/New_York"):
        pairs = zip(calls(row, "x", at), calls(row, "CAST(x AS DATE)", at))
        samples = f"array({', '.join(SAMPLES[Takes.INSTANT])})"
        assert all(answers(spark, [f"forall({samples}, x -> {a} = {b})" for a, b in pairs]))


@pytest.mark.parametrize("row", [row for row in ROWS if row.step], ids=lambda row: row.name)
def test_it_counts_in_steps(row: Function, spark: Any) -> None:
    samples = f"array({', '.join(SAMPLES[row.takes])})"
    if row.takes is Takes.INTEGER:
        back = f"forall({samples}, x -> {row.inverse}({row.name}(x)) = x)"
        step = f"forall({samples}, x -> unix_micros({row.name}(x + 1)) - unix_micros({row.name}(x)) = {row.step})"
        assert answers(spark, [back, step]) == [True, True]
    else:
        rest = f"unix_micros(x) - unix_micros({row.inverse}({row.name}(x)))"
        least = -row.step + 1 if row.towards_zero and row.step else 0
        assert answers(spark, [f"forall({samples}, x -> {rest} BETWEEN {least} AND {row.step} - 1)"]) == [True]
        assert answers(spark, [f"exists({samples}, x -> {rest} < 0)"]) == [row.towards_zero]


@pytest.mark.parametrize("row", MONOTONE, ids=lambda row: f"{row.name}_{row.arguments}")
def test_it_is_no_error(row: Function, spark: Any) -> None:
    """Of the samples, under ANSI rules; of a word that is not known, where the row says so."""
    with settings(spark, ansi="true"):
        samples = f"array({', '.join(SAMPLES[row.takes])})"
        answers(spark, [f"transform({samples}, x -> {text})" for text in calls(row, "x", row.moved)])
        if row.raises is Raises.WORDS:
            with pytest.raises(
                Exception, match="ILLEGAL_DAY_OF_WEEK|llegal input for day of week|INVALID_TIMEZONE|Unknown time-zone"
            ):
                given = ["'Nowhere'"] * (row.arguments or 1)
                given[row.moved] = OTHER
                answers(spark, [f"{row.name}({', '.join(given)})"])


def described(spark: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Functions as Spark's registry describes them."""
    registry = spark._jsparkSession.sessionState().functionRegistry()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    # from 4.2 on Spark looks a function up by the name that it has in its own catalog
    is_placed = [int(part) for part in spark.version.split(".")[:2]] >= [4, 2]
    place = [spark._jvm.scala.Option.apply(part) for part in ("builtin", "system")] if is_placed else []
    for name in sorted(names):
        found = registry.lookupFunction(identifier(name, *place)) if name.isidentifier() else None
        if found is not None and found.isDefined():
            yield name, found.get()


def test_aggregates_and_generators_are_those_of_spark(spark: Any, of_this_spark: frozenset[str]) -> None:
    groups: dict[str, set[str]] = {}
    for name, info in described(spark, of_this_spark):
        groups.setdefault(info.getGroup(), set()).add(name)
    assert len(groups["agg_funcs"]) > 60
    assert groups["agg_funcs"] <= {row.name for row in ROWS if row.aggregate}
    assert groups["generator_funcs"] <= {row.name for row in ROWS if row.generates}
    excepted = ("agg_funcs", "variant_funcs", "vector_funcs")
    rest = set().union(*(names for group, names in groups.items() if group not in excepted))
    assert not rest & {row.name for row in ROWS if row.aggregate}


def test_what_arguments_do_not_decide_is_known(spark: Any, of_this_spark: frozenset[str]) -> None:
    """Of each function of this Spark that is by chance or takes no argument: a row says so, or else its class does."""
    load = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass
    expressions = "org.apache.spark.sql.catalyst.expressions."
    by_chance, leaf = (load(expressions + name) for name in ("Nondeterministic", "LeafExpression"))
    told = {row.name for row in ROWS if row.depends_on or row.aggregate}
    looked_at, untold = 0, []
    for name, info in described(spark, of_this_spark - CONSTANTS):
        kind = load(info.getClassName())
        if by_chance.isAssignableFrom(kind) or leaf.isAssignableFrom(kind):
            looked_at += 1
            said = of_description([f"Function: {name}_of_later", f"Class: {info.getClassName()}"])
            is_window = info.getGroup() == "window_funcs"
            if not is_window and not (name in told if name in KNOWN else said is not None and said.why):
                untold.append((name, info.getClassName()))
    assert looked_at > 10 and untold == []


def test_a_later_function_is_told_by_its_class(spark: Any, of_this_spark: frozenset[str]) -> None:
    """If a row were missing, the class would tell of most of those whose arguments do not decide."""
    kinds = (CLOCK, CHANCE, SESSION, PLACE)
    rows = {row.name for row in ROWS if row.depends_on in kinds and not row.unless and row.arguments is None}
    infos = list(described(spark, of_this_spark & rows))
    said = {
        name: of_description([f"Function: {name}_of_later", f"Class: {info.getClassName()}"]) for name, info in infos
    }
    assert len(infos) > 15
    assert {name for name, routine in said.items() if not (routine and routine.why)} == set()


def test_what_every_spark_has(of_this_spark: frozenset[str]) -> None:
    """A name that one Spark lacks may be a function of somebody else there, and is asked for."""
    words = others.WORDS | {"getdate", "timestampadd", "timestampdiff"}
    assert {name for name in BUILTIN - words if name not in of_this_spark} == set()


@pytest.mark.parametrize("row", [r for r in ROWS if r.aggregate is Aggregate.VALUES], ids=lambda row: row.name)
def test_only_the_values_matter(row: Function, spark: Any) -> None:
    given = "x, x % 4" if row.name.endswith("_by") else "array(x)" if row.name == "collect_union" else "x"
    once, often = (
        spark.sql(f"SELECT {row.name}({given}) FROM VALUES {', '.join(f'({x})' for x in rows)} AS t(x)").collect()
        for rows in ((3, 5, 6), (3, 5, 5, 6, 3, 3))
    )
    assert [sorted(v) if isinstance(v, list) else v for v in once[0]] == [
        sorted(v) if isinstance(v, list) else v for v in often[0]
    ]


ARGUMENTS = {
    "uniform": "1, 10", "randstr": "5", "shuffle": "array(1, 2)"
}  # fmt: skip


BY_CHANCE = [row for row in ROWS if row.depends_on in (CHANCE, PLACE) and not row.unless]


@pytest.mark.parametrize("row", BY_CHANCE, ids=lambda row: row.name)
def test_spark_says_it_is_not_deterministic(row: Function, spark: Any) -> None:
    query = spark.sql(f"SELECT {row.name}({ARGUMENTS.get(row.name, '')}) FROM range(1)")
    assert not query._jdf.queryExecution().analyzed().expressions().head().deterministic()


def test_what_an_encryption_makes_up(spark: Any) -> None:
    given = "aes_encrypt(CAST(id % 1 AS STRING), '0000111122223333'{})"
    for mode, values in {"": 4, ", 'GCM'": 4, ", 'ECB'": 1, ", 'GCM', 'DEFAULT', '012345678901'": 1}.items():
        found = spark.sql(f"SELECT count(DISTINCT base64({given.format(mode)})) FROM range(4)").collect()
        assert found == [(values,)], mode


@pytest.mark.parametrize("row", [row for row in ROWS if row.clock and row.name != "getdate"], ids=lambda row: row.name)
def test_the_clock_has_the_type_of_what_it_stands_for(row: Function, spark: Any) -> None:
    clock = row.clock.replace("mz_now()", "current_timestamp()")
    said, ours = answers(spark, [f"typeof({row.name}())", f"typeof({clock})"])
    assert said == ours and row.depends_on == CLOCK


def test_what_is_picked(spark: Any) -> None:
    expected = {Picks.FIRST: 2, Picks.GREATEST: 3, Picks.LEAST: 1}
    for row in ROWS:
        if row.picks in expected:
            given = "NULL, 2" if row.name != "coalesce" and row.picks is Picks.FIRST else "NULL, 2, 3, 1"
            assert answers(spark, [f"{row.name}({given})"]) == [expected[row.picks]], row.name
        elif row.picks is Picks.FIRST_UNLESS:
            assert answers(spark, [f"{row.name}(2, 1)", f"{row.name}(2, 2)"]) == [2, None]


def test_windows(spark: Any) -> None:
    given = {Window.FIXED: ("'10 minutes'", 1), Window.SLIDING: ("'10 minutes', '5 minutes'", 2)}
    for row in ROWS:
        if row.window in given and row.arguments != 1:
            words, rows = given[row.window]
            query = spark.sql(f"SELECT {row.name}({OTHER}, {words}) AS w FROM range(1)")
            assert query.count() == rows, row


#: columns from which calls and sums are made to compare their types
COLUMNS = {
    "n": "int", "b": "bigint", "a": "decimal(10,2)", "x": "double", "ts": "timestamp", "d": "date",
    "l": "timestamp_ntz", "k": "string", "f": "boolean", "len": "interval day to second", "y": "array<int>",
    "i8": "tinyint", "xf": "float", "wide": "decimal(38,10)", "m": "interval year to month", "h": "interval hour",
}  # fmt: skip
SHAPES = (
    "", *list(COLUMNS)[:11], "ts, ts", "d, ts", "n, n", "d, n", "ts, 'DAY'", "'DAY', ts", "'SECONDS', ts", "k, k",
    "k, n", "n, k", "a, n", "a, a", "x, n", "f, n", "y, n", "y, k", "k, y", "ts, k", "l, k", "d, k", "n, d", "b, a",
    "ts, d", "l, ts", "ts, '1 hour'", "DAY, n, ts", "DAY, n, d", "HOUR, n, l", "DAY, ts, d", "k, k, k", "k, n, n",
    "k, k, n", "n, n, n", "f, ts, d", "f, n, x", "k, n, k", "k, k, ts", "k, k, l", "x, x, x, n", "y, y -> y > 1",
    "n, n, n, n, n, n",
)  # fmt: skip
#: functions whose every call has an OVER
ELSEWHERE = (
    "cume_dist", "dense_rank", "lag", "lead", "nth_value", "ntile", "percent_rank", "rank", "row_number"
)  # fmt: skip
#: these take other arguments, or stand above a ROLLUP
UNCALLED = {"arrays_overlap", "grouping", "grouping_id", "to_csv"}
#: before Spark 4 the client reads no INTERVAL in a schema, and to_char takes a number and a constant format alone
UNCALLED_BEFORE_4 = UNCALLED | {"make_interval", "to_char"}
OPERATIONS = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}", "{0} div {1}",
    "case when f then {0} else {1} end",
)  # fmt: skip
#: numbers as Spark's grammar takes them, with a minus as a part of the number or before it
LITERALS = (
    "1", "-1", "-007", "-(1)", "(-1)", "- -1", "~-1", "2147483648", "-2147483648", "-(2147483648)",
    "9223372036854775807",
    "-9223372036854775808", "-9223372036854775809", "1L", "-1L", "-9223372036854775808L", "-1S", "1Y", "-1Y", "0.05",
    "-1.5", "-.5", "-1e3", "00BD", "-1BD", "1.50BD", "1e3BD", "-1.5e-3BD", "-1D", "-1F", "-'1'", "cast(-1 as bigint)",
)  # fmt: skip


def shapes_of(spark: Any, name: str) -> list[str]:
    """The shapes of no more arguments than a function takes, by Spark's words about a call without any."""
    try:
        spark.sql(f"SELECT {name}()")
    except Exception as error:  # each client has classes of its own
        told = re.search(r"requires (\[[\d, ]+\]|\d+) parameters", str(error))
        most = max(map(int, re.findall(r"\d+", told[1]))) if told else 9
        return [shape for shape in SHAPES[1:] if len(shape.split(", ")) <= most]
    return list(SHAPES)


def types_of(spark: Any, calls: Iterable[str], most: int) -> Iterator[tuple[str, str, str | None]]:
    """Expressions that Spark takes, with Spark's type, and with the type that is known without Spark.

    most: so many calls of one function.
    """
    taken: Counter[str] = Counter()
    given = GivenTypes({"s.t": COLUMNS}, 0)
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in COLUMNS.items())
    for call in calls:
        name, is_call, _ = call.partition("(")
        if is_call and name.isidentifier() and taken[name] >= most:
            continue
        try:
            ((_, said),) = spark.sql(f"SELECT {call} AS c FROM (SELECT {nulls}) AS t").dtypes
        except Exception:  # a function of another Spark, or of other arguments
            continue
        taken[name] += 1
        try:
            yield call, said, given(f"DESCRIBE QUERY SELECT {call} AS c FROM s.t")[0][1]
        except Refusal:
            yield call, said, None


@pytest.mark.landing
@pytest.mark.own_catalog
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.deep)])
def test_the_types_without_spark_are_those_of_spark(spark: Any, step: int) -> None:
    """Of calls of each function whose type is known, and of operations of two columns or literals.

    step: of the operations and of the functions each step-th; of a function three calls, and all where step is 1.
    """
    names = sorted(TYPED | {row.name for row in ROWS if row.type and row.parsed_as != CAST})[::step]
    sides = [*list(COLUMNS)[1:8], *list(COLUMNS)[9:], "7", "1.50", "interval 1 day", "make_interval(0, 0, 0, 1)"]
    asked = [form.format(one, other) for one in sides for other in sides for form in OPERATIONS][::step]
    asked += [
        form.format(*sides)
        for number in LITERALS
        for other in ("a", "n", "wide", number)
        for sides in ((number, other), (other, number))
        for form in ("{0}", "coalesce({0}, {1})", "greatest({0}, {1})", *OPERATIONS)
    ][::step]
    asked += [f"{name}({given}) over (order by n)" for name in ELSEWHERE for given in ("", "n", "n, 2")]
    logging.disable(logging.CRITICAL)  # Spark's client would write a trace for each call that Spark does not take
    try:
        asked += [f"{name}({shape})" for name in names for shape in shapes_of(spark, name)]
        found = list(types_of(spark, asked, 99 if step == 1 else 3))
    finally:
        logging.disable(logging.NOTSET)
    assert [one for one in found if one[2] not in (None, one[1])] == []
    known = {call.partition("(")[0] for call, _, ours in found if ours is not None}
    taken = {call.partition("(")[0] for call, _, _ in found}
    uncalled = UNCALLED if spark.version >= "4" else UNCALLED_BEFORE_4
    assert (TYPED & {*names}) - known == uncalled & {*names} and len(taken & {*names}) > 200 // step
    assert sum(ours is not None for *_, ours in found) > 0.9 * len(found)
