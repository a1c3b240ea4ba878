"""Manifests: the files that inputs had when a run read them, by which a later run finds new files.

| the files of all inputs | where they are kept |
|---|---|
| few | in the state of the model, which costs no statement |
| many, or rows that `change_capture: append` remembers | in a table, `<model>__inputs_<run>` |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...engine.model_relations import ModelRelations
from ...temporal.diffs.state import ListedFile
from ...temporal.sql.text.dialect import string_literal
from . import file_lists
from .file_lists import COLUMNS

#: the most files that a state lists, and the most characters of their names
FEW, FEW_CHARACTERS = 30, 3_000


def are_few(files: Mapping[str, Sequence[ListedFile]]) -> bool:
    every = [entry for entries in files.values() for entry in entries]
    return len(every) <= FEW and sum(len(file) + len(place) for file, _, _, place in every) <= FEW_CHARACTERS


@dataclass(frozen=True)
class Manifest:
    """The files of inputs, in a table or one by one."""

    #: the table as SQL names it; "" for none
    table: str = ""
    #: input -> its files, where there is no table
    files: Mapping[str, Sequence[ListedFile]] = field(default_factory=dict)

    @staticmethod
    def of(target: ModelRelations, table: str, files: Mapping[str, Sequence[ListedFile]]) -> Manifest | None:
        """The manifest of a model; None where there is no table and no file. table: its name, "" for none."""
        if table:
            return Manifest(target.table(table))
        return Manifest(files=files) if files else None

    def listing(self, relation: str) -> str:
        """SQL of the files of an input (file, size, modified, place)."""
        if self.table:
            return f"SELECT {COLUMNS} FROM {self.table} WHERE relation = {string_literal(relation)}"
        return file_lists.named(self.files.get(relation, ()))
