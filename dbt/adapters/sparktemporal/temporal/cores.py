"""A model is split into cores, whose rows are stored, and a residual that reads them.

    with recent as (select carrier, dep_at from flights where mz_now() <= dep_at + interval 1 day)
    select carrier, count(*) from recent group by carrier
      ->  core c0    select carrier, dep_at from flights          mz_now() <= dep_at + interval 1 day
          residual   with recent as (select * from mz_core_c0) select carrier, count(*) from recent group by carrier

A core with comparisons is temporal. A core without any is a static part that the residual needs: it is stored too, so
that a read sees every input as the last run read it, at any instant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from ..errors import Refusal
from .columns import needed_columns
from .core import PLACEHOLDER, Core, refuse_nondeterministic
from .ctes import drop_unused_ctes, refuse_shadowed_ctes, visible_ctes, with_ctes
from .dialect import VerbatimSpark, fragment, mz_now_calls, parse
from .functions import CLOCKS, is_aggregate_call
from .predicates import Comparison, comparisons, conjuncts, has_clock
from .static_parts import StaticParts

#: SQL of a query -> its columns as (name, Spark type)
Describe = Callable[[str], "list[tuple[str, str]]"]


@dataclass(frozen=True)
class Split:
    """The first core is the temporal one. The residual reads each core as the table `mz_core_<name>`."""

    cores: tuple[Core, ...]
    residual: exp.Query


def split(sql: str, describe: Describe) -> Split:
    """The text of a model -> its cores and residual; what is not covered is refused."""
    tree = parse(sql)
    _refuse_other_clocks(tree)
    refuse_shadowed_ctes(tree)
    select = _temporal_select(tree)
    core, rest = _take_core(select, describe)
    with_ctes(core.query, visible_ctes(select))
    refuse_nondeterministic(core.query)
    if select is tree:
        residual = rest
    else:
        select.replace(rest)
        residual = tree
    drop_unused_ctes(residual)
    static = StaticParts(residual)
    static.capture()
    drop_unused_ctes(residual)
    return Split((core, *static.cores), residual)


def _temporal_select(tree: exp.Expression) -> exp.Select:
    """The one SELECT whose WHERE (or inner join's ON) mentions the clock."""
    owners: list[exp.Select] = []
    for call in mz_now_calls(tree):
        if call.expressions:
            raise Refusal(fragment(call), "mz_now() takes no arguments", "mz_now()")
        owner = _owner(call)
        if not any(owner is o for o in owners):
            owners.append(owner)
    if not owners:
        raise Refusal(
            fragment(tree),
            "the model has no mz_now(), so nothing in it depends on the clock",
            "a predicate such as `where mz_now() <= event_ts + interval 30 days`, or materialized='view' or 'table'",
        )
    if len(owners) > 1:
        raise Refusal(
            " ; ".join(fragment(o.args["where"] if o.args.get("where") else o) for o in owners),
            "the clock is compared in several SELECTs, which is not covered yet",
            "one SELECT with all comparisons joined by AND, or one temporal_view for each",
        )
    select = owners[0]
    if not select.args.get("from_"):
        raise Refusal(fragment(select), "the temporal SELECT reads nothing", "a FROM with the rows to window")
    node: exp.Expression | None = select
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None and with_.args.get("recursive"):
            raise Refusal(fragment(with_), "a recursive query over the clock is not linear", "an upstream table")
        if isinstance(node, exp.Lateral):
            raise Refusal(fragment(node), "the clock is compared inside a LATERAL subquery", "an ordinary join")
        node = node.parent
    return select


def _owner(call: exp.Expression) -> exp.Select:
    """The SELECT that a call of mz_now() belongs to, when it stands where a row is filtered."""
    child, node = call, call.parent
    join: exp.Join | None = None
    while node is not None and not isinstance(node, exp.Select):
        if isinstance(node, exp.Join):
            join = node
        if isinstance(node, (exp.SetOperation, exp.Subquery)) and child.arg_key not in ("this", "expression"):
            break
        child, node = node, node.parent
    place = child.arg_key
    if isinstance(node, exp.Select):
        if place == "where":
            return node
        if place == "joins" and join is not None:
            if (join.side or "").upper() == "" and (join.kind or "").upper() in ("", "INNER", "CROSS"):
                joins = node.args["joins"]
                position = next(i for i, j in enumerate(joins) if j is join)
                later = next((j for j in joins[position:] if (j.side or "").upper() in ("RIGHT", "FULL")), None)
                if later is None:
                    return node
                # its rows without a partner must not pass through the predicate, so the ON is not a WHERE
                join = later
            raise Refusal(
                fragment(join),
                "the clock in the ON of an outer, semi or anti join is not covered yet",
                "the temporal predicate in the WHERE of a derived table, joined from the outer query",
            )
    names = {
        "expressions": "the SELECT list",
        "having": "HAVING",
        "group": "GROUP BY",
        "order": "ORDER BY",
        "qualify": "QUALIFY",
        "windows": "a WINDOW",
    }
    where = names.get(str(place), str(place))
    found = call
    while found.parent is not None and not isinstance(found.parent, (exp.Select, exp.Having, exp.Group, exp.Order)):
        found = found.parent
    raise Refusal(
        fragment(found),
        f"mz_now() stands in {where}; it may stand in WHERE and in the ON of an inner join",
        "`where mz_now() <= expression over the row`; at read time the instant of a read is current_timestamp() "
        "in the query over the view",
    )


def _take_core(select: exp.Select, describe: Describe) -> tuple[Core, exp.Select]:
    """The temporal SELECT -> its core and the SELECT that takes its place in the residual."""
    found: list[Comparison] = []
    static: list[exp.Expression] = []
    stripped = select.copy()
    places = [j for j in stripped.args.get("joins") or [] if j.args.get("on") and has_clock(j.args["on"])]
    predicates = [p.args["on"] for p in places]
    for join in places:
        join.set("on", None)
        if not (join.kind or join.method):
            join.set("kind", "CROSS")
    for join in places:
        if (join.kind or "").upper() == "INNER":
            join.set("kind", "CROSS")
    where = stripped.args.get("where")
    if where is not None:
        predicates.append(where.this)
    for predicate in predicates:
        for conjunct in conjuncts(predicate):
            if has_clock(conjunct):
                compared, plain = comparisons(conjunct)
                found += compared
                static += plain
            else:
                static.append(conjunct)
    stripped.set("where", None)
    if static:
        stripped.set("where", exp.Where(this=exp.and_(*static, dialect=VerbatimSpark, copy=True)))
    stripped.set("with_", None)

    if _is_linear(stripped):
        rest = exp.select("*").from_(exp.to_table(PLACEHOLDER + "c0"))
        return Core("c0", stripped, tuple(found)), rest
    rows, rest = needed_columns(stripped, PLACEHOLDER + "c0", describe, visible_ctes(select))
    return Core("c0", rows, tuple(found)), rest


_NOT_LINEAR = (
    "group", "having", "distinct", "qualify", "windows", "order", "limit", "offset", "sort", "cluster", "distribute"
)  # fmt: skip


def _is_linear(select: exp.Select) -> bool:
    if any(select.args.get(key) for key in _NOT_LINEAR):
        return False
    for item in select.expressions:
        for node in item.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, exp.Window) or is_aggregate_call(node):
                return False
    return True


def _refuse_other_clocks(tree: exp.Expression) -> None:
    for node in tree.walk():
        name = CLOCKS.get(type(node)) or (node.name.lower() if isinstance(node, exp.Anonymous) else "")
        if name in CLOCKS.values() and not (name == "unix_timestamp" and node.expressions):
            raise Refusal(
                fragment(node),
                "its value is the instant of the run or of the read, whichever comes to evaluate it",
                "mz_now(), compared with an expression over the row",
            )
