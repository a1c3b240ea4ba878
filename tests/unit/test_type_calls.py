"""Which type a call of mz_now() has, as Spark's messages tell: they quote an operand, or the position of a BETWEEN."""

from __future__ import annotations

from dbt.adapters.sparktemporal.engine.clock_calls import type_calls
from dbt.adapters.sparktemporal.temporal.predicates.bounds import BIGINT, TIMESTAMP

HIDDEN = "[DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES] Cannot resolve (commonexpressionref() >= lo); line {} pos {};\n'Plan"


def spark(asked: str) -> str:
    """Of a TIMESTAMP between two numbers the position alone is told, in the text that came."""
    for line, text in enumerate(asked.split("\n"), 1):
        at = text.find("between lo")
        if at >= 0 and text[:at].rstrip().endswith("L)") and "timestamp_millis" in text[:at].split(" and ")[-1]:
            return HIDDEN.format(line, at)
    return "== Physical Plan =="


def test_the_call_before_a_between() -> None:
    text = "select 1 from t where mz_now() < ts and mz_now() between lo and hi and mz_now() > ts"
    assert type_calls(text, 3, spark) == [TIMESTAMP, BIGINT, TIMESTAMP]
    large = text.replace("where", "where 9999999999999L > lo and")
    assert type_calls(large, 3, spark) == [TIMESTAMP, BIGINT, TIMESTAMP]


def test_positions_are_those_of_the_text_that_spark_reads() -> None:
    def shape(asked: str) -> str:
        return asked.replace("below", "(\nselect * from a_longer_text\n)")

    text = "select 1 from below a join below b where mz_now() < ts and mz_now() between lo and hi"
    assert type_calls(text, 2, spark, shape) == [TIMESTAMP, BIGINT]


def test_no_call_stands_before() -> None:
    """The error is not about the clock, and the statement itself raises it."""
    told = HIDDEN.format(1, len("EXPLAIN select "))
    assert type_calls("select between lo and 9999999999999L, mz_now()", 1, lambda _: told) == [TIMESTAMP]
