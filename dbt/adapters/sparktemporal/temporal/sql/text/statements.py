"""The relations that a statement reads: the offsets of their names, and queries put in their place.

    insert into s.t select m.id from s.m     ->  insert into s.t select m.id from ((select ...) AS `m`)
    create view s.v as select s.m.id from s.m  ->  create view s.v as select m.id from ((select ...) AS `m`)

The text is spliced, never printed from the tree: everything else stays as the user wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from .dialect import quote
from .grammar import VerbatimSpark, tokens_of
from .identifiers import dotted, key, parts, within
from .splices import spliced

_QUERIES = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "("}
_WRITES = {"INSERT", "MERGE", "UPDATE", "DELETE", "DECLARE"}
#: statements that name a query: the query is the part that reads
_DEFINITIONS = {"CREATE", "REPLACE", "ALTER", "CACHE"}
#: before a list in parentheses that is no query
_LISTS = {"OPTIONS", "TBLPROPERTIES", "SERDEPROPERTIES", "BY", "ON"}
_COMMENTS = re.compile(r"(?:\s|/\*.*?\*/|--[^\n]*(?:\n|\Z))*", re.DOTALL)
_TABLE = re.compile(r"\btable\s+\Z", re.IGNORECASE)
#: the text of a view that has exactly the rows of another relation
_SAME_ROWS = re.compile(r"\s*select\s+\*\s+from\s+(\S+)\s*;?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Reference:
    """A relation named in a text, at the offsets [start, end)."""

    start: int
    end: int
    #: the relation by `identifiers.key`
    key: str
    #: the name as written
    name: str
    #: whether the text gives the relation an alias
    aliased: bool
    #: whether the relation is the qualifier of a column (`s.m` in `s.m.id`)
    is_column: bool = False


def after_comments(sql: str) -> str:
    """A statement without the comments before it, such as dbt's own.

    >>> after_comments("/* dbt */ -- a test\\nselect 1")
    'select 1'
    """
    return _COMMENTS.sub("", sql, count=1)


def reading_part(sql: str) -> int | None:
    """The offset of the part of a statement that reads rows; None when it reads no rows.

    >>> reading_part("/* dbt */ create table s.t using parquet as select 1"), reading_part("drop table s.t")
    (44, None)
    """
    words, start = _evaluated(sql)
    if start is not None and words[0] in _WRITES | {"SET"} and not _reads(words) and "${" not in sql:
        return None
    return start


def _reads(words: Sequence[str]) -> bool:
    """Whether a statement that writes has a word of a query that reads. `INTO TABLE` names what is written."""
    names_table = any(word == "TABLE" and before not in {"INTO", "OVERWRITE"} for before, word in pairwise(words))
    return names_table or not {"SELECT", "FROM", "USING"}.isdisjoint(words)


def evaluated_part(sql: str) -> int | None:
    """The offset of a definition's query, whose AS may be left out, or of a whole query, INSERT or the like; else None.

    The default of a column, and the body of a function, are no such query.

    >>> evaluated_part("insert into s.t values (1)"), evaluated_part("create table s.t (d date default now())")
    (0, None)
    >>> evaluated_part("cache table c options ('from' 'x') table s.t")
    35
    >>> evaluated_part("create function f() returns int return with a as (select now()) select 1 from a")
    """
    return _evaluated(sql)[1]


def _evaluated(sql: str) -> tuple[list[str], int | None]:
    """The words of a statement, in which a text or a name in quotes is a quote alone, and `evaluated_part`."""
    try:
        tokens = tokens_of(sql)
    except SqlglotError:
        return [], None
    quoted = {TokenType.STRING: "'", TokenType.IDENTIFIER: "`"}
    words = [quoted.get(token.token_type, token.text.upper()) for token in tokens]
    if not words:
        return [], None
    sets_variable = words[0] == "SET" and words[1:2] in (["VAR"], ["VARIABLE"])
    if words[0] in _WRITES | _QUERIES or sets_variable:
        return words, tokens[0].start
    found = _query_defined(words) if words[0] in _DEFINITIONS else None
    return words, None if found is None else tokens[found].start


def _query_defined(words: Sequence[str]) -> int | None:
    """The place of the first word of a definition's query; None for a definition of something else."""
    kind = next((at for at, word in enumerate(words) if word in {"TABLE", "VIEW", "FUNCTION"}), None)
    if kind is None or words[kind] == "FUNCTION" or words[0] == "ALTER" and words[kind] != "VIEW":
        return None
    name, depth = kind + (4 if words[kind + 1 : kind + 2] == ["IF"] else 1), 0
    for at in range(name + 1, len(words)):
        if depth == 0 and _begins_query(words, at):
            return at
        depth += {"(": 1, ")": -1}.get(words[at], 0)
    return None


