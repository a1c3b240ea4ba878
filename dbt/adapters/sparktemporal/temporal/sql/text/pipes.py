"""The pipe syntax of Spark 4 as nested SELECTs.

    from t |> as x |> where x.a > 1 |> aggregate count(*) as n group by k
      ->  SELECT k, count(*) AS n FROM t AS x WHERE x.a > 1 GROUP BY k
    from t |> set a = b
      ->  SELECT * FROM t, whose star replaces a column: see `rewrite.replaced_columns`

An operator becomes a clause of the SELECT before it if that SELECT has no later clause, else of a SELECT around it.
Names of relations stay visible after WHERE, as in Spark. `same_query.check` compares Spark's plans of both forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import TokenType, exp

_ORGANIZATION = (
    TokenType.ORDER_BY,
    TokenType.SORT_BY,
    TokenType.CLUSTER_BY,
    TokenType.DISTRIBUTE_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
)


def piped(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    """Parse the pipe operators after a query -> the query with these operators."""
    while parser._match(TokenType.PIPE_GT):
        query = _operator(parser)(parser, query)
    return query


def _operator(parser: sqlglot.Parser) -> Callable[[Any, exp.Query], exp.Query]:
    word = parser._curr.text.upper()
    if word in _BY_WORD:
        if word not in ("SELECT", "PIVOT", "UNPIVOT"):
            parser._advance()
        return _BY_WORD[word]
    if parser._curr.token_type in _ORGANIZATION:
        return _organized
    return _combined if parser._curr.token_type in parser.SET_OPERATIONS else _joined


def _where(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query, "where")
    return rows.where(parser._parse_disjunction(), dialect=parser.dialect, copy=False)


def _as(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query)
    source = rows.args["from_"].this
    if rows.args.get("joins") or rows.args.get("laterals") or not isinstance(source, (exp.Table, exp.Subquery)):
        rows = around(query)
        source = rows.args["from_"].this
    source.set("alias", exp.TableAlias(this=parser._parse_id_var()))
    return rows


def _select(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    given = parser._parse_select(parse_set_operation=False, consume_pipe=False)
    assert given is not None  # the word is SELECT
    rows = _rows(query, "where")
    for key, value in given.args.items():
        if value and key not in ("kind", "hint", "distinct", "expressions", "windows"):
            parser.raise_error("Expected a list of columns")
        if value:
            rows.set(key, value)
    return rows


def _extend(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query, "where")
    rows.set("expressions", [exp.Star(), *parser._parse_expressions()])
    return rows


def _set(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query, "where")
    rows.set("expressions", [exp.Star(replace=parser._parse_csv(lambda: _assignment(parser)))])
    return rows


def _assignment(parser: sqlglot.Parser) -> exp.Alias:
    name = parser._parse_id_var()
    if not name or not parser._match(TokenType.EQ):
        parser.raise_error("Expected a column and =")
    return exp.Alias(this=parser._parse_disjunction(), alias=name)


def _drop(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query, "where")
    names = parser._parse_csv(parser._parse_id_var)
    rows.set("expressions", [exp.Star(except_=[exp.column(name) for name in names if isinstance(name, exp.Expr)])])
    return rows


def _aggregate(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query, "where")
    items = [] if parser._match(TokenType.GROUP_BY, advance=False) else parser._parse_expressions()
    if parser._match(TokenType.GROUP_BY):
        keys = parser._parse_expressions()
        if not keys or any(isinstance(key.unalias(), (exp.Literal, exp.Rollup, exp.Cube)) for key in keys):
            parser.raise_error("Expected expressions to group by")
        rows.set("group", exp.Group(expressions=[key.unalias().copy() for key in keys]))
        items = [*keys, *items]
    rows.set("expressions", items)
    return rows


def _organized(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    return parser._parse_query_modifiers(_rows(query, "where"))


def _combined(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    plain = isinstance(query, exp.Select) and query is _rows(query, "where")
    combined = parser.parse_set_operation(query if plain else around(query))
    assert combined is not None  # the word is one of SET_OPERATIONS
    return combined


def _joined(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query)
    join = parser._parse_join()
    if join is None:
        parser.raise_error("This operator is not read")
    rows.append("joins", join)
    return rows


def lateral(parser: sqlglot.Parser) -> exp.Lateral | None:
    """Parse `lateral (...)`, without the pipe operators after it: these do not belong to the query in parentheses."""
    start = parser._index
    if parser._match(TokenType.LATERAL) and parser._match(TokenType.L_PAREN, advance=False):
        query = parser._parse_select(table=True, consume_pipe=False)
        alias = query.args["alias"].pop() if query is not None and query.alias else None
        return parser.expression(exp.Lateral(this=query, alias=alias))
    parser._retreat(start)
    return None


def _pivoted(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = _rows(query)
    source = rows.args["from_"].this
    if rows.args.get("joins") or not isinstance(source, exp.Table) and parser._curr.text.upper() == "PIVOT":
        parser.raise_error("PIVOT is read right after a table")  # its columns are named after that table's
    source.set("pivots", parser._parse_pivots())
    return rows


def _sampled(parser: sqlglot.Parser, query: exp.Query) -> exp.Query:
    rows = around(query)
    parser._retreat(parser._index - 1)
    rows.args["from_"].this.set("sample", parser._parse_table_sample())
    return rows


_BY_WORD: dict[str, Callable[[Any, exp.Query], exp.Query]] = {
    "WHERE": _where,
    "AS": _as,
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _set,
    "DROP": _drop,
    "AGGREGATE": _aggregate,
    "PIVOT": _pivoted,
    "UNPIVOT": _pivoted,
    "TABLESAMPLE": _sampled,
}


def _rows(query: exp.Query, *also: str) -> exp.Select:
    """A `SELECT *` of the rows of a query, to which a clause can be added: the query itself, or a SELECT around it.

    The query itself is returned only if it has no clauses but WITH, FROM with joins and laterals, and those of `also`.
    """
    allowed = {"kind", "expressions", "from_", "joins", "laterals", "with_", *also}
    if isinstance(query, exp.Select) and query.args.get("from_"):
        is_star = len(query.expressions) == 1 and query.expressions[0] == exp.Star()
        if is_star and not any(value for key, value in query.args.items() if key not in allowed):
            return query
    return around(query)


def around(query: exp.Query) -> exp.Select:
    """A SELECT around a query. The name of the one relation whose columns the query shows stays visible."""
    inner = query if isinstance(query, exp.Subquery) and not query.alias else exp.Subquery(this=query)
    if isinstance(query, exp.Select) and not query.args.get("joins") and not query.args.get("laterals"):
        source = query.args.get("from_")
        shows_all = bool(query.expressions) and isinstance(query.expressions[0], exp.Star)
        if source is not None and shows_all and source.this.alias_or_name:
            name = exp.to_identifier(source.this.alias_or_name, quoted=True)
            inner.set("alias", exp.TableAlias(this=name))
    with_ = query.args.get("with_")
    rows = exp.select("*").from_(inner, copy=False)
    if with_ is not None:
        rows.set("with_", with_.pop())
    return rows


def replaced_columns(select: exp.Select) -> list[exp.Alias]:
    """The assignments of a `|> SET`."""
    star = select.expressions[0] if select.expressions else None
    return list(star.args.get("replace") or []) if isinstance(star, exp.Star) else []


def sets_sql(generator: sqlglot.Generator, select: exp.Select) -> str:
    """A SELECT that replaces columns, in pipe syntax: no clause of a SELECT replaces one. "" for any other SELECT."""
    replaced = replaced_columns(select)
    if not replaced:
        return ""
    sources = [select.args["from_"], *(select.args.get("joins") or ()), *(select.args.get("laterals") or ())]
    where = generator.sql(select, "where").strip()
    assigned = (f"{generator.sql(item.args['alias'])} = {generator.sql(item.this)}" for item in replaced)
    piped = ["".join(map(generator.sql, sources)).strip(), *filter(None, [where]), f"SET {', '.join(assigned)}"]
    return generator.prepend_ctes(select, " |> ".join(piped))
