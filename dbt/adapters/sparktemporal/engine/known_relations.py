"""The relations of a schema as dbt listed them, which saves a query for each model.

The list may be old. A run uses the list only where a mistake raises an error: reading a relation that is gone, creating
a relation that is there already, or following a commit that is not the last one. The run then asks again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..temporal.sql.text.identifiers import folded
from .descriptions import ViewInfo

_TEXT = re.compile(r"^View Text: (.*?)\nView Original Text: ", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class KnownRelations:
    """The relations of a schema as dbt listed them."""

    names: tuple[str, ...]
    #: folded name -> its row of SHOW TABLE EXTENDED, "" for none
    information: Mapping[str, str]

    def beginning(self, prefix: str) -> list[str]:
        """The relations with this prefix, ignoring case."""
        return [name for name in self.names if folded(name).startswith(folded(prefix))]

    def is_view(self, name: str, text: str) -> bool:
        """Whether a relation is a view of this text, spaces aside. False where the list does not tell.

        >>> known = KnownRelations(("M",), {"m": "Type: VIEW\\nView Text: SELECT 1\\nView Original Text: SELECT 1\\n"})
        >>> known.is_view("m", "SELECT  1"), known.is_view("m", "SELECT")
        (True, False)
        """
        shown = _words(self.information.get(folded(name), "")) + " "
        wanted = _words(text)
        return bool(re.search(rf" Type: VIEW .*View Text: {re.escape(wanted)} View Original Text: ", f" {shown}"))

    def commit(self, name: str) -> ViewInfo | None:
        """The view of Hive that holds the commits of a model, without its docs. None where the list does not tell.

        >>> listed = "Type: VIEW\\nView Text: SELECT\\n1\\nView Original Text: SELECT\\n1\\n"
        >>> known = KnownRelations(("m",), {"m": listed})
        >>> known.commit("M").text, known.commit("n")
        ('SELECT\\n1', None)
        """
        information = self.information.get(folded(name), "")
        text = _TEXT.search(information)
        if text is None or "Type: VIEW\n" not in information or "table_type=ICEBERG-VIEW" in information:
            return None
        return ViewInfo(text[1], {}, None)


def _words(text: str) -> str:
    return " ".join(text.split())
