"""A state as a run commits it: one core, one chain."""

from __future__ import annotations

from dbt.adapters.sparktemporal.temporal.diffs.input_state import FilesFingerprint, FileSummary
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, CoreState, State
from support.instants import T0

LAST = "018dfa3cc80deadbee000"
SQL = "select id from s.t where mz_now() < hi"
COLUMNS = (("id", "bigint"),)
CHAIN = Chain(f"m__diffs_{LAST}", 100, 0, T0, T0, T0)
FILES = FilesFingerprint(FileSummary(5, 1234, "0123456789abcdef"), "89abcdef")


def a_state() -> State:
    return State(
        model="m", schema="`s`", run=LAST, since=T0, frontier=T0, started_at=T0, offset=None, expiration=None,
        core_hash="h", residual="SELECT * FROM mz_core_c0", columns=COLUMNS,
        cores=(CoreState("c0", COLUMNS, (CHAIN,)),), written=SQL, kinds=("timestamp",), inputs={"s.t": FILES},
        settings={}, project="p",
    )  # fmt: skip
