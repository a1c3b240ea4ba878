"""Refusals before a run writes: of names, of inputs, and of a model with lost chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import TokenType, exp

from ..engine.clock_calls import LIVE
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Explained, Refusal, Unread
from ..inputs.views.stacked import refuse_frozen
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs.state import State
from ..temporal.diffs.state_text import MARK
from ..temporal.predicates import clock_text
from ..temporal.rewrite.model import Model
from ..temporal.sql.functions.choices import COMPARING
from ..temporal.sql.names.ctes import cte_of
from ..temporal.sql.names.linear import merges_columns
from ..temporal.sql.spark import plans, relations
from ..temporal.sql.spark.errors import Cause, SparkError, spark_words
from ..temporal.sql.text import identifiers
from ..temporal.sql.text.dialect import fragment, mz_now_spans, parse
from ..temporal.sql.text.grammar import tokens_of
from ..temporal.sql.text.identifiers import Identifiers, folded

#: how Spark's plan shows the clock of a view
LIVE_IN_A_PLAN = "unix_millis(current_timestamp()"


def refuse_long_names(target: ModelRelations, model: Model) -> None:
    longest, limit = chain_rules.longest_name(target.model, [c.name for c in model.cores]), chain_rules.LONGEST_NAME
    if len(longest) > limit:
        added = len(longest) - len(target.model)
        raise Refusal(
            "ST212",
            f"{target.model}, a name of {len(target.model)} characters",
            f"a run names its tables by it, with {added} characters more ({longest[len(target.model) :]}), and a "
            f"metastore keeps {limit} at most",
            f"a name or alias of {limit - added} characters at most",
        )


#: comparisons of values, beside which a CHAR is padded
_COMPARES = (
    exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between,
)  # fmt: skip


def refuse_padded(model: Model) -> None:
    """Refuse a read that compares values, for a model that may read a CHAR, over chains that keep it as a STRING."""
    for node in parse(model.residual).walk():
        compares = isinstance(node, _COMPARES) and not any(map(_is_number, node.args.values()))
        compares |= isinstance(node, exp.Anonymous) and node.name.lower() in COMPARING
        compares |= isinstance(node, exp.Case) and node.this is not None
        if compares or isinstance(node, exp.Join) and merges_columns(node):
            raise Refusal(
                "ST386",
                f"{fragment(node)}, which a read evaluates, in a model that reads a CHAR",
                "Spark pads a CHAR that is compared, and a table of Iceberg has the column as a STRING",
                "a table with the column as a STRING, as the input, or file_format: parquet",
            )


def _is_number(node: object) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


@contextmanager
def unparsed_by_spark(warehouse: Warehouse, sql: str) -> Iterator[None]:
    """Raise Refusal, in Spark's words, for a model that Spark cannot parse, whether the adapter can or not."""
    try:
        yield
    except Unread:
        _refuse_unparsed(warehouse, sql)
        raise
    except SparkError as error:
        if Cause.NO_SYNTAX.is_said_by(error):
            _refuse_unparsed(warehouse, sql)
        raise


def _refuse_unparsed(warehouse: Warehouse, sql: str) -> None:
    text = clock_text.written_at(sql, ["timestamp"] * len(list(mz_now_spans(sql))), "0L")
    try:
        warehouse.ask(f"EXPLAIN {text}")
    except SparkError as error:
        if Cause.NO_SYNTAX.is_said_by(error):
            _refuse_parameter(sql)
            raise Refusal(
                "ST374", spark_words(error), "Spark cannot parse the model", "the model as Spark takes it"
            ) from None


def _refuse_parameter(sql: str) -> None:
    """Refuse a lambda whose one parameter stands in parentheses, in a text that Spark cannot parse."""
    tokens = tokens_of(sql)
    for left, name, right, arrow in zip(tokens, tokens[1:], tokens[2:], tokens[3:]):
        kinds = (left.token_type, right.token_type, arrow.token_type)
        if kinds == (TokenType.L_PAREN, TokenType.R_PAREN, TokenType.ARROW):
            parameter = sql[name.start : name.end + 1]
            raise Refusal(
                "ST380",
                sql[left.start : arrow.end + 1],
                "Spark takes one parameter of a lambda without parentheses",
                f"{parameter} -> …",
            ) from None


