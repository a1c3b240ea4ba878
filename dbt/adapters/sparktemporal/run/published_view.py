"""The thin view `<model>` over `<model>__live`: what dbt attaches to a model (comments, grants) lives on it.

It is replaced only when its definition or its docs change: `ALTER VIEW` keeps the view readable throughout, but Spark
sets the comments of columns only where a view is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..engine.descriptions import ViewInfo
from ..engine.model_relations import ModelRelations
from ..temporal.decision import Statement
from ..temporal.diffs import compact_sql
from ..temporal.diffs.intervals_sql import Columns
from ..temporal.diffs.state_text import VIEW_TEXT_LIMIT
from ..temporal.diffs.view_sql import thin_view
from ..temporal.sql.dialect import quote, string_literal


@dataclass(frozen=True)
class Docs:
    """What persist_docs asks for; None where it asks for nothing. columns: lower-case name -> description."""

    relation: str | None = None
    columns: Mapping[str, str] | None = None

    @staticmethod
    def of(model: Mapping[str, Any]) -> Docs:
        """dbt's node -> its docs, as far as its persist_docs says."""
        wanted = model.get("config", {}).get("persist_docs") or {}
        described = {c["name"].lower(): c.get("description") or "" for c in (model.get("columns") or {}).values()}
        return Docs(
            (model.get("description") or "") if wanted.get("relation") else None,
            {name: text for name, text in described.items() if text} if wanted.get("columns") else None,
        )


def publish(
    target: ModelRelations, columns: Columns, docs: Docs, there: ViewInfo | None, retyped: bool
) -> list[Statement]:
    """The statement that makes the thin view as it should be; none when it is.

    there: the view as it is; None when there is none. retyped: a column of the same name has another type now, and a
    view remembers the types it was made with.
    """
    text = thin_view(columns, target.name("__live"))
    differ = False
    if len(text) > VIEW_TEXT_LIMIT:  # what `SELECT *` stands for is not told by the text
        text = compact_sql.thin_view(target.name("__live"))
        differ = there is not None and list(there.comments) != [n for n, _ in columns]
    described = docs.columns or {}
    wanted = {n.lower(): described[n.lower()] for n, _ in columns if n.lower() in described}
    listed = ", ".join(
        quote(n) + (f" COMMENT {string_literal(wanted[n.lower()])}" if n.lower() in wanted else "") for n, _ in columns
    )
    comment = f" COMMENT {string_literal(docs.relation)}" if docs.relation else ""
    if there is None:
        return [Statement("the view", f"CREATE VIEW {target.name()} ({listed}){comment} AS\n{text}")]
    changed = retyped or differ or _words(there.text) != _words(text)
    documented = {n.lower(): c for n, c in there.comments.items() if c}
    if (docs.columns is not None and documented != wanted) or (changed and wanted):
        kept = comment if docs.relation is not None else _comment(there.comment)
        return [
            Statement("the view, with its docs", f"CREATE OR REPLACE VIEW {target.name()} ({listed}){kept} AS\n{text}")
        ]
    steps = [Statement("the view", f"{there.rewrite} {target.name()} AS\n{text}")] if changed else []
    if docs.relation is not None and docs.relation != (there.comment or ""):
        comment = string_literal(docs.relation)
        steps.append(Statement("its comment", f"ALTER VIEW {target.name()} SET TBLPROPERTIES ('comment' = {comment})"))
    return steps


def _comment(text: str | None) -> str:
    return f" COMMENT {string_literal(text)}" if text else ""


def _words(text: str) -> str:
    return " ".join(text.split())
