"""A state as JSON: what is written, and what older formats become.

| format | is read | differs from the one that is written |
|---|---|---|
| 2 | as it is | |
| 1 | whole: its format rebuilds nothing | inputs and `read_by` as texts, `kept` in words; older names |
| later | not at all | the error names both formats, and a full refresh as the way on |

Format 1 says `watermark` for `manifest` and `gap` for `max_restart_delay`. The next run that has something to commit
writes the state in the latest format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ..clock.schedule import Refreshes
from ..rewrite.kept import Kept
from .fingerprints import as_json, of_json, of_text
from .state import Chain, CoreState, Epoch, Late, State

FORMAT = 2


def payload_of(state: State) -> dict[str, Any]:
    """All fields of a state, the format first and the model next."""
    inputs = {name: as_json(fingerprint) for name, fingerprint in state.inputs.items()}
    return {"format": FORMAT, **asdict(state), "inputs": inputs}


def state_of_payload(payload: Mapping[str, Any]) -> State:
    """Raises ValueError, KeyError, TypeError where a state is not as a run left it."""
    fields = {name: value for name, value in payload.items() if name != "format"}
    upgrade = _UPGRADES.get(payload["format"])
    return _state(upgrade(fields) if upgrade else fields)


def _state(fields: dict[str, Any]) -> State:
    return State(
        **{
            **fields,
            "columns": _pairs(fields["columns"]),
            "cores": tuple(map(_core, fields["cores"])),
            "kinds": tuple(fields["kinds"]),
            "inputs": {name: of_json(fingerprint) for name, fingerprint in fields["inputs"].items()},
            "read_by": tuple(fields.get("read_by", ())),
            "refreshes": Refreshes.of_json(fields.get("refreshes")),
            "retired": _pairs(fields["retired"]),
            "late": Late(fields["late"]["columns"], _pairs(fields["late"]["tables"])) if fields.get("late") else None,
            "past": tuple(Epoch(**{**epoch, "chains": tuple(epoch["chains"])}) for epoch in fields.get("past", ())),
            "files": {name: tuple(map(tuple, listed)) for name, listed in fields.get("files", {}).items()},
        }
    )


def _core(fields: Mapping[str, Any]) -> CoreState:
    return CoreState(
        fields["name"],
        _pairs(fields["columns"]),
        tuple(Chain(**{**chain, "parts": _pairs(chain["parts"])}) for chain in fields["chains"]),
        None if fields["sums"] is None else _pairs(fields["sums"]),
        Kept(**fields["kept"]),
    )


def _pairs(listed: Any) -> tuple[Any, ...]:
    return tuple((first, second) for first, second in listed)


def _of_format_1(fields: Mapping[str, Any]) -> dict[str, Any]:
    read = dict(fields)
    for old, new in (("watermark", "manifest"), ("gap", "max_restart_delay")):
        if old in read:
            read[new] = read.pop(old)
    read["inputs"] = {name: as_json(of_text(text)) for name, text in fields["inputs"].items()}
    read["read_by"] = fields["read_by"].split(":") if fields.get("read_by") else []
    read["cores"] = [{**core, "kept": asdict(_kept(core["kept"], core["sums"] is None))} for core in fields["cores"]]
    return read


def _kept(words: str, are_rows: bool) -> Kept:
    if not are_rows:
        return Kept(groups=words)
    return Kept(rows_because=words.partition(": ")[2], by_config=words.endswith("config aggregates: rows"))


#: format -> how its fields become those of the one that is written
_UPGRADES: Mapping[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {1: _of_format_1}
READABLE = (*_UPGRADES, FORMAT)
