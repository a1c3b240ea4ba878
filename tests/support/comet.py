"""Apache DataFusion Comet, which executes parts of Spark's plans as native code: its settings, and what it executed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from support.jars import jars


def with_comet() -> dict[str, str]:
    """Settings of a session in which Comet executes plans while spark.comet.enabled, which is off at first."""
    (jar,) = map(str, jars("comet"))
    return {
        "spark.jars": jar,
        "spark.driver.extraClassPath": jar,  # its shuffle is of one class loader with Spark's
        "spark.plugins": "org.apache.spark.CometPlugin",
        "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
        "spark.comet.exec.shuffle.enabled": "true",
        "spark.comet.enabled": "false",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": "4g",
    }


def nodes(frame: DataFrame) -> Iterator[Any]:
    """The operators of the plan that ran, inside of the stages of adaptive execution too."""
    todo = [frame._jdf.queryExecution().executedPlan()]
    while todo:
        plan = todo.pop()
        kind = plan.getClass().getSimpleName()
        if kind == "AdaptiveSparkPlanExec":
            todo.append(plan.executedPlan())
        elif kind.endswith("QueryStageExec"):
            todo.append(plan.plan())
        else:
            children = plan.children()
            todo += [children.apply(i) for i in range(children.size())]
            yield plan


#: operators that only move rows from one kind of operator to the other
MOVING = ("ColumnarToRow", "RowToColumnar", "WholeStageCodegen", "InputAdapter", "OverwriteByExpression")


def shares(frame: DataFrame) -> tuple[list[str], list[str]]:
    """The operators of a plan that ran: those that Comet executed, and those that Spark executed itself."""
    names = [plan.nodeName() for plan in nodes(frame)]
    working = [name for name in names if not name.startswith(MOVING)]
    return [n for n in working if n.startswith("Comet")], [n for n in working if not n.startswith("Comet")]
