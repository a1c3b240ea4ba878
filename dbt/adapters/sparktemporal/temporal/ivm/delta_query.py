"""What inputs that only got more files add to a core, without reading their old ones.

A core is linear in a table when each of its rows comes from one row of it. With such A and B, and Δ their new files:

    core(A', B') - core(A, B)  =  core(ΔA, B')  +  core(A, ΔB)          A' = A + ΔA

One query for each place where a changed table is read: the places before it as they were, those after it as they are,
and of a UNION ALL only the branch it is in. A table that did not change may stand anywhere: below an outer join, in a
subquery, under an aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from ..sql.dialect import VerbatimSpark, string_literal
from ..sql.linear import is_linear, kept_one_by_one
from .upstream import BEFORE, Stack

#: of new files so many are named one by one in a statement
MOST_FILES = 1_000

_PLAIN = ("this", "db", "catalog", "alias")


@dataclass(frozen=True)
class Added:
    """The new files of a table. pin: the column of `_metadata` that tells files apart."""

    pin: str
    files: tuple[str, ...]

    @property
    def condition(self) -> str:
        return f"{self.pin} IN ({', '.join(map(string_literal, self.files))})"

    def parts(self, table: exp.Table) -> list[tuple[int, Callable[[exp.Table], None]]]:
        """What came to a table (1) and what went (-1): each puts it in the place of the table."""
        return [(1, partial(restrict, condition=self.condition))]

    def before(self, table: exp.Table) -> None:
        """Put the rows it had in the place of a table."""
        restrict(table, f"NOT {self.condition}")


@dataclass(frozen=True)
class AddedChains:
    """What changed of a temporal view that is read: its new chains, and those it no longer has."""

    stack: Stack

    def parts(self, table: exp.Table) -> list[tuple[int, Callable[[exp.Table], None]]]:
        return [(sign, partial(_rename, name=name)) for sign, name in self.stack.parts(table)]

    def before(self, table: exp.Table) -> None:
        _rename(table, table.name + BEFORE)


@dataclass(frozen=True)
class AddedRows:
    """What changed of a table with versions, as SQL to stand in a FROM.

    came, went: its rows that are new and those that are gone, "" for none. then: the table as it was.
    """

    came: str
    went: str
    then: str

    def parts(self, table: exp.Table) -> list[tuple[int, Callable[[exp.Table], None]]]:
        both = [(1, self.came), (-1, self.went)]
        return [(sign, partial(put, source=source)) for sign, source in both if source]

    def before(self, table: exp.Table) -> None:
        put(table, self.then)


TableDelta = Added | AddedChains | AddedRows


def tables(query: exp.Query) -> list[tuple[exp.Table, bool]]:
    """The tables a query reads, CTEs set aside, and whether it is linear in each."""
    ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    linear = {id(table) for table in _linear_tables(query, {})}
    found = []
    for table in query.find_all(exp.Table):
        if table.db or table.name.lower() not in ctes:
            found.append((table, id(table) in linear))
    return found


def added_rows(query: exp.Query, changes: Mapping[int, TableDelta]) -> list[tuple[int, exp.Query]]:
    """Queries whose rows together are what is new (1), and what is gone (-1).

    changes: by place among the `tables`, each linear.
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
            alone(every[place])
            put(every[place])
            queries.append((sign, copy))
    return queries


def put(table: exp.Table, source: str) -> None:
    """A table -> other SQL that stands in a FROM, under the same name."""
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    table.replace(exp.Subquery(this=exp.select("*").from_(exp.Table(this=exp.var(source))), alias=alias.copy()))


def _rename(table: exp.Table, name: str) -> None:
    table.set("this", exp.to_identifier(name, quoted=True))


def alone(table: exp.Table) -> None:
    """Without the other branches of the UNION ALLs that a table is below: they have no row of it."""
    node: exp.Expr = table
    while node.parent is not None:
        above = node.parent
        if isinstance(above, exp.SetOperation) and node.arg_key in ("this", "expression"):
            other = above.right if node.arg_key == "this" else above.left
            below = other if isinstance(other, exp.Subquery) else exp.Subquery(this=other.copy())
            none = exp.select("*").from_(exp.alias_(below.copy(), "mz_none", table=True)).where(exp.false())
            other.replace(none)
        node = above


def restrict(table: exp.Table, condition: str) -> None:
    """A table -> its rows that fulfil a condition, such as to be in some files, under the same name."""
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    plain = exp.Table(**{key: table.args[key].copy() for key in _PLAIN[:-1] if table.args.get(key)})
    of_files: exp.Expr = exp.maybe_parse(condition, dialect=VerbatimSpark)
    table.replace(exp.Subquery(this=exp.select("*").from_(plain).where(of_files), alias=alias.copy()))


def restrict_more(table: exp.Table, condition: str) -> None:
    """Likewise of a table that may be restricted already: its columns are hidden from outside of that."""
    above = table.parent.parent if isinstance(table.parent, exp.From) else None
    if isinstance(above, exp.Select) and not above.args.get("joins") and not above.args.get("laterals"):
        above.where(exp.maybe_parse(condition, dialect=VerbatimSpark), copy=False)
    else:
        restrict(table, condition)


def _linear_tables(query: exp.Expr, outer: Mapping[str, exp.CTE]) -> Iterator[exp.Table]:
    """outer: the CTEs that may be read here, by name."""
    ctes = {**outer, **{cte.alias.lower(): cte for cte in getattr(query, "ctes", [])}}
    if isinstance(query, exp.Subquery):
        if not query.args.get("pivots") and not query.args.get("sample"):
            yield from _linear_tables(query.this, ctes)
    elif isinstance(query, exp.Union) and not query.args.get("distinct"):
        if not any(query.args.get(key) for key in ("order", "limit", "offset")):
            yield from _linear_tables(query.left, ctes)
            yield from _linear_tables(query.right, ctes)
    elif isinstance(query, exp.Select) and is_linear(query) and not query.find(exp.QueryTransform):
        for source in kept_one_by_one(query):
            if isinstance(source, exp.Subquery):
                yield from _linear_tables(source, ctes)
            elif isinstance(source, exp.Table) and is_plain(source):
                cte = None if source.db else ctes.get(source.name.lower())
                if cte is None:
                    yield source
                elif _reads(query.root(), cte.alias) == 1:
                    yield from _linear_tables(cte.this, ctes)


def is_plain(table: exp.Table) -> bool:
    """No sample, version or pivot of it, and no function."""
    return isinstance(table.this, exp.Identifier) and not any(v for k, v in table.args.items() if k not in _PLAIN)


def _reads(query: exp.Expr, name: str) -> int:
    return sum(not t.db and t.name.lower() == name.lower() for t in query.find_all(exp.Table))
