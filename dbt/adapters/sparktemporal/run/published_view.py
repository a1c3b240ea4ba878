"""The thin view `<model>` over `<model>__live`, with the comments that dbt gives to a model.

The thin view is replaced only when its definition or its docs change. `ALTER VIEW` keeps the view readable throughout,
but Spark sets the comments of columns only where a view is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..engine.descriptions import ViewInfo
from ..engine.model_relations import ModelRelations
from ..temporal.decision import Statement
from ..temporal.diffs.intervals_sql import Columns
from ..temporal.diffs.state_text import VIEW_TEXT_LIMIT
from ..temporal.diffs.view_sql import thin_view
from ..temporal.sql.text.dialect import quote, string_literal


@dataclass(frozen=True)
class Docs:
    """The docs that persist_docs asks for; None for docs that persist_docs does not ask for."""

    relation: str | None = None
    #: lower-case name -> description
    columns: Mapping[str, str] | None = None

    @staticmethod
    def of(model: Mapping[str, Any]) -> Docs:
        """dbt's node -> its docs, as far as persist_docs asks for them."""
        wanted = model.get("config", {}).get("persist_docs") or {}
        described = {c["name"].lower(): c.get("description") or "" for c in (model.get("columns") or {}).values()}
        return Docs(
            (model.get("description") or "") if wanted.get("relation") else None,
            {name: text for name, text in described.items() if text} if wanted.get("columns") else None,
        )


def publish(target: ModelRelations, columns: Columns, docs: Docs, there: ViewInfo | None) -> list[Statement]:
    """The statements that bring the thin view up to date; none where it is up to date.

    there: the present view; None when there is none.
    """
    live = target.name("__live")
    text = thin_view(columns, live)
    text = thin_view(columns, live, star=True) if len(text) > VIEW_TEXT_LIMIT else text
    wanted = _of_columns(columns, docs)
    if there is None:
        return [Statement("the view", f"CREATE VIEW {_head(target, columns, wanted, docs.relation)} AS\n{text}")]
    is_other = not there.has_text(text)
    if is_other and wanted or not _are_documented(there, docs, wanted):
        head = _head(target, columns, wanted, there.comment if docs.relation is None else docs.relation)
        return [Statement("the view, with its docs", f"CREATE OR REPLACE VIEW {head} AS\n{text}")]
    steps = [Statement("the view", f"{there.rewrite} {target.name()} AS\n{text}")] if is_other else []
    if docs.relation is not None and docs.relation != (there.comment or ""):
        comment = string_literal(docs.relation)
        steps.append(Statement("its comment", f"ALTER VIEW {target.name()} SET TBLPROPERTIES ('comment' = {comment})"))
    return steps


def _of_columns(columns: Columns, docs: Docs) -> dict[str, str]:
    """The comments of the columns that are described, by lower-case name."""
    described = docs.columns or {}
    return {n.lower(): described[n.lower()] for n, _ in columns if n.lower() in described}


def _are_documented(there: ViewInfo, docs: Docs, wanted: Mapping[str, str]) -> bool:
    """Whether the columns of a view have the comments that are asked for."""
    return docs.columns is None or {n.lower(): c for n, c in there.comments.items() if c} == wanted


def _head(target: ModelRelations, columns: Columns, comments: Mapping[str, str], comment: str | None) -> str:
    """The text between the verb of a CREATE and its AS."""
    items = ", ".join(quote(n) + _comment(comments.get(n.lower())) for n, _ in columns)
    return f"{target.name()} ({items}){_comment(comment)}"


def _comment(text: str | None) -> str:
    return f" COMMENT {string_literal(text)}" if text else ""
