"""A model as a tree in which each name of a relation means one thing, wherever it stands.

    with a as (select 1 as x), b as (with a as (select 2 as x) select a.x from a) select * from a join b
      ->  with a as (select 1 as x), b as (with a_2 as (select 2 as x) select a.x from a_2 as a) select * from a join b

The queries of ephemeral models, of packages and of derived tables often have a CTE of the same name (`source`).
Rewrites move queries within the model. Each CTE has a name of its own here, so a moved query reads the same relations.

Rewrites also put the changed rows of a table in its place, which then has no schema. So a column is named by its table
alone: `select s.t.id from s.t` -> `select t.id from s.t`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ....errors import Refusal
from ..text.dialect import parse, shown_as
from ..text.helper_columns import numbered
from ..text.identifiers import folded
from ..text.quotes import Put, Text, mark
from .ctes import cte_of
from .scope import alias_of, quote_name


@dataclass(frozen=True)
class ParsedModel:
    """The SQL of a model, parsed once. Do not change `tree`: change the tree that `copied` gives."""

    text: str
    tree: exp.Query

    @staticmethod
    def of(text: str, puts: Sequence[Put] = ()) -> ParsedModel:
        """Parse a text. puts: the pieces that stand in place of the author's words, see `quotes`."""
        tree = parse(text)
        mark(tree, Text(text, puts))
        return ParsedModel(text, distinct_ctes(tree))

    def copied(self) -> exp.Query:
        return self.tree.copy()


def distinct_ctes(tree: exp.Query) -> exp.Query:
    """The tree, changed in place so that no CTE has the name of another CTE, or of a table named without a schema.

    Spark resolves a name to the nearest CTE. Under another `spark.sql.legacy.ctePrecedencePolicy` Spark's plan of the
    tree is not that of the text, and `same_query.check` refuses the model. `s.t.id` becomes `t.id` where that is
    clear. Raises Refusal for two CTEs of one name in one WITH.
    """
    tables = [t for t in tree.find_all(exp.Table) if not t.db and isinstance(t.this, exp.Identifier)]
    read = [(table, cte_of(table)) for table in tables]
    ctes = list(tree.find_all(exp.CTE))
    taken = {folded(table.name) for table, cte in read if cte is None}
    known = taken | {folded(cte.alias) for cte in ctes}
    for cte in ctes:
        _refuse_twice(cte)
        name = folded(cte.alias)
        if name in taken:
            name = numbered(f"{name}_", 2, known)
            _rename(cte, name, [table for table, of in read if of is cte])
        taken.add(name)
        known.add(name)
    for column in list(tree.find_all(exp.Column)):
        if column.args.get("db") and _is_of_its_select(column):
            shown_as(column, column.copy())
            column.set("db", None)
            column.set("catalog", None)
    return tree


def _is_of_its_select(column: exp.Column) -> bool:
    """Whether the SELECT of `s.t.c` reads the table `s.t` under no other name, and nothing else is named `t` or `s`."""
    select = column.find_ancestor(exp.Select)
    sources = [] if select is None else _sources(select)
    names = [folded(source.alias_or_name) for source in sources]
    wanted = [folded(part.name) for part in column.parts[:-1]]
    tables = [source for source in sources if isinstance(source, exp.Table) and source.db and not source.alias]
    same = [table for table in tables if [folded(part.name) for part in table.parts][-len(wanted) :] == wanted]
    return len(same) == 1 and names.count(wanted[-1]) == 1 and wanted[-2] not in names


def _refuse_twice(cte: exp.CTE) -> None:
    assert cte.parent is not None  # its WITH
    name = folded(cte.alias)
    if [folded(other.alias) for other in cte.parent.expressions].count(name) > 1:
        raise Refusal("ST313", f"WITH {name} AS (...) twice", "two CTEs of one WITH have one name", "one name for each")


def _rename(cte: exp.CTE, name: str, reads: list[exp.Table]) -> None:
    """Rename a CTE and its reads. Each read gets the old name as its alias, so columns can name it as before."""
    for table in reads:
        written = table.copy()
        table.set("alias", alias_of(table))
        table.set("this", quote_name(name))
        shown_as(table, written)
    alias = cte.args["alias"]
    alias.set("this", shown_as(quote_name(name), alias.this.copy()))


def _sources(select: exp.Select) -> list[exp.Expr]:
    """The tables, derived tables and laterals that a SELECT reads itself, without those of its subqueries."""
    parts = [select.args.get("from_"), *(select.args.get("joins") or []), *(select.args.get("laterals") or [])]
    found = (node for part in parts if part for node in part.find_all(exp.Table, exp.Subquery, exp.Lateral))
    return [node for node in found if node.find_ancestor(exp.Select) is select]
