"""Plans and types with all their fields: where Spark cuts a text short, Spark is asked again with a higher limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..errors import Explained, NotPlanned
from ..temporal.sql.spark.errors import spark_words

#: Spark's sign that a plan or a type has more fields than it prints
_CUT = re.compile(r"\.\.\. \d+ more fields")
_WHOLE_PLANS = "SET spark.sql.debug.maxToStringFields = 100000"
#: (sign of a text that Spark cut short, setting with which Spark prints all). Spark cuts the columns of a Hive table
#: at a length. The length of Spark's ids differs from plan to plan, so the place of the cut differs too.
_CUTS = (
    (_CUT, _WHOLE_PLANS),
    (re.compile(r"HiveTableRelation \[[^\n]*\.\.\."), "SET spark.sql.maxMetadataStringLength = 10000000"),
    (
        re.compile(r"(?:\.\.\. \d+ more characters|Truncated plan of \d+ characters)\s*\Z"),
        "SET spark.sql.maxPlanStringLength = 2147483632",
    ),
)
_PLANNED = "== Optimized Logical Plan =="

Rows = Callable[[str], "list[tuple[Any, ...]]"]


def columns(rows: Rows, describe: str) -> list[tuple[Any, ...]]:
    """The rows of a DESCRIBE, with no type cut short. rows: a statement -> its rows."""
    found = rows(describe)
    if any(_CUT.search(str(row[1])) for row in found):
        rows(_WHOLE_PLANS)
        found = rows(describe)
    return found


def plan(ask: Callable[[str], str], rows: Rows, sql: str) -> str:
    """The plans of a query, or the text of its error. ask: an EXPLAIN -> its text; rows: a statement -> its rows."""
    found = ask(f"EXPLAIN EXTENDED {sql}")
    asked = [setting for cut, setting in _CUTS if cut.search(found)]
    for setting in asked:
        rows(setting)
    return ask(f"EXPLAIN EXTENDED {sql}") if asked else found


def is_whole(plan: str) -> bool:
    """Whether a text has the plans of a query, and Spark cut none of them short."""
    return _PLANNED in plan and not any(cut.search(plan) for cut, _ in _CUTS)


def refuse(plan: str) -> None:
    """Raise TemporalError (ST211) for plans that lack fields despite the settings, and NotPlanned for an error."""
    if _CUT.search(plan):
        raise Explained(
            "ST211",
            "a plan that Spark cut short (... more fields)",
            "the plans of a model tell what the model reads, and whether that changed",
            f"a session in which this has effect: {_WHOLE_PLANS}",
        )
    if _PLANNED not in plan:
        raise NotPlanned(
            "ST356",
            spark_words(plan),
            "Spark makes no plan of this query, so its inputs and its meaning are not known",
            "a query that Spark can plan: what fails for constants alone fails for every row",
        )
