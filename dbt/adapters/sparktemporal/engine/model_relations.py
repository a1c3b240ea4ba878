"""The names of a model's relations."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..temporal.sql.text import identifiers
from ..temporal.sql.text.dialect import quote


@dataclass(frozen=True)
class ModelRelations:
    """The names of a model's relations."""

    #: the schema, quoted
    schema: str
    #: the name of the model, without quotes
    model: str
    #: for a catalog without views: the schema (quoted, with its catalog) of the views that people read; "" for no
    #: views, None where the profile does not say
    views_in: str | None = field(default=None, compare=False)

    @staticmethod
    def of(name: str, catalog: str) -> ModelRelations:
        """The relations of a model. name: as Spark prints it. catalog: the current catalog."""
        *schema, model = identifiers.within(identifiers.parts(name), catalog)
        return ModelRelations(".".join(map(quote, schema)), model)

    def name(self, suffix: str = "") -> str:
        return f"{self.schema}.{quote(self.model + suffix)}"

    def table(self, name: str) -> str:
        return f"{self.schema}.{quote(name)}"

    @property
    def plain_schema(self) -> str:
        """The schema as people write it."""
        return self.schema.replace("`", "")

    @property
    def outside(self) -> ModelRelations | None:
        """The relations of the model in the schema `views_in`; None without such a schema."""
        return ModelRelations(self.views_in, self.model) if self.views_in else None

    @property
    def key(self) -> str:
        """One key for all spellings of a model's name."""
        return identifiers.key(self.schema, self.model)
