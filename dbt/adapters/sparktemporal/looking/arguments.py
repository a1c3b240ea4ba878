"""The arguments of a run-operation (`--args`), checked before any question to Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Undefined

from ..errors import Refusal
from ..graph import nodes
from .tables import FORMATS

#: operation -> its arguments, each with an example value
_ARGUMENTS = {
    "temporal_consolidate": {"model": "", "format": "json"},
    "temporal_restart": {"model": "", "format": "json"},
    "temporal_explain": {"model": "", "full_refresh": "true", "format": "json"},
    "temporal_explain_pushdown": {"model": "", "format": "json"},
    "temporal_status": {"model": "", "format": "json"},
    "temporal_report": {"model": "", "path": "report.html", "hours": "24"},
    "temporal_drop": {"dry_run": "true", "schemas": "[old_schema]", "format": "json"},
}
_WITHOUT_MODEL = ("temporal_status", "temporal_report")
#: the most hours that a report looks ahead
_HOURS = 240
_EXAMPLE = "recent_events"


def checked(
    operation: str, given: Mapping[str, Any], others: Mapping[str, Any], graph: Mapping[str, Any]
) -> dict[str, Any]:
    """The checked arguments of an operation: name -> value, None for an omitted one. others: unknown arguments.

    Raises Refusal with the command line to type.
    """
    known = _ARGUMENTS[operation]
    values = {name: None if isinstance(value, Undefined) else value for name, value in given.items()}
    for name in others:
        raise Refusal(
            "ST701",
            f"argument {name!r} of {operation}",
            f"it takes {' and '.join(known)}",
            _command(operation, graph, {**values, **others}),
        )
    if "model" in known and values["model"] in (None, "") and operation not in _WITHOUT_MODEL:
        raise Refusal(
            "ST702",
            f"{operation} without the argument model",
            "the operation is about one temporal_view",
            _command(operation, graph, values),
        )
    for name in ("dry_run", "full_refresh", "format", "hours", "path", "schemas"):
        if name in values:
            _refuse_wrong(name, values[name], _command(operation, graph, values, name))
    schemas = values.get("schemas")
    if schemas is not None:
        values["schemas"] = [schemas] if isinstance(schemas, str) else list(schemas)
    return values


def _refuse_wrong(name: str, value: Any, command: str) -> None:
    """Refuse a wrong value of an argument. None is right, except for `hours`. command: a command line to type."""
    match name:
        case "dry_run" | "full_refresh" if value not in (None, True, False):
            raise Refusal("ST109", f"{name}: {value!r}", "this is neither true nor false", command)
        case "format" if value not in (None, *FORMATS):
            raise Refusal("ST703", f"format: {value!r}", f"the argument is {' or '.join(FORMATS)}", command)
        case "hours" if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _HOURS:
            raise Refusal("ST618", f"hours: {value!r}", f"it is a number from 1 to {_HOURS}", command)
        case "path" if value is not None and not (isinstance(value, str) and value.strip()):
            raise Refusal("ST704", f"path: {value!r}", "the argument names a file", command)
        case "schemas" if value is not None and not _are_names(value):
            raise Refusal("ST705", f"schemas: {value!r}", "the argument is a list of names", command)


def _are_names(value: Any) -> bool:
    return isinstance(value, (str, list, tuple)) and all(isinstance(name, str) for name in value)


def _command(operation: str, graph: Mapping[str, Any], given: Mapping[str, Any], shown: str = "") -> str:
    """A command line that works: with the given model, else with one of the project, else with an example.

    given: the arguments. shown: an argument to show too.
    """
    names = [str(node["name"]) for node in nodes.every(graph)]
    asked = str(given.get("model") or "") or next((name for name in names if name in map(str, given.values())), "")
    model = asked or (names[0] if names else _EXAMPLE)
    main = ["dry_run", "schemas", shown]
    if asked or operation not in _WITHOUT_MODEL or not shown:
        main.append("model")
    args = ", ".join(f"{name}: {value or model}" for name, value in _ARGUMENTS[operation].items() if name in main)
    return f"dbt run-operation {operation} --args '{{{args}}}'"
