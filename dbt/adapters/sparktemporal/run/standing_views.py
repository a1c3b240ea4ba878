"""The views that a model has now, and the statements that bring these views up to date."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine import ownership
from ..engine.commit_records import CREATE_VIEW
from ..engine.descriptions import ALTER, ViewInfo
from ..engine.known_relations import KnownRelations
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..temporal.decision import Statement
from ..temporal.sql.text.identifiers import Identifiers


@dataclass(frozen=True)
class StandingViews:
    """The views of a model in their schema."""

    warehouse: Warehouse
    #: the names of the views
    target: ModelRelations
    #: the relations of the schema whose names begin with the model's
    names: Identifiers
    #: these relations as dbt lists them, None for no list
    known: KnownRelations | None = None

    def has(self, suffix: str) -> bool:
        return f"{self.target.model}{suffix}" in self.names

    def find(self, suffix: str = "") -> ViewInfo | None:
        """The present view; None where there is none."""
        return self.warehouse.view(self.target.name(suffix)) if self.has(suffix) else None

    def is_known(self, suffix: str, text: str) -> bool:
        """Whether dbt's list shows that the view has this text. The list does not show the comments of a view."""
        return self.has(suffix) and self.known is not None and self.known.is_view(f"{self.target.model}{suffix}", text)

    def changed(
        self, what: str, suffix: str, text: str, mark: bool = True, like: ViewInfo | None = None
    ) -> list[Statement]:
        """The statement that gives a view its text; [] where the view has the text already.

        mark: whether a statement other than ALTER VIEW marks the owner.
        like: another view of the model, for its verb. Spark is then not asked about the view, and its text is replaced.
        """
        if like is None and self.is_known(suffix, text):
            return []
        there = like if self.has(suffix) and like else self.find(suffix)
        if there is not None and there.has_text(text):
            return []
        verb = there.rewrite if there else CREATE_VIEW
        clause = f" {ownership.marked(self.target)}" if mark and verb != ALTER else ""
        return [Statement(what, f"{verb} {self.target.name(suffix)}{clause} AS\n{text}")]

    def late(self, text: str | None) -> list[Statement]:
        """The statements that make `<model>__late` as it should be. text: None for no view."""
        if text is None:
            return self.dropped("late rows are not kept any more", "__late")
        return self.changed("rows that came late, readable", "__late", text)

    def dropped(self, what: str, suffix: str) -> list[Statement]:
        """The statement that drops a view that is marked as the model's."""
        is_own = self.has(suffix) and ownership.is_marked(self.warehouse, self.target, f"{self.target.model}{suffix}")
        return [Statement(what, f"DROP VIEW {self.target.name(suffix)}")] if is_own else []
