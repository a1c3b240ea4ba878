"""`dbt init` with this adapter: its questions make a profile that works."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession


def made(folder: Path, monkeypatch: pytest.MonkeyPatch, answers: list[str]) -> dict[str, Any]:
    """A project `shop`, made by answers typed one by one -> the target in its profile."""
    # dbt lists the adapters of its own folder: an editable install is in another one
    monkeypatch.setattr("dbt.task.init._get_adapter_plugin_names", lambda: ["spark", "sparktemporal"])
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(["2", *answers, ""])))
    dbt(folder, "init", "shop")
    assert (folder / "shop" / "dbt_project.yml").exists()
    profile = yaml.safe_load((folder / "profiles.yml").read_text())["shop"]
    return profile["outputs"][profile["target"]]


def dbt(folder: Path, *command: str) -> list[str]:
    log: list[str] = []
    runner = dbtRunner(callbacks=[lambda event: log.append(event.info.msg)])
    outcome = runner.invoke(["--quiet", "--no-use-colors", *command, "--profiles-dir", str(folder)])
    assert outcome.success, "\n".join([*log, str(outcome.exception)])
    assert not [line for line in log if "No sample profile found" in line]
    return log


@pytest.mark.landing
def test_embedded_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    target = made(tmp_path, monkeypatch, ["1", "", "analytics"])
    assert target == {
        "type": "sparktemporal",
        "method": "session",
        "host": "local",
        "schema": "analytics",
        "threads": 1,
        "server_side_parameters": {"spark.sql.session.timeZone": "UTC", "spark.ui.showConsoleProgress": "false"},
    }
    told = "\n".join(dbt(tmp_path, "debug", "--project-dir", str(tmp_path / "shop")))
    assert "All checks passed!" in told


def test_a_thrift_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = made(tmp_path, monkeypatch, ["2", "spark.example", "", "", "8", "analytics"])
    assert target == {
        "type": "sparktemporal",
        "method": "thrift",
        "host": "spark.example",
        "port": 10000,
        "user": "dbt",
        "schema": "analytics",
        "threads": 8,
        "server_side_parameters": {"spark.sql.session.timeZone": "UTC"},
    }
    dbt(tmp_path, "parse", "--project-dir", str(tmp_path / "shop"))
