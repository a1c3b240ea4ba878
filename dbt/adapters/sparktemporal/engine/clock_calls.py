"""Replaces `mz_now()` in statements outside of temporal_views by the clock, before Spark sees the statement.

table, incremental, test, `dbt show`, unit test   the as-of of the invocation, one instant for all of it
view                                              the clock of each read

A call is a TIMESTAMP, or BIGINT milliseconds where Spark's analysis of the statement expects a number.

With a pinned clock, and in the text of a temporal_view, `current_timestamp()` and its like count as `mz_now()` too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot.errors import TokenError

from ..errors import Refusal
from ..temporal.predicates.bounds import BIGINT, TIMESTAMP
from ..temporal.predicates.clock_text import clock_literal, written_at
from ..temporal.rewrite.clock_functions import bare_names, names_clock, put_mz_now_in_statement
from ..temporal.sql.spark import plans
from ..temporal.sql.text.dialect import mz_now_spans
from ..temporal.sql.text.grammar import MZ_NOW_NAMES, tokens_of
from ..temporal.sql.text.splices import spliced
from ..temporal.sql.text.statements import after_comments, evaluated_part, reading_part

LIVE = "unix_millis(current_timestamp())"

_VIEW = re.compile(r"(create\s+(or\s+replace\s+)?|alter\s+)view\b", re.IGNORECASE)
_MISMATCH = re.compile(r"DATATYPE_MISMATCH|data type mismatch", re.IGNORECASE)
#: far from any instant that people write, so that a number in Spark's message identifies the call
_MARK = 7_777_777_000_000


def has_clock_calls(sql: str, functions: bool = False) -> bool:
    """Whether a statement may have calls of mz_now(); a cheap check for every statement. functions: see `put_clock`."""
    lower = sql.lower()
    return any(name in lower for name in MZ_NOW_NAMES) or functions and names_clock(sql)


def is_lasting_view(sql: str) -> bool:
    """Whether a statement creates or alters a view that outlives the session.

    >>> is_lasting_view("/* dbt */ create or replace view v as select 1")
    True
    >>> is_lasting_view("create or replace temporary view v as select 1")
    False
    """
    return bool(_VIEW.match(after_comments(sql)))


def put_clock(sql: str, explain: Callable[[str], str], instant: Callable[[], str], functions: bool = False) -> str:
    """A statement -> the statement with each mz_now() replaced.

    explain: an EXPLAIN -> Spark's plan, or the text of its error. instant: SQL of the clock, BIGINT ms.
    functions: whether to replace `current_timestamp()` and its like too, except in the default of a column, and in
    the body of a function. Raises Refusal for a call with an argument, and for a text without readable tokens.
    """
    if functions and names_clock(sql):
        sql = _functions_as_clock(sql, explain)
    try:
        spans = mz_now_spans(sql)
        _refuse_arguments(sql, len(spans))
    except TokenError as error:
        raise Refusal(
            "ST354", str(error), "this statement names mz_now and cannot be read", "plainer SQL around it"
        ) from None
    if not spans:
        return sql
    return written_at(sql, type_calls(_explainable(sql, len(spans)), len(spans), explain), instant())


def _functions_as_clock(sql: str, explain: Callable[[str], str]) -> str:
    """A statement with mz_now() in place of Spark's clocks. Spark's plan tells whether a bare name is a clock."""
    start = evaluated_part(sql)
    if start is None:
        return sql
    head, body = sql[:start], sql[start:]
    clocks = []
    if bare := bare_names(body):
        asked = body if is_lasting_view(sql) else sql
        asked = written_at(asked, [TIMESTAMP] * len(mz_now_spans(asked)), "0L")
        plan = plans.analyzed(explain(f"EXPLAIN EXTENDED {asked}")).lower()
        clocks = [name for name in bare if f"{name}(" in plan and f"{name}#" not in plan]
    return head + put_mz_now_in_statement(body, clocks)


def _explainable(sql: str, calls: int) -> str:
    """The part of a statement to explain. For a view it is the query: EXPLAIN CREATE VIEW fails in some catalogs."""
    start = reading_part(sql) if is_lasting_view(sql) else None
    return sql if start is None or len(mz_now_spans(sql[start:])) != calls else sql[start:]


def type_calls(
    sql: str, calls: int, explain: Callable[[str], str], shape: Callable[[str], str] = lambda sql: sql
) -> list[str]:
    """The type of each mz_now() in the order of the text: TIMESTAMP, or BIGINT where Spark expects a number.

    shape: an EXPLAIN -> the text that Spark reads. Spark's messages count positions in this text.
    """
    kinds = [TIMESTAMP] * calls
    for _ in range(calls):
        asked = shape(_marked(f"EXPLAIN {sql}", kinds))
        message = explain(asked)
        if not _MISMATCH.search(message):
            break
        named = [i for i in range(calls) if _mentions(message, i)] or _at(message, asked, calls)
        named = [i for i in named if kinds[i] == TIMESTAMP]
        if not named:
            break  # the error is not about the clock: the statement itself raises it, in better words
        for i in named:
            kinds[i] = BIGINT
    return kinds


def _marked(sql: str, kinds: list[str]) -> str:
    """The statement with a distinct instant in place of each mz_now(). kinds: the type of each."""
    calls = enumerate(zip(mz_now_spans(sql), kinds))
    return spliced(sql, ((start, end, clock_literal(kind, f"{_MARK + i}L")) for i, ((start, end), kind) in calls))


def _at(message: str, asked: str, calls: int) -> list[int]:
    """Where a message points at a BETWEEN: [the index of the nearest call to its left]; else [].

    asked: the text that Spark was given, in which the message counts lines and positions.
    """
    # such a message does not quote the call itself
    place = re.search(r"line (\d+),? pos(?:ition)? (\d+)", message)
    if not place:
        return []
    lines = asked.split("\n")  # as Spark counts them
    offset = sum(len(line) + 1 for line in lines[: int(place.group(1)) - 1]) + int(place.group(2))
    if not re.match(r"(not\s+)?between\b", asked[offset:], re.IGNORECASE):
        return []
    starts = {i: asked.find(f"{_MARK + i}L", 0, offset) for i in range(calls)}
    before = [i for i in starts if starts[i] >= 0]
    return [max(before, key=lambda i: starts[i])] if before else []


def _mentions(message: str, call: int) -> bool:
    """Whether Spark's message quotes a call in its expression; the plan after the message quotes all calls."""
    head = re.split(r";?\n'|\n==|\n\+-", message)[0]
    return re.search(rf"\b{_MARK + call}L?\b", head) is not None


def _refuse_arguments(sql: str, calls: int) -> None:
    tokens = tokens_of(sql)
    names = [
        name
        for name, following in zip(tokens, tokens[1:])
        if name.text.lower() in MZ_NOW_NAMES and following.text == "(" and name.token_type.name != "STRING"
    ]
    if len(names) > calls:
        raise Refusal("ST338", f"{names[0].text}(...) with an argument", "the clock takes no arguments", "mz_now()")
