"""A model in its parts, whose rows are stored or read."""

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
    #: SQL, see `with_marks`
    residual: str
    #: the kind of each mz_now() in the text
    calls: tuple[str, ...]
    notes: tuple[str, ...]
    #: what is evaluated at each read
    evaluated: tuple[Evaluated, ...] = ()
    #: query of a core -> its plans, as far as known
    plans: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> str:
        return self.parsed.text

    @property
    def whole(self) -> list[TypedCore]:
        """The cores that are stored whole and read whole.

        Cores that are kept per group are left out, because a read goes through the groups alone. So are cores whose
        groups are each a row of the answer.
        """
        every = ((typed, typed.core) for typed in self.cores)
        return [typed for typed, core in every if not (core.is_bounded or core.groups or core.has_all_groups)]
