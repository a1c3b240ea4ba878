"""Look up the calls in a tree in the registry of Spark's functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from .registry import cast_to, known, of_class
from .row import Aggregate, Function, Picks, Window


def function(node: exp.Expr) -> Function | None:
    """The facts about a call or a cast; None for any other node, and for `current_date` without parentheses.

    >>> from ..text.dialect import expression
    >>> [function(expression(sql)).name for sql in ("CAST(a AS DATE)", "extract(YEAR FROM a)", "Last_Day(a)", "f(a)")]
    ['date', 'extract', 'last_day', 'f']
    """
    if isinstance(node, exp.Anonymous):
        return known(node.name, len(node.expressions))
    if isinstance(node, exp.Cast):
        return cast_to(node.to.sql(dialect="spark"))
    return of_class(type(node).__name__)


def arguments(node: exp.Expr) -> Sequence[exp.Expr]:
    """The arguments of a call, in the order in which the registry counts them; of TRIM and SUBSTRING only the text."""
    if isinstance(node, exp.Anonymous):
        return node.expressions
    if isinstance(node, exp.Extract):
        return (node.this, node.expression)
    return (node.this,)


def starts_with_unit(node: exp.Expr | None) -> bool:
    """Whether the first argument of a call is a word such as DAY, which looks like a column."""
    return isinstance(node, exp.Anonymous) and known(node.name, len(node.expressions)).keyword


def picks(node: exp.Expr) -> Picks | None:
    """Which of its arguments a call gives; None for any other node."""
    return known(node.name, len(node.expressions)).picks if isinstance(node, exp.Anonymous) else None


def aggregate(node: exp.Expr) -> Aggregate | None:
    """The property of a group's rows that decides an aggregate; None for any other node, and where not known."""
    called = None if isinstance(node, exp.Cast) else function(node)
    return None if called is None else called.aggregate


def is_aggregate_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.AggFunc) or aggregate(node) is not None


def generates(node: exp.Expr) -> bool:
    """Whether a call gives any number of rows and columns, as `explode` does."""
    return isinstance(node, exp.Anonymous) and known(node.name, len(node.expressions)).generates


def makes_sessions(node: exp.Expr) -> bool:
    """Whether an expression has a session_window. The window of a row depends on the rows near the row."""
    return any(window(call) is Window.SESSION for call in node.find_all(exp.Anonymous))


def makes_several_rows(node: exp.Expr) -> exp.Expr | None:
    """The first call that makes several rows of one row: a sliding window. None if there is no such call."""
    return next((call for call in node.find_all(exp.Anonymous) if window(call) is Window.SLIDING), None)


def window(node: exp.Expr) -> Window | None:
    """The windows of time that a call makes; None for any other node."""
    return known(node.name, len(node.expressions)).window if isinstance(node, exp.Anonymous) else None


def nondeterministic(query: exp.Expr) -> exp.Expr | None:
    """The first part of a query that may give another answer over the same rows; None if there is none."""
    for node in query.walk():
        if isinstance(node, exp.TableSample):
            return node.parent or node
        if isinstance(node, exp.Func):
            called = by_name(node)
            is_excepted = called.unless and any(
                word.is_string and word.name.upper() == called.unless for word in node.expressions[2:]
            )
            if called.is_nondeterministic and not is_excepted:
                return node
    return None


#: window functions that are equal for rows that are equal in the order
OF_PEERS = ("rank", "dense_rank", "percent_rank", "cume_dist")


def depends_on_order(query: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a query that may choose among its rows by their order, which no ORDER BY decides for equal rows.

    >>> from ..text.dialect import parse
    >>> [part.key for part in depends_on_order(parse("select first(a) from (select * from t limit 2) as t"))]
    ['anonymous', 'limit']
    >>> list(depends_on_order(parse("select rank() over (order by a), sum(b) over (order by a) from t limit 0")))
    []
    """
    for node in query.walk():
        if isinstance(node, (exp.Limit, exp.Offset)):
            chooses = node.expression.name != "0"
        elif isinstance(node, exp.WindowSpec):
            ends = (node.args.get("start"), node.args.get("end"))
            chooses = str(node.args.get("kind")).upper() == "ROWS" and ends != ("UNBOUNDED", "UNBOUNDED")
        elif isinstance(node, exp.Func):
            called = by_name(node)
            above = node.parent.parent if isinstance(node.parent, (exp.IgnoreNulls, exp.RespectNulls)) else node.parent
            of_window = isinstance(above, exp.Window) and called.aggregate is None
            chooses = called.by_order or of_window and called.name.lower() not in OF_PEERS
        else:
            chooses = isinstance(node, (exp.Fetch, exp.QueryTransform))
        if chooses:
            yield node


def by_name(node: exp.Func) -> Function:
    """The facts about a call, by its name. A call with a class of the parser counts as one without arguments."""
    if isinstance(node, exp.Anonymous):
        return known(node.name, len(node.expressions))
    return known(node.sql_name(), 0)
