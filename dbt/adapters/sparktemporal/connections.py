"""dbt-spark's connections and credentials under this adapter's type; each statement gets its `mz_now()` replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod, SparkCredentials
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from . import spark_log
from .engine.clock_calls import LIVE, has_clock_calls, is_lasting_view, put_clock
from .engine.session_facts import Ask, SessionFacts
from .engine.shared_answers import may_write
from .errors import Explained, Refusal, TemporalError, without_plan, without_trace
from .over_time import replays
from .temporal.clock.instants import parse_instant
from .temporal.sql.spark.errors import SparkError
from .temporal.sql.text.dialect import quote
from .temporal.sql.text.identifiers import SESSION_CATALOG, folded, parts

logger = AdapterLogger("sparktemporal")
#: the setting that names the current catalog of a session that was told of no other
DEFAULT_CATALOG = "spark.sql.defaultCatalog"
#: `views_in` of a profile whose models are read by macros alone
NO_VIEWS = "none"


@contextmanager
def _as_runtime_error() -> Iterator[None]:
    try:
        yield
    except TemporalError as error:
        raise DbtRuntimeError(str(error)) from None
    except SparkError as error:
        raise error.__cause__ or DbtRuntimeError(str(error)) from None


def without_metastore(message: str) -> str:
    """Explain the error of a Hive metastore that does not open; "" for any other error."""
    if "MetaStoreClient" not in message or "Unable to instantiate" not in message:
        return ""
    return str(
        Explained(
            "ST206",
            "a Hive metastore that does not open",
            "embedded Spark keeps it in the folder metastore_db, which one process at a time can open: another dbt, a "
            "notebook or a shell has it open, or a hive-site.xml names a server that does not answer",
            "end the other process; for several at a time a Thrift server (method: thrift), or another folder "
            f"(-Dderby.system.home=… in {spark_log.JAVA_OPTIONS})",
        )
    )


@dataclass
class SparkTemporalCredentials(SparkCredentials):
    """dbt-spark's credentials, with `catalog` and `views_in`. `server_side_parameters` are set over Thrift too."""

    #: the catalog of names without a catalog: a setting, except over Thrift; also SET CATALOG, except with `session`
    catalog: str | None = None
    #: for a catalog without views: the schema of the views that people read, with its catalog; `none` for no views
    views_in: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.views_in is not None:
            _refuse_views_in(self.views_in, self.catalog)
        if self.method == SparkConnectionMethod.THRIFT:
            self.server_side_parameters = {_of_session(k): v for k, v in self.server_side_parameters.items()}
        elif self.catalog is not None:
            self.server_side_parameters = {**self.server_side_parameters, DEFAULT_CATALOG: self.catalog}

    @property
    def views_schema(self) -> str | None:
        """The quoted `views_in` of the profile: "" for the value `none`, None where the profile has no `views_in`."""
        if self.views_in is None:
            return None
        return "" if self.views_in == NO_VIEWS else ".".join(map(quote, parts(self.views_in)))

    @property
    def type(self) -> str:
        return "sparktemporal"

    def _connection_keys(self) -> tuple[str, ...]:
        return (*super()._connection_keys(), "catalog", "views_in")


def _of_session(key: str) -> str:
    """The key of a setting for a Thrift server at the start of a session; the server ignores the plain key.

    >>> _of_session("spark.sql.session.timeZone"), _of_session("set:hiveconf:a")
    ('set:hiveconf:spark.sql.session.timeZone', 'set:hiveconf:a')
    """
    return key if key.startswith("set:") else f"set:hiveconf:{key}"


def _refuse_views_in(views_in: str, catalog: str | None) -> None:
    """Raise dbt's error unless `catalog` is given, and `views_in` is `none` or a schema of another catalog."""
    names = parts(views_in)
    if catalog is not None and (views_in == NO_VIEWS or len(names) == 2 and folded(names[0]) != folded(catalog)):
        return
    found = f"views_in: {views_in}" + ("" if catalog is not None else ", without catalog:")
    refusal = Refusal(
        "ST207",
        f"{found} in the profile",
        "views_in is where the views of a catalog are that has none itself",
        "a schema with its catalog, such as views_in: spark_catalog.analytics, or views_in: none, beside catalog:",
    )
    raise DbtRuntimeError(str(refusal))