def missing_tables(state: State, existing: Iterable[str]) -> list[str]:
    """The tables of rows that a state names and that are not there: chains, and tables of late rows."""
    late = [table for table, _ in state.late.tables] if state.late else []
    return _missing([*(chain.table for chain in state.chains), *late], existing)


def _missing(named: Iterable[str], existing: Iterable[str]) -> list[str]:
    have = Identifiers(existing)
    return [table for table in named if table not in have]


def refuse_missing_chains(target: ModelRelations, state: State, existing: Iterable[str]) -> None:
    refuse_missing(target, "chain", [chain.table for chain in state.chains], existing)


def refuse_missing(target: ModelRelations, what: str, named: Iterable[str], existing: Iterable[str]) -> None:
    """Raise TemporalError where a table of rows is not there. what: such a table, in words."""
    gone = _missing(named, existing)
    if gone:
        raise Explained(
            "ST502",
            f"{target.model} without its {what} {', '.join(gone)}",
            "the rows in it are lost, and a run on what is left would be wrong",
            f"dbt run --full-refresh -s {target.model}",
        )


def refuse_without_schema(sql: str) -> None:
    """Refuse a relation that a model names without its schema; for models in a named catalog.

    A plan shows a view of Iceberg by its name in the text. A name of a single part looks like an alias there. So the
    run would not know that it reads a view, which may have a WHERE or a clock of its own.
    """
    for table in parse(sql).find_all(exp.Table):
        if not table.db and isinstance(table.this, exp.Identifier) and cte_of(table) is None:
            raise Refusal(
                "ST375",
                f"{table.name} without its schema",
                "in a catalog that the profile names, Spark does not tell whether such a name is a view",
                f"{{{{ ref('{table.name}') }}}}, a source(), or the name with its schema",
            )


def refuse_itself(target: ModelRelations, tree: exp.Query, catalog: str) -> None:
    """Refuse a query that names the model itself, also before its first run, when Spark finds no such relation."""
    tables = (t for t in tree.find_all(exp.Table) if t.db and isinstance(t.this, exp.Identifier))
    _refuse_itself(target, [[part.name for part in table.parts] for table in tables], catalog)


def refuse_inputs(warehouse: Warehouse, target: ModelRelations, analyzed: str, pinned: int | None) -> None:
    """Refuse a model that reads itself, a relation that changes with the clock, or a view of another pinned clock.

    pinned: the instant of a replay (ms); None without a replay.
    """
    read = [*relations.file_tables(analyzed), *relations.other_tables(analyzed), *plans.views(analyzed)]
    _refuse_itself(target, list(map(identifiers.parts, read)), warehouse.catalog())
    refuse_frozen(analyzed, "as an input", pinned)
    _refuse_temporal_inputs(warehouse, analyzed)


def _refuse_itself(target: ModelRelations, read: Iterable[Sequence[str]], catalog: str) -> None:
    """Refuse a model that reads itself. read: the names, in parts, of the relations that the model reads."""
    own = identifiers.dotted(identifiers.parts(target.name()))
    names = (identifiers.dotted(identifiers.within(name, catalog)) for name in read)
    if any(folded(name) == folded(own) for name in names):
        raise Refusal(
            "ST376",
            f"{own} in the query of {target.model} itself",
            "a temporal_view that reads itself: it takes the place of that relation, whose rows then are gone",
            "another name (or alias) for this model, or for the relation that it reads; no {{ this }}, because a run "
            "finds by itself what is new",
        )


def _refuse_temporal_inputs(warehouse: Warehouse, analyzed: str) -> None:
    live_clock = LIVE_IN_A_PLAN in analyzed
    for view in plans.views(analyzed):
        if live_clock:
            info = warehouse.view(view)
            if info and LIVE in info.text and MARK not in info.text:
                name = identifiers.parts(view)[-1]
                raise Refusal(
                    "ST377",
                    f"{name}, a view with mz_now(), as an input",
                    "its content changes with the clock between runs, and nobody would notice",
                    f"materialized='ephemeral' for {name}: its predicate then is one of this model",
                )
        relation = identifiers.parts(view)[-1]
        if not folded(relation).endswith("__live"):
            continue
        info = warehouse.view(view)
        if info and MARK in info.text:
            name = relation[: -len("__live")]
            raise Refusal(
                "ST378",
                f"{name}, a temporal_view, as an input that dbt does not know of",
                "its content changes with the clock between runs; what it stores is read instead where ref() names it",
                f"{{{{ ref('{name}') }}}} in this model itself",
            )
