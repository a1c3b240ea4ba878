"""Recognize the cause of an error of Spark, and shorten the error to its class and first sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from ....errors import TemporalError
from ..text.readable import shortened

#: an error class and the rest of its line
_CLASSED = re.compile(r"\[[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\] [^\n]*")
_STATE = re.compile(r"\s*SQLSTATE: \w+|;? line \d+,? pos \d+;?$")
_SENTENCE = re.compile(r"(?:\[[^\]]*\] )?.*?[.!?](?=\s+[A-Z]|$)")
#: how dbt and py4j begin
_HEADING = re.compile(
    r"^(?:(?:Runtime|Database) Error(?: in [^\n]*)?\n\s*)*(?:An error occurred while calling [\w.]+\n\s*: )?"
)
_EXCEPTION = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")


class Cause(Enum):
    """The cause of an error, by its words: each client, catalog and version of Spark has error classes of its own."""

    NO_SCHEMA = r"SCHEMA_NOT_FOUND|NoSuchNamespace|Database '[^']*' not found"
    NO_RELATION = r"TABLE_OR_VIEW_NOT_FOUND|Table or view not found|NoSuchTable"
    NO_FUNCTION = r"UNRESOLVED_ROUTINE|UNDEFINED_FUNCTION|Undefined function"
    NO_COLUMN = r"UNRESOLVED_COLUMN"
    NO_SYNTAX = r"PARSE_SYNTAX_ERROR|ParseException"
    NO_VIEWS = (
        r"MISSING_CATALOG_ABILITY|not support views|UNSUPPORTED_FEATURE|view is not supported"
        r"|does not support endpoint: [A-Z]+ \S*/views\b"
    )
    ALREADY_THERE = r"ALREADY_EXISTS|already exists"
    DENIED = (
        r"ForbiddenException|Forbidden:|NotAuthorized|not authorized|AccessControlException|AccessDenied|access denied"
        r"|permission[_ ]denied|INSUFFICIENT_P|insufficient privileges"
        r"|does not have (?:\S+ ){0,3}(?:privilege|permission)|unable to create one"
    )
    #: a listed file, or a directory, is missing or damaged
    UNREADABLE = (
        r"FAILED_READ_FILE|FILE_NOT_EXIST|PATH_NOT_FOUND|FileNotFound|CANNOT_READ_FILE|not a Parquet file|Malformed ORC"
    )
    #: Spark answered, and does not take the statement: nothing is wrong with the way to Spark or with its jobs. The
    #: letters are as clients write them, because an error also quotes names of the query, such as `cancelled`
    NOT_TAKEN = (
        r"\A(?!(?s:.*)(?-i:Connection(?:Error| refused| reset| aborted)|TTransportException|Broken pipe"
        r"|[Rr]ead timed out|OutOfMemoryError|Job aborted due to|OPERATION_CANCELED|Job \d+ cancelled"
        r"|has been cancelled by|SparkContext (?:was|has been) (?:shut down|stopped)|stopped SparkContext"
        r"|Py4JNetworkError|StatusCode\.(?:UNAVAILABLE|DEADLINE_EXCEEDED)))"
    )

    def is_said_by(self, error: object) -> bool:
        """Whether the text of an error names this cause.

        >>> Cause.NO_RELATION.is_said_by("[TABLE_OR_VIEW_NOT_FOUND] …"), Cause.NOT_TAKEN.is_said_by("Broken pipe")
        (True, False)
        >>> Cause.NOT_TAKEN.is_said_by("[UNRESOLVED_COLUMN] A column with name `connection`.`timed out`, `cancelled`")
        True
        >>> [Cause.NO_VIEWS.is_said_by(f"Server does not support endpoint: POST /v1/{{prefix}}/{of}")
        ...  for of in ("views", "tables")]
        [True, False]
        >>> Cause.DENIED.is_said_by("Malformed request"), Cause.DENIED.is_said_by("Permission denied: user=a")
        (False, True)
        """
        return re.search(self.value, str(error), re.IGNORECASE) is not None


class SparkError(Exception):
    """The error of a statement that failed, with the message of the client's error, which is the `__cause__`."""

    def expect(self, *causes: Cause) -> None:
        """Raise the error, unless it says one of these causes."""
        if not any(cause.is_said_by(self) for cause in causes):
            raise self


@contextmanager
def allowing(*causes: Cause) -> Iterator[None]:
    """Go on after a SparkError that says one of these causes."""
    try:
        yield
    except SparkError as error:
        error.expect(*causes)


@contextmanager
def as_spark_errors() -> Iterator[None]:
    """Raise SparkError in place of an error of the client that sends statements."""
    try:
        yield
    except (TemporalError, SparkError):
        raise
    except Exception as error:  # each client has classes of its own
        raise SparkError(str(error)) from error


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
    return shortened(_STATE.sub("", sentence.group() if sentence else line))
