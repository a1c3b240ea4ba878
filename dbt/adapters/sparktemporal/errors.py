"""Errors for users, independent of dbt: the adapter turns them into dbt's own errors."""

from __future__ import annotations

import re


class TemporalError(Exception):
    """An error that stops a run, an operation or a statement."""


class Explained(TemporalError):
    """An error with a reason that errors.md lists. Its message is the code of the reason, and three lines.

    | | |
    |---|---|
    | code | stands for the reason, for good: ST and three digits, the first for the section of errors.md |
    | found | the fragment as the user wrote it, or what a run met |
    | why | the reason |
    | instead | the alternative to write or do |

    A code is a literal where the error is made. It has no brackets, which mark the error classes of Spark.
    """

    def __init__(self, code: str, found: str, why: str, instead: str) -> None:
        self.code, self.found, self.why, self.instead = code, found, why, instead
        super().__init__(f"{code} found: {found}\nwhy: {why}\ninstead: {instead}")


def raised(code: str, words: str) -> str:
    """The message of an error that a read raises in Spark: the code of its reason, and its words in one line."""
    return f"{code} {words}"


class Refusal(Explained):
    """A model, config or request that cannot be answered correctly, and so is not answered."""


class NotPlanned(Refusal):
    """A query that Spark cannot plan."""


class Unread(Refusal):
    """A SQL text that sqlglot cannot parse."""


class NotRun(Explained):
    """A temporal_view that has no committed run, where a read or an operation needs one."""


class Altered(Explained):
    """A relation or function of a query was altered after the query was planned. A run then begins again, once."""


class ForeignRelation(Refusal):
    """A relation that no run of the model made, under a name the model uses. No option of a run replaces it."""

    def __init__(self, relation: str, model: str) -> None:
        super().__init__(
            "ST205",
            f"{relation}, which no run of {model} made",
            f"{model} keeps a relation of its own under that name, and replaces and drops no relation that "
            "it has not made",
            "another name or alias for the model, or for that relation, which is yours to rename or drop",
        )


_WRAPPING = re.compile(r"^(?:[\w.$]+: )?Error running query: (?:\[[\w.]+\] )?")
_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")
#: the plan below an error of Spark's analyzer. The plan has an instant in place of the clock, which nobody wrote
_PLAN = re.compile(r"(SQLSTATE: \w+|; line \d+ pos \d+);\n.*", re.DOTALL)


def without_plan(message: str) -> str:
    """An error of Spark's analyzer, without the plan below it.

    >>> without_plan("[UNRESOLVED_COLUMN] `tss`. SQLSTATE: 42703; line 1 pos 80;\\n'Project ['id]\\n+- Relation s.t")
    '[UNRESOLVED_COLUMN] `tss`. SQLSTATE: 42703; line 1 pos 80'
    """
    return _PLAN.sub(r"\1", message)


def without_trace(message: str) -> str:
    """An error of a Thrift server, a chain of exceptions with stack traces -> Spark's own message.

    Spark's own message is the first one with an error class; without any class, the messages of all exceptions.

    >>> without_trace(
    ...     "org.apache.hive.service.cli.HiveSQLException: Error running query: Exception thrown in awaitResult: \\n"
    ...     "\\tat org.apache.spark.A.f(A.scala:1)\\n"
    ...     "Caused by: org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] two\\nlines SQLSTATE: P0001\\n"
    ...     "\\tat org.apache.spark.B.g(B.scala:2)\\n\\t... 7 more"
    ... )
    '[USER_RAISED_EXCEPTION] two\\nlines SQLSTATE: P0001'
    """
    messages = re.split(r"\n\s*Caused by: ", message)
    messages = [
        _CLASS.sub("", _WRAPPING.sub("", re.split(r"\n\s+at [\w.$/<>]+\(", one)[0])).strip() for one in messages
    ]
    classed = [one for one in messages if re.match(r"\[[A-Z]", one)]
    return classed[0] if classed else "\n".join(dict.fromkeys(filter(None, messages))) or message
