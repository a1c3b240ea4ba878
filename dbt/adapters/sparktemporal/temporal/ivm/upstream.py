"""Temporal views over temporal views: the rows of an upstream view, with their instants, are an input.

    select id from s.recent where mz_now() >= due                       the written text; s.recent is a temporal_view
      ->  select id from (select `id`, `due` from <rows of recent> as mz_in
                          where mz_now() >= mzu_from and (mzu_until is null or mz_now() < mzu_until)) as `recent`
          where mz_now() >= due                                         the text that is run

So the outer model is a model over tables with one more predicate, and knows all that the inner model knows of the
future. `<rows of recent>` stands in the text as a name, so that the text does not change from run to run. The SQL that
is sent to Spark has a query over the inner model's chains in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from ...errors import Explained
from ...plurals import quantity
from ..clock.instants import LAST_MS, format_instant
from ..diffs.chains import core_of
from ..diffs.input_state import ChainId, ChainsFingerprint, Fingerprint
from ..diffs.intervals_read import over_time
from ..diffs.intervals_sql import Columns, no_rows
from ..diffs.state import Chain, CoreState, State
from ..diffs.stores import store_of
from ..predicates.bounds import TIMESTAMP
from ..predicates.clock_text import with_clock
from ..rewrite.core import is_placeholder
from ..rewrite.linear_aggregates import COUNT
from ..sql.names.ctes import reads_of
from ..sql.names.scope import alias_of, quote_name
from ..sql.text import identifiers
from ..sql.text.dialect import expression, has_clock, has_other_parts, parse, quote, render
from ..sql.text.splices import spliced
from ..sql.text.statements import Reference, references_in

SCHEMA = "mz_stacked"
MORE, LESS, BEFORE = "+", "-", "@"
_NAME = re.compile(rf"`{SCHEMA}`\.`((?:[^`]|``)+)`")


@dataclass(frozen=True)
class Stack:
    """The temporal views that a model reads, as they are committed."""

    #: schema.model -> the state of the view
    states: Mapping[str, State]
    #: the instant (ms) from which rows of the views matter, not before `known_from`
    as_of: int
    #: schema.model -> the chains that the last run of the model read
    before: Mapping[str, Sequence[ChainId]] = field(default_factory=dict)
    #: the chains in `before` that no state names any more, and that can still be read
    kept: frozenset[ChainId] = frozenset()

    @property
    def expiration(self) -> int | None:
        """The last instant at which all of these views answer (ms); None for ever."""
        return min((s.answers_until for s in self.states.values() if s.answers_until is not None), default=None)

    @property
    def known_from(self) -> int:
        """The first instant (ms) at which all of these views have an answer."""
        return max(s.since for s in self.states.values())

    def at(self, model: str, as_of: int) -> Stack:
        """The stack for a run at an instant (ms). Raises TemporalError where a view expired before the instant."""
        for name, state in self.states.items():
            refuse_expired(model, name, state, as_of)
        return replace(self, as_of=as_of)

    def shape(self, sql: str) -> str:
        """SQL to describe or explain: each name of a view becomes a query with the columns, and without rows."""
        return _NAME.sub(lambda found: f"({no_rows(_columns(self._core(_unquoted(found))[1]))})", sql)

    def data(self, sql: str) -> str:
        """SQL to execute: each name of a view becomes a query with the rows."""
        return _NAME.sub(lambda found: f"(\n{self._rows(_unquoted(found))}\n)", sql)

    def change(self, name: str, then: Fingerprint | None) -> tuple[str, bool]:
        """(how an input changed since the fingerprint `then`, in words; whether its chains tell the changed rows)."""
        state = self.states[name]
        if not isinstance(then, ChainsFingerprint):
            return "not read before", False
        if then.without_chains != fingerprint_of(state).without_chains:
            return "the input was rebuilt", False
        now, gone = {c.identity for c in state.chains}, self._gone(name)
        lost = [table for table in gone if table not in self.kept]
        if lost:
            return f"{quantity(len(lost), 'chain')} of the last run merged and dropped since", False
        new = f"{quantity(len(now - set(self.before.get(name, ()))), 'new chain')} of {len(now)}"
        return (f"{new}, in the place of {quantity(len(gone), 'chain')}" if gone else new), True

    def parts(self, table: exp.Table) -> list[tuple[int, str]]:
        """Inserts (1) and deletes (-1) of an input, as names to put in place of the table."""
        name = table.name
        state, _ = self._core(name)
        fresh = [c for c in state.chains if c.identity not in self._old(name)]
        less = bool(self._gone(_key(name))) or any(c.negative for c in fresh)
        return [(1, name + MORE), *([(-1, name + LESS)] if less else [])]

    def count(self, name: str, changed: bool) -> int:
        """The number of rows that are read of an input: all rows, or the rows of its new chains."""
        old = self.before.get(name, ()) if changed else ()
        return sum(c.rows for c in self.states[name].chains if c.identity not in old)

    def _gone(self, name: str) -> list[ChainId]:
        now = {c.identity for c in self.states[name].chains}
        return [table for table in self.before.get(name, ()) if table not in now]

    def _core(self, name: str) -> tuple[State, CoreState]:
        plain = name.rstrip(MORE + LESS + BEFORE)
        key, _, core = plain.rpartition(".")
        state = self.states[key]
        found = next((c for c in state.cores if c.name == core), None)
        if found is None:
            raise Explained(
                "ST411",
                f"{key}, which was rebuilt from another query",
                "a model over it still is over the query of before",
                f"dbt run -s {identifiers.parts(key)[-1]}+",
            )
        return state, found

    def _rows(self, name: str) -> str:
        state, core = self._core(name)
        if name.endswith((MORE, LESS)):
            return self._changed_rows(state, core, name)
        chains = list(core.chains)
        if name.endswith(BEFORE):
            chains = [c for c in chains if c.identity in self._old(name)]
            chains += [_known(table) for table in self._gone_of(state, core, name)]
        return _there(state, core, chains, self.as_of)

    def _changed_rows(self, state: State, core: CoreState, name: str) -> str:
        """The inserts or deletes of a core: rows of one sign in new chains, of the other in chains that are gone."""
        sign = 1 if name.endswith(MORE) else -1
        fresh = [c for c in core.chains if c.identity not in self._old(name)]
        gone = self._gone_of(state, core, name)
        # a peeled chain only lost its due updates
        later = {c.table: c for c in fresh if any(lost.table == c.table for lost in gone)}
        parts = [_part(state, core, c, sign, self.as_of) for c in fresh if c.table not in later]
        for lost in map(_known, gone):
            until = later[lost.table].after if lost.table in later else None
            parts.append(_part(state, core, lost, -sign, self.as_of, until))
        return "\nUNION ALL\n".join(parts) or no_rows(_columns(core))

    def _old(self, name: str) -> Sequence[ChainId]:
        return self.before.get(_key(name), ())

    def _gone_of(self, state: State, core: CoreState, name: str) -> list[ChainId]:
        return [t for t in self._gone(_key(name)) if core_of(state.model, t.table) == core.name]


def _key(name: str) -> str:
    """The input (schema.model) whose rows a name stands for."""
    return name.rstrip(MORE + LESS + BEFORE).rpartition(".")[0]


def _unquoted(found: re.Match[str]) -> str:
    return found.group(1).replace("``", "`")


def _known(identity: ChainId) -> Chain:
    """A chain of which only the identity is known."""
    return Chain(identity.table, 1, 1, None, None, None, None, after=identity.after)


def fingerprint_of(state: State) -> ChainsFingerprint:
    """The fingerprint of a temporal view, as an input of a model."""
    chains = sorted((c.identity for c in state.chains), key=str)
    return ChainsFingerprint(state.started_at, state.refreshes, tuple(chains))


def chains_of(fingerprint: Fingerprint | None) -> tuple[ChainId, ...]:
    """The chains in the fingerprint of an input; () where the input is no temporal view."""
    return fingerprint.chains if isinstance(fingerprint, ChainsFingerprint) else ()


def _seen(state: State, t: str) -> str:
    """SQL: the instant at which readers see a change at t."""
    if state.refreshes is None:
        return t
    last = LAST_MS - state.refreshes.every  # the next refresh would be past the end of the clock
    return f"IF({t} > {last}L, {t}, {state.refreshes.next_sql(t)})"


def _from(state: State, as_of: int) -> int:
    """The instant whose content readers see at `as_of` (ms): the last refresh, where there are refreshes."""
    return state.refreshes.last(as_of) if state.refreshes else as_of


def stacked_name(table: exp.Table) -> str | None:
    """The input (schema.model) whose rows a table of a query stands for; None for a real table."""
    return _key(table.name) if table.db == SCHEMA else None


def read_by(query: exp.Expr) -> list[str]:
    """The temporal views (schema.model) whose rows a query reads."""
    return [name for table in query.find_all(exp.Table) if (name := stacked_name(table)) is not None]


# ---- the rows of a core ------------------------------------------------------------------------------------------


#: columns beside those of a model, which tell when its rows are there
TIMES = frozenset({"mzu_from", "mzu_until", "mzu_timestamp"})


def _times(core: CoreState) -> Columns:
    if core.sums is None:
        return [("mzu_from", "BIGINT"), ("mzu_until", "BIGINT")]
    kept = [("mzu_timestamp", "BIGINT"), ("mzu_diff", "BIGINT")]
    return [*kept, *((_sum(name), kind) for name, kind in core.sums)]


def _sum(name: str) -> str:
    return "mzu_" + name.removeprefix("mz_")


def _columns(core: CoreState) -> Columns:
    return [*core.columns, *_times(core)]


def _there(state: State, core: CoreState, chains: Sequence[Chain], as_of: int) -> str:
    """SQL of the rows that chains have at `as_of` (ms) or later, corrections applied; of groups, all updates."""
    if not chains:
        return no_rows(_columns(core))
    if core.sums is not None or not any(c.negative for c in chains):
        return "\nUNION ALL\n".join(_part(state, core, c, 0, as_of) for c in chains)
    tables = [c.source(state.schema) for c in chains]
    bucketed = [table for table, c in zip(tables, chains) if c.bucketed]
    store = store_of(core)
    stored = store.stored(tables, _from(state, as_of), None, bucketed)
    # a correction begins at its run, up to the frontier: from then on it has the instants of what it corrects
    rows = store.consolidated(stored) if as_of >= state.frontier else over_time(stored, core.columns)
    names = "".join(f"{quote(n)}, " for n, _ in core.columns)
    times = f"{_seen(state, 'mz_from')} AS mzu_from, {_seen(state, 'mz_until')} AS mzu_until"
    return f"SELECT {names}{times}\nFROM (\n{rows}\n) AS mz_kept"


def _part(state: State, core: CoreState, chain: Chain, sign: int, as_of: int, until: int | None = None) -> str:
    """The rows of one chain with one sign (1 or -1), or all rows (0). Updates of groups have no sign: -1 gives no row.

    until: for updates, the last instant (ms).
    """
    names = "".join(f"{quote(n)}, " for n, _ in core.columns)
    source = f"FROM {chain.source(state.schema)}"
    if core.sums is not None:
        values = "".join(f", {quote(n)} AS {_sum(n)}" for n, _ in core.sums)
        where = "\nWHERE false" if sign < 0 else f"\nWHERE mz_timestamp <= {until}L" if until is not None else ""
        at = f"{_seen(state, 'mz_timestamp')} AS mzu_timestamp"
        return f"SELECT {names}{at}, mz_diff AS mzu_diff{values}\n{source}{where}"
    as_of = _from(state, as_of)
    conditions = [f"(mz_until IS NULL OR mz_until > {as_of}L)"]
    conditions += [f"mz_bucket > {as_of}L"] if chain.bucketed else []
    conditions += [f"mz_diff {'>' if sign > 0 else '<'} 0"] if sign else []
    times = f"{_seen(state, 'mz_from')} AS mzu_from, {_seen(state, 'mz_until')} AS mzu_until"
    return f"SELECT {names}{times}\n{source}\nWHERE {' AND '.join(conditions)}"


# ---- the text -------------------------------------------------------------------------------------------------------


def references(sql: str, catalog: str) -> list[Reference]:
    """The tables that a text names with a schema. Raises Refusal for a text that cannot be parsed."""
    return [one for one in references_in([parse(sql)], catalog) if not one.is_column]


def inlined(sql: str, states: Mapping[str, State], catalog: str, sampled: bool = False) -> str:
    """The text of a model with a query in place of the name of each temporal view.

    states: schema.model -> the state of the view. sampled: whether dbt reads a part of each input.
    """
    parts = _parts_of(sql) if sampled else {}
    pieces = []
    for number, one in enumerate(references(sql, catalog)):
        state = states.get(one.key)
        if state is not None:
            alias = "" if one.aliased else f" AS {quote(one.name)}"
            pieces.append((one.start, one.end, f"({_query(state, one.key, number, parts.get(one.start))}){alias}"))
    return spliced(sql, pieces)


def _parts_of(sql: str) -> dict[int, exp.Expr]:
    """Offset of a relation's name -> the predicate of the part of the relation that dbt reads with --empty or --sample.

    dbt writes `(select * from r where false limit 0)`, or a filter by time. A LIMIT above a temporal view is evaluated
    at the read, and so is a filter: without the predicate below, a run would store all rows of the view.
    """
    found: dict[int, exp.Expr] = {}
    for part in parse(sql).find_all(exp.Subquery):
        select = part.this
        where = select.args.get("where") if isinstance(select, exp.Select) else None
        if where is None or not (len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star)):
            continue
        is_empty = isinstance(where.this, exp.Boolean) and not where.this.this
        if has_other_parts(select, ("expressions", "from_", "where", *(["limit"] if is_empty else []))):
            continue
        if where.this.find(exp.Query) or has_clock(where.this):
            continue
        # of views that are opened in the place of the relation, no row is read either
        for table in part.this.find_all(exp.Table) if is_empty else [select.args["from_"].this]:
            if isinstance(table, exp.Table):
                start = min(name.meta["start"] for name in table.parts if "start" in name.meta)
                found.setdefault(start, where.this)  # the outermost: a view's own filter is inside of it
    return found


def _query(state: State, key: str, number: int, part: exp.Expr | None) -> str:
    """The output of an upstream model as a query over the rows of its cores, with mz_now().

    part: see `_parts_of`.
    """
    residual = with_clock(parse(state.residual), partial(_clock, state))
    cores = {core.placeholder: core for core in state.cores}
    outputs = [quote(n) for n, _ in state.columns]
    plain = render(residual) == f"SELECT * FROM {state.cores[0].placeholder}"
    if plain and len(cores) == 1 and [n for n, _ in state.cores[0].columns] == [n for n, _ in state.columns]:
        return _read(state.cores[0], f"{key}.{state.cores[0].name}", part)
    none = part if isinstance(part, exp.Boolean) else None
    for cte in list(residual.find_all(exp.CTE)):
        own = f"mz_{number}_{cte.alias}"
        for table in reads_of(cte.alias, residual):
            table.replace(exp.Table(this=quote_name(own), alias=alias_of(table)))
        cte.args["alias"].set("this", quote_name(own))
    for table in list(residual.find_all(exp.Table)):
        if is_placeholder(table):
            core = cores[table.name]
            table.replace(exp.Subquery(this=parse(_read(core, f"{key}.{core.name}", none)), alias=alias_of(table)))
    return f"SELECT * FROM ({render(residual)}) AS mz_out({', '.join(outputs)})"


def sums_groups(query: exp.Expr) -> bool:
    """Whether a query sums the updates of another view's groups. Such a query is stored as groups, never as rows."""
    return any(column.name == "mzu_diff" for column in query.find_all(exp.Column))


