"""Plans that tell the same query, and those that do not."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.sql.spark.same_query import check

PLAN = """== Analyzed Logical Plan ==
k: string
WithCTE
:- CTERelationDef {cte}, false
:  +- Filter {condition}
+- CTERelationRef {cte}, true, [k#{k}]

== Optimized Logical Plan ==
Aggregate [first(n#{k}) FILTER (WHERE (gid#{k} = {gid}))]
"""
TEXT = PLAN.format(cte=31, condition="isnotnull(k#7)", k=7, gid=1)


def test_the_order_of_distinct_aggregates_is_chance() -> None:
    """Spark numbers several count(DISTINCT) of one SELECT as it comes."""
    check(TEXT, PLAN.format(cte=40, condition="NOT isnull(k#90)", k=90, gid=2))


def test_other_queries() -> None:
    with pytest.raises(Refusal, match="resolves this part otherwise"):
        check(TEXT, PLAN.format(cte=40, condition="isnull(k#90)", k=90, gid=2))
