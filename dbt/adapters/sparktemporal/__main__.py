"""`python -m dbt.adapters.sparktemporal explain model.sql --schema columns.json`: what a model becomes, without Spark.

model.sql is the SQL that dbt compiled (`dbt compile`, target/compiled). columns.json has the types of the relations
that the SQL names: {"shop.orders": {"id": "bigint", "ts": "timestamp"}}.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .engine.given_types import GivenTypes
from .engine.model_relations import ModelRelations
from .errors import Refusal, TemporalError
from .looking.explain_model import explain
from .temporal.clock.instants import parse_duration, parse_instant
from .temporal.sql.text.dialect import quote

#: the instant of the run, where none is given: the one of the examples in the docs
_NOW = "2024-03-01 12:00:00"


def main(arguments: list[str] | None = None) -> int:
    """Run the command -> the exit code: 0, or 1 after an error on stderr.

    arguments: the command line; None for the process's own. Raises SystemExit(2) if argparse refuses the arguments.
    """
    parser = argparse.ArgumentParser(prog="python -m dbt.adapters.sparktemporal", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("explain", help="print cores, residual, and what a first run sends")
    command.add_argument("model", type=Path, help="a file with the model's compiled SQL")
    command.add_argument("--schema", type=Path, required=True, help="a JSON file: relation -> column -> type")
    command.add_argument("--now", default=_NOW, help="the instant of the run: text (UTC), or ms since the epoch")
    command.add_argument("--expiration", help="the config, such as '22 days'")
    command.add_argument("--time-zone", default="UTC", help="of the session: UTC, or an offset such as +01:00")
    given = parser.parse_args(arguments)
    try:
        now = parse_instant(given.now, "--now")
        offset = parse_duration(given.expiration, "--expiration")
        target = ModelRelations(quote("schema"), given.model.stem)
        types = GivenTypes(_schema(given.schema), now)
        print(explain(_text(given.model), types, target, now, offset, given.time_zone))
    except TemporalError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal("ST905", str(file), f"the file cannot be read: {error}", "a file of text") from None


def _schema(file: Path) -> dict[str, dict[str, str]]:
    example = '{"shop.orders": {"id": "bigint", "ts": "timestamp"}}'
    try:
        found: Any = json.loads(_text(file))
    except ValueError as error:
        raise Refusal("ST906", str(file), f"the file is no JSON: {error}", example) from None
    are_types = isinstance(found, dict) and all(
        isinstance(columns, dict) and all(isinstance(kind, str) for kind in columns.values())
        for columns in found.values()
    )
    if not are_types:
        raise Refusal("ST907", str(file), "the file does not map relations to columns to types", example)
    return {name: dict(columns) for name, columns in found.items()}


if __name__ == "__main__":
    sys.exit(main())
