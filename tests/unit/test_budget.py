"""The time of make test: the report of pytest, the limit, and which modules grew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import budget

#: of 100 s in two processes, on a machine half as fast as the one of the budget
REPORT = """<testsuites><testsuite name="pytest" time="{time}">
<testcase classname="tests.engine.test_run" name="test_a[1]" time="20.0"/>
<testcase classname="tests.engine.test_run" name="test_b" time="20.0"/>
<testcase classname="tests.adapter.test_basic.TestDocs" name="test_c" time="4.0"/>
<testcase classname="tests.faults.test_kill" name="test_d" time="60.0"/>
<testcase classname="tests.engine.test_new" name="test_e" time="9.0"/>
</testsuite></testsuites>"""
MODULES = {"tests/engine/test_run.py": 20.0, "tests/adapter/test_basic.py": 2.0, "tests/faults/test_kill.py": 10.0}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "budget.json"
    kept.write_text(json.dumps({"limit_seconds": 480, "modules": MODULES}))
    monkeypatch.setattr(budget, "BUDGET", kept)


@pytest.mark.parametrize(("time", "code"), [(480.0, 0), (480.4, 1)])
def test_what_grew_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], time: float, code: int) -> None:
    """A machine that is slow as a whole made no test grow."""
    (tmp_path / "slice.xml").write_text(REPORT.format(time=time))
    assert budget.main([str(tmp_path / "slice.xml")]) == code
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "the slice took 480 s of 480 s"
    grown = ["  +40.0 s  tests/faults/test_kill.py", "   +9.0 s  tests/engine/test_new.py"]
    same = ["   +0.0 s  tests/engine/test_run.py", "   +0.0 s  tests/adapter/test_basic.py"]
    assert told[1:] == ([*grown, *same] if code else [])


def test_a_run_becomes_the_budget(tmp_path: Path) -> None:
    (tmp_path / "slice.xml").write_text(REPORT.format(time=100.0))
    assert budget.main(["--record", str(tmp_path / "slice.xml")]) == 0
    kept = json.loads(budget.BUDGET.read_text())
    assert kept["limit_seconds"] == 480 and kept["modules"]["tests/engine/test_run.py"] == 40.0
