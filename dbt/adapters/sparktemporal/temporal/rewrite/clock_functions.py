"""`current_timestamp()`, `now()`, `current_date()` -> `mz_now()`, in a temporal view and at a pinned clock.

Spark would give these functions the time of the run or of the read. As mz_now(), they give the instant asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import Token
from sqlglot.errors import SqlglotError

from ...errors import Refusal
from ..sql.functions.registry import ROWS, known
from ..sql.functions.row import CLOCK
from ..sql.text.grammar import OF_SPARK, tokens_of
from ..sql.text.quotes import Put
from ..sql.text.splices import spliced

#: the clocks of Spark; current_time() is one, although mz_now() does not replace it
_OF_SPARK = frozenset(row.name for row in ROWS if row.depends_on == CLOCK)
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted({row.name for row in ROWS if row.clock}))})\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Named:
    """A clock named in a text, at the offsets [start, end)."""

    start: int
    end: int
    #: the SQL that replaces the name
    clock: str
    name: str
    #: whether the name has parentheses. Without them a column of this name would win
    is_call: bool
    #: whether the name has a schema before it, so that it may be a function of a user
    may_be_own: bool


def names_clock(sql: str) -> bool:
    """Whether a text contains the name of a clock. A cheap check for every statement."""
    return _NAMED.search(sql) is not None


def reads_clock(sql: str) -> bool:
    """Whether a text names a clock of Spark's outside of strings and comments.

    For a text without valid tokens: whether it contains a name of `names_clock`.

    >>> reads_clock("select 'now()' as a -- now()"), reads_clock("select current_time(0)")
    (False, True)
    """
    try:
        tokens = tokens_of(sql)
    except SqlglotError:
        return names_clock(sql)
    return any(token.text.lower() in _OF_SPARK and token.token_type.name != "STRING" for token in tokens)


def put_mz_now(sql: str) -> tuple[str, tuple[str, ...]]:
    """The text of a model -> (the text with mz_now() in place of clocks, a note for each clock).

    Raises Refusal for a name that may also mean a column or a user's function.

    >>> put_mz_now("select 1 from t where current_date() < d and x.now = 'now()'")
    ("select 1 from t where CAST(mz_now() AS DATE) < d and x.now = 'now()'", ('current_date() is read as mz_now()',))
    >>> put_mz_now("select d.now(), System.`builtin`.now() from t")[0]
    'select d.now(), mz_now() from t'
    """
    found = list(_clocks(sql))
    for one in found:
        if one.may_be_own:
            raise Refusal(
                "ST329",
                f"builtin.{one.name}()",
                "builtin may be a schema with a function of that name, whose value is not known to be the clock's",
                f"mz_now(), {one.name}(), or the name of the schema with its catalog",
            )
        if not one.is_call:
            raise Refusal(
                "ST330",
                one.name,
                "a column of that name would win over the function, so the meaning of the name is not known",
                f"{one.name}() for the clock, `{one.name}` in backticks for a column",
            )
    notes = [f"{sql[one.start : one.end]} is read as mz_now()" for one in found]
    return _put(sql, found), tuple(dict.fromkeys(notes))


def put_mz_now_in_statement(sql: str, bare: Collection[str] = ()) -> str:
    """A statement with mz_now() in place of clocks. bare: the names without parentheses that are clocks here.

    >>> put_mz_now_in_statement("select now(), current_date, builtin.now() from t", ["current_date"])
    'select mz_now(), CAST(mz_now() AS DATE), builtin.now() from t'
    """
    found = [one for one in _clocks(sql) if one.is_call or one.name.lower() in bare]
    return _put(sql, [one for one in found if not one.may_be_own])


def bare_names(sql: str) -> list[str]:
    """The names without parentheses that may be the clock, or columns, in lower case.

    >>> bare_names("select Current_Date, now(), now, `current_date` from t")
    ['current_date']
    """
    return list(dict.fromkeys(one.name.lower() for one in _clocks(sql) if not one.is_call and not one.may_be_own))


def puts_of(sql: str) -> list[Put]:
    """The replacements that `put_mz_now` makes in a text, at their offsets in the new text.

    >>> puts_of("select 1 from t where current_date() < d and now() < e")
    [Put(start=22, end=44, written='current_date()'), Put(start=53, end=61, written='now()')]
    """
    found, moved = [], 0
    for one in _clocks(sql):
        start = one.start + moved
        found.append(Put(start, start + len(one.clock), sql[one.start : one.end]))
        moved += len(one.clock) - (one.end - one.start)
    return found


def _put(sql: str, found: Sequence[_Named]) -> str:
    return spliced(sql, ((one.start, one.end, one.clock) for one in found))


def _clocks(sql: str) -> Iterator[_Named]:
    """The clocks named in a text, in the order of the text."""
    tokens = tokens_of(sql)
    for i, token in enumerate(tokens):
        called = known(token.text.lower(), 0)
        if not called.clock or token.token_type.name == "STRING":
            continue
        schema = _schema(tokens, i)
        if schema not in ((), OF_SPARK, OF_SPARK[-1:]) or i and tokens[i - 1].text.lower() == "as":
            continue
        after = [t.text for t in tokens[i + 1 : i + 3]]
        is_call = after == ["(", ")"]
        is_quoted = token.token_type.name == "IDENTIFIER"
        if not is_call and (schema or is_quoted or not called.bare or after[:1] in (["."], ["("])):
            continue
        end = tokens[i + 2].end if is_call else token.end
        may_be_own = schema == OF_SPARK[-1:]
        yield _Named(tokens[i - 2 * len(schema)].start, end + 1, called.clock, token.text, is_call, may_be_own)


def _schema(tokens: Sequence[Token], at: int) -> tuple[str, ...]:
    """The names before a name, in lower case: ("system", "builtin") of `now` in `system.builtin.now()`."""
    first = at
    while first > 1 and tokens[first - 1].text == ".":
        first -= 2
    return tuple(token.text.lower() for token in tokens[first:at:2])
