"""Drop what runs wrote and did not commit: the tables of a run that failed, or lost its lock."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.committed import read_state
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.sql.text.identifiers import Identifiers


def drops(target: ModelRelations, tables: Sequence[str], why: str) -> list[Statement]:
    return [Statement(why, f"DROP TABLE IF EXISTS {target.table(table)}") for table in tables]


def fence(warehouse: Warehouse, target: ModelRelations, displaced: Sequence[str]) -> list[Statement]:
    """The drops of the tables of runs that lost their lock. Spark then refuses the view that such a run would commit.

    Commits in a table of one row need no fence: Spark does not analyze the text in a row, so the commit would succeed
    and name tables that are gone. The UPDATE of such a run fails by itself, once another run has committed.
    """
    written = written_by(warehouse, target, displaced) if displaced else ()
    return drops(target, written, "left by a run whose lock was taken over")


def written_by(warehouse: Warehouse, target: ModelRelations, runs: Sequence[str]) -> tuple[str, ...]:
    """The tables of `runs`, less those in the commit. The state is read again: a run may have committed meanwhile."""
    state = read_state(warehouse, target)
    named = Identifiers(state.tables if state else ())
    tables = warehouse.tables(target.schema, target.model)
    of_them = [t for t in tables if any(chain_rules.is_of_run(target.model, t, run) for run in runs)]
    return tuple(t for t in of_them if t not in named)
