"""States as they are written, and as earlier code of the same format wrote them: no model is rebuilt by an update."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.temporal.clock.schedule import Refreshes
from dbt.adapters.sparktemporal.temporal.diffs.input_state import (
    ChainId,
    ChainsFingerprint,
    ColumnFingerprint,
    DeltaVersion,
    FilesFingerprint,
    FileSummary,
    Fingerprint,
    IcebergScans,
    IcebergVersion,
    RowsFingerprint,
    Scan,
    Tracking,
    as_json,
    of_json,
)
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, Late, State
from dbt.adapters.sparktemporal.temporal.diffs.state_formats import FORMAT, payload_of, state_of_payload
from dbt.adapters.sparktemporal.temporal.diffs.state_text import Form, embed, extract
from dbt.adapters.sparktemporal.temporal.rewrite.kept import Kept

#: as they were written, by the code of then
STATES = Path(__file__).parent / "states"
RUN = "018dfa3cc80deadbeef00"
INPUTS: dict[str, Fingerprint] = {
    "s.files": FilesFingerprint(FileSummary(2, 1234, "0123456789abcdef"), "89abcdef"),
    "s.ice": IcebergVersion((("main", 5931), ("old", 77)), "00002-6f1c"),
    "s.empty": IcebergVersion((), "v1"),
    "s.delta": DeltaVersion(7, "3a-4b"),
    "s.events": ColumnFingerprint("at", 60_000, "1709294400000000", 9, -12, 1, 5),
    "s.none": ColumnFingerprint("id", 0, None, 0, 0, 0, 0),
    "s.hive": RowsFingerprint(3, -7),
    "s.maps": RowsFingerprint(3, None),
    "s.inner": ChainsFingerprint(
        10, Refreshes(3_600_000, -5), (ChainId("inner__diffs_a"), ChainId("inner__diffs_b", 15))
    ),
    "s.bare": ChainsFingerprint(10, None, ()),
    "s.side": IcebergScans((Scan("", None, 0, None), Scan("VERSION AS OF 'side'", 7, 2, "side")), "0123abcd"),
}


def written(name: str = "state_format_2") -> State:
    return extract((STATES / f"{name}.sql").read_text().rstrip("\n"), "m")


def test_a_written_state_is_read_whole() -> None:
    state = written()
    assert state.inputs == INPUTS
    assert state.manifest == f"m__inputs_{RUN}" and state.max_restart_delay == 3
    assert state.read_by == ("aa", "bb", "cc", "dd") and state.refreshes == Refreshes(3_600_000, -5)
    assert [core.kept for core in state.cores] == [
        Kept(rows_because="an estimated 4 groups in 5 rows"),
        Kept(groups="groups are kept"),
        Kept(rows_because="config aggregates: rows", by_config=True),
        Kept(),
    ]
    split = Chain(f"m__diffs_{RUN}_c1", 7, 0, 0, 9, None, True, ((0, 3), (64, 4)), None, 15, 0, 9)
    assert state.cores[1].chains == (split,)
    assert state.tables == (
        f"m__diffs_{RUN}", "m__diffs_018dfa3cc80deadbeee00", f"m__diffs_{RUN}_c1", f"m__inputs_{RUN}", f"m__stats_{RUN}"
    )  # fmt: skip
    assert written("state_format_2_packed") == state


def test_a_state_is_written_and_read() -> None:
    late = Late("0123456789ab", (("m__late_1", 3),), (("mz_run", "STRING"), ("k", "int")))
    state = written().advanced(late=late)
    for form in (Form.INLINE, Form.PACKED):
        text = embed(state, "SELECT 1", form)
        assert f'"format":{FORMAT},"model":"m"' in text and extract(text, "m") == state
    assert json.loads(json.dumps(payload_of(state)))["manifest"] == state.manifest


TOLD = {
    "s.files": "files 2, 1234 bytes, 0123456789abcdef as 89abcdef",
    "s.ice": "version main 5931, old 77 in 00002-6f1c",
    "s.empty": "version empty in v1",
    "s.delta": "version 7 of 3a-4b",
    "s.events": 'column {"by": "at", "back": 60000, "to": "1709294400000000", "rows": 9, "sum": -12, '
    '"after": 1, "after_sum": 5}',
    "s.none": 'column {"by": "id", "back": 0, "to": null, "rows": 0, "sum": 0, "after": 0, "after_sum": 0}',
    "s.hive": "rows 3, sum -7",
    "s.maps": "rows 3",
    "s.inner": "chains from 10 every 3600000 from -5: inner__diffs_a inner__diffs_b>15",
    "s.bare": "chains from 10: ",
    "s.side": "empty with schema 0, snapshot 7 with schema 2 VERSION AS OF 'side'",
}


@pytest.mark.parametrize("name", INPUTS)
def test_fingerprints(name: str) -> None:
    """As JSON, and in the words that people read in reports."""
    fingerprint = INPUTS[name]
    assert of_json(json.loads(json.dumps(as_json(fingerprint)))) == fingerprint
    assert str(fingerprint) == TOLD[name]


def test_fields_that_a_state_may_lack() -> None:
    """Those that came later have a default: no input is taken for unchanged by them."""
    payload = json.loads(json.dumps(payload_of(written())))
    for later in ("read_by", "refreshes", "late", "past", "files"):
        payload.pop(later, None)
    state = state_of_payload(payload)
    assert (state.read_by, state.refreshes, state.late, state.past, state.files) == ((), None, None, (), {})


def test_a_field_of_chains_that_others_tell() -> None:
    """Earlier code wrote it. It is read over, and not written again."""
    assert '"min_until"' in (STATES / "state_format_2.sql").read_text()
    assert "min_until" not in json.dumps(payload_of(written()))


def test_what_no_version_wrote() -> None:
    text = embed(written(), "SELECT 1").replace(f'"format":{FORMAT}', f'"format":{FORMAT + 1}')
    with pytest.raises(TemporalError) as told:
        extract(text, "m")
    assert f"its format is {FORMAT + 1}, this version reads {FORMAT}" in str(told.value)
    assert "dbt run --full-refresh -s m" in str(told.value)
    with pytest.raises(KeyError):
        of_json({"kind": "tea leaves"})
    assert {INPUTS[name].tracking for name in INPUTS} == set(Tracking)
