"""Casts to INT of a number of the clock that may be a DOUBLE: `int((unix_timestamp(mz_now()) - n) / 60)`.

Such a cast cuts the number towards zero, so the result rises with the number. Beyond an INT, ANSI mode raises an
error. Without ANSI mode a DOUBLE gives the nearest INT, and a number of another type wraps around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import Takes
from ..sql.names.types import type_of
from ..sql.text.dialect import has_clock, is_mz_now, render
from ..sql.text.shapes import filled


def is_double(node: exp.Expr, of_column: Callable[[str], str] = lambda name: "bigint") -> bool:
    """Whether a number of the clock is a DOUBLE. of_column: SQL of a column -> its type; by default all are BIGINT.

    >>> from ..sql.text.dialect import expression
    >>> [is_double(expression(sql)) for sql in ("(mz_now() - ms) / 1000", "mz_now() div 1000", "mz_now() / 60.0")]
    [True, False, False]
    """
    clock = exp.column("mz_now")
    number = exp.Paren(this=node.copy()).transform(lambda part: clock.copy() if is_mz_now(part) else part)
    return type_of(number, lambda column: "bigint" if column == clock else of_column(render(column))) == "double"


def cuts_double(node: exp.Expr) -> bool:
    """Whether a node casts a number of the clock that may be a DOUBLE to INT. False for TRY_CAST, which gives NULL."""
    called = function(node)
    is_cast = called is not None and called.takes is Takes.DOUBLE and not node.args.get("safe")
    return is_cast and has_clock(node) and is_double(arguments(node)[0])


def cut_doubles(node: exp.Expr) -> list[exp.Expr]:
    """The numbers that a function of the clock casts to INT, and that are DOUBLEs if every column is a BIGINT.

    With the real types of the columns, a caller checks again that each of them is a DOUBLE.

    >>> from ..sql.text.dialect import expression
    >>> [render(x) for x in cut_doubles(expression("CAST((mz_now() - ms) / 1000 AS INT) + int(k / 2)"))]
    ['(mz_now() - ms) / 1000']
    """
    return [arguments(call)[0] for call in node.walk() if cuts_double(call)]


#: NULL stays NULL, which least and greatest would leave out
_WITHIN_INT = "CASE WHEN mz_x < -2147483648D THEN -2147483648D WHEN mz_x > 2147483647D THEN 2147483647D ELSE mz_x END"


def within_int(node: exp.Expr) -> exp.Expr:
    """A copy of a function of the clock in which each cast of a DOUBLE to INT gives the nearest INT and never raises.

    >>> from ..sql.text.dialect import expression
    >>> render(within_int(expression("int(mz_now() / 9)")))[:65]
    'int(CASE WHEN (mz_now() / 9) < -2147483648D THEN -2147483648D WHE'
    """
    around = exp.Paren(this=node.copy())
    for number in cut_doubles(around):
        number.replace(filled(_WITHIN_INT, {"mz_x": number.unnest()}))
    return cast("exp.Expr", around.this.pop())
