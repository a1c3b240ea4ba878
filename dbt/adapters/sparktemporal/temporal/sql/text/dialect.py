"""Parse Spark SQL, print it, quote it in messages, and find the clock in it.

`grammar` is the dialect.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from ....errors import Refusal, Unread
from . import quotes
from .grammar import MZ_NOW_NAMES, VerbatimSpark, tokens_of
from .readable import shortened, too_deep

E = TypeVar("E", bound=exp.Expr)

#: frames: the parser takes 30 frames for a parenthesis, and Python's own limit is 1000. Threads parse side by side, so
#: the limit is set once; a deeper query is refused (see `readable`)
_DEEPEST = 5_000
sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEPEST))

#: in the meta of a node: what the user wrote in its place
_WRITTEN = "written"

#: what sqlglot raises where it has a defect
DEFECTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def parse(sql: str) -> exp.Query:
    """The one query in `sql` as a tree, which belongs to the caller.

    Each text is parsed once: a copy of a tree takes a fifth of the time. Raises a Refusal that says where the parser
    stopped, that the text is nested too deeply, or that the text is no single query.
    """
    return _parsed(sql).copy()


@lru_cache(maxsize=256)
def _parsed(sql: str) -> exp.Query:
    try:
        statements = [s for s in sqlglot.parse(sql, read=VerbatimSpark) if s is not None]
    except RecursionError:
        raise too_deep(sql) from None
    except SqlglotError as error:
        # the message underlines with terminal codes, which do not belong in logs
        text = re.sub(r"\x1b\[\d+m", "", str(error)).strip()
        raise _unread(sql, re.sub(r" for <class '[^']*'>", "", text)) from None
    except DEFECTS as error:
        raise _unread(sql, shortened(sql)) from error
    statements = [s for s in statements if not isinstance(s, exp.Semicolon)]  # and a comment after it
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise Refusal(
            "ST301",
            shortened(sql),
            f"a model is one query; this is {len(statements)} statement(s)",
            "a single SELECT (or WITH ... SELECT)",
        )
    _name_pivots(statements[0])
    return statements[0]


def _name_pivots(tree: exp.Expr) -> None:
    """Make a derived table of each UNPIVOT with an alias, in place: the rows have this name, not that of the table."""
    for pivot in list(tree.find_all(exp.Pivot)):
        source, alias = pivot.parent, pivot.args.get("alias")
        if alias is not None and source is not None and source.args["pivots"] == [pivot]:
            pivot.set("alias", None)
            named = exp.Subquery(alias=alias)
            source.replace(named)
            named.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=source)))


def without_end(sql: str) -> str:
    """A statement without the semicolons at its end and the comments after them.

    >>> without_end("select ';' ; -- the end"), without_end("select 1; select 2;")
    ("select ';'", 'select 1; select 2')
    """
    try:
        tokens = tokens_of(sql)
    except SqlglotError:  # the parser says what is wrong
        return sql.strip()
    end = len(sql)
    for token in reversed(tokens):
        if token.token_type is not TokenType.SEMICOLON:
            break
        end = token.start
    return sql[:end].strip()


def _unread(sql: str, detail: str) -> Unread:
    piped = sql.find("|>")
    if piped >= 0:
        return Unread(
            "ST302",
            shortened(sql[piped:]),
            "this use of the pipe syntax cannot be read, and nothing is guessed",
            "the same as clauses of a SELECT (WHERE, GROUP BY, LIMIT), or move what stands before it into a CTE",
        )
    return Unread(
        "ST303",
        detail,
        "this part of the model cannot be read, and nothing is guessed",
        "the same in plainer SQL, names that are words of SQL in `backquotes`, or this part in an upstream model",
    )


def expression(sql: str) -> exp.Expr:
    """The one expression in `sql` as a tree."""
    return parse(f"SELECT {sql}").selects[0]


def conjunction(predicates: Sequence[exp.Expr]) -> exp.Expr:
    """Copies of the predicates, joined by AND."""
    return exp.and_(*predicates, dialect=VerbatimSpark, copy=True)


def render(node: exp.Expr, pretty: bool = False) -> str:
    """A tree -> Spark SQL, functions and names in the user's spelling."""
    return node.sql(dialect=VerbatimSpark, pretty=pretty, normalize_functions=False, comments=False)


def fragment(node: exp.Expr) -> str:
    """A tree -> one short line for a message: the piece of the model's text, or SQL where a rule has made the tree."""
    node = as_written(node)
    printed = render(node)
    query = "{}" if isinstance(node, exp.Query) else "WITH {} SELECT 1" if isinstance(node, exp.CTE) else "SELECT {}"

    def is_same(piece: str) -> bool:
        return _printed(query.format(piece)) == query.format(printed)

    def is_negated(piece: str) -> bool:
        return _printed(query.format(piece)) == query.format(f"NOT {printed}")

    found = quotes.quote_of(node, is_same)
    if found is None and isinstance(node, (exp.Predicate, exp.RegexpLike)):  # no piece of `a not in (b)` is `a in (b)`
        found = quotes.quote_of(node, is_negated)
    if found is None and isinstance(node, exp.Query):  # the author's query, which a rule has changed
        found = quotes.quote_of(node, _is_query)
    return shortened(found or printed)


