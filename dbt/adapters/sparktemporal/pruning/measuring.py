"""The expressions that are measured over the files of an input, and a hash of all that their statistics depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from sqlglot import exp

from ..engine.warehouse import Warehouse
from ..inputs.observing.observe import Input
from ..pushdown import statistics
from ..pushdown.metrics_evaluator import Leaf
from ..pushdown.statistics import Measured
from ..temporal.diffs.input_state import FilesFingerprint
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text.dialect import expression, quote
from ..temporal.sql.text.identifiers import quoted


def measure(
    warehouse: Warehouse,
    seen: Input,
    wants: dict[str, exp.Expr],
    types: Mapping[str, str],
    ansi: bool,
    hints: Sequence[str],
    functions: frozenset[str],
    number: int,
) -> Measured:
    """The statistics of an input: the wanted expressions that can be measured, and its partition columns."""
    table = warehouse.table(quoted(seen.relation))
    partitions = [(name, types.get(quote(name.lower()), "")) for name in table.partitions]
    for name, _ in partitions:
        text = quote(name.lower())
        wants.setdefault(text, expression(text))
    kinds = _types(warehouse, seen.relation, wants, types, ansi)
    kept = statistics.chosen(wants, kinds, hints, functions)
    leaves = {text: Leaf(number + i, kinds[text]) for i, text in enumerate(kept)}
    return Measured(seen.relation, quoted(seen.relation), seen.pin, partitions, seen.listing, leaves)


def hash_of(
    measured: Mapping[str, Measured], files: Mapping[str, Input], settings: Mapping[str, str], version: str
) -> str:
    """A hash of all that statistics depend on besides the files: expressions, how tables are read, settings, Spark."""
    form = {name: [(t, leaf.index, leaf.type) for t, leaf in m.leaves.items()] for name, m in measured.items()}
    read_as = {name: one.form for name in measured if isinstance(one := files[name].fingerprint, FilesFingerprint)}
    payload = json.dumps([form, read_as, dict(settings), version], sort_keys=True)
    return hashlib.sha256(payload.encode()).hexdigest()[:16]


def is_of(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether an expression has columns, and all of them are of one table. types: column of the table -> its type."""
    columns = [quote(column.parts[0].name.lower()) for column in node.find_all(exp.Column)]
    return bool(columns) and all(name in types for name in columns)


def _types(
    warehouse: Warehouse, relation: str, texts: Mapping[str, exp.Expr], types: Mapping[str, str], ansi: bool
) -> dict[str, str]:
    """The type of each expression over a table; an expression without a known type is left out.

    Under ANSI rules only columns get a type, because another expression may raise an error when Spark computes it.
    """
    computed = [text for text in texts if text not in types and not ansi]
    found = {text: types[text] for text in texts if text in types}
    if computed:
        items = ", ".join(f"{text} AS mz_x{i}" for i, text in enumerate(computed))
        try:
            described = warehouse.describe(f"SELECT {items} FROM {quoted(relation)}")
            found |= {text: kind for text, (_, kind) in zip(computed, described)}
        except SparkError as error:  # a name that means something elsewhere
            error.expect(Cause.NOT_TAKEN)
    return found
