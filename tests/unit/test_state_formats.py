"""States as they are written, and as earlier versions wrote them: no model is rebuilt because of its state's format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.temporal.clock.schedule import Refreshes
from dbt.adapters.sparktemporal.temporal.diffs.fingerprints import (
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
    UnknownFingerprint,
    as_json,
    of_json,
    of_text,
)
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, State
from dbt.adapters.sparktemporal.temporal.diffs.state_formats import FORMAT, READABLE, payload_of, state_of_payload
from dbt.adapters.sparktemporal.temporal.diffs.state_text import Form, embed, extract
from dbt.adapters.sparktemporal.temporal.rewrite.kept import Kept

#: as format 1 was written, by the code of then
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
    "s.odd": UnknownFingerprint("version a b 3 in x"),
}


def format_1(name: str = "state_format_1") -> State:
    return extract((STATES / f"{name}.sql").read_text().rstrip("\n"), "m")


def test_a_state_of_format_1_is_read_whole() -> None:
    state = format_1()
    assert state.inputs == INPUTS
    assert state.manifest == f"m__inputs_{RUN}" and state.max_restart_delay == 3
    assert state.read_by == ("aa", "bb", "cc", "dd") and state.refreshes == Refreshes(3_600_000, -5)
    assert [core.kept for core in state.cores] == [
        Kept(rows_because="an estimated 4 groups in 5 rows"),
        Kept(groups="groups are kept"),
        Kept(rows_because="config aggregates: rows", by_config=True),
        Kept(),
    ]
    peeled = Chain(f"m__diffs_{RUN}_c1", 7, 0, 0, 9, None, None, True, ((0, 3), (64, 4)), None, 15, 0, 9)
    assert state.cores[1].chains == (peeled,)
    assert state.tables == (
        f"m__diffs_{RUN}", "m__diffs_018dfa3cc80deadbeee00", f"m__diffs_{RUN}_c1", f"m__inputs_{RUN}", f"m__stats_{RUN}"
    )  # fmt: skip
    assert format_1("state_format_1_packed") == state


def test_a_state_of_format_1_becomes_one_of_the_latest() -> None:
    state = format_1()
    for form in (Form.INLINE, Form.PACKED):
        text = embed(state, "SELECT 1", form)
        assert f'"format":{FORMAT},"model":"m"' in text and extract(text, "m") == state
    assert json.loads(json.dumps(payload_of(state)))["manifest"] == state.manifest


@pytest.mark.parametrize("name", INPUTS)
def test_fingerprints(name: str) -> None:
    """As JSON, and as the texts of format 1, which people still read in reports."""
    fingerprint = INPUTS[name]
    assert of_json(json.loads(json.dumps(as_json(fingerprint)))) == fingerprint
    assert of_text(str(fingerprint)) == fingerprint
    assert str(fingerprint) == json.loads(_comment())["inputs"][name]


def test_fingerprints_that_came_after_format_1() -> None:
    scans = (Scan("", None, 0, None), Scan("VERSION AS OF 'side'", 7, 2, "side"))
    later = IcebergScans(scans, "0123abcd")
    assert of_json(json.loads(json.dumps(as_json(later)))) == later
    assert str(later) == "empty with schema 0, snapshot 7 with schema 2 VERSION AS OF 'side'"


def _comment() -> str:
    text = (STATES / "state_format_1.sql").read_text()
    return text.partition("mz_state: ")[2].partition(" */")[0]


def test_fields_that_a_state_of_format_1_may_lack() -> None:
    """Those that came later have a default: no input is taken for unchanged by them."""
    payload = json.loads(_comment())
    for later in ("check", "read_by", "watermark", "statistics", "measured", "gap", "refreshes", "state_table"):
        del payload[later]
    state = state_of_payload(payload)
    assert (state.read_by, state.manifest, state.max_restart_delay, state.refreshes) == ((), "", 0, None)


def test_what_no_version_wrote() -> None:
    assert (1, FORMAT) == READABLE
    text = embed(format_1(), "SELECT 1").replace(f'"format":{FORMAT}', f'"format":{FORMAT + 1}')
    with pytest.raises(TemporalError) as told:
        extract(text, "m")
    assert f"its format is {FORMAT + 1}, this version reads 1 and {FORMAT}" in str(told.value)
    assert "dbt run --full-refresh -s m" in str(told.value)
    with pytest.raises(KeyError):
        of_json({"kind": "tea leaves"})
    assert {INPUTS[name].tracking for name in INPUTS} == set(Tracking)
