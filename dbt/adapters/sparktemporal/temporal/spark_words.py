"""What Spark says of a query that it does not take, without the plans around it."""

from __future__ import annotations

import re

_CLASSED = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\] .*?(?= SQLSTATE|;?\n['+]|\n==|\n\n|$)", re.DOTALL)
_THROWN = re.compile(r"(?:Exception|Error): ([^\n]+)")
_LONGEST = 1_000


def spark_words(plan: str) -> str:
    """An EXPLAIN whose query cannot be analysed or planned -> the error in it.

    >>> spark_words("== Parsed Logical Plan ==\\n'Project\\n\\norg.apache.spark.Exception: [AB.C] no x. SQLSTATE: 1")
    '[AB.C] no x.'
    >>> spark_words("== Analyzed Logical Plan ==\\njava.lang.ArithmeticException: long overflow\\n== …")
    'long overflow'
    """
    found = _CLASSED.search(plan)
    if found is not None:
        return found.group()
    thrown = _THROWN.search(plan)
    return thrown.group(1) if thrown else plan[:_LONGEST]
