"""The warehouse: questions to Spark, through one function that takes SQL and gives rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Explained
from ..plurals import quantity
from ..temporal.clock import zones
from ..temporal.clock.zones import Zone
from ..temporal.ivm.stack import Stack
from ..temporal.sql.spark import plans, settings
from ..temporal.sql.spark.errors import Cause, SparkError, as_spark_errors
from ..temporal.sql.text import identifiers
from ..temporal.sql.text.identifiers import SESSION_CATALOG, Identifiers, folded
from . import commit_records, descriptions, uncut
from .descriptions import UPDATE, TableInfo, ViewInfo
from .session_facts import SessionFacts
from .shared_answers import SharedAnswers

Rows = Callable[[str], "list[tuple[Any, ...]]"]
#: SQL of a query of one row, and the number of its columns
Query = tuple[str, int]

#: Spark resolves a nested lambda in several passes over the query, and gives up after 100
_PASSES, _ENOUGH = "spark.sql.analyzer.maxIterations", 1000
#: the function of Delta by which the changes of a table are read
CHANGES_OF_DELTA = "table_changes("


class Warehouse:
    """Questions to Spark: statements through one function, answers as rows of plain values.

    SQL reads a temporal view by a name. `data` puts the rows of the view in place of the name, for a query that is
    executed. `shape` puts the columns there, for a query that is described or explained.
    """

    def __init__(
        self,
        rows: Rows,
        #: the temporal views that the model reads
        stack: Stack | None = None,
        #: the time zones that were asked for
        zones: dict[str, Zone] | None = None,
        #: the answers that the invocation keeps; without them each question is asked anew
        facts: SessionFacts | None = None,
        #: a key of the session, for `facts`
        session: object = None,
        #: the tables that the session was told to forget
        refreshed: set[str] | None = None,
        #: the current catalog, where it is known
        catalog: str | None = None,
    ) -> None:
        self._rows, self.stack = rows, stack
        self._refreshed = set() if refreshed is None else refreshed
        self._zones = {} if zones is None else zones
        self._facts, self._session = facts, session
        self._catalog = catalog

    def over(self, stack: Stack) -> Warehouse:
        """The warehouse for a model over these temporal views."""
        return Warehouse(self._rows, stack, self._zones, self._facts, self._session, self._refreshed, self._catalog)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement. Raises SparkError."""
        with as_spark_errors():
            return self._rows(self.data(sql))

    def rows_together(self, queries: Sequence[Query]) -> list[tuple[Any, ...]]:
        """The rows of several queries of one row each, by one statement; every value is text or None.

        The queries are branches of a UNION ALL, because Spark runs branches of one task each as one job. A join of the
        queries would be a job for each query, and a broadcast.

        All queries are sent one by one if one reads the changes of a Delta table. Spark looks up a name once for a
        statement: where a statement names the table twice, Spark would read the changes at both places, or the rows.
        """
        if not queries:
            return []
        if len(queries) > 1 and any(CHANGES_OF_DELTA in sql for sql, _ in queries):
            return [answer for query in queries for answer in self.rows_together([query])]
        most = max(width for _, width in queries)
        found: dict[int, tuple[Any, ...]] = {}
        for arm, *values in self.rows("\nUNION ALL\n".join(_arm(n, *query, most) for n, query in enumerate(queries))):
            found[int(arm)] = tuple(values[: queries[int(arm)][1]])
        return [found[arm] for arm in range(len(queries))]

    def data(self, sql: str) -> str:
        """SQL to execute, with the rows of temporal views in place of their names."""
        return self.stack.data(sql) if self.stack else sql

    def shape(self, sql: str) -> str:
        """SQL to describe or explain, with the columns of temporal views in place of their names.

        The text is the same at every run.
        """
        return self.stack.shape(sql) if self.stack else sql

    def describe(self, sql: str) -> list[tuple[str, str]]:
        """The columns of a query as (name, type), each type with all its fields."""
        return [(row[0], row[1]) for row in uncut.columns(self.rows, self.shape(f"DESCRIBE QUERY {sql}"))]

    def described(self, sql: str) -> tuple[list[tuple[str, str]], str]:
        """The columns of a query as (name, type) and its plans, "" where only the columns are known.

        One EXPLAIN answers both for nearly every query. DESCRIBE answers for the other queries, and raises their
        errors. For an unknown column SparkError has the text of the EXPLAIN, so that no failed statement is logged.
        """
        plan = uncut.plan(self.ask, self.rows, sql)
        if uncut.is_whole(plan):
            found = plans.columns(plan)
            return (self.describe(sql) if found is None else found), plan
        if Cause.NO_COLUMN.is_said_by(plan):
            raise SparkError(plan)
        return self.describe(sql), ""

    def explain(self, sql: str) -> str:
        """The plans of a query (EXPLAIN EXTENDED) with all columns. Raises the errors of `uncut.refuse`."""
        plan = uncut.plan(self.ask, self.rows, sql)
        uncut.refuse(plan)
        return plan

    def ask(self, explain: str) -> str:
        """An EXPLAIN -> its plan, or the text of its error."""
        return "\n".join(str(row[0]) for row in self.rows(self.shape(explain)))

    def once(self, question: str, ask: Callable[[], str]) -> str:
        """The answer of `ask`, which is asked once in an invocation. question: a key of the answer."""
        return self._facts.once(question, lambda _: ask()) if self._facts else ask()

    def shared(self) -> SharedAnswers:
        """The answers that the models of the invocation share; none outside of an invocation."""
        return self._facts.shared if self._facts else SharedAnswers()

    def shared_table(self, relation: str) -> TableInfo:
        """A table, as DESCRIBE showed it to a model of the invocation, see `shared_answers`."""
        if self._facts is None:
            return self.table(relation)
        return self.shared().once(self._described(relation), lambda: self.table(relation))

    def is_shared_otherwise(self, relation: str, columns: Sequence[tuple[str, str]] | None) -> bool:
        """Whether a model of the invocation was told other columns of a table than these, by `shared_table`."""
        told: TableInfo | None = self.shared().find(self._described(relation)) if self._facts else None
        return told is not None and list(told.columns) != columns

    def _described(self, relation: str) -> str:
        """The question of `shared_table`."""
        return f"DESCRIBE {self._key(relation)}"

    def _key(self, relation: str) -> str:
        """A relation's name with its catalog, as written: some catalogs have two tables that differ by case alone."""
        return identifiers.dotted(identifiers.within(identifiers.parts(relation), self.catalog()))

    def forget(self, table: str) -> bool:
        """Have the session forget a table (as SQL names it), once. False where the session was told before.

        A session keeps the columns of a table that it has read, also when another session has altered the table.
        """
        name = self._key(table)
        if name in self._refreshed:
            return False
        self._refreshed.add(name)
        self.rows(f"REFRESH TABLE {table}")
        return True

    def clock(self) -> int:
        """The engine's clock (ms)."""
        return (self._facts or SessionFacts()).clock(self.rows)

    def zone(self, name: str) -> Zone:
        """A time zone by the engine's rules; the engine is asked once."""
        if zones.is_offset(name):
            return Zone(name)
        if name not in self._zones:
            self._zones[name] = zones.zone_of(name, str(self.rows(zones.changes_query(name))[0][0]))
        return self._zones[name]

    def fixed_from(self, zone: str) -> int | None:
        """The instant (ms) from which a zone has one offset; None when there is none."""
        return None if zones.is_known_to_change(zone, for_ever=True) else self.zone(zone).fixed_from

    def never_changed(self, zone: str) -> bool:
        """Whether a zone always had one offset."""
        return zones.is_offset(zone) or not (zones.is_known_to_change(zone, for_ever=False) or self.zone(zone).changes)

    def settings(self) -> dict[str, str]:
        """The session's settings that decide rows: those that are set, and `settings.ALWAYS`."""
        return self._facts.settings(self._read_settings, self._session) if self._facts else self._read_settings()

    def _read_settings(self) -> dict[str, str]:
        found = self.settings_set()
        for key in settings.ALWAYS:
            if key not in found:
                found[key] = settings.DEFAULTS.get(key) or self.setting(key)
        return found

    def settings_set(self) -> dict[str, str]:
        """The session's settings that decide rows and are set."""
        return settings.deciding((str(key), str(value)) for key, value in self.rows("SET"))

    def setting(self, key: str) -> str:
        """One setting, or its default."""
        return str(self.rows(f"SET {key}")[0][1])

    def allow_nested_lambdas(self) -> None:
        """Let Spark analyze lambda functions inside lambda functions in this session, which nested searches have."""
        allowed = self.setting(_PASSES)
        if allowed.isdigit() and int(allowed) < _ENOUGH:
            self.rows(f"SET {_PASSES} = {_ENOUGH}")

    def count(self, relation: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {relation}")[0][0])

    def version(self) -> str:
        return self._facts.version(self.rows) if self._facts else str(self.rows("SELECT version()")[0][0])

    def catalog(self) -> str:
        """The current catalog, to which names without a catalog belong."""
        if self._catalog is None:
            facts = self._facts
            self._catalog = facts.catalog(self.rows) if facts else str(self.rows("SELECT current_catalog()")[0][0])
        return self._catalog

    def catalog_is_named(self) -> bool:
        """Whether the current catalog is another one than `spark_catalog`, the session's own."""
        return folded(self.catalog()) != SESSION_CATALOG

    def is_icebergs(self, catalog: str) -> bool:
        """Whether the class of a catalog is Iceberg's."""
        key = f"spark.sql.catalog.{catalog}"
        return "iceberg" in self.once(key, lambda: self.setting(key)).lower()

    def writes_iceberg(self, file_format: str) -> bool:
        """Whether a table of a format is Iceberg's in the current catalog, where all tables may be."""
        return file_format == "iceberg" or self.catalog_is_icebergs()

    def catalog_is_icebergs(self) -> bool:
        """Whether all tables and views of the current catalog are Iceberg's.

        The session's own catalog has tables of all formats.
        """
        return self.catalog_is_named() and self.is_icebergs(self.catalog())

    def system_functions(self) -> frozenset[str]:
        """The names of Spark's own functions, in lower case.

        Catalogs of Iceberg list them. Another named catalog may list none, so the session's own catalog is asked.
        """
        elsewhere = self.catalog_is_named() and not self.catalog_is_icebergs()
        where = f" IN {SESSION_CATALOG}.default" if elsewhere else ""
        return frozenset(str(name).lower() for (name,) in self.rows(f"SHOW SYSTEM FUNCTIONS{where}"))

    def tables(self, schema: str, prefix: str = "", suffix: str = "") -> list[str]:
        """The names of the tables and views of a schema that have this prefix and suffix, ignoring case.

        The schema may be in any catalog. The session's temporary views, which Spark lists without a schema, are left
        out.
        """
        pattern = "*".join(re.sub(r"[^0-9A-Za-z_]", "*", part) for part in (prefix, suffix))
        found = [str(r[1]) for r in self.rows(f"SHOW TABLES IN {schema} LIKE '{pattern}'") if r[0]]
        if self._is_in_named(f"{schema}.t"):  # only the session's own catalog lists views as tables too
            found = list(dict.fromkeys([*found, *self.views(schema, pattern)]))
        return [n for n in found if folded(n).startswith(folded(prefix)) and folded(n).endswith(folded(suffix))]

    def beginning(self, schema: str, prefix: str, suffix: str = "") -> Identifiers:
        """The tables and views of a schema with this prefix and suffix; none where there is no such schema."""
        try:
            return Identifiers(self.tables(schema, prefix, suffix))
        except SparkError as error:
            error.expect(Cause.NO_SCHEMA)
            return Identifiers()

    def views(self, schema: str, pattern: str = "*") -> list[str]:
        """The views of a schema, by SHOW VIEWS; none where the catalog has no views."""
        try:
            return [str(r[1]) for r in self.rows(f"SHOW VIEWS IN {schema} LIKE '{pattern}'") if r[0]]
        except SparkError as error:
            error.expect(Cause.NO_VIEWS)
            return []

    def view(self, relation: str) -> ViewInfo | None:
        """An existing view, or the commit in a table of commits, as a view; None for any other relation."""
        described = self.rows(f"DESCRIBE TABLE EXTENDED {relation}")
        found = descriptions.view(described)
        if found is not None or not self._is_in_named(relation):
            return found
        if commit_records.holds_commit(descriptions.table(described).columns):
            return self._record(relation)
        if not descriptions.is_view(described):
            return None
        return descriptions.view(described, str(self.rows(f"SHOW CREATE TABLE {relation}")[0][0]))

    def _record(self, relation: str) -> ViewInfo:
        """The commit in a table, as a view with the text of the commit.

        The table is refreshed first, because a session keeps a row that it has read.
        """
        self.rows(f"REFRESH TABLE {relation}")
        rows = self.rows(f"SELECT mz_commit FROM {relation}")
        if len(rows) != 1:
            raise Explained(
                "ST501",
                f"{relation} with {quantity(len(rows), 'row')}",
                "one row holds the commit of a model; without it what is stored is not known",
                f"the snapshot of {relation} before the change (rollback_to_snapshot)",
            )
        return ViewInfo(str(rows[0][0]), {}, None, UPDATE)

    def _is_in_named(self, relation: str) -> bool:
        """Whether a relation is in another catalog than `spark_catalog`, the session's own."""
        names = identifiers.parts(relation)
        return folded(names[0]) != SESSION_CATALOG if len(names) > 2 else self.catalog_is_named()

    def table(self, relation: str) -> TableInfo:
        """A table, as DESCRIBE shows the table."""
        return descriptions.table(uncut.columns(self.rows, f"DESCRIBE TABLE EXTENDED {relation}"))


def _arm(number: int, sql: str, width: int, most: int) -> str:
    """A query as a branch of `rows_together`: its number, and as many values as the widest query has."""
    names = [f"mz_{i}" for i in range(width)]
    values = [f"CAST({name} AS STRING)" for name in names] + ["CAST(NULL AS STRING)"] * (most - width)
    return f"SELECT {number} AS mz_arm, {', '.join(values)}\nFROM (\n{sql}\n) AS mz_one({', '.join(names)})"
