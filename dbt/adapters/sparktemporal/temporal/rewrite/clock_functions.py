"""`current_timestamp()`, `now()`, `current_date()` in a temporal view: the clock, under other names.

Their value would be that of whoever evaluates them, the run or the read; as mz_now() it is that of the instant asked.
"""

from __future__ import annotations

import sqlglot

from ...errors import Refusal
from ..sql.dialect import VerbatimSpark
from ..sql.functions.registry import known


def put_mz_now(sql: str) -> tuple[str, tuple[str, ...]]:
    """A model's text -> the same with mz_now() for them, and a note for each.

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
                "a column of that name would win over the function, so which is meant is not known",
                f"{token.text}() for the clock, `{token.text}` in backticks for a column",
            )
        end, clock = tokens[i + 2].end, called.clock
        notes.append(f"{sql[token.start : end + 1]} is read as mz_now()")
        out += [sql[last : token.start], clock]
        last = end + 1
    return "".join(out) + sql[last:], tuple(dict.fromkeys(notes))
