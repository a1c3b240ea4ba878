"""Compact texts of a model's views: `SELECT * EXCEPT` takes the place of most lists of columns.

    SELECT * EXCEPT (mz_from, mz_until, mz_diff) FROM <chain>        for        SELECT `a`, `b`, ... FROM <chain>

A Hive metastore limits the length of a view's text. The texts of `view_sql` and `stores` are used while they fit. The
compact texts give the same rows, and Spark reads the same files. `SELECT * EXCEPT` needs Spark 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ..predicates.clock_text import at_instant
from ..rewrite.linear_aggregates import COUNT
from ..sql.spark.identity import identity
from ..sql.text.dialect import has_other_parts, parse, quote, string_literal
from . import buckets
from .groups_sql import NUMBER, groups_at, near_until
from .intervals_read import FEW_CORRECTIONS, conditions, summed
from .intervals_sql import by_one_task, indent
from .state import Chain, CoreState, State
from .view_sql import expired_message, inline_upstreams, live_instant

_INTERVAL = ("mz_from", "mz_until", "mz_diff")


def can_write(state: State) -> bool:
    """Whether each core has a table, from which a compact text takes the columns."""
    return all(core.chains for core in state.cores)


def live_view(state: State) -> str:
    """The compact form of `view_sql.live_view`."""
    body = _output(state, {core.placeholder: _read(core, state, live_instant(state)) for core in state.cores})
    if state.expiration is None:
        return body
    # the output without rows: its columns and types, whatever the filters of a reader
    shapes = {core.placeholder: _shape(core, state) for core in state.cores}
    output = _output(state, shapes)
    error = f"raise_error({string_literal(expired_message(state))}) IS NULL"
    row = f"SELECT any_value(struct(*)) AS mz_row\nFROM (\n{indent(output, 2)}\n) AS mz_shape\nWHERE false"
    checked = f"SELECT IF({error}, mz_row, NULL) AS mz_row\nFROM (\n{indent(row, 2)}\n) AS mz_none"
    return (
        f"SELECT mz_row.*\nFROM (\n{indent(checked, 2)}\n) AS mz_expired\n"
        f"WHERE {live_instant(state)} > {state.expiration}L AND {error}\nUNION ALL\n{_arm(state, body)}"
    )


def _arm(state: State, body: str) -> str:
    """The body of a view as a branch of a UNION. The branch keeps the CTEs, ORDER BY and LIMIT of the body."""
    residual = parse(state.residual)
    is_arm = isinstance(residual, exp.Select) and not any(residual.args.get(part) for part in _OF_THE_WHOLE)
    return body if is_arm else f"SELECT *\nFROM (\n{indent(body, 2)}\n) AS mz_whole"


#: clauses that in the last arm of a UNION belong to the UNION
_OF_THE_WHOLE = ("with_", "order", "sort", "cluster", "distribute", "limit", "offset", "windows")


def as_updates(core: CoreState, schema: str) -> str:
    """The compact form of `IntervalStore.as_updates` and `GroupStore.as_updates`."""
    if core.sums is not None:
        every = "\nUNION ALL\n".join(
            f"SELECT mz_timestamp, mz_diff, {_except('mz_timestamp', 'mz_diff', *_bucket(c))} FROM {c.source(schema)}"
            for c in core.chains
        )
        sums = "".join(f", sum({quote(n)}) AS {quote(n)}" for n, _ in core.sums)
        kept = _except("mz_timestamp", "mz_diff", *(n for n, _ in core.sums))
        changed = " OR ".join(f"{quote(n)} <> 0" for n in ("mz_diff", *(n for n, _ in core.sums)))
        return (
            f"SELECT *\nFROM (\n  SELECT mz_timestamp, sum(mz_diff) AS mz_diff, {kept}{sums}\n"
            f"  FROM (\n{indent(every, 4)}\n  ) AS mz_all\n  GROUP BY ALL\n) AS mz_updates\nWHERE {changed}"
        )
    pairs = []
    for c in core.chains:
        row = f"struct({_except(*_INTERVAL, *_bucket(c))})"
        source = c.source(schema)
        pairs.append(f"SELECT mz_from AS mz_timestamp, mz_diff, {row} AS mz_row FROM {source}")
        pairs.append(f"SELECT mz_until, -mz_diff, {row} FROM {source} WHERE mz_until IS NOT NULL")
    every = "\nUNION ALL\n".join(pairs)
    rows = f"SELECT *, {_same(core)} AS mz_same\nFROM (\n{indent(every, 2)}\n) AS mz_all"
    return (
        f"SELECT mz_timestamp, mz_diff, mz_row.*\n"
        f"FROM (\n  SELECT mz_timestamp, sum(mz_diff) AS mz_diff, any_value(mz_row) AS mz_row\n"
        f"  FROM (\n{indent(rows, 4)}\n  ) AS mz_updates\n"
        f"  GROUP BY mz_timestamp, mz_same\n) AS mz_sums\nWHERE mz_diff <> 0"
    )


# ---- the rows of a core ---------------------------------------------------------------------------------------------


def _output(state: State, reads: dict[str, str]) -> str:
    """The query of the residual. reads: the placeholder of a core -> SQL of the core's rows.

    Columns get aliases only where the residual does not name them itself.
    """
    residual = at_instant(parse(state.residual), live_instant(state))
    body = inline_upstreams(residual, reads)
    names = [n for n, _ in state.columns]
    if _names(residual, state) == names:
        return body
    return f"SELECT *\nFROM (\n{indent(body, 2)}\n) AS mz_out({', '.join(map(quote, names))})"


def _names(residual: exp.Expr, state: State) -> list[str] | None:
    """The names of a residual's columns; None where its SELECT list alone does not tell them."""
    while isinstance(residual, exp.SetOperation):
        residual = residual.this
    if not isinstance(residual, exp.Select):
        return None
    found: list[str] = []
    for item in residual.expressions:
        if item.is_star:
            core = None if item.args.get("except_") else _only_core(residual, state)
            if core is None or core.sums is not None:
                return None
            found += [n for n, _ in core.columns]
        elif item.alias or isinstance(item, exp.Column):
            found.append(item.alias or item.name)
        else:
            return None
    return found