def _begins_query(words: Sequence[str], at: int) -> bool:
    """Whether a query begins at this place of a definition, outside of parentheses."""
    before, word, *after = words[at - 1 : at + 3]
    if word == "(":
        return before.rpartition(" ")[2] not in _LISTS and next((w for w in words[at:] if w != "("), "") in _QUERIES
    if word == "WITH" and after[:1] != ["RECURSIVE"]:  # else `WITH SCHEMA BINDING`, `WITH SERDEPROPERTIES (...)`
        return after[:1] != ["SERDEPROPERTIES"] and after[1:] in (["AS"], ["("])
    return word in _QUERIES and before != "." and after[:1] != ["."]


def references(sql: str, catalog: str) -> list[Reference]:
    """The relations that a text names with a schema, in the order of the text; empty when it cannot be parsed.

    catalog: the current catalog, which keys leave out.
    """
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=VerbatimSpark) if tree is not None]
    except (SqlglotError, RecursionError):  # the second: nested too deeply
        return []
    return references_in(trees, catalog)


def references_in(trees: Iterable[exp.Expr], catalog: str) -> list[Reference]:
    """The relations that `references` gives, for the parsed trees of one text."""
    found = []
    for tree in trees:
        for node in tree.find_all(exp.Table, exp.Column):
            is_column = isinstance(node, exp.Column)
            names: list[exp.Expr] = list(cast("exp.Table | exp.Column", node).parts)
            names = names[:-1] if is_column else names
            if len(names) not in (2, 3) or not all(isinstance(p, exp.Identifier) and "start" in p.meta for p in names):
                continue
            end = names[-1].meta["start"] if is_column else names[-1].meta["end"] + 1
            start, last = names[0].meta["start"], names[-1].name
            aliased = not is_column and bool(node.alias)
            whole = within([part.name for part in names], catalog)
            found.append(Reference(start, end, key(dotted(whole[:-1]), last), last, aliased, is_column))
    return sorted(found, key=lambda one: one.start)


def replaced(sql: str, queries: Mapping[str, str], catalog: str) -> str:
    """A statement with queries in place of relations. queries: `identifiers.key` -> a query in parentheses.

    >>> replaced("select s.m.id, x.id from S.`M` join s.m x join m", {"s.m": "(q)"}, "c")
    'select m.id, x.id from ((q) AS `M`) join (q) x join m'
    >>> replaced("insert into s.t table s.m", {"s.m": "(q)"}, "c")
    'insert into s.t SELECT * FROM ((q) AS `m`)'
    """
    found = [one for one in references(sql, catalog) if one.key in queries]
    bare = {one.key for one in found if not one.is_column and not one.aliased}

    def put(one: Reference) -> tuple[int, int, str]:
        if one.is_column:
            return one.start, one.end, ""
        query = queries[one.key] if one.aliased else f"({queries[one.key]} AS {quote(one.name)})"
        before = _TABLE.search(sql, 0, one.start)  # a name follows TABLE, and no query
        return (one.start, one.end, query) if before is None else (before.start(), one.end, f"SELECT * FROM {query}")

    # `s.m.id` is a field of a struct, if no relation `s.m` is replaced
    return spliced(sql, (put(one) for one in found if not one.is_column or one.key in bare))


def same_rows_as(text: str, catalog: str) -> list[str] | None:
    """The relation that a view of this text copies (`select * from …`, as `dbt clone` makes), as parts of its name.

    >>> same_rows_as("select * from prod.`m`", "c"), same_rows_as("select * from prod.m where x", "c")
    (['prod', 'm'], None)
    """
    found = _SAME_ROWS.fullmatch(text)
    names = references(text, catalog) if found else []
    if len(names) != 1 or names[0].aliased:
        return None
    return within(parts(text[names[0].start : names[0].end]), catalog)