def _read(core: CoreState, name: str, part: exp.Expr | None) -> str:
    source = f"{quote(SCHEMA)}.{quote(name)} AS mz_in"
    names = ", ".join(quote(n) for n, _ in core.columns)
    only = "" if part is None else f"({render(part)}) AND "
    if core.sums is None:
        there = "mz_now() >= mzu_from AND (mzu_until IS NULL OR mz_now() < mzu_until)"
        return f"SELECT {names} FROM {source} WHERE {only}{there}"
    summed = [("mzu_diff", COUNT), *((_sum(n), n) for n, _ in core.sums)]
    sums = ", ".join(f"sum({column}) AS {quote(n)}" for column, n in summed)
    group = f" GROUP BY {names}" if names else ""
    items = f"{names}, {sums}" if names else sums
    return f"SELECT {items} FROM {source} WHERE {only}mz_now() >= mzu_timestamp{group} HAVING sum(mzu_diff) <> 0"


def _clock(state: State, kind: str) -> exp.Expr:
    if state.refreshes is None:
        return expression("mz_now()" if kind == TIMESTAMP else "unix_millis(mz_now())")
    shown = state.refreshes.last_sql("unix_millis(mz_now())")
    return expression(f"timestamp_millis({shown})" if kind == TIMESTAMP else shown)


