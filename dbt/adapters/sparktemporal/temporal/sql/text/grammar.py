"""Spark SQL as a tree that prints back as it was written.

sqlglot's Spark dialect parses functions into nodes so that it can transpile them: `date_sub(d, 7)` becomes
`DATE_ADD(d, 7 * -1)`, and `CEIL`, `DATEDIFF` and others change too. This dialect transpiles nothing. A function stays
a name with arguments, as the user wrote it. Only forms with a syntax of their own (CAST, EXTRACT, ...) are parsed.
`same_query.check` verifies that Spark takes text and tree for the same query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from . import literals, pipes

E = TypeVar("E", bound=exp.Expr)

MZ_NOW_NAMES = ("mz_now", "mz_logical_timestamp")
#: the schema of Spark's own functions, by its full name; by its last part alone it may be somebody's schema, too
OF_SPARK = ("system", "builtin")
#: in the meta of a cast: the user wrote a literal (`timestamp '2024-01-01'`)
IS_LITERAL = "is_literal"

_NAMES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
#: in the meta of a cast: the number with its suffix (`1L`)
NUMBER = "number"
_SPECIAL_FORMS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "OVERLAY", "SUBSTRING")


def _literal(parser: sqlglot.Parser, text: exp.Expr, kind: exp.DataType) -> exp.Expr:
    cast = parser.expression(exp.Cast(this=text, to=kind))
    cast.meta[IS_LITERAL] = True
    return cast


def _position(parser: sqlglot.Parser) -> exp.Expr:
    """Parse the arguments of `position`: `a IN b`, which is a syntax of its own, or `a, b` as in any call."""
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
            if join is not None and not is_comma and not any(join.args[part] for part in join.args if part != "this"):
                join.set("kind", "INNER")
            return join

        def _parse_lateral(self) -> exp.Lateral | None:
            return pipes.lateral(self) or super()._parse_lateral()

        def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
            """Build a cast. The cast of a number with a suffix (`1L`) remembers how it was written."""
            suffix = self._prev
            cast = super().build_cast(strict, **kwargs)
            if self._tokens[self._index - 2].start == suffix.start:
                cast.meta[NUMBER] = self.sql[suffix.start : suffix.end + 1]
            return cast

        def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query:
            return pipes.piped(self, query)

        def _parse_interval(
            self, require_interval: bool = True, parse_function_unit: bool = True
        ) -> exp.Add | exp.Interval | None:
            """Parse an interval of several units as one literal, like Spark. sqlglot's sum is wrong after a minus."""
            first, at = self._curr, self._index
            found = literals.interval(self) or super()._parse_interval(require_interval, parse_function_unit)
            if isinstance(found, exp.Add):  # `interval 1 day + 2 * x` is no interval of two units
                self._retreat(at)
                self._match(TokenType.INTERVAL)
                number = self._parse_primary() or self._parse_unary()
                assert number is not None  # there was an interval
                found = self._parse_interval_span(number, parse_function_unit=parse_function_unit)
            if isinstance(found, exp.Interval):
                found.meta.update(start=first.start, end=self._prev.end)  # the literal has no offsets
            return found

        SUPPORTS_TABLE_QUERY = True

        def _is_table_query(self) -> bool:
            """Whether `TABLE` begins the query `TABLE s.t`. Before any word but a name, `TABLE` is a name itself."""
            return bool(super()._is_table_query()) and self._next.token_type in (TokenType.VAR, TokenType.IDENTIFIER)

        # `||` binds like `+`, and COLLATE closer than any operator
        TERM: ClassVar[dict[TokenType, type[exp.Binary]]] = {
            **{token: of for token, of in SparkParser.TERM.items() if of is not exp.Collate},
            TokenType.DPIPE: exp.DPipe,
        }

        def _parse_factor_operand(self) -> exp.Expr | None:
            this = super()._parse_factor_operand()
            while self._match(TokenType.COLLATE):
                names = self._parse_csv(self._parse_id_var, sep=TokenType.DOT)
                name = exp.var(".".join(part.name for part in names))
                this = self.expression(exp.Collate(this=this, expression=name))
            return this

        # a comma between tables stays a comma, and a join without a condition gets no ON TRUE: Spark's plans differ
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
        # literals are printed without line breaks; sqlglot's own mark for these may stand in a literal
        SENTINEL_LINE_BREAK = "\n"
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
            if NUMBER in expression.meta:
                return str(expression.meta[NUMBER])
            if expression.meta.get(IS_LITERAL) and expression.to.is_type(exp.DType.TIME):
                return f"TIME {self.sql(expression.this)}"
            return super().cast_sql(expression, safe_prefix)

        def datatype_sql(self, expression: exp.DataType) -> str:
            """Print a TIME with its precision, which sqlglot takes off the tree."""
            if expression.this == exp.DType.TIME and expression.expressions:
                return f"TIME({self.expressions(expression, flat=True)})"
            return super().datatype_sql(expression)

    def tokenize(self, sql: str, dialect: object = None) -> list[Token]:
        """The tokens of a text. A keyword beside a dot is a name; `window` is one except in a WINDOW clause."""
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


def tokens_of(sql: str) -> list[Token]:
    """The tokens of a text. Raises sqlglot's TokenError where a quote or a comment is not closed."""
    return sqlglot.tokenize(sql, read=VerbatimSpark)
