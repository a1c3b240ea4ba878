"""The lock of a model: a run creates the table `<model>__lock`, so runs of one model go one after the other."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from time import sleep
from typing import NoReturn

from ..engine import session_facts
from ..engine.model_relations import ModelRelations
from ..engine.ownership import refuse_foreign_lock, visible
from ..engine.warehouse import Warehouse
from ..errors import Explained, TemporalError
from ..temporal.clock.instants import format_duration, format_instant
from ..temporal.diffs import chains as chain_rules
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text.identifiers import Identifiers
from . import rights

#: pauses between two looks at a lock (s)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0

#: run of this process that has a lock or asks for one -> when the run asked for a lock that was free (s), else None
_held: dict[str, float | None] = {}
_held_guard = threading.Lock()

#: what is known of a process instead of its start
_GONE, _UNKNOWN = "gone", "unknown"


def take_lock(warehouse: Warehouse, target: ModelRelations, patience: int) -> tuple[str, list[str]]:
    """Create the table, which is atomic everywhere -> (the id of this run, the ids of runs whose lock it took over).

    patience: how long to wait for another run (ms) before an error is raised.
    """
    with rights.in_words(target):
        return _create_lock(warehouse, target, patience)


def _try(warehouse: Warehouse, target: ModelRelations, clock: int, asked: float | None) -> str | None:
    """Create the lock -> the id of this run; None where there is a lock. clock: the engine's now (ms).

    The age of the lock and the clock in the id count from here on, because a run may have waited for long. The id is
    the property mz_run: Spark hides properties named token.
    asked: the time (s) at which the run asked for the lock; None where the run waited for another run before.
    """
    token, pid = chain_rules.new_run_id(clock), os.getpid()
    with _held_guard:
        _held[token] = None
    try:
        warehouse.rows(
            f"CREATE TABLE {target.name('__lock')} (mz_owner STRING) USING parquet TBLPROPERTIES "
            f"('mz_owner' = '{host()} {pid} {_process_start(pid)}', 'mz_at' = '{clock}', 'mz_run' = '{token}')"
        )
    except BaseException as error:
        forget_lock(token)
        if not isinstance(error, SparkError):
            raise
        error.expect(Cause.ALREADY_THERE)
        return None
    with _held_guard:
        _held[token] = asked
    return token


def _create_lock(warehouse: Warehouse, target: ModelRelations, patience: int) -> tuple[str, list[str]]:
    displaced: list[str] = []
    began_at, began, pause, hands = warehouse.clock(), session_facts.now(), _FIRST_PAUSE, 0
    is_first = True
    while True:
        asked = session_facts.now()
        clock = began_at + int((asked - began) * 1_000)
        if token := _try(warehouse, target, clock, asked if is_first else None):
            return token, [run for run in displaced if chain_rules.run_clock(run) is not None]
        is_first = False
        waited = int((session_facts.now() - began) * 1_000)
        properties = _properties(warehouse, target)
        if properties is None:  # the lock was given back meanwhile, or only the folder of the table is left
            hands += 1
            if hands >= 3 and waited >= patience:
                raise Explained(
                    "ST520",
                    f"{target.model}__lock, which was gone each of {hands} times it was looked at",
                    "it changes hands, or a folder of that name is left where its table would be",
                    "the same again; if that helps nothing, remove the folder",
                )
            if hands > 1:
                sleep(pause)
            continue
        refuse_foreign_lock(target, properties)
        if len(displaced) < 2 and _stale(properties, began_at + waited):
            warehouse.rows(f"DROP TABLE IF EXISTS {target.name('__lock')}")
            displaced.append(properties.get("mz_run", ""))
        elif waited < patience:
            sleep(min(pause, (patience - waited) / 1_000))
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        else:
            _locked(target, properties, began_at + waited, waited)


def _properties(warehouse: Warehouse, target: ModelRelations) -> dict[str, str] | None:
    """The properties of a lock, which tell its owner; None when the lock is gone."""
    try:
        rows = warehouse.rows(f"SHOW TBLPROPERTIES {target.name('__lock')}")
    except SparkError as error:
        error.expect(Cause.NO_RELATION)
        return None
    return {str(r[0]): str(r[1]) for r in rows}


def _locked(target: ModelRelations, properties: Mapping[str, str], clock: int, waited: int) -> NoReturn:
    owner, at = properties.get("mz_owner", "").split(), int(properties["mz_at"])
    who = f"process {owner[1]} on {owner[0]}" if len(owner) == 3 else "an unknown owner"
    raise Explained(
        "ST521",
        f"{target.model}__lock, held by {who} for {format_duration(max(clock - at, 0))}, since {format_instant(at)}",
        "runs of one model go one after the other"
        + (f", and after {format_duration(waited)} this one waits no longer" if waited else ""),
        f"a longer lock_timeout, or the same again after that run. If it is dead: "
        f"DROP TABLE {target.name('__lock')}; "
        f"a lock older than {format_duration(chain_rules.STALE_LOCK_MS)} is taken over",
    )


def _stale(properties: Mapping[str, str], clock: int) -> bool:
    """Whether a lock may be taken over: its process is gone from this machine, or it is too old."""
    owner = properties.get("mz_owner", "").split()
    if len(owner) == 3 and owner[0] == host():
        if owner[1] == str(os.getpid()):
            with _held_guard:
                return properties.get("mz_run") not in _held
        start = _process_start(int(owner[1]))
        if start == _GONE or _UNKNOWN not in (start, owner[2]) and start != owner[2]:
            return True
    return clock - int(properties["mz_at"]) > chain_rules.STALE_LOCK_MS


def host() -> str:
    """The name of this machine and of its numbering of processes, as each container may number its own processes."""
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = "0"
    return visible(f"{socket.gethostname()}/{space}")


def _process_start(pid: int) -> str:
    """The start time of a process, because PIDs are reused; `gone` for no such process, `unknown` if not readable.

    /proc may hide the processes of other users (hidepid), so only the kernel's answer to a signal says `gone`.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return _GONE
    except OSError:
        pass
    return _UNKNOWN


