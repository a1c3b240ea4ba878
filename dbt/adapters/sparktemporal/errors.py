"""Errors that a user sees. Nothing here knows dbt: the adapter turns them into dbt's own errors."""

from __future__ import annotations

import re


class TemporalError(Exception):
    """Something that stops a run. The message says what was found, why, and what to do."""


class Refusal(TemporalError):
    """A model, config or request that cannot be made right, so it is not answered at all.

    found: the fragment as the user wrote it.
    why: why it cannot be.
    instead: what to write or do instead.
    """

    def __init__(self, found: str, why: str, instead: str) -> None:
        self.found, self.why, self.instead = found, why, instead
        super().__init__(f"found: {found}\nwhy: {why}\ninstead: {instead}")


class ForeignRelation(Refusal):
    """A relation in the way that no run of the model made. No option of a run replaces it."""

    def __init__(self, relation: str, model: str) -> None:
        super().__init__(
            f"{relation}, which no run of {model} made",
            f"{model} keeps a relation of its own under that name, and what it has not made it neither replaces nor "
            "drops",
            "another name or alias for the model, or for that relation, which is yours to rename or drop",
        )


_WRAPPING = re.compile(r"^(?:[\w.$]+: )?Error running query: (?:\[[\w.]+\] )?")
_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")


def without_trace(message: str) -> str:
    """An error as a Thrift server tells it, exception by exception with their stack traces -> Spark's own words.

    These are the first that carry an error class; without any, what each exception says.

    >>> without_trace(
    ...     "org.apache.hive.service.cli.HiveSQLException: Error running query: Exception thrown in awaitResult: \\n"
    ...     "\\tat org.apache.spark.A.f(A.scala:1)\\n"
    ...     "Caused by: org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] two\\nlines SQLSTATE: P0001\\n"
    ...     "\\tat org.apache.spark.B.g(B.scala:2)\\n\\t... 7 more"
    ... )
    '[USER_RAISED_EXCEPTION] two\\nlines SQLSTATE: P0001'
    """
    told = re.split(r"\n\s*Caused by: ", message)
    told = [_CLASS.sub("", _WRAPPING.sub("", re.split(r"\n\s+at [\w.$/<>]+\(", one)[0])).strip() for one in told]
    classed = [one for one in told if re.match(r"\[[A-Z]", one)]
    return classed[0] if classed else "\n".join(dict.fromkeys(filter(None, told))) or message
