"""Resolves the names of a residual by sqlglot, and refuses names that Spark may resolve otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from ...errors import Refusal
from ...temporal.sql.names.linear import merges_columns
from .expressions import refusal


def resolved(residual: str, cores: Mapping[str, Sequence[str]]) -> exp.Expr:
    """A residual as a tree in which each column names its relation. cores: placeholder -> names of columns.

    Raises Refusal for names that sqlglot does not resolve, or may resolve otherwise than Spark.
    """
    try:
        written = parse_one(residual, dialect="spark")
        _refuse_unlike(written)
        _refuse_ambiguous(written, {column.lower() for columns in cores.values() for column in columns})
        tree: exp.Expr = qualify(
            written,
            dialect="spark",
            schema={name: dict.fromkeys(columns, "string") for name, columns in cores.items()},
            quote_identifiers=False,
        )
    except SqlglotError as e:
        raise Refusal(
            "ST804",
            "a query that a read evaluates",
            f"sqlglot does not resolve its names: {str(e).splitlines()[0]}",
            "an alias for each relation and column, or a read by Spark",
        ) from None
    return tree


def _refuse_unlike(tree: exp.Expr) -> None:
    """Refuse names that sqlglot resolves to other columns, or to other types, than Spark."""
    for table in tree.find_all(exp.Table):
        if table.alias_column_names:
            raise refusal(table, "names of columns after the alias of a relation are not translated")
    for select in tree.find_all(exp.Select):
        if any(map(merges_columns, select.args.get("joins") or [])) and _has_star_of_one(select):
            raise refusal(select, "the order of the columns of a relation in a join by names is not known")
        _refuse_numbers(select)


def _has_star_of_one(select: exp.Select) -> bool:
    return any(isinstance(c.this, exp.Star) and c.table for c in select.find_all(exp.Column))


def _refuse_numbers(select: exp.Select) -> None:
    """Refuse a reference to the alias of a number literal, except in ORDER BY."""
    numbers = {a.alias.lower() for a in select.expressions if isinstance(a, exp.Alias) and _is_number(a.this)}
    for column in select.find_all(exp.Column):
        if not column.table and column.name.lower() in numbers and column.find_ancestor(exp.Order) is None:
            raise refusal(column, "Spark and sqlglot give a number under another name several types")


def _is_number(node: exp.Expr) -> bool:
    node = node.this if isinstance(node, exp.Neg) else node
    return isinstance(node, exp.Literal) and not node.is_string


def _refuse_ambiguous(tree: exp.Expr, columns: set[str]) -> None:
    """Refuse a name in HAVING, or in an expression of ORDER BY, that may be a column of a source or of the SELECT list.

    Spark and sqlglot agree about all other names: a name that is a whole element of ORDER BY means the column of the
    SELECT list, and a name in any other clause means the column of a source.
    """
    for select in tree.find_all(exp.Select):
        inner = {a.alias.lower() for a in tree.find_all(exp.Alias) if a.parent is not select}
        inner |= {name.name.lower() for alias in tree.find_all(exp.TableAlias) for name in alias.columns}
        aliases = [item for item in select.expressions if isinstance(item, exp.Alias)]
        given = {a.alias.lower() for a in aliases if not isinstance(a.this, exp.Column) or a.this.name != a.alias}
        for clause in filter(None, (select.args.get("having"), select.args.get("order"))):
            _refuse_names(clause, given & (columns | inner))


def _refuse_names(clause: exp.Expr, names: set[str]) -> None:
    for column in clause.find_all(exp.Column):
        alone = isinstance(column.parent, exp.Ordered) and column.parent.parent is clause
        if not column.table and not alone and column.name.lower() in names:
            raise refusal(column, "it may be a column of a source, or the expression of that name in the SELECT list")
