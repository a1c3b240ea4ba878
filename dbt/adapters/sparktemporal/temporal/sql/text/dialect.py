"""Spark SQL as a tree that prints back as it was written.

sqlglot's Spark dialect parses functions into nodes so that it can transpile them: `date_sub(d, 7)` becomes
`DATE_ADD(d, 7 * -1)`, and `CEIL`, `DATEDIFF` and others change too. This dialect transpiles nothing. A function stays
a name with arguments, as the user wrote it. Only forms with a syntax of their own (CAST, EXTRACT, ...) are parsed.
`same_query.check` verifies that Spark takes text and tree for the same query.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from ....errors import Refusal, Unread
from . import literals, pipes, quotes
from .readable import shortened, too_deep

E = TypeVar("E", bound=exp.Expr)

MZ_NOW_NAMES = ("mz_now", "mz_logical_timestamp")
#: the schema of Spark's own functions, by its full name; by its last part alone it may be somebody's schema, too
OF_SPARK = ("system", "builtin")

#: frames: the parser takes 30 frames for a parenthesis, and Python's own limit is 1000. Threads parse side by side, so
#: the limit is set once; a deeper query is refused (see `readable`)
_DEEPEST = 5_000
sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEPEST))

#: in the meta of a cast: the user wrote a literal (`timestamp '2024-01-01'`)
IS_LITERAL = "is_literal"

_NAMES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
#: in the meta of a cast: the number with its suffix (`1L`)
_NUMBER = "number"
#: in the meta of a node: what the user wrote in its place
_WRITTEN = "written"

_SPECIAL_FORMS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "OVERLAY", "SUBSTRING")


def _literal(parser: sqlglot.Parser, text: exp.Expr, kind: exp.DataType) -> exp.Expr:
    cast = parser.expression(exp.Cast(this=text, to=kind))
    cast.meta[IS_LITERAL] = True
    return cast


def _position(parser: sqlglot.Parser) -> exp.Expr:
    """`position(a IN b)` has a syntax of its own, `position(a, b)` is a call like others."""
    given = parser._parse_csv(parser._parse_bitwise)
    if len(given) == 1 and parser._match(TokenType.IN):
        return parser.expression(exp.StrPosition(this=parser._parse_bitwise(), substr=given[0]))
    return parser.expression(exp.Anonymous(this="position", expressions=given))


class OwnFunction(exp.Anonymous):
    """A call of a function in a user's schema (`d.date_add(ts, 1)`), unrelated to Spark's function of that name.

    Its name begins with a dot, so that no fact about Spark's function is applied to it.
    """

    @property
    def name(self) -> str:
        return "." + super().name

    @property
    def called(self) -> str:
        """The name without its schema."""
        return super().name


class VerbatimSpark(Spark):
    SUPPORTS_USER_DEFINED_TYPES = True  # for mz_timestamp

    class Tokenizer(Spark.Tokenizer):
        # else the rest of an EXPLAIN is one token, and its calls are not found
        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(SparkParser):
        def expression(self, instance: E, token: Token | None = None, comments: list[str] | None = None) -> E:
            """Make a call after a dot an `OwnFunction`, unless the words before the dot may be Spark's own schema."""
            if type(instance) is exp.Dot and type(instance.expression) is exp.Anonymous:
                schema = tuple(part.name.lower() for part in instance.this.find_all(exp.Identifier, bfs=False))
                call = instance.expression
                if schema not in (OF_SPARK, OF_SPARK[-1:]) and call.name.lower() not in MZ_NOW_NAMES:
                    instance.set("expression", OwnFunction(**call.args))
            return super().expression(instance, token, comments)

        def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
            """Mark a JOIN without a condition as INNER, unlike a comma, which binds less than a JOIN."""
            is_comma = self._match(TokenType.COMMA, advance=False)
            join: exp.Join | None = super()._parse_join(*args, **kwargs)
            if join is not None and not is_comma and not has_other_parts(join, ("this",)):
                join.set("kind", "INNER")
            return join

        def _parse_lateral(self) -> exp.Lateral | None:
            return pipes.lateral(self) or super()._parse_lateral()

        def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
            """A number with a suffix (`1L`) is a cast that prints as it was written."""
            suffix = self._prev
            cast = super().build_cast(strict, **kwargs)
            if self._tokens[self._index - 2].start == suffix.start:
                cast.meta[_NUMBER] = self.sql[suffix.start : suffix.end + 1]
            return cast

        def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query:
            return pipes.piped(self, query)

        def _parse_interval(
            self, require_interval: bool = True, parse_function_unit: bool = True
        ) -> exp.Add | exp.Interval | None:
            """Parse an interval of several units as one literal, like Spark. sqlglot's sum is wrong after a minus."""
            first = self._curr
            found = literals.interval(self) or super()._parse_interval(require_interval, parse_function_unit)
            if isinstance(found, exp.Interval):
                found.meta.update(start=first.start, end=self._prev.end)  # its number has no place
            return found

        SUPPORTS_TABLE_QUERY = True

        def _is_table_query(self) -> bool:
            """Whether `TABLE` begins the query `TABLE s.t`. Before any word but a name, `TABLE` is a name itself."""
            return bool(super()._is_table_query()) and self._next.token_type in (TokenType.VAR, TokenType.IDENTIFIER)

        # a comma between tables stays a comma, and a join without a condition has none: Spark's plans are others
        JOINS_HAVE_EQUAL_PRECEDENCE = False
        ADD_JOIN_ON_TRUE = False
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, type[exp.Func]]] = {}  # `array(a, b)[i]` is an element
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS = {
            **{name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _SPECIAL_FORMS},
            "POSITION": _position,
        }
        TYPE_LITERAL_PARSERS = {
            **SparkParser.TYPE_LITERAL_PARSERS,
            **dict.fromkeys((exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIME), _literal),
        }

    class Generator(SparkGenerator):
        # a WITH stays where it was written: Spark makes another plan of one at the top
        EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()
        TYPE_MAPPING: ClassVar[dict[exp.DType, str]] = {**SparkGenerator.TYPE_MAPPING, exp.DType.TIME: "TIME"}
        # Spark 4 has both operators; a call of shiftleft is a call
        TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
            **SparkGenerator.TRANSFORMS,
            exp.BitwiseLeftShift: lambda self, node: self.binary(node, "<<"),
            exp.BitwiseRightShift: lambda self, node: self.binary(node, ">>"),
            OwnFunction: lambda self, node: self.anonymous_sql(node),
        }

        def select_sql(self, expression: exp.Select) -> str:
            return pipes.sets_sql(self, expression) or super().select_sql(expression)

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            """Print a number with a suffix, and a TIME literal, as written: Spark casts to TIME only by a setting."""
            if _NUMBER in expression.meta:
                return str(expression.meta[_NUMBER])
            if expression.meta.get(IS_LITERAL) and expression.to.is_type(exp.DType.TIME):
                return f"TIME {self.sql(expression.this)}"
            return super().cast_sql(expression, safe_prefix)

    def tokenize(self, sql: str, dialect: object = None) -> list[Token]:
        """Keywords are names beside a dot (`s.union`, `union.id`); `window` is a name except in a WINDOW clause."""
        tokens = literals.whole(super().tokenize(sql, dialect), sql)  # type: ignore[arg-type]  # as sqlglot calls it
        for at, token in enumerate(tokens):
            if token.token_type not in _NAMES and token.text.isidentifier() and _is_name(tokens, at):
                token.token_type = TokenType.VAR
        return tokens


