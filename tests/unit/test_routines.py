"""Functions that are not known to be Spark's own: which are asked for, and what Spark's answer tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.inputs.changing.query_fingerprint import Routines
from dbt.adapters.sparktemporal.run.live_functions import refuse_and_name
from dbt.adapters.sparktemporal.temporal.sql.functions import registry
from dbt.adapters.sparktemporal.temporal.sql.functions.calls import function
from dbt.adapters.sparktemporal.temporal.sql.functions.row import Function
from dbt.adapters.sparktemporal.temporal.sql.spark import routines
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, parse, render
from dbt.adapters.sparktemporal.temporal.sql.text.grammar import MZ_NOW_NAMES

EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


def model(sql: str) -> Any:
    return SimpleNamespace(parsed=SimpleNamespace(tree=parse(sql)), residual=sql)


def spark_with(**classes: str) -> Routines:
    """A Spark that has functions of these classes. Others are unknown to it."""

    def rows(sql: str) -> list[tuple[Any, ...]]:
        name = sql.rpartition(" ")[2].strip("`")
        if name not in classes:
            raise RuntimeError("[UNRESOLVED_ROUTINE]")
        return [(f"Function: {name}",), (f"Class: {classes[name]}",), ("Usage: ...",)]

    return Routines(Warehouse(rows))


@pytest.mark.parametrize("name", ["dayname", "zeroifnull", "string_agg", "parse_json", "localtime", "time_bucket"])
def test_a_name_that_some_spark_lacks_is_asked_for(name: str) -> None:
    """Where Spark has no such function, it may be one of somebody else."""
    assert name not in registry.BUILTIN
    assert routines.called(f"select {name}(a) from t") == [(name,)]
    found = spark_with(**{name: "com.example.Udf"}).called(f"select {name}(a) from t")
    assert found[(name,)].fingerprint == "com.example.Udf"
    assert spark_with(**{name: EXPRESSIONS + "OfArguments"}).called(f"select {name}(a) from t") == {}


@pytest.mark.parametrize("name", ["abs", "date_add", "sum", "now"])
def test_a_name_that_every_spark_has_is_not(name: str) -> None:
    assert routines.called(f"select {name}(a) from t") == []


@pytest.mark.parametrize("name", sorted(registry.KNOWN - {*MZ_NOW_NAMES}))
def test_a_function_of_a_schema_has_none_of_the_facts_of_sparks(name: str) -> None:
    for sql, own in ((f"a.{name}(x)", True), (f"c.a.{name}(x, 1)", True), (f"system.builtin.{name}(x)", False)):
        call = expression(sql).expression
        assert isinstance(call, exp.Anonymous) and render(call.parent) == sql
        assert (function(call) == Function(f".{name}", len(call.expressions))) == own
        parts = tuple(sql.partition("(")[0].split("."))
        assert routines.called(f"select {sql} from t") == ([parts] if own else [])


def test_a_name_that_another_spark_has_itself_is_refused() -> None:
    """What it means would be decided by the version of Spark."""
    with pytest.raises(Refusal) as refused:
        refuse_and_name(model("select string_agg(a) as b from t"), spark_with(string_agg="com.example.Udf"))
    assert refused.value.found == "string_agg(...), which is not Spark's own here but string_agg"
    assert refused.value.instead == "its schema before its name (a_schema.string_agg(...)), or another name"


def test_a_schema_of_the_name_of_sparks() -> None:
    """Versions of Spark differ on what `builtin` names, and nobody's functions are taken for Spark's."""
    asked = [("builtin", "abs"), ("system", "abs"), ("c", "builtin", "abs")]
    assert routines.called("select builtin.abs(a), system.abs(a), c.builtin.abs(a), system.builtin.abs(a)") == asked
    given = model("select builtin.abs(a) as b from t")
    assert refuse_and_name(given, spark_with(**{"builtin`.`abs": EXPRESSIONS + "Abs"})) is given
    with pytest.raises(Refusal, match="not Spark's own here"):
        refuse_and_name(given, spark_with(**{"builtin`.`abs": "com.example.Udf"}))


@pytest.mark.parametrize(
    ("kind", "why", "instead"),
    [
        ("CurrentTime", "a clock", "mz_now() for the clock"),
        ("CurrentPath", "the session", "the value as a column of an upstream table"),
        ("RandBytes", "chance", "the value as a column of an upstream table"),
    ],
)
def test_a_function_of_a_later_spark_is_refused_by_its_class(kind: str, why: str, instead: str) -> None:
    with pytest.raises(Refusal) as refused:
        refuse_and_name(model("select of_later(a) as b from t"), spark_with(of_later=EXPRESSIONS + kind))
    assert refused.value.found == f"of_later(...), which has {why} in it"
    assert refused.value.instead == instead and "not that of the instant asked for" in refused.value.why


def test_a_function_of_a_later_spark_by_its_arguments() -> None:
    given = model("select of_later(a) as b from t")
    assert refuse_and_name(given, spark_with(of_later=EXPRESSIONS + "Hmac")) is given


def described(body: str, **fields: str) -> list[str]:
    """The answer of Spark 4.2 and 4.3 about a SQL function f(x INT, `a b` STRING)."""
    given = {"Type": "SCALAR", "Deterministic": "true", **fields}
    return [
        "Function:      c.d.f",
        f"Type:          {given['Type']}",
        "Input:         x INT",
        "               `a b` STRING DEFAULT 'Body:' 'a\ncomment'",
        "Returns:       INT",
        "Comment:       a: b\nBody:          now()",
        f"Deterministic: {given['Deterministic']}",
        "Configs:       spark.sql.ansi.enabled=true",
        "               spark.sql.session.timeZone=Etc/UTC",
        f"Create Time:   {given.get('at', '')}",
        f"Body:          {body}",
    ]


def test_a_function_as_later_versions_describe_it() -> None:
    found = routines.of_description(described("x +\n  d.g(`a b`)", at="noon"))
    assert found is not None and (found.name, found.body) == ("c.d.f", "SELECT x +\n  d.g(`a b`)")
    assert found.is_told and not found.unplaced and not found.why and not found.is_temporary and not found.reads_tables
    again, other = (routines.of_description(described(*given, at="two")) for given in (["x +\n  d.g(`a b`)"], ["x"]))
    assert again is not None and other is not None and again.fingerprint == found.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("body", "told", "unplaced", "why"),
    [
        ("f.x + upper(X)", True, (), ""),
        ("x + (select max(t.a) from d.t as t)", True, (), ""),
        ("x + (select max(a) from d.t)", False, (), ""),  # a may be a variable
        ("x + (select max(t.a) from t)", False, (), ""),
        ("x + v", False, (), ""),
        ("x + session.v", False, (), ""),
        ("x + g(1)", False, ("g",), ""),
        ("x + datediff(current_date(), d)", False, (), "a clock"),
        ("x + rand()", True, (), "chance"),
        ("x + (select count(*) from identifier('d.t'))", False, (), ""),
        ("x + unix_timestamp(`now`())", True, (), "a clock"),
        ("x +", False, (), ""),
    ],
)
def test_what_later_versions_do_not_tell(body: str, told: bool, unplaced: tuple[str, ...], why: str) -> None:
    found = routines.of_description(described(body))
    assert found is not None and (found.is_told, found.unplaced, found.why) == (told, unplaced, why)


def test_a_table_function_and_one_by_chance_of_later_versions() -> None:
    found = routines.of_description(described("select t.a from d.t", Type="TABLE", Deterministic="false"))
    assert found is not None and (found.body, found.why, found.reads_tables) == ("select t.a from d.t", "chance", True)


def test_a_body_whose_calls_nobody_can_follow_is_refused() -> None:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        if sql.startswith("DESCRIBE FUNCTION EXTENDED `d`.`f`"):
            return [(row,) for row in described("x + g(of_later(1))")]
        if sql == "SHOW SYSTEM FUNCTIONS":
            return [("of_later",)]
        if "current_catalog" in sql:
            return [("spark_catalog",)]
        raise RuntimeError("[UNRESOLVED_ROUTINE]")

    with pytest.raises(Refusal) as refused:
        refuse_and_name(model("select d.f(a) as b from t"), Routines(Warehouse(rows)))
    assert refused.value.found == "d.f(...), whose body calls g without its schema"
    assert refused.value.instead == "CREATE OR REPLACE FUNCTION with the schema before g"
