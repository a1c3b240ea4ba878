"""The runs that a target folder has seen: a file beside dbt's artifacts, with the response of each run of a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: in dbt's target folder: a JSON object a line
FILE = "temporal_runs.jsonl"
#: a file of more bytes keeps its latest runs alone, so many
_MOST_BYTES, _KEPT = 4 << 20, 1_000
_guard = threading.Lock()


def append(folder: Path, model: str, invocation: str, response: Mapping[str, Any]) -> None:
    """Add a run. model: the schema and name of it. A folder that cannot be written to is no reason to fail."""
    line = json.dumps({"model": model, "invocation_id": invocation, **response}, default=str)
    with _guard:
        try:
            path = folder / FILE
            if path.exists() and path.stat().st_size > _MOST_BYTES:
                path.write_text("".join(path.read_text().splitlines(keepends=True)[-_KEPT:]))
            with path.open("a") as out:
                out.write(line + "\n")
        except OSError:
            return


def runs(folder: Path, model: str, most: int) -> list[dict[str, Any]]:
    """The latest runs of a model, the last one first; none where the folder has none."""
    found: list[dict[str, Any]] = []
    try:
        lines = (folder / FILE).read_text().splitlines()
    except OSError:
        return []
    for line in reversed(lines):
        try:
            run = json.loads(line)
        except ValueError:  # a line that a killed process wrote in part
            continue
        if isinstance(run, dict) and run.get("model") == model:
            found.append(run)
            if len(found) == most:
                break
    return found
