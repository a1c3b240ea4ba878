"""The temporal views below a model at their last commits: the chains that changed, and the SQL of their rows.

    FROM `mz_stacked`.`s.recent.main`                            in the text of the model, see `inlining`
      ->  FROM (SELECT … FROM `s`.`recent__diffs_…` … ) AS …     in the SQL that is sent to Spark

The text of a model does not change from run to run. The end of a name tells the rows that stand there:

    `s.recent.main`      the present rows
    `s.recent.main@`     the rows that the last run of the model read
    `s.recent.main+`     the inserts since that run
    `s.recent.main-`     the deletes since that run
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ...errors import Explained
from ...plurals import quantity
from ..clock.instants import format_instant
from ..diffs.chains import core_of
from ..diffs.input_state import ChainId, ChainsFingerprint, Fingerprint
from ..diffs.intervals_sql import no_rows
from ..diffs.state import Chain, CoreState, State
from ..sql.text import identifiers
from .stacked_rows import chain_rows, columns_of, rows_of

SCHEMA = "mz_stacked"
MORE, LESS, BEFORE = "+", "-", "@"
_NAME = re.compile(rf"`{SCHEMA}`\.`((?:[^`]|``)+)`")


@dataclass(frozen=True)
class Stack:
    """The temporal views that a model reads, at their last commits."""

    #: schema.model -> the state of the view
    states: Mapping[str, State]
    #: the instant (ms) from which rows of the views matter
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
            _refuse_expired(model, name, state, as_of)
        return replace(self, as_of=as_of)

    def shape(self, sql: str) -> str:
        """SQL to describe or explain: each name of a view becomes a query with the columns, and without rows."""
        return _NAME.sub(lambda found: f"({no_rows(columns_of(self._core(_unquoted(found))[1]))})", sql)

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
        name, key = table.name, _key(table.name)
        state, _ = self._core(name)
        less = self._gone(key) or any(c.negative and c.identity not in self.before.get(key, ()) for c in state.chains)
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
        """SQL of the rows that a name stands for."""
        state, core = self._core(name)
        old = self.before.get(_key(name), ())
        gone = [_known(one) for one in self._gone(_key(name)) if core_of(state.model, one.table) == core.name]
        if name.endswith((MORE, LESS)):
            fresh = [c for c in core.chains if c.identity not in old]
            return self._changed_rows(state, core, fresh, gone, 1 if name.endswith(MORE) else -1)
        before = [c for c in core.chains if c.identity in old] + gone
        return rows_of(state, core, before if name.endswith(BEFORE) else core.chains, self.as_of)

    def _changed_rows(self, state: State, core: CoreState, fresh: list[Chain], gone: list[Chain], sign: int) -> str:
        """The inserts or deletes of a core: rows of one sign in new chains, of the other in chains that are gone."""
        # a chain whose due updates were split off lost nothing else
        later = {c.table: c for c in fresh if any(lost.table == c.table for lost in gone)}
        parts = [chain_rows(state, core, c, sign, self.as_of) for c in fresh if c.table not in later]
        for lost in gone:
            until = later[lost.table].after if lost.table in later else None
            parts.append(chain_rows(state, core, lost, -sign, self.as_of, until))
        return "\nUNION ALL\n".join(parts) or no_rows(columns_of(core))


def _key(name: str) -> str:
    """The input (schema.model) whose rows a name stands for."""
    return name.rstrip(MORE + LESS + BEFORE).rpartition(".")[0]


def _unquoted(found: re.Match[str]) -> str:
    return found.group(1).replace("``", "`")


def _known(identity: ChainId) -> Chain:
    """A chain of which only the identity is known."""
    return Chain(identity.table, 1, 1, None, None, None, after=identity.after)


def fingerprint_of(state: State) -> ChainsFingerprint:
    """The fingerprint of a temporal view, as an input of a model."""
    chains = sorted((c.identity for c in state.chains), key=str)
    return ChainsFingerprint(state.started_at, state.refreshes, tuple(chains))


def chains_of(fingerprint: Fingerprint | None) -> tuple[ChainId, ...]:
    """The chains in the fingerprint of an input; () where the input is no temporal view."""
    return fingerprint.chains if isinstance(fingerprint, ChainsFingerprint) else ()


def stacked_name(table: exp.Table) -> str | None:
    """The input (schema.model) whose rows a table of a query stands for; None for a real table."""
    return _key(table.name) if table.db == SCHEMA else None


def read_by(query: exp.Expr) -> list[str]:
    """The temporal views (schema.model) whose rows a query reads."""
    return [name for table in query.find_all(exp.Table) if (name := stacked_name(table)) is not None]


def _refuse_expired(model: str, name: str, state: State, as_of: int) -> None:
    """Refuse a temporal view that does not answer at `as_of` (ms) any more."""
    inner = identifiers.parts(name)[-1]
    if state.answers_until is not None and as_of > state.answers_until:
        raise Explained(
            "ST414",
            f"{inner}, which expired at {format_instant(state.answers_until)}, as an input of {model}",
            "its updates after that instant are not stored",
            f"dbt run -s +{model}, which runs {inner} first",
        )
