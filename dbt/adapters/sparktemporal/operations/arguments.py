"""The arguments of a run-operation (`--args`), checked before any question to Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Undefined

from ..errors import Refusal
from ..graph import nodes

#: operation -> its arguments, each with an example value
_ARGUMENTS = {
    "temporal_consolidate": {"model": ""},
    "temporal_restart": {"model": ""},
    "temporal_explain_pushdown": {"model": ""},
    "temporal_status": {"model": ""},
    "temporal_drop": {"dry_run": "true", "schemas": "[old_schema]"},
}
_WITHOUT_MODEL = ("temporal_status",)
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
            f"argument {name!r} of {operation}", f"it takes {' and '.join(known)}", _command(operation, graph)
        )
    if "model" in known and values["model"] in (None, "") and operation not in _WITHOUT_MODEL:
        raise Refusal(
            f"{operation} without the argument model",
            "the operation is about one temporal_view",
            _command(operation, graph),
        )
    if values.get("dry_run") not in (None, True, False):
        raise Refusal(f"dry_run: {values['dry_run']!r}", "the argument is true or false", _command(operation, graph))
    if values.get("schemas") is not None:
        schemas = [values["schemas"]] if isinstance(values["schemas"], str) else values["schemas"]
        if not (isinstance(schemas, (list, tuple)) and all(isinstance(name, str) for name in schemas)):
            raise Refusal(f"schemas: {schemas!r}", "the argument is a list of names", _command(operation, graph))
        values["schemas"] = list(schemas)
    return values


def _command(operation: str, graph: Mapping[str, Any]) -> str:
    """A command line that works, with a model of the project where there is one."""
    names = [str(node["name"]) for node in nodes.every(graph)]
    model = names[0] if names else _EXAMPLE
    args = ", ".join(f"{name}: {value or model}" for name, value in _ARGUMENTS[operation].items())
    return f"dbt run-operation {operation} --args '{{{args}}}'"
