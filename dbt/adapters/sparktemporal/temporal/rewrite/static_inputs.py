"""The static parts of a residual: subqueries without clock over inputs, stored so that a read sees them as captured."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ...errors import Refusal
from ..sql.names.ctes import (
    eliminate_ctes,
    is_recursive,
    names_itself,
    reads_of,
    table_names,
    visible_ctes,
    with_ctes,
)
from ..sql.names.linear import is_inside_a_value, makes_groups
from ..sql.names.scope import alias_of
from ..sql.text.dialect import fragment, has_clock, render, without
from .above_groups import GROUPED
from .core import Core, is_placeholder, refuse_nondeterministic

#: clauses, besides groups, by which a SELECT has fewer rows than its FROM, or other rows
_LESS = ("where", "joins", "laterals", "having", "qualify", "limit", "offset")


class StaticParts:
    """Takes the parts that read an input out of a residual, in place; each part is as large as possible."""

    def __init__(self, residual: exp.Query, first: int) -> None:
        self.residual = residual
        self.cores: list[Core] = []
        self._first = first
        self._tables: dict[str, Core] = {}
        self._ctes = {cte.alias.lower(): cte for cte in residual.find_all(exp.CTE)}

    def capture(self) -> None:
        for branch in [side for s in self.residual.find_all(exp.SetOperation) for side in (s.left, s.right)]:
            self._replace(branch)
        for subquery in list(self.residual.find_all(exp.Subquery)):
            if isinstance(subquery.parent, (exp.From, exp.Join)) and not subquery.find_ancestor(exp.Lateral):
                self._replace(subquery.this)
        eliminate_ctes(self.residual)
        for cte in self._ctes.values():
            if any(map(self._is_live, reads_of(cte.alias, self.residual))):
                self._replace(cte.this)
        eliminate_ctes(self.residual)
        for table in list(self.residual.find_all(exp.Table)):
            if self._reads_input(table) and self._in_residual(table):
                self._replace_table(table)

    def _is_live(self, node: exp.Expr) -> bool:
        """Whether a read evaluates a node: no CTE around it is static as a whole."""
        cte = node.find_ancestor(exp.CTE)
        return cte is None or not self._is_static(cte.this)

    def _in_residual(self, node: exp.Expr) -> bool:
        return node.root() is self.residual.root()

    def _reads_input(self, table: exp.Expr) -> bool:
        if not isinstance(table, exp.Table) or is_placeholder(table):
            return False
        if isinstance(table.this, exp.Func):  # range(10) and the like: constants
            return False
        return bool(table.db) or table.name.lower() not in self._ctes

    def _bodies(self, query: exp.Expr, seen: frozenset[str] = frozenset()) -> Iterator[exp.Expr]:
        """A query, and the CTEs that it reads, directly or through others."""
        yield query
        for name in (table_names(query) & set(self._ctes)) - seen:
            yield from self._bodies(self._ctes[name].this, seen | {name})

    def _is_static(self, query: exp.Expr) -> bool:
        return not any(
            has_clock(body) or any(map(is_placeholder, body.find_all(exp.Table))) for body in self._bodies(query)
        )

    def _has_input(self, query: exp.Expr) -> bool:
        return any(self._reads_input(table) for body in self._bodies(query) for table in body.find_all(exp.Table))

    def _replace(self, query: exp.Query) -> None:
        taken = isinstance(query, exp.Query) and self._in_residual(query) and self._is_live(query)
        in_cte = isinstance(query.parent, exp.CTE) and self._in_residual(query)
        if not (taken or in_cte) or is_inside_a_value(query):
            return
        if not self._is_static(query) or not self._has_input(query):
            return
        if isinstance(query.parent, exp.CTE) and is_recursive(query.parent) and names_itself(query.parent):
            return  # no query by itself: the tables that it reads are stored instead
        part = without(query, "with_")
        above = query.parent
        has_all_groups = isinstance(above, exp.Subquery) and above.alias == GROUPED and self._is_in_all(above)
        query.replace(self._new_core(with_ctes(part, visible_ctes(query)), has_all_groups).read)

    def _is_in_all(self, read: exp.Expr) -> bool:
        """Whether each row of an item of a FROM is a row of the answer: no SELECT above leaves one out or groups it."""
        select = read.parent.parent if isinstance(read.parent, exp.From) else None
        if not isinstance(select, exp.Select) or makes_groups(select) or any(map(select.args.get, _LESS)):
            return False
        return self._is_answer(select)

    def _is_answer(self, query: exp.Expr) -> bool:
        """Whether each row of a query is a row of the answer."""
        above = query.parent
        if isinstance(above, exp.CTE):
            reads = reads_of(above.alias, self.residual)
            return bool(reads) and all(map(self._is_in_all, reads))
        if isinstance(above, exp.Subquery) and isinstance(above.parent, (exp.From, exp.Join)):
            return self._is_in_all(above)
        is_around = isinstance(above, exp.Subquery) or isinstance(above, exp.Union) and not above.args.get("distinct")
        return above is None or is_around and not any(map(above.args.get, _LESS)) and self._is_answer(above)

    def _replace_table(self, table: exp.Table) -> None:
        if table.args.get("joins") or table.args.get("laterals"):
            raise Refusal("ST345", fragment(table), "this table is nested in a way that is not covered", "a plain join")
        bare = without(table, "alias")
        key = render(bare)  # in full and in its case: a path, a tag or a quoted name may differ by case alone
        if key not in self._tables:
            self._tables[key] = self._new_core(exp.select("*").from_(bare))
        table.replace(exp.Table(this=exp.to_identifier(self._tables[key].placeholder), alias=alias_of(table)))

    def _new_core(self, query: exp.Query, has_all_groups: bool = False) -> Core:
        refuse_nondeterministic(query)
        core = Core(f"c{self._first + len(self.cores)}", query, has_all_groups=has_all_groups)
        self.cores.append(core)
        return core