def forget_lock(token: str) -> None:
    with _held_guard:
        _held.pop(token, None)


def was_free(token: str) -> bool:
    """Whether a run took its lock at the first try: it waited for nobody."""
    return _held.get(token) is not None


def is_sure(run_id: str) -> bool:
    """Whether a run found its lock free, and so lately that no other run can have taken the lock over."""
    taken = _held.get(chain_rules.first_id(run_id))
    return taken is not None and session_facts.now() - taken < chain_rules.STALE_LOCK_MS / 2_000


def refuse_lost(warehouse: Warehouse, target: ModelRelations, run_id: str, instead: str) -> None:
    """Raise an error (ST526) where another run has taken over the lock that this run took.

    Spark is asked only by a run that waited for its lock, took the lock over, or has had it for half an hour. Any other
    run surely has its lock still.
    instead: the advice.
    """
    token = chain_rules.first_id(run_id)
    with _held_guard:
        is_taken_here = token in _held
    if is_taken_here and not is_sure(token) and not is_held(warehouse, target, token):
        raise Explained(
            "ST526",
            f"{target.model}__lock, which another run took over from this one",
            f"a lock older than {format_duration(chain_rules.STALE_LOCK_MS)} is taken over; what this run wrote may "
            "be of an older state",
            instead,
        )


def is_held(warehouse: Warehouse, target: ModelRelations, token: str) -> bool:
    """Whether the run with this token holds the lock of a model."""
    return (_properties(warehouse, target) or {}).get("mz_run") == token


def is_taken(warehouse: Warehouse, target: ModelRelations) -> bool:
    """Whether any run has the lock of a model."""
    return f"{target.model}__lock" in Identifiers(warehouse.tables(target.schema, f"{target.model}__lock"))


def is_lock(warehouse: Warehouse, target: ModelRelations) -> bool:
    """Whether the relation `<model>__lock` is a lock of a run."""
    return any(row[0] == "mz_run" for row in warehouse.rows(f"SHOW TBLPROPERTIES {target.name('__lock')}"))


def give_back_lock(warehouse: Warehouse, target: ModelRelations, token: str, ended_well: bool = False) -> None:
    """Drop the lock if it is still this run's.

    ended_well: whether the run saw its own commit. Such a run drops its lock without a look at the owner, while the
    lock is too young for another run to take over.
    """
    if ended_well and is_sure(token):
        try:
            _drop_lock(warehouse, target)
        finally:
            forget_lock(token)
        return
    forget_lock(token)
    if is_held(warehouse, target, token):
        _drop_lock(warehouse, target)


def give_back_after_failure(warehouse: Warehouse, target: ModelRelations, token: str) -> None:
    """Drop the lock of a run or operation that failed. People should read the first error, so none is raised here."""
    with suppress(TemporalError, SparkError):
        give_back_lock(warehouse, target, token)


def _drop_lock(warehouse: Warehouse, target: ModelRelations) -> None:
    with rights.in_words(target):
        warehouse.rows(f"DROP TABLE IF EXISTS {target.name('__lock')}")
