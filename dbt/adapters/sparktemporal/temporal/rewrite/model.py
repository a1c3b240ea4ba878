"""A model in its parts: cores, whose rows are stored, and the residual, which a read evaluates over these rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..sql.names.parsed_model import ParsedModel
from .core import TypedCore
from .evaluated import Evaluated


@dataclass(frozen=True)
class Model:
    """A model in its parts. Together the parts must mean the same as the text of the model (`written`)."""

    parsed: ParsedModel
    cores: tuple[TypedCore, ...]
    #: SQL with marks for the clock, see `clock_text.with_marks`
    residual: str
    #: the kind of each mz_now() in the text
    calls: tuple[str, ...]
    notes: tuple[str, ...]
    #: the parts that each read evaluates
    evaluated: tuple[Evaluated, ...] = ()
    #: SQL of the probe of a core -> its plans, as far as known
    plans: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> str:
        return self.parsed.text

    @property
    def whole(self) -> list[TypedCore]:
        """The cores whose rows are all stored and all read, because no comparison of the clock bounds them.

        Left out are cores that are kept per group, because a read goes through the groups alone, and cores that give
        groups, each of which becomes a row of the answer: a read needs all of them.
        """
        every = ((typed, typed.core) for typed in self.cores)
        return [typed for typed, core in every if not (core.is_bounded or core.groups or core.has_all_groups)]
