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
#: what a command line shows
_MAIN = ("model", "dry_run", "schemas")
_EXAMPLE = "recent_events"


def checked(
    operation: str, given: Mapping[str, Any], others: Mapping[str, Any], graph: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of an operation -> the arguments, None for omitted ones. others: unknown arguments.

    Raises Refusal with the command line to type.
    """
    known = _ARGUMENTS[operation]
    values = {name: None if isinstance(value, Undefined) else value for name, value in given.items()}
    for name in others:
        raise Refusal(
            f"argument {name!r} of {operation}",
            f"it takes {' and '.join(known)}",
            _command(operation, graph, {**values, **others}),
        )
    if "model" in known and values["model"] in (None, "") and operation not in _WITHOUT_MODEL:
        raise Refusal(
            f"{operation} without the argument model",
            "the operation is about one temporal_view",
            _command(operation, graph, values),
        )
    for name in ("dry_run", "full_refresh"):
        if values.get(name) not in (None, True, False):
            raise Refusal(
                f"{name}: {values[name]!r}", "the argument is true or false", _command(operation, graph, values, name)
            )
    if values.get("format") not in (None, *FORMATS):
        raise Refusal(
            f"format: {values['format']!r}",
            f"the argument is {' or '.join(FORMATS)}",
            _command(operation, graph, values, "format"),
        )
    hours = values.get("hours", 1)
    if isinstance(hours, bool) or not isinstance(hours, int) or not 1 <= hours <= _HOURS:
        raise Refusal(
            f"hours: {hours!r}", f"it is a number from 1 to {_HOURS}", _command(operation, graph, values, "hours")
        )
    if values.get("path") is not None and not (isinstance(values["path"], str) and values["path"].strip()):
        raise Refusal(
            f"path: {values['path']!r}", "the argument names a file", _command(operation, graph, values, "path")
        )
    if values.get("schemas") is not None:
        schemas = [values["schemas"]] if isinstance(values["schemas"], str) else values["schemas"]
        if not (isinstance(schemas, (list, tuple)) and all(isinstance(name, str) for name in schemas)):
            raise Refusal(
                f"schemas: {schemas!r}", "the argument is a list of names", _command(operation, graph, values)
            )
        values["schemas"] = list(schemas)
    return values


def _command(operation: str, graph: Mapping[str, Any], given: Mapping[str, Any], shown: str = "") -> str:
    """A command line that works, with the model that was given, or else one of the project where there is one.

    given: the arguments. shown: an argument to show too.
    """
    names = [str(node["name"]) for node in nodes.every(graph)]
    asked = str(given.get("model") or "") or next((name for name in names if name in map(str, given.values())), "")
    model = asked or (names[0] if names else _EXAMPLE)
    main = [name for name in _MAIN if name != "model" or asked or operation not in _WITHOUT_MODEL or not shown]
    known = _ARGUMENTS[operation]
    args = ", ".join(f"{name}: {value or model}" for name, value in known.items() if name in (*main, shown))
    return f"dbt run-operation {operation} --args '{{{args}}}'"
