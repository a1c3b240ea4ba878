"""`CAST(x AS mz_timestamp)` and `x::mz_timestamp`: the conversion to the clock, whole milliseconds as a BIGINT.

ts::mz_timestamp  ->  unix_millis(ts)                           a TIMESTAMP, floored
at::mz_timestamp  ->  unix_millis(CAST(at AS TIMESTAMP_LTZ))    a DATE or TIMESTAMP_NTZ, floored
ms::mz_timestamp  ->  CAST(ms AS BIGINT)                        an integer
d::mz_timestamp   ->  CAST(floor(d) AS BIGINT)                  a DECIMAL
"""

from __future__ import annotations

from sqlglot import exp

from ...errors import Refusal
from ..sql.names.bind import typed_columns
from ..sql.names.ctes import visible_ctes
from ..sql.names.linear import over_rows_of
from ..sql.names.parsed_model import distinct_ctes
from ..sql.names.scope import Describe
from ..sql.spark.timestamps import as_written
from ..sql.text.dialect import expression, fragment, parse, place_of, render
from ..sql.text.quotes import Text, mark
from ..sql.text.splices import spliced

_CONVERSIONS = {
    "timestamp": "unix_millis({})",
    "timestamp_ntz": "unix_millis(CAST({} AS TIMESTAMP_LTZ))",
    "date": "unix_millis(CAST({} AS TIMESTAMP_LTZ))",
    "tinyint": "CAST({} AS BIGINT)",
    "smallint": "CAST({} AS BIGINT)",
    "int": "CAST({} AS BIGINT)",
    "bigint": "CAST({} AS BIGINT)",
    "decimal": "CAST(floor({}) AS BIGINT)",
}


def resolve_clock_casts(sql: str, describe: Describe, local_timestamps: bool = False) -> str:
    """The text of a model with its casts to mz_timestamp written out; unchanged when there are none.

    Raises Refusal for a cast of another type, or in a SELECT without FROM. local_timestamps: see `timestamps`.
    """
    if "mz_timestamp" not in sql.lower():
        return sql
    while True:
        tree = as_written(parse(sql)) if local_timestamps else parse(sql)
        mark(tree, Text(sql))
        cast = _first(tree)
        if cast is None:
            return sql
        spark_type = _type_of(cast, (_first(distinct_ctes(tree.copy())) or cast).find_ancestor(exp.Select), describe)
        base = "decimal" if spark_type.startswith("decimal") else spark_type
        if base not in _CONVERSIONS:
            raise Refusal(
                "ST327",
                fragment(cast),
                f"{spark_type.upper()} does not convert to the clock",
                "a TIMESTAMP, DATE, TIMESTAMP_NTZ, an integer or a DECIMAL",
            )
        sql = _put(sql, tree, cast, _CONVERSIONS[base])


def _put(sql: str, tree: exp.Expr, cast: exp.Cast, conversion: str) -> str:
    """The text with a conversion in the place of a cast.

    What is around stays as written, so that `same_query.check` compares it with the tree.
    """
    put, place = conversion.format(render(cast.this)), place_of(cast)
    if place is not None:
        return spliced(sql, [(*place, put)])
    cast.replace(expression(put))
    return render(tree)


def _type_of(cast: exp.Cast, select: exp.Select | None, describe: Describe) -> str:
    """The type of the operand of a cast in a SELECT."""
    if select is None or not select.args.get("from_"):
        raise Refusal(
            "ST328", fragment(cast), "mz_timestamp is a type for comparisons in a WHERE", "CAST(... AS BIGINT)"
        )
    probe = over_rows_of(select, cast.this.copy().as_("x"))
    for join in probe.args.get("joins") or []:
        # an ON may itself hold such a cast; the columns of the query do not depend on the ON
        if join.args.get("on"):
            join.set("on", exp.true())
    return typed_columns(probe, describe, visible_ctes(select))[0][1].lower()


def _first(tree: exp.Expr) -> exp.Cast | None:
    return next((c for c in tree.find_all(exp.Cast) if _to_clock(c) and not _inner(c)), None)


def _to_clock(cast: exp.Cast) -> bool:
    return str(cast.to.args.get("kind", "")).lower() == "mz_timestamp"


def _inner(cast: exp.Cast) -> bool:
    return any(_to_clock(c) for c in cast.this.find_all(exp.Cast))
