"""Facts that one invocation of dbt asks once: the engine's clock and version, the current catalog, the settings.

| fact | asked | why that is enough |
|---|---|---|
| clock | once, plus the time since | a run needs the clock for the ages of tables; readers ask the engine's own |
| version | once | another engine would be another session |
| catalog | once, and each time after a statement that may change it | nothing else changes the catalog of a session |
| settings | once, and again after a statement that may set one | nothing else changes the settings of a session |
| other answers (`once`) | once | they are about the catalog, not about its content |
| tables (`shared`) | once, and again after a statement or a model that may have written | see `shared_answers` |

dbt lists the relations of a schema once for an invocation. `is_touched` tells whether a later statement may have
changed the relations of a model. A run then lists these relations again.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .shared_answers import SharedAnswers

Ask = Callable[[str], "list[tuple[Any, ...]]"]

#: a word of each statement that may change settings. EXECUTE IMMEDIATE hides the statement that it executes.
_MAY_SET = re.compile(r"\b(SET|RESET|EXECUTE)\b", re.IGNORECASE)
#: a word of each statement that may change the current catalog
_MAY_USE = re.compile(r"\b(USE|CATALOG|defaultCatalog|RESET|EXECUTE)\b", re.IGNORECASE)
#: a word of each statement that may create, change or drop relations
_MAY_MOVE = re.compile(r"\b(CREATE|DROP|ALTER|REPLACE|EXECUTE|CALL|RESTORE|UNDROP)\b", re.IGNORECASE)
#: a statement that may change relations that it does not name: it computes names, or drops a whole schema
_MAY_MOVE_ANY = re.compile(
    r"\bEXECUTE\s+IMMEDIATE\b|\bCALL\s+[\w.`]+\s*\(|\bIDENTIFIER\s*\(|\$\{|\bDROP\s+(SCHEMA|DATABASE|NAMESPACE)\b",
    re.IGNORECASE,
)

#: so many characters of a statement are searched for names. The name of a seed's table stands before the seed's rows
_HEAD = 20_000


def now() -> float:
    """Seconds on a clock that nobody sets. Where the system can, the clock goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True)
class _Clock:
    """The engine's answers, all of one moment."""

    #: the engine's clock (ms)
    engine: int
    #: `now` at that moment (s)
    at: float
    version: str
    #: the current catalog
    catalog: str


class SessionFacts:
    """The facts of one invocation. Threads of one invocation share an instance."""

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._clock: _Clock | None = None
        self._changes = 0
        self._settings: dict[object, dict[str, str]] = {}
        self._answers: dict[str, str] = {}
        self._touched: set[str] = set()
        self._is_any_touched = False
        self._is_moved = False
        self.shared = SharedAnswers()

    def notice(self, sql: str) -> None:
        """Note what a statement of dbt or of the user may change: settings, the current catalog, relations."""
        if _MAY_MOVE.search(sql):
            with self._guard:
                self._touched.update(_words(sql[:_HEAD]))
                self._is_any_touched |= bool(_MAY_MOVE_ANY.search(sql[:_HEAD]))
        if _MAY_USE.search(sql[:_HEAD]):
            self._is_moved = True
        if _MAY_SET.search(sql):
            with self._guard:
                self._changes += 1
                self._settings.clear()

    def notice_own(self, sql: str) -> None:
        """Note the relation that a statement of the adapter changes, which it names before AS."""
        if _MAY_MOVE.search(head := sql.partition(" AS\n")[0][:_HEAD]):
            with self._guard:
                self._touched.update(_words(head))

    def is_touched(self, model: str) -> bool:
        """Whether a noticed statement names a relation of a model, or may change relations that it does not name."""
        with self._guard:
            is_named = any(word.startswith(f"{model.lower()}__") for word in self._touched)
            return is_named or self._is_any_touched or _words(model) <= self._touched

    def once(self, question: str, ask: Callable[[str], str]) -> str:
        """The answer to a question that stays the same for the invocation."""
        with self._guard:
            if question not in self._answers:
                self._answers[question] = ask(question)
            return self._answers[question]

    def _read(self, ask: Ask) -> _Clock:
        with self._guard:
            if self._clock is None:
                # over a local relation Spark starts no job
                clock, version, catalog = ask(
                    "SELECT unix_millis(current_timestamp()), version(), current_catalog() FROM VALUES (0)"
                )[0]
                self._clock = _Clock(int(clock), now(), str(version), str(catalog))
            return self._clock

    def clock(self, ask: Ask) -> int:
        """The engine's clock (ms)."""
        read = self._read(ask)
        return read.engine + int((now() - read.at) * 1000)

    def version(self, ask: Ask) -> str:
        return self._read(ask).version

    def catalog(self, ask: Ask) -> str:
        """The current catalog, to which names without a catalog belong."""
        return str(ask("SELECT current_catalog()")[0][0]) if self._is_moved else self._read(ask).catalog

    def settings(self, read: Callable[[], dict[str, str]], session: object) -> dict[str, str]:
        """The settings of a session that decide rows. read: asks the engine.

        The sessions of one invocation begin with the same settings. After a statement that may change settings, each
        session is asked by itself.
        """
        with self._guard:
            key, changes = (session if self._changes else None), self._changes
            found = self._settings.get(key)
        if found is None:
            found = read()
            with self._guard:
                if changes == self._changes:
                    self._settings[key] = found
        return dict(found)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
