"""Names that dbt-spark writes into its own statements as they are, without quotes or without escapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import Refusal

_PLAIN = re.compile(r"[\w-]+")


def refuse_schema(schema: str | None) -> None:
    """Raise Refusal for a schema whose name would be read as SQL.

    >>> refuse_schema("analytics")
    """
    if schema and not _PLAIN.fullmatch(schema):
        raise Refusal(
            "ST202",
            f"schema {schema!r}",
            "dbt-spark writes names of schemas into its statements without quotes",
            "a schema of letters, digits, _ and - (schema in the profile, +schema in dbt_project.yml)",
        )


def refuse_names(node: Any) -> None:
    """Raise Refusal for a temporal_view whose name, or whose grants, would be read as SQL."""
    alias = str(getattr(node, "alias", "") or "")
    if not _PLAIN.fullmatch(alias):
        raise Refusal(
            "ST203",
            f"alias {alias!r}",
            "dbt-spark writes names of relations into its statements without quotes",
            "an alias of letters, digits, _ and -",
        )
    grants: Mapping[str, Any] = getattr(getattr(node, "config", None), "grants", None) or {}
    names = [*grants, *(name for given in grants.values() for name in _listed(given))]
    wrong = next((name for name in names if "`" in str(name)), None)
    if wrong is not None:
        raise Refusal(
            "ST204",
            f"grants: {wrong!r}",
            "dbt-spark writes it between backticks, without escapes",
            "a name without backticks",
        )


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple, set)) else [given]
