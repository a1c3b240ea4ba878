"""Delta queries: compute the change of a core from the changed rows of its inputs.

For two tables A and B in which a core is linear (`linear_tables`), with the new files ΔA and ΔB:

    core(A', B') - core(A, B)  =  core(ΔA, B')  +  core(A, ΔB)          A' = A + ΔA

There is one query for each place at which a changed table is read. Earlier places read the old rows, later places read
the present rows. Of a UNION ALL only the branch with the place remains. An unchanged table may stand anywhere: below an
outer join, in a subquery, under an aggregate; but no part of the core may choose among rows (`plans.chooses_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from ..sql.names.ctes import reads_of
from ..sql.names.scope import alias_of
from ..sql.text.dialect import string_literal
from ..sql.text.grammar import VerbatimSpark
from .linear_tables import tables
from .stack import BEFORE, Stack

#: the most new files that a statement names one by one
MOST_FILES = 1_000


@dataclass(frozen=True)
class Added:
    """The new files of a table. pin: the field of `_metadata` that identifies a file."""

    pin: str
    files: tuple[str, ...]

    @property
    def condition(self) -> str:
        return f"{self.pin} IN ({', '.join(map(string_literal, self.files))})"

    def parts(self, table: exp.Table) -> list[tuple[int, Callable[[exp.Table], None]]]:
        """Pairs (1 for inserted or -1 for deleted rows, a function that puts these rows in place of a table)."""
        return [(1, partial(restrict, condition=self.condition))]

    def before(self, table: exp.Table) -> None:
        """Put the old rows in place of a table."""
        restrict(table, f"NOT {self.condition}")

    def after(self, table: exp.Table) -> None:
        """Leave a table as it is: the name stands for the present rows."""


@dataclass(frozen=True)
class AddedChains:
    """The changes of an input that is a temporal view: chains that are new, and chains that are gone."""

    stack: Stack

    def parts(self, table: exp.Table) -> list[tuple[int, Callable[[exp.Table], None]]]:
        return [(sign, partial(_rename, name=name)) for sign, name in self.stack.parts(table)]

    def before(self, table: exp.Table) -> None:
        _rename(table, table.name + BEFORE)

    def after(self, table: exp.Table) -> None:
        """Leave a table as it is: the stack puts the present rows in its place."""


@dataclass(frozen=True)
class AddedRows:
    """The changes of a table with versions, as SQL for a FROM."""

    #: the inserted rows, "" for none
    came: str
    #: the deleted rows, "" for none
    went: str
    #: the table at the old version, "" where this cannot be read
    then: str
    #: the version at which the text reads the table, as in `version_read`
    version: str = ""
    #: the table, where its changes are read by options behind its name
    table: str = ""
    #: the table at the new version, where one statement cannot read both the table and its changes by one name; else ""
    now: str = ""

    def parts(self, table: exp.Table) -> list[tuple[int, Callable[[exp.Table], None]]]:
        both = [(1, self.came), (-1, self.went)]
        return [(sign, partial(put, source=source)) for sign, source in both if source]

    def before(self, table: exp.Table) -> None:
        put(table, self.then)

    def after(self, table: exp.Table) -> None:
        if self.now:
            put(table, self.now)


TableDelta = Added | AddedChains | AddedRows


def added_rows(query: exp.Query, changes: Mapping[int, TableDelta]) -> list[tuple[int, exp.Query]]:
    """The delta queries of a query, as pairs (1, a query of inserted rows) and (-1, a query of deleted rows).

    changes: index of a table in `tables` -> its change. The query must be linear in each of these tables.
    """
    queries = []
    for place in sorted(changes):
        parts = changes[place].parts(tables(query)[place][0])
        for sign, put in parts:
            copy = query.copy()
            every = [table for table, _ in tables(copy)]
            for other, added in changes.items():
                if other < place:
                    added.before(every[other])
                elif other > place:
                    added.after(every[other])
            alone(every[place])
            put(every[place])
            queries.append((sign, copy))
    return queries


def keeps_names(query: exp.Query, deltas: Iterable[TableDelta]) -> bool:
    """Whether all names of a query surely mean the same when a subquery over new files replaces a table.

    A name with the schema of its table does not resolve then, and neither does a hidden column. The answer
    is False for a query with such a name, and for changes other than new files. Then only Spark can tell.
    """
    if not all(isinstance(delta, Added) for delta in deltas):
        return False
    names = (node.name for node in query.find_all(exp.Identifier) if not isinstance(node.parent, exp.TableAlias))
    return not any(name.startswith("_") for name in names) and not any(
        column.args.get("db") for column in query.find_all(exp.Column)
    )


def put(table: exp.Table, source: str) -> None:
    """Put other SQL of a FROM in place of a table, under the same name."""
    table.replace(exp.Subquery(this=exp.select("*").from_(exp.Table(this=exp.var(source))), alias=alias_of(table)))


def _rename(table: exp.Table, name: str) -> None:
    table.set("this", exp.to_identifier(name, quoted=True))


def alone(table: exp.Table) -> None:
    """Leave only the branch of this table in each UNION ALL around it. The other branches are emptied.

    A CTE around the table is read at one place, and the branch may be around that place.
    """
    node: exp.Expr = table
    while node.parent is not None:
        above = node.parent
        if isinstance(above, exp.CTE):
            (node,) = reads_of(above.alias, above.root())
            continue
        if isinstance(above, exp.SetOperation) and node.arg_key in ("this", "expression"):
            other = above.right if node.arg_key == "this" else above.left
            below = other if isinstance(other, exp.Subquery) else exp.Subquery(this=other.copy())
            none = exp.select("*").from_(exp.alias_(below.copy(), "mz_none", table=True)).where(exp.false())
            other.replace(none)
        node = above


def restrict(table: exp.Table, condition: str) -> None:
    """Restrict a table to the rows that fulfil a condition, such as a list of files, under the same name."""
    plain = exp.Table(**{key: table.args[key].copy() for key in ("this", "db", "catalog") if table.args.get(key)})
    of_files: exp.Expr = exp.maybe_parse(condition, dialect=VerbatimSpark)
    table.replace(exp.Subquery(this=exp.select("*").from_(plain).where(of_files), alias=alias_of(table)))


def restrict_more(table: exp.Table, condition: str) -> None:
    """Restrict a table: by the WHERE of its SELECT, which may name hidden columns, if the SELECT reads nothing else."""
    above = table.parent.parent if isinstance(table.parent, exp.From) else None
    if isinstance(above, exp.Select) and not above.args.get("joins") and not above.args.get("laterals"):
        above.where(exp.maybe_parse(condition, dialect=VerbatimSpark), copy=False)
    else:
        restrict(table, condition)


def unread(places: Mapping[int, TableDelta]) -> int | None:
    """The first place whose old rows a delta query needs and no SQL can read; None for no such place."""
    earlier = sorted(places)[:-1]
    return next((at for at in earlier if isinstance(delta := places[at], AddedRows) and not delta.then), None)
