"""Delta queries of drawn models, executed by DuckDB: what changed is what the query shows now, less what it showed.

Six tables have rows that came and rows that went. The models are made of joins, unions, CTEs and subqueries that stand
in one another. Two of the tables' columns are NULL at times, and rows are doubled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import duckdb
import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.ivm.delta_query import AddedRows, added_rows, put
from dbt.adapters.sparktemporal.temporal.ivm.linear_tables import tables
from dbt.adapters.sparktemporal.temporal.sql.names.parsed_model import distinct_ctes
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

TABLES = "abcdef"
JOINS = ("join", "join", "left join", "right join", "full join", "left semi join", "left anti join")
UNIONS = ("union all",) * 8 + ("union", "except all", "intersect all")


@dataclass
class Drawn:
    """Texts of queries with the columns id, k and v."""

    rng: Random
    count: int = 0
    #: the CTEs that are read
    read: set[str] = field(default_factory=set)

    def happens(self, chance: float) -> bool:
        return self.rng.random() < chance

    def name(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def query(self, depth: int, scope: tuple[str, ...] = ()) -> str:
        """depth: how many queries may stand in one another. scope: the CTEs around the query."""
        ctes = []
        for _ in range(self.rng.choice((0, 0, 1, 1, 2)) if depth else 0):
            name = self.name()
            ctes.append(f"{name} as ({self.query(depth - 1, scope)})")
            scope = (*scope, name)
        body = self.union(depth, scope)
        return f"with {', '.join(ctes)} {body}" if ctes else body

    def union(self, depth: int, scope: tuple[str, ...]) -> str:
        if not depth or not self.happens(0.45):
            return self.select(depth, scope)
        parts = [self.union(depth - 1, scope) if self.happens(0.4) else self.select(depth - 1, scope) for _ in "ab"]
        one, other = (f"({part})" if " all " in part or " union " in part else part for part in parts)
        return f"{one} {self.rng.choice(UNIONS)} {other}"

    def source(self, depth: int, scope: tuple[str, ...]) -> tuple[str, str]:
        """An item of FROM, and its name. A CTE is read once, as a rule, because then a query can be linear in it."""
        name, unread = self.name(), [cte for cte in scope if cte not in self.read]
        if scope and self.happens(0.45):
            cte = self.rng.choice(unread if unread and self.happens(0.9) else scope)
            self.read.add(cte)
            return f"{cte} as {name}", name
        if depth > 0 and self.happens(0.4):
            return f"({self.query(depth - 1, scope)}) as {name}", name
        return f"d.{self.rng.choice(TABLES)} as {name}", name

    def select(self, depth: int, scope: tuple[str, ...]) -> str:
        source, name = self.source(depth, scope)
        names = [name]
        if depth > 0 and self.happens(0.3):
            (one, a), (other, b) = self.source(depth - 1, scope), self.source(depth - 1, scope)
            source, names = f"({one} {self.rng.choice(JOINS[:5])} {other} on {a}.k = {b}.k)", [a, b]
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2)) if depth >= 0 else 0):
            other, name = self.source(depth - 1, scope)
            join = self.rng.choice(JOINS)
            source += f" {join} {other} on {self.rng.choice(names)}.k = {name}.k"
            if join in JOINS[:5]:
                names.append(name)
        column = f"{self.rng.choice(names)}."
        where = f" where {column}v > 1" if self.happens(0.2) else ""
        if depth > 0 and self.happens(0.15):
            below, name = self.query(depth - 1, scope), self.name()
            test = self.rng.choice(("exists", "not exists"))
            where = f" where {test} (select 1 from ({below}) as {name} where {name}.k = {column}k)"
        if self.happens(0.03):
            return (
                f"select max({column}id) as id, {column}k as k, count(*) as v from {source}{where} group by {column}k"
            )
        if len(names) == 1 and " join " not in source and self.happens(0.2):
            return f"select * from {source}{where}"
        items = ", ".join(f"{self.rng.choice(names)}.{name} as {name}" for name in ("id", "k", "v"))
        return f"select {items} from {source}{where}"


def fill(rng: Random, connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Make each table: the rows before, those that came, those that went, and the rows now -> where rows went.

    With rows that went, what is added too often is taken back too often.
    """
    went = {table for table in TABLES if rng.random() < 0.3}
    for table in TABLES:
        for part in ("before", "came"):
            drawn = [(rng.choice("123"), rng.choice(("1", "2", "NULL")), rng.choice("123")) for _ in "123"]
            rows = ", ".join(f"({', '.join(row)})" for row in drawn[: rng.randrange(1, 4)])
            connection.execute(
                f"CREATE OR REPLACE TABLE {table}_{part} AS SELECT * FROM (VALUES {rows}) AS t(id, k, v)"
            )
        connection.execute(
            f"CREATE OR REPLACE TABLE {table}_went AS SELECT * FROM {table}_before LIMIT {int(table in went)}; "
            f"CREATE OR REPLACE TABLE {table} AS (FROM {table}_before EXCEPT ALL FROM {table}_went) "
            f"UNION ALL FROM {table}_came"
        )
    return went


def rows_of(connection: duckdb.DuckDBPyConnection, query: exp.Query) -> Counter[tuple]:
    text = render(query).replace("`", '"').replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI").replace("d.", "")
    return Counter(connection.execute(text).fetchall())


def changed(rng: Random, query: exp.Query) -> list[str]:
    """Some of the tables in which the query is linear wherever it reads them."""
    places = tables(query)
    linear = {table.name for table, _ in places} - {table.name for table, is_linear in places if not is_linear}
    return [name for name in sorted(linear) if rng.random() < 0.7]


def drawn(rng: Random, count: int) -> Iterator[tuple[str, exp.Query, list[str]]]:
    """Models with the tables that changed."""
    while count:
        text = Drawn(rng).query(rng.choice((1, 2, 2, 3)))
        if len(text) < 2_500:
            query = distinct_ctes(parse(text))
            if names := changed(rng, query):
                count -= 1
                yield text, query, names


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(12))
def test_what_changed_is_the_difference(seed: int) -> None:
    rng, connection, went = Random(seed), duckdb.connect(), set[str]()
    connection.execute("SET threads = 1")
    for number, (text, query, names) in enumerate(drawn(rng, 60)):
        if number % 12 == 0:
            went = fill(rng, connection)
        moved = {
            place: AddedRows(
                f"(FROM {t.name}_came)", f"(FROM {t.name}_went)" if t.name in went else "", f"(FROM {t.name}_before)"
            )
            for place, (t, _) in enumerate(tables(query))
            if t.name in names
        }
        before = query.copy()
        for table, _ in tables(before):
            if table.name in names:
                put(table, f"(FROM {table.name}_before)")
        difference = rows_of(connection, query)
        difference.subtract(rows_of(connection, before))
        found: Counter[tuple] = Counter()
        for sign, part in added_rows(query, moved):
            for row, times in rows_of(connection, part).items():
                found[row] += sign * times
        assert +found == +difference and -found == -difference, (text, names)
