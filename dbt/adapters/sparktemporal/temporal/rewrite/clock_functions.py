"""`current_timestamp()`, `now()`, `current_date()` in a temporal view -> `mz_now()`.

Spark would give them the time of the run or of the read. As mz_now() their value is the instant that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot

from ...errors import Refusal
from ..sql.dialect import OF_SPARK, VerbatimSpark
from ..sql.functions.registry import known


def put_mz_now(sql: str) -> tuple[str, tuple[str, ...]]:
    """The text of a model -> the text with mz_now() in place of these functions, and a note for each function.

    >>> put_mz_now("select 1 from t where current_date() < d and x.now = 'now()'")
    ("select 1 from t where CAST(mz_now() AS DATE) < d and x.now = 'now()'", ('current_date() is read as mz_now()',))
    >>> put_mz_now("select d.now(), System.`builtin`.now() from t")[0]
    'select d.now(), mz_now() from t'
    """
    tokens = sqlglot.tokenize(sql, read=VerbatimSpark)
    out, last, notes = [], 0, []
    for i, token in enumerate(tokens):
        name = token.text.lower()
        called = known(name, 0)
        if not called.clock or token.token_type.name == "STRING":
            continue
        schema = _schema(tokens, i)
        if schema not in ((), OF_SPARK, OF_SPARK[-1:]) or i and tokens[i - 1].text.lower() == "as":
            continue
        first = i - 2 * len(schema)
        after = [t.text for t in tokens[i + 1 : i + 3]]
        is_call = after == ["(", ")"]
        if is_call and schema == OF_SPARK[-1:]:
            raise Refusal(
                f"builtin.{token.text}()",
                "builtin may be a schema with a function of that name, whose value is not known to be the clock's",
                f"mz_now(), {token.text}(), or the name of the schema with its catalog",
            )
        is_quoted = token.token_type.name == "IDENTIFIER"
        if not is_call and (schema or is_quoted or not called.bare or after[:1] in (["."], ["("])):
            continue
        if not is_call:
            raise Refusal(
                token.text,
                "a column of that name would win over the function, so the meaning of the name is not known",
                f"{token.text}() for the clock, `{token.text}` in backticks for a column",
            )
        start, end = tokens[first].start, tokens[i + 2].end
        notes.append(f"{sql[start : end + 1]} is read as mz_now()")
        out += [sql[last:start], called.clock]
        last = end + 1
    return "".join(out) + sql[last:], tuple(dict.fromkeys(notes))


def _schema(tokens: Sequence[sqlglot.Token], at: int) -> tuple[str, ...]:
    """The names before a name, in lower case: ("system", "builtin") of `now` in `system.builtin.now()`."""
    first = at
    while first > 1 and tokens[first - 1].text == ".":
        first -= 2
    return tuple(token.text.lower() for token in tokens[first:at:2])