def _only_core(residual: exp.Select, state: State) -> CoreState | None:
    """The one core that a SELECT reads, if `*` gives the columns of this core and no others; else None."""
    tables = list(residual.find_all(exp.Table))
    if len(tables) != 1 or tables[0].db or has_other_parts(residual, _WITHOUT_COLUMNS):
        return None
    return next((core for core in state.cores if core.placeholder == tables[0].name), None)


_WITHOUT_COLUMNS = ("kind", "expressions", "from_", "where", "order", "limit", "offset", "sort")


def _shape(core: CoreState, state: State) -> str:
    """A query with the columns of a core's rows."""
    first = replace(core.chains[0], negative=0, parts=())
    return _read(replace(core, chains=(first,)), state, "0L")


def _read(core: CoreState, state: State, t: str) -> str:
    """The compact form of a store's `read`, for a core that has chains."""
    if core.sums is not None:
        return _groups(core, state.schema, t)
    chains, schema, earliest = core.chains, state.schema, state.frontier
    negative = [c for c in chains if c.negative]
    if not negative:
        return _there(chains, schema, t, earliest, *_INTERVAL)
    added = _there(chains, schema, t, earliest, *_INTERVAL[:2])
    unhashed = [n for n, kind in core.columns if "map<" in kind.lower()]  # Spark cannot hash maps
    every = "struct(* EXCEPT (mz_diff)) AS mz_row"
    if sum(c.negative for c in negative) > FEW_CORRECTIONS or len(unhashed) == len(core.columns):
        return _summed(f"SELECT {every}, mz_diff\nFROM (\n{indent(added, 2)}\n) AS mz_added", core)
    taken = _there(negative, schema, t, earliest, *_INTERVAL, also="mz_diff < 0")
    hashed = "mz_row"
    if unhashed:
        hashed = "mz_hashed"
        every += f", struct({_except('mz_diff', *unhashed)}) AS mz_hashed"
    # the hash is no column, see `intervals_read`
    others = f"JOIN mz_keys AS mz_taken ON xxhash64({hashed}) = mz_taken.mz_key"
    hint = "SELECT /*+ BROADCAST(mz_taken) */"
    touched = f"{hint} mz_row, mz_diff\nFROM mz_rows LEFT SEMI {others}"
    return (
        f"WITH mz_rows AS (\n"
        f"  SELECT {every}, mz_diff\n"
        f"  FROM (\n{indent(added, 4)}\n  ) AS mz_added\n"
        f"), mz_keys AS (\n"
        f"  SELECT xxhash64(struct({_except(*unhashed)})) AS mz_key\n"
        f"  FROM (\n{indent(taken, 4)}\n  ) AS mz_negative\n"
        f")\n"
        f"{hint} mz_row.*\nFROM mz_rows LEFT ANTI {others}\nUNION ALL\n{_summed(touched, core)}"
    )