def _is_name(tokens: list[Token], at: int) -> bool:
    """Whether the keyword at a place is a name there."""
    token, after = tokens[at], tokens[at + 1 : at + 3]
    if at > 0 and tokens[at - 1].token_type == TokenType.DOT and tokens[at - 1].end + 1 == token.start:
        return True
    if token.token_type == TokenType.WINDOW and not (len(after) == 2 and after[1].token_type == TokenType.ALIAS):
        return True
    before_dot = len(after) == 2 and after[0].token_type == TokenType.DOT and after[0].start == token.end + 1
    return before_dot and (after[1].text == "*" or after[1].text.isidentifier())


#: what sqlglot raises where it has a defect
DEFECTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def parse(sql: str) -> exp.Query:
    """The one query in `sql` as a tree, which belongs to the caller.

    Each text is parsed once: a copy of a tree takes a fifth of the time. Raises a Refusal that says where the parser
    stopped, that the text is nested too deeply, or that it is no single query.
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
    if len(statements) != 1 or not isinstance(statements[0], (exp.Query, exp.Subquery)):
        raise Refusal(
            "ST301",
            shortened(sql),
            f"a model is one query; this is {len(statements)} statement(s)",
            "a single SELECT (or WITH ... SELECT)",
        )
    return statements[0]


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

    found = quotes.quote_of(node, tokens_of, is_same)
    if found is None and isinstance(node, (exp.Predicate, exp.RegexpLike)):  # no piece of `a not in (b)` is `a in (b)`
        found = quotes.quote_of(node, tokens_of, is_negated)
    if found is None and isinstance(node, exp.Query):  # a rule changed it: the query that it was
        found = quotes.quote_of(node, tokens_of, _is_query)
    return shortened(found or printed)


def _is_query(piece: str) -> bool:
    return piece.lower().startswith(("select", "with")) and _printed(piece) != ""


@lru_cache(maxsize=1024)
def _printed(sql: str) -> str:
    """A query as it prints after it was parsed; "" where it cannot be parsed."""
    with suppress(SqlglotError, RecursionError, *DEFECTS):
        return render(sqlglot.parse_one(sql, read=VerbatimSpark))
    return ""


def tokens_of(sql: str) -> list[Token]:
    """The tokens of a text. Raises sqlglot's TokenError where a quote or a comment is not closed."""
    return sqlglot.tokenize(sql, read=VerbatimSpark)


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
    """A Spark string literal; safe under variable substitution and under both backslash settings."""
    codes = {"\\": "\\\\", "'": "\\'", "$": "\\u0024", "\n": "\\n"}
    return "'" + "".join(codes.get(c, c) for c in text) + "'"


def has_other_parts(node: exp.Expr, known: Collection[str]) -> bool:
    """Whether a node has a part that `known` does not name."""
    return any(value for name, value in node.args.items() if name not in known)


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
    """The beginning of a fragment, for a line of the log: what macros write is long.

    >>> brief("a < b"), len(brief("f(" * 100))
    ('a < b', 120)
    """
    return shortened(text, 120)
