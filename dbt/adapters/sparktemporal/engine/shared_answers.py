"""Answers about tables that the models of one invocation share, until something of the invocation may have written.

| answer | a run that believes the answer |
|---|---|
| the columns, place and options of an input | asks again after its write, and compares both answers |
| the files in the directory of an input | takes from the answer only that nothing is new; else it lists the files |

Another program may write meanwhile. A run then sees its inputs as they were earlier in the invocation, as a run that
was faster would have seen them, and the next run sees the rest.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ..temporal.sql.text.statements import after_comments

T = TypeVar("T")

#: the first words of statements that write nothing. WITH and FROM may begin an INSERT
_READS = re.compile(r"(SELECT|SHOW|DESC|DESCRIBE|EXPLAIN)\b", re.IGNORECASE)


def may_write(sql: str) -> bool:
    """Whether a statement may write rows, or change relations or settings.

    >>> may_write("/* dbt */ insert into t select 1"), may_write("with a as (select 1) select * from a")
    (True, True)
    >>> may_write("-- a test\\nselect 1"), may_write("describe extended t")
    (False, False)
    """
    return not _READS.match(after_comments(sql))


class SharedAnswers:
    """The answers that the threads of one invocation share."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._answers: dict[str, Any] = {}
        self._written = 0

    def forget(self) -> None:
        """Forget all answers: a statement or a model may have written, or an answer was found to be old."""
        with self._guard:
            self._written += 1
            self._answers.clear()

    def now(self) -> int:
        """How often the answers were forgotten, for `keep`."""
        with self._guard:
            return self._written

    def find(self, question: str) -> Any:
        """The kept answer to a question; None if there is none."""
        with self._guard:
            return self._answers.get(question)

    def keep(self, question: str, answer: object, since: int) -> None:
        """Keep an answer, unless answers were forgotten after `since`, which is `now` before the question was sent."""
        with self._guard:
            if since == self._written:
                self._answers[question] = answer

    def once(self, question: str, ask: Callable[[], T]) -> T:
        """The kept answer to a question; without one, the answer of `ask`, which is kept. Two threads may both ask."""
        found = self.find(question)
        if found is None:
            since = self.now()
            found = ask()
            self.keep(question, found, since)
        answer: T = found
        return answer
