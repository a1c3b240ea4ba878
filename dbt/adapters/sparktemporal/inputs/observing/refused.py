"""Refusals of inputs: two reads of one file may give different values."""

from __future__ import annotations

import re

from ...engine.descriptions import TableInfo
from ...engine.warehouse import Warehouse
from ...errors import Refusal
from ...temporal.sql.spark import relations
from .file_lists import hidden_name

#: options of a table of texts by which a query of other columns gets other rows, or another text of a malformed row
_DROPS = re.compile(r"\bmode=DROPMALFORMED\b", re.IGNORECASE)
_CORRUPT = re.compile(r"\bcolumnNameOfCorruptRecord=([^,\]]+)", re.IGNORECASE)
_CORRUPT_KEY, _CORRUPT_NAME = "spark.sql.columnNameOfCorruptRecord", "_corrupt_record"


def refuse_malformed(warehouse: Warehouse, plan: str, table: str, info: TableInfo) -> None:
    """Refuse a table that drops malformed rows, and the column with the text of such rows."""
    options, found = info.details.get("Storage Properties", ""), ""
    if _DROPS.search(options):
        found = f"{table} with the option mode: DROPMALFORMED"
    elif info.provider in ("csv", "json"):
        option = _CORRUPT.search(options)
        column = option[1] if option else warehouse.settings().get(_CORRUPT_KEY, _CORRUPT_NAME)
        if relations.uses_column(plan, table, column):
            found = f"{column} of {table}, the text of malformed rows"
    if found:
        raise Refusal(
            "ST418",
            found,
            "the columns that are read decide which rows are malformed, and a run reads other columns than the query",
            "a table with the rows, such as a model with materialized='table', as the input",
        )


def refuse_blocks(plan: str, table: str, info: TableInfo) -> None:
    """Refuse the fields of the hidden column of a table of files that tell the block in which a row lies."""
    hidden = hidden_name([name.lower() for name, _ in info.columns])
    if relations.uses_column(plan, table, hidden, "file_block_"):
        raise Refusal(
            "ST419",
            f"{hidden} of {table}, with file_block_start and file_block_length",
            "another session cuts the files into other blocks",
            f"the fields that the model needs by their names, such as {hidden}.file_path",
        )
