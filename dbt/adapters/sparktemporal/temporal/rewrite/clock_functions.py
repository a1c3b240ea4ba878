"""`current_timestamp()`, `now()`, `current_date()` in a temporal view -> `mz_now()`.

Spark would give them the time of the run or of the read. As mz_now() their value is the instant that is asked for.
"""

from __future__ import annotations

import sqlglot

from ...errors import Refusal
from ..sql.dialect import VerbatimSpark
from ..sql.functions.registry import known


def put_mz_now(sql: str) -> tuple[str, tuple[str, ...]]:
    """The text of a model -> the text with mz_now() in place of these functions, and a note for each function.

    >>> put_mz_now("select 1 from t where current_date() < d and x.now = 'now()'")
    ("select 1 from t where CAST(mz_now() AS DATE) < d and x.now = 'now()'", ('current_date() is read as mz_now()',))
    """
    tokens = sqlglot.tokenize(sql, read=VerbatimSpark)
    out, last, notes = [], 0, []
    for i, token in enumerate(tokens):
        name = token.text.lower()
        called = known(name, 0)
        if not called.clock or token.token_type.name in ("STRING", "IDENTIFIER"):
            continue
        if i and tokens[i - 1].text in (".", "AS", "as", "As"):
            continue
        after = [t.text for t in tokens[i + 1 : i + 3]]
        is_call = after == ["(", ")"]
        if not is_call and (not called.bare or after[:1] in (["."], ["("])):
            continue
        if not is_call:
            raise Refusal(
                token.text,
                "a column of that name would win over the function, so the meaning of the name is not known",
                f"{token.text}() for the clock, `{token.text}` in backticks for a column",
            )
        end, clock = tokens[i + 2].end, called.clock
        notes.append(f"{sql[token.start : end + 1]} is read as mz_now()")
        out += [sql[last : token.start], clock]
        last = end + 1
    return "".join(out) + sql[last:], tuple(dict.fromkeys(notes))