# ---- refusals -------------------------------------------------------------------------------------------------------


def known(model: str, name: str, state: State | None) -> State:
    """The state of a temporal view that has run. Raises TemporalError otherwise."""
    inner = identifiers.parts(name)[-1]
    if state is None:
        raise Explained(
            "ST412",
            f"{name}, a temporal_view that has not run, as an input of {model}",
            "there are no stored rows to read",
            f"dbt run -s {inner} {model}",
        )
    return state


def refuse_earlier(model: str, name: str, state: State, clock: int, skew: int) -> None:
    """Refuse a clock (ms) that is `skew` or more before the frontier of a temporal view."""
    inner = identifiers.parts(name)[-1]
    if state.frontier - clock >= skew:
        raise Explained(
            "ST413",
            f"a run of {model} at {format_instant(clock)}, before the last change captured by its input "
            f"{inner}, {format_instant(state.frontier)}",
            f"{inner} no longer keeps its content of that instant",
            f"a clock (or var temporal_now) from then on, or dbt run --full-refresh -s {inner} {model}",
        )


def refuse_expired(model: str, name: str, state: State, as_of: int) -> None:
    """Refuse a temporal view that does not answer at `as_of` (ms) any more."""
    inner = identifiers.parts(name)[-1]
    if state.answers_until is not None and as_of > state.answers_until:
        raise Explained(
            "ST414",
            f"{inner}, which expired at {format_instant(state.answers_until)}, as an input of {model}",
            "its updates after that instant are not stored",
            f"dbt run -s +{model}, which runs {inner} first",
        )
