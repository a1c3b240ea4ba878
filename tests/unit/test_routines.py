"""Functions that are not known to be Spark's own: which are asked for, and what Spark's answer tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.inputs.fingerprint import Routines
from dbt.adapters.sparktemporal.run.live_functions import refuse_and_name
from dbt.adapters.sparktemporal.temporal.sql import routines
from dbt.adapters.sparktemporal.temporal.sql.calls import function
from dbt.adapters.sparktemporal.temporal.sql.dialect import MZ_NOW_NAMES, expression, parse, render
from dbt.adapters.sparktemporal.temporal.sql.functions import registry
from dbt.adapters.sparktemporal.temporal.sql.functions.row import Function

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