def _same(core: CoreState) -> str:
    """SQL of a value that is equal only for identical rows. `mz_row` is a struct of the columns of a core.

    Values that compare equal without being identical have different texts, so the text of the row tells them apart.
    """
    plain = tuple(quote(name) for name, _ in core.columns)
    return "mz_row" if identity(core.columns).keys == plain else "struct(mz_row, CAST(mz_row AS STRING))"


def _summed(rows: str, core: CoreState) -> str:
    """A query that sums rows (mz_row, mz_diff) and gives each row, as it was written, as often as its sum."""
    return summed(rows, "mz_row.*", "any_value(mz_row) AS mz_row", _same(core))


def _groups(core: CoreState, schema: str, t: str) -> str:
    """The compact form of `GroupStore.read`; mz_n is the last column."""
    assert core.sums is not None
    due = _together(
        [
            (c, [f"mz_timestamp <= {t}", *([f"mz_bucket <= {t}"] if c.bucketed else [])], ["mz_timestamp"])
            for c in core.chains
        ],
        schema,
    )
    near = near_until(core.chains)
    head = ""
    if near is not None and near < buckets.NEVER:
        head = f"WITH mz_due AS (\n{indent(due, 2)}\n)\n"
        due = (
            f"SELECT /*+ COALESCE(1) */ *\nFROM mz_due\nWHERE {t} <= {near}L\n"
            f"UNION ALL\nSELECT *\nFROM mz_due\nWHERE {t} > {near}L"
        )
    elif near is not None:
        due = by_one_task(due)
    sums = "".join(f", sum({quote(n)}) AS {quote(n)}" for n, _ in core.sums)
    keys = f"{_except('mz_diff', *(n for n, _ in core.sums))}, " if core.columns else ""
    group = "\n  GROUP BY ALL" if core.columns else ""
    return head + groups_at(due, f"{_except(COUNT)}, {NUMBER}", keys, sums, group)


def _there(chains: Sequence[Chain], schema: str, t: str, earliest: int, *less: str, also: str = "") -> str:
    """The rows of chains of intervals at t, without the columns `less`. also: one more condition, "" for none."""
    return _together(
        [(c, [*([also] if also else []), *conditions(c, t, earliest)], list(less)) for c in chains], schema
    )


def _together(parts: Sequence[tuple[Chain, list[str], list[str]]], schema: str) -> str:
    """UNION ALL of chains, each with conditions and columns to leave out; equal conditions make one SELECT."""
    alike: dict[tuple[str, str], list[Chain]] = {}
    for chain, where, less in parts:
        key = (_except(*less, *_bucket(chain)), f"\nWHERE {' AND '.join(where)}" if where else "")
        alike.setdefault(key, []).append(chain)
    selects = []
    for (items, condition), chains in alike.items():
        source = chains[0].source(schema)
        if len(chains) > 1:
            union = "\nUNION ALL\n".join(f"SELECT * FROM {c.source(schema)}" for c in chains)
            source = f"(\n{indent(union, 2)}\n) AS mz_alike"
        selects.append(f"SELECT {items}\nFROM {source}{condition}")
    return "\nUNION ALL\n".join(selects)


def _bucket(chain: Chain) -> tuple[str, ...]:
    return ("mz_bucket",) if chain.bucketed else ()


def _except(*names: str) -> str:
    return f"* EXCEPT ({', '.join(quote(n) if not n.startswith('mz_') else n for n in names)})" if names else "*"
