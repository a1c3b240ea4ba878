"""The runs that a target folder has seen: a file beside dbt's artifacts, with the response of each run of a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..engine.model_relations import ModelRelations

#: the file in dbt's target folder, with a JSON object a line
FILE = "temporal_runs.jsonl"
#: a file of more bytes is cut to so many of its latest runs
_MOST_BYTES, _KEPT = 4 << 20, 1_000
_guard = threading.Lock()

#: a run of a model: its response, and the instant of the run as `ran_at` (ms)
Run = Mapping[str, Any]


def name_of(target: ModelRelations) -> str:
    """The name of a model in the file: schema.model."""
    return f"{target.plain_schema}.{target.model}"


def append(folder: Path, target: ModelRelations, invocation: str, ran_at: int, response: Mapping[str, Any]) -> None:
    """Add a run to the file; an error of the file system is ignored. ran_at: the instant of the run (ms).

    A file of more than 4 MiB keeps its latest 1,000 runs.
    """
    known = {"model": name_of(target), "invocation_id": invocation, "ran_at": ran_at}
    line = json.dumps({**known, **response}, default=str)
    with _guard:
        try:
            path = folder / FILE
            if path.exists() and path.stat().st_size > _MOST_BYTES:
                path.write_text("".join(path.read_text().splitlines(keepends=True)[-_KEPT:]))
            with path.open("a") as out:
                out.write(line + "\n")
        except OSError:
            return


def runs(folder: Path, most: int) -> Mapping[str, Sequence[Run]]:
    """`name_of` a model -> its latest runs, `most` of them at most, the latest first. Empty without a readable file."""
    found: dict[str, list[Run]] = {}
    try:
        lines = (folder / FILE).read_text().splitlines()
    except OSError:
        return found
    for line in reversed(lines):
        try:
            run = json.loads(line)
        except ValueError:  # a line that a killed process wrote in part
            continue
        if isinstance(run, dict) and len(known := found.setdefault(str(run.get("model")), [])) < most:
            known.append(run)
    return found


def ran_at(run: Run) -> int:
    """The instant of a run (ms)."""
    return int(run["ran_at"] if "ran_at" in run else run["as_of"])
