"""The column `window` that Spark makes of a window in GROUP BY -> the call itself.

    select window.start, count(*) from t group by window(ts, '5 minutes')
      ->  select window(ts, '5 minutes').start as start, count(*) from t group by window(ts, '5 minutes')

Both forms mean the same to Spark. In the second form the window is an expression like any other group key.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ..sql.functions.registry import names
from ..sql.names.scope import canonical

_WINDOWS = sorted(names(lambda row: row.window), reverse=True)


def with_window_calls(select: exp.Select, is_of_rows: Callable[[exp.Column], bool]) -> exp.Select:
    """An aggregating SELECT -> a copy with the call in place of window columns. Two different windows stay as they are.

    is_of_rows: whether a column belongs to the rows below. Spark prefers such a column to that of a window.
    """
    changed = select.copy()
    for name in _WINDOWS:
        calls = [c for c in changed.find_all(exp.Anonymous) if c.name.lower() == name]
        if len({canonical(call, []) for call in calls}) != 1:
            continue
        for column in list(changed.find_all(exp.Column)):
            if column.parts[0].name.lower() != name or len(column.parts) > 2 or is_of_rows(column):
                continue
            made: exp.Expr = calls[0].copy()
            if len(column.parts) == 2:
                made = exp.Dot(this=made, expression=column.this.copy())
            is_item = column.parent is changed and column.arg_key == "expressions"
            column.replace(exp.alias_(made, column.name, quoted=True) if is_item else made)
    return changed
