"""Spark's errors in short: class and first sentence, without plans and traces."""

from __future__ import annotations

import re

#: an error class and the rest of its line
_CLASSED = re.compile(r"\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\] [^\n]*")
_STATE = re.compile(r"\s*SQLSTATE: \w+|;? line \d+,? pos \d+;?$")
_SENTENCE = re.compile(r"(?:\[[^\]]*\] )?.*?[.!?](?=\s+[A-Z]|$)")
#: how dbt and py4j begin
_HEADING = re.compile(
    r"^(?:(?:Runtime|Database) Error(?: in [^\n]*)?\n\s*)*(?:An error occurred while calling [\w.]+\n\s*: )?"
)
_EXCEPTION = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")
#: characters of a message that are shown
_LONGEST = 300


def spark_words(error: object) -> str:
    """An error of Spark, or an EXPLAIN that ends in one -> its class and first sentence, without plans and traces.

    >>> spark_words("== Parsed Logical Plan ==\\n'Project [*]\\n\\n== Analyzed Logical Plan ==\\n"
    ...              "spark.A: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide`. SQLSTATE: 22012;\\n'Project [*]")
    '[DIVIDE_BY_ZERO] Division by zero.'
    >>> spark_words("Error occurred during query planning: \\nlong overflow")
    'long overflow'
    >>> spark_words("Runtime Error\\n  org.apache.iceberg.exceptions.ForbiddenException: Forbidden: a may not")
    'Forbidden: a may not'
    >>> spark_words("Runtime Error\\n  Database Error\\n    Forbidden: a may not")
    'Forbidden: a may not'
    >>> spark_words("java.lang.ArithmeticException: long overflow\\n\\tat java.base/java.lang.Math(1)")
    'long overflow'
    """
    text = _HEADING.sub("", str(error).rpartition("Logical Plan ==\n")[2])
    text = text.removeprefix("Error occurred during query planning:").strip()
    found = _CLASSED.search(text)
    first = _EXCEPTION.sub("", text.partition("\n")[0].strip())
    line = found.group() if found else first or "no words"
    sentence = _SENTENCE.match(line)
    line = _STATE.sub("", sentence.group() if sentence else line).strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
