"""Convert a state to JSON and back.

A state of another format is not read: `state_text.extract` raises an error that suggests a full refresh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..clock.schedule import Refreshes
from ..rewrite.kept import Kept
from .input_state import as_json, of_json
from .state import Chain, CoreState, Epoch, Late, State

FORMAT = 2
#: fields of a chain that earlier versions wrote, and that are dropped here. min_until was used only to tell whether
#: intervals have ends, as max_until does
_TOLD_BY_OTHERS = ("min_until",)


def payload_of(state: State) -> dict[str, Any]:
    """All fields of a state, the format first and the model next."""
    inputs = {name: as_json(fingerprint) for name, fingerprint in state.inputs.items()}
    return {"format": FORMAT, **asdict(state), "inputs": inputs}


def state_of_payload(payload: Mapping[str, Any]) -> State:
    """JSON -> state. Raises ValueError, KeyError, TypeError where the JSON is not as a run left it."""
    fields = {name: value for name, value in payload.items() if name != "format"}
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
            "late": _late(fields["late"]) if fields.get("late") else None,
            "past": tuple(Epoch(**{**epoch, "chains": tuple(epoch["chains"])}) for epoch in fields.get("past", ())),
            "files": {name: tuple(map(tuple, listed)) for name, listed in fields.get("files", {}).items()},
        }
    )


def _core(fields: Mapping[str, Any]) -> CoreState:
    return CoreState(
        fields["name"],
        _pairs(fields["columns"]),
        tuple(map(_chain, fields["chains"])),
        None if fields["sums"] is None else _pairs(fields["sums"]),
        Kept(**fields["kept"]),
    )


def _late(fields: Mapping[str, Any]) -> Late:
    return Late(fields["columns"], _pairs(fields["tables"]), _pairs(fields.get("shown", ())))


def _chain(fields: Mapping[str, Any]) -> Chain:
    known = {name: value for name, value in fields.items() if name not in _TOLD_BY_OTHERS}
    return Chain(**{**known, "parts": _pairs(known["parts"])})


def _pairs(listed: Any) -> tuple[Any, ...]:
    return tuple((first, second) for first, second in listed)
