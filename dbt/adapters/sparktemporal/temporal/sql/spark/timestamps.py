"""TIMESTAMP in a session with `spark.sql.timestampType = TIMESTAMP_NTZ`, where the word means local time.

    what the user wrote       cast(x as timestamp), timestamp '2024-01-01'  ->  … TIMESTAMP_NTZ
                              timestamp '2024-01-01 00:00:00Z'              ->  … TIMESTAMP_LTZ
    what the adapter adds     CAST(ts AS TIMESTAMP) + INTERVAL 5 MINUTES    ->  … TIMESTAMP_LTZ
    what DESCRIBE prints      timestamp                                     ->  TIMESTAMP_LTZ, in any session

So a query that is written now and read later means the same under every setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from ..functions.registry import known
from ..text.dialect import has_clock, quote
from ..text.grammar import IS_LITERAL
from .settings import TIMESTAMP_TYPE

#: a date and a time as Spark reads them; the rest of the text is a zone
_DATE_TIME = re.compile(r"\s*[+-]?\d+(-\d{1,2}){0,2}([ T](\d{1,2}(:\d{1,2}(:\d{1,2}(\.\d*)?)?)?)?)?\s*")
_NAMED = re.compile(r"(?<![\w`])timestamp(?=[,>]|$)", re.IGNORECASE)
#: a name of a field that needs quotes
_FIELD = re.compile(r"(?<=[<,])(?![A-Za-z_][0-9A-Za-z_]*:)([^<>,:]+):")


def are_local(settings: Mapping[str, str]) -> bool:
    """Whether a session takes TIMESTAMP for TIMESTAMP_NTZ."""
    return settings.get(TIMESTAMP_TYPE, "").upper() == "TIMESTAMP_NTZ"


def as_written(tree: exp.Query) -> exp.Query:
    """A user's query as an NTZ session reads it: each TIMESTAMP, and `to_timestamp` of the clock, by its explicit name.

    >>> from ..text.dialect import parse, render
    >>> render(as_written(parse("select cast(a as timestamp), timestamp '2024-01-01 00:00:00Z'")))
    "SELECT CAST(a AS TIMESTAMP_NTZ), CAST('2024-01-01 00:00:00Z' AS TIMESTAMP_LTZ)"
    """
    tree = tree.copy()
    for kind in list(tree.find_all(exp.DataType)):
        if kind.this in _PLAIN:
            kind.set("this", exp.DType.TIMESTAMPLTZ if _has_zone(kind.parent) else exp.DType.TIMESTAMPNTZ)
    for call in list(tree.find_all(exp.Anonymous)):
        local_name = known(call.name, len(call.expressions)).local_name
        if local_name and has_clock(call):
            call.set("this", local_name)
    return tree


def as_instants(node: exp.Expr) -> exp.Expr:
    """A copy of an expression that the adapter adds after `as_written`, with each TIMESTAMP as TIMESTAMP_LTZ."""
    node = node.copy()
    for kind in node.find_all(exp.DataType):
        if kind.this in _PLAIN:
            kind.set("this", exp.DType.TIMESTAMPLTZ)
    return node


def sql_type(described: str) -> str:
    """A type as DESCRIBE prints it, without quotes around the names of fields -> its name in SQL, in any session.

    >>> sql_type("timestamp"), sql_type("map<string,timestamp>"), sql_type("struct<timestamp:int,b:timestamp_ntz>")
    ('timestamp_ltz', 'map<string,timestamp_ltz>', 'struct<timestamp:int,b:timestamp_ntz>')
    >>> sql_type("array<struct<a-b:decimal(3,1),c:map<int,struct<d e:int>>>>")
    'array<struct<`a-b`:decimal(3,1),c:map<int,struct<`d e`:int>>>>'
    """
    return _FIELD.sub(lambda found: f"{quote(found[1])}:", _NAMED.sub("timestamp_ltz", described))


_PLAIN = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ)


def _has_zone(node: exp.Expr | None) -> bool:
    if node is None or not node.meta.get(IS_LITERAL):
        return False
    text = node.this.name
    known = _DATE_TIME.match(text)
    return known is not None and known.end() < len(text)