class SparkTemporalConnectionManager(SparkConnectionManager):
    TYPE = "sparktemporal"

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        self._facts: tuple[str, SessionFacts] = ("", SessionFacts())
        self._as_of: dict[str, int] = {}
        self._guard = threading.RLock()
        self._own = threading.local()

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection as dbt-spark does, in the catalog of the profile.

        PyHive, the client for Thrift, begins each session with USE default, and the setting of the default catalog has
        no effect after this USE. So SET CATALOG follows, with each method but `session`.
        """
        is_new = connection.state != ConnectionState.OPEN
        if connection.credentials.method == SparkConnectionMethod.SESSION:
            parameters = connection.credentials.server_side_parameters
            connection.credentials.server_side_parameters = spark_log.quieted(parameters)
            spark_log.quiet_pyspark()
        opened = super().open(connection)
        credentials = opened.credentials
        catalog = getattr(credentials, "catalog", None)
        if is_new and catalog is not None and credentials.method != SparkConnectionMethod.SESSION:
            opened.handle.cursor().execute(f"SET CATALOG {quote(catalog)}")
        return opened

    def as_of(self) -> int:
        """The instant of this dbt invocation (ms): var temporal_now, else the engine's clock, read once."""
        pinned = self._pinned()
        if pinned is not None:
            return parse_instant(pinned, "var temporal_now")
        invocation = get_invocation_id()
        with self._guard:
            if invocation not in self._as_of:
                self._as_of[invocation] = self.facts.clock(self._ask_plainly)
            return self._as_of[invocation]

    @property
    def facts(self) -> SessionFacts:
        """The facts that this dbt invocation keeps of its sessions."""
        invocation = get_invocation_id()
        with self._guard:
            if self._facts[0] != invocation:
                self._facts = (invocation, SessionFacts())
            return self._facts[1]

    @property
    def wanted_catalog(self) -> str:
        """The catalog that the profile names, or else `spark_catalog`, which every session has."""
        return getattr(self.profile.credentials, "catalog", None) or SESSION_CATALOG

    def refuse_other_catalog(self, ask: Ask) -> None:
        """Raise TemporalError where the session is in another catalog than the profile says. ask: SQL -> rows."""
        wanted, found = self.wanted_catalog, self.facts.catalog(ask)
        if folded(found) == folded(wanted):
            return
        if wanted == SESSION_CATALOG:
            raise Explained(
                "ST208",
                f"a session in the catalog {found}, which the profile does not name",
                "lists of relations are read in another way there",
                f"catalog: {found} in the profile; without USE in a hook",
            )
        raise Explained(
            "ST209",
            f"a session in the catalog {found}, and catalog: {wanted} in the profile",
            f"names of schemas are looked up in the catalog of the session, which a USE statement changed, or the "
            f"server does not take the setting {DEFAULT_CATALOG}",
            "no USE of a catalog; a table of another catalog by a name with its catalog",
        )

    @property
    def session(self) -> object:
        """A key of this thread's session: the name of the connection that dbt opens for each node; None without one."""
        connection = self.get_if_exists()
        return None if connection is None else connection.name

    def add_query(self, sql: str, *args: Any, **kwargs: Any) -> Any:
        is_own = getattr(self._own, "now", False)
        written, sql = sql, self._clocked(sql, not is_own and self.is_pinned)
        self._own.sent = getattr(self._own, "sent", 0) + 1
        if not is_own:
            self.facts.notice(sql)
        elif may_write(sql):
            self.facts.notice_own(sql)
        if not is_own and self.is_pinned:
            known = getattr(self._own, "known", None)
            with _as_runtime_error():
                sql = replays.at_instant(
                    sql, self.as_of(), self._ask_plainly, self.wanted_catalog, self._warn, known, sql != written
                )
        try:
            return super().add_query(sql, *args, **kwargs)
        finally:  # an answer that came while the statement was executed may be of the time before
            if not is_own and may_write(sql):
                self.facts.shared.forget()

    def _clocked(self, sql: str, functions: bool) -> str:
        return self.with_clock(sql, functions=functions) if has_clock_calls(sql, functions) else sql

    def _warn(self, message: str) -> None:
        """Log a warning, each text once in an invocation."""

        def say(said: str) -> str:
            logger.warning(said)
            return said

        self.facts.once(message, say)

    @contextmanager
    def own(self) -> Iterator[None]:
        """Mark statements as the adapter's own: the pinned clock does not rewrite their reads of temporal views."""
        before, self._own.now = getattr(self._own, "now", False), True
        try:
            yield
        finally:
            self._own.now = before

    def look_ahead(self, sql: str | None) -> None:
        """Apply the pinned clock to a model's query early: a refusal must come before dbt-spark drops the table.

        sql: the query; None when the model is done.
        """
        self._own.known = {}
        if sql is None or not self.is_pinned:
            return
        with _as_runtime_error():
            query = self._clocked(sql, functions=True)
            self._own.known[query.strip()] = self.pinned(query)

    def pinned(self, query: str) -> str:
        """A query -> the query to send while var temporal_now pins the clock."""
        query = self._clocked(query, functions=True)
        return replays.query_at(query, self.as_of(), self._ask_plainly, self.wanted_catalog, self._warn).strip()

    def run_is_on(self, on: bool) -> None:
        """Begin or end a run of a temporal_view: in between, all statements of this thread are the adapter's own."""
        self._own.now = on
        if on:
            self._own.sent = 0

    @property
    def statements_of_run(self) -> int:
        """How many statements this thread has sent since a run of a temporal_view began."""
        return int(getattr(self._own, "sent", 0))

    def with_clock(self, sql: str, as_of: int | None = None, functions: bool = False) -> str:
        """Replace each mz_now() of a statement by `as_of` (ms), or else by the instant of the invocation.

        A view that outlives the session gets the clock of its reader instead, unless `as_of` is given or the clock is
        pinned. functions: whether to replace Spark's own clocks too.
        """

        def instant() -> str:
            if is_lasting_view(sql) and as_of is None and not self.is_pinned:
                return LIVE
            return f"{self.as_of() if as_of is None else as_of}L"

        with _as_runtime_error():
            return put_clock(sql, self._explain, instant, functions)

    @property
    def is_pinned(self) -> bool:
        """Whether var temporal_now pins the clock of the invocation."""
        return self._pinned() is not None

    def _pinned(self) -> Any:
        """The value of var temporal_now, from the command line or else from dbt_project.yml; None without a value."""
        cli: Mapping[str, Any] = getattr(self.profile, "cli_vars", None) or {}
        if "temporal_now" in cli:
            return cli["temporal_now"]
        provider = getattr(self.profile, "vars", None)
        declared: Mapping[str, Any] = provider.to_dict() if provider is not None else {}
        own = declared.get(getattr(self.profile, "project_name", ""))
        return {**declared, **(own if isinstance(own, Mapping) else {})}.get("temporal_now")

    def _explain(self, sql: str) -> str:
        return "\n".join(str(row[0]) for row in self._ask(sql))

    def _ask_plainly(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._ask(sql)]

    def _ask(self, sql: str) -> list[Any]:
        self._own.sent = getattr(self._own, "sent", 0) + 1
        _, cursor = super().add_query(sql, auto_begin=False)
        return list(cursor.fetchall() or [])

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Raise dbt-spark's errors without stack traces and Spark's plans, which bury the message; dbt.log has both.

        The error of a Hive metastore that does not open is replaced by its explanation.
        """
        try:
            with super().exception_handler(sql):
                try:
                    yield
                except DbtDatabaseError as error:
                    raise DbtDatabaseError(without_trace(error.msg)) from None
        except DbtRuntimeError as error:
            raise DbtRuntimeError(without_metastore(error.msg) or without_plan(error.msg)) from error.__cause__