def place_of(node: exp.Expr) -> tuple[int, int] | None:
    """The offsets [start, end) of an expression in the text from `quotes.mark`; None where they are not known."""
    printed = f"SELECT {render(node)}"
    found = quotes.place_of(node, lambda piece: _printed(f"SELECT {piece}") == printed)
    return None if found is None else found[1:]


def _is_query(piece: str) -> bool:
    return piece.lower().startswith(("select", "with")) and _printed(piece) != ""


@lru_cache(maxsize=1024)
def _printed(sql: str) -> str:
    """A query as it prints after it was parsed; "" where it cannot be parsed."""
    with suppress(SqlglotError, RecursionError, *DEFECTS):
        return render(sqlglot.parse_one(sql, read=VerbatimSpark))
    return ""


def suggested(node: exp.Expr) -> str:
    """A tree -> SQL to suggest to people: complete, with the user's text in place of nodes marked by `shown_as`."""
    return render(as_written(node))


def as_written(node: exp.Expr) -> exp.Expr:
    """A tree -> the tree in which nodes marked by `shown_as` are replaced by what the user wrote."""
    if any(_WRITTEN in n.meta for n in node.walk()):
        node = node.transform(lambda n: n.meta[_WRITTEN].copy() if _WRITTEN in n.meta else n)
    return node


def shown_as(node: E, written: exp.Expr) -> E:
    """Mark a node that replaces what the user wrote, such as a column for an expression: messages show `written`."""
    node.meta[_WRITTEN] = written.meta.get(_WRITTEN, written).copy()
    return node


def quote(name: str) -> str:
    """An identifier, quoted for Spark.

    >>> quote("we`ird")
    '`we``ird`'
    """
    return "`" + name.replace("`", "``") + "`"


def string_literal(text: str) -> str:
    """A Spark string literal; safe under variable substitution. `literals` refuses a session that keeps backslashes."""
    codes = {"\\": "\\\\", "'": "\\'", "$": "\\u0024", "\n": "\\n"}
    return "'" + "".join(codes.get(c, c) for c in text) + "'"


def has_other_parts(node: exp.Expr, known: Collection[str]) -> bool:
    """Whether a node has a part that `known` does not name."""
    return any(value for name, value in node.args.items() if name not in known)


def without(node: E, *parts: str) -> E:
    """A copy of a node without the parts of these names."""
    copied = node.copy()
    for part in parts:
        copied.set(part, None)
    return copied


def set_where(select: exp.Expr, predicates: Sequence[exp.Expr]) -> None:
    """Set the WHERE of a SELECT to the conjunction of predicates, in place. Without predicates there is no WHERE."""
    select.set("where", exp.Where(this=conjunction(predicates)) if predicates else None)


def put_in(tree: E, old: exp.Expr, new: E) -> E:
    """The tree, changed in place, with `new` in the place of `old`, which may be the tree itself."""
    if old is tree:
        return new
    old.replace(new)
    return tree


def is_mz_now(node: exp.Expr | None) -> bool:
    """Whether the node is a call `mz_now()` (or its synonym), with or without arguments."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in MZ_NOW_NAMES


def mz_now_calls(node: exp.Expr) -> Iterator[exp.Expr]:
    return (n for n in node.find_all(exp.Anonymous) if is_mz_now(n))


def has_clock(node: exp.Expr) -> bool:
    return next(mz_now_calls(node), None) is not None


def mz_now_spans(sql: str) -> list[tuple[int, int]]:
    """The offsets [start, end) of the calls in the text, in the order of the text.

    >>> sql = "select 'mz_now()' where Mz_Now( ) < x -- mz_now()"
    >>> [sql[a:b] for a, b in mz_now_spans(sql)]
    ['Mz_Now( )']
    """
    tokens = tokens_of(sql)
    spans = []
    for name, left, right in zip(tokens, tokens[1:], tokens[2:]):
        call = left.token_type == TokenType.L_PAREN and right.token_type == TokenType.R_PAREN
        if call and name.text.lower() in MZ_NOW_NAMES and name.token_type != TokenType.STRING:
            spans.append((name.start, right.end + 1))
    return spans


def brief(text: str) -> str:
    """The beginning of a fragment, for a line of the log, because macros write long ones.

    >>> brief("a < b"), len(brief("f(" * 100))
    ('a < b', 120)
    """
    return shortened(text, 120)
