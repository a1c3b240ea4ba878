"""A model is split into cores, whose rows are stored, and a residual that reads them.

    with recent as (select carrier, dep_at from flights where mz_now() <= dep_at + interval 1 day)
    select carrier, count(*) from recent group by carrier
      ->  core c0    select carrier, dep_at from flights          mz_now() <= dep_at + interval 1 day
          residual   with recent as (select * from mz_core_c0) select carrier, count(*) from recent group by carrier

A core with comparisons is temporal. A core without any is a static part that the residual needs: it is stored too, so
that a read sees every input as the last run read it, at any instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from ..errors import Refusal
from .columns import needed_columns
from .dialect import VerbatimSpark, fragment, mz_now_calls, parse, quote
from .functions import CLOCKS, is_aggregate_call, nondeterministic
from .predicates import Comparison, comparisons, conjuncts, has_clock

PLACEHOLDER = "mz_core_"

#: SQL of a query -> its columns as (name, Spark type)
Describe = Callable[[str], "list[tuple[str, str]]"]


@dataclass(frozen=True)
class Core:
    """`query` is free of the clock and yields the columns to store; `comparisons` decide when a row is in."""

    name: str
    query: exp.Query
    comparisons: tuple[Comparison, ...] = ()

    @property
    def placeholder(self) -> str:
        """The table name under which the residual reads this core."""
        return PLACEHOLDER + self.name


@dataclass(frozen=True)
class Split:
    """The first core is the temporal one. The residual reads each core as the table `mz_core_<name>`."""

    cores: tuple[Core, ...]
    residual: exp.Query


def split(sql: str, describe: Describe) -> Split:
    """The text of a model -> its cores and residual; what is not covered is refused."""
    tree = parse(sql)
    _refuse_other_clocks(tree)
    _refuse_shadowed_ctes(tree)
    select = _temporal_select(tree)
    core, rest = _take_core(select, describe)
    _with_ctes(core.query, visible_ctes(select))
    _refuse_nondeterministic(core.query)
    if select is tree:
        residual = rest
    else:
        select.replace(rest)
        residual = tree
    _drop_unused_ctes(residual)
    static = _StaticParts(residual)
    static.capture()
    _drop_unused_ctes(residual)
    return Split((core, *static.cores), residual)


def is_placeholder(table: exp.Expression) -> bool:
    return isinstance(table, exp.Table) and not table.db and table.name.startswith(PLACEHOLDER)


# ---- the temporal SELECT -------------------------------------------------------------------------------------------


def _temporal_select(tree: exp.Expression) -> exp.Select:
    """The one SELECT whose WHERE (or inner join's ON) mentions the clock."""
    owners: list[exp.Select] = []
    for call in mz_now_calls(tree):
        if call.expressions:
            raise Refusal(fragment(call), "mz_now() takes no arguments", "mz_now()")
        owner = _owner(call)
        if not any(owner is o for o in owners):
            owners.append(owner)
    if not owners:
        raise Refusal(
            fragment(tree),
            "the model has no mz_now(), so nothing in it depends on the clock",
            "a predicate such as `where mz_now() <= event_ts + interval 30 days`, or materialized='view' or 'table'",
        )
    if len(owners) > 1:
        raise Refusal(
            " ; ".join(fragment(o.args["where"] if o.args.get("where") else o) for o in owners),
            "the clock is compared in several SELECTs, which is not covered yet",
            "one SELECT with all comparisons joined by AND, or one temporal_view for each",
        )
    select = owners[0]
    if not select.args.get("from_"):
        raise Refusal(fragment(select), "the temporal SELECT reads nothing", "a FROM with the rows to window")
    node: exp.Expression | None = select
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None and with_.args.get("recursive"):
            raise Refusal(fragment(with_), "a recursive query over the clock is not linear", "an upstream table")
        if isinstance(node, exp.Lateral):
            raise Refusal(fragment(node), "the clock is compared inside a LATERAL subquery", "an ordinary join")
        node = node.parent
    return select


def _owner(call: exp.Expression) -> exp.Select:
    """The SELECT that a call of mz_now() belongs to, when it stands where a row is filtered."""
    child, node = call, call.parent
    join: exp.Join | None = None
    while node is not None and not isinstance(node, exp.Select):
        if isinstance(node, exp.Join):
            join = node
        if isinstance(node, (exp.SetOperation, exp.Subquery)) and child.arg_key not in ("this", "expression"):
            break
        child, node = node, node.parent
    place = child.arg_key
    if isinstance(node, exp.Select):
        if place == "where":
            return node
        if place == "joins" and join is not None:
            if (join.side or "").upper() == "" and (join.kind or "").upper() in ("", "INNER", "CROSS"):
                joins = node.args["joins"]
                position = next(i for i, j in enumerate(joins) if j is join)
                later = next((j for j in joins[position:] if (j.side or "").upper() in ("RIGHT", "FULL")), None)
                if later is None:
                    return node
                # its rows without a partner must not pass through the predicate, so the ON is not a WHERE
                join = later
            raise Refusal(
                fragment(join),
                "the clock in the ON of an outer, semi or anti join is not covered yet",
                "the temporal predicate in the WHERE of a derived table, joined from the outer query",
            )
    names = {
        "expressions": "the SELECT list",
        "having": "HAVING",
        "group": "GROUP BY",
        "order": "ORDER BY",
        "qualify": "QUALIFY",
        "windows": "a WINDOW",
    }
    where = names.get(str(place), str(place))
    found = call
    while found.parent is not None and not isinstance(found.parent, (exp.Select, exp.Having, exp.Group, exp.Order)):
        found = found.parent
    raise Refusal(
        fragment(found),
        f"mz_now() stands in {where}; it may stand in WHERE and in the ON of an inner join",
        "`where mz_now() <= expression over the row`; at read time the instant of a read is current_timestamp() "
        "in the query over the view",
    )


def _take_core(select: exp.Select, describe: Describe) -> tuple[Core, exp.Select]:
    """The temporal SELECT -> its core and the SELECT that takes its place in the residual."""
    found: list[Comparison] = []
    static: list[exp.Expression] = []
    stripped = select.copy()
    places = [j for j in stripped.args.get("joins") or [] if j.args.get("on") and has_clock(j.args["on"])]
    predicates = [p.args["on"] for p in places]
    for join in places:
        join.set("on", None)
        if not (join.kind or join.method):
            join.set("kind", "CROSS")
    for join in places:
        if (join.kind or "").upper() == "INNER":
            join.set("kind", "CROSS")
    where = stripped.args.get("where")
    if where is not None:
        predicates.append(where.this)
    for predicate in predicates:
        for conjunct in conjuncts(predicate):
            if has_clock(conjunct):
                compared, plain = comparisons(conjunct)
                found += compared
                static += plain
            else:
                static.append(conjunct)
    stripped.set("where", None)
    if static:
        stripped.set("where", exp.Where(this=exp.and_(*static, dialect=VerbatimSpark, copy=True)))
    stripped.set("with_", None)

    if _is_linear(stripped):
        rest = exp.select("*").from_(exp.to_table(PLACEHOLDER + "c0"))
        return Core("c0", stripped, tuple(found)), rest
    rows, rest = needed_columns(stripped, PLACEHOLDER + "c0", describe, visible_ctes(select))
    return Core("c0", rows, tuple(found)), rest


_NOT_LINEAR = (
    "group", "having", "distinct", "qualify", "windows", "order", "limit", "offset", "sort", "cluster", "distribute"
)  # fmt: skip


def _is_linear(select: exp.Select) -> bool:
    if any(select.args.get(key) for key in _NOT_LINEAR):
        return False
    for item in select.expressions:
        for node in item.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, exp.Window) or is_aggregate_call(node):
                return False
    return True


# ---- common table expressions --------------------------------------------------------------------------------------


def visible_ctes(node: exp.Expression) -> list[exp.CTE]:
    """The CTEs that a query may name, outermost and earliest first."""
    found: list[exp.CTE] = []
    child, parent = node, node.parent
    own = node.args.get("with_")
    if own is not None:
        found = list(own.expressions)
    while parent is not None:
        if isinstance(parent, exp.With):
            position = next(i for i, cte in enumerate(parent.expressions) if cte is child)
            found = parent.expressions[:position] + found
            child, parent = parent.parent, parent.parent.parent  # type: ignore[assignment,union-attr]
            continue
        with_ = parent.args.get("with_")
        if with_ is not None:
            found = list(with_.expressions) + found
        child, parent = parent, parent.parent
    return found


def _with_ctes(query: exp.Query, visible: list[exp.CTE]) -> None:
    """Give a query taken out of its model the CTEs it names, and those they name."""
    needed: list[exp.CTE] = []
    names = _table_names(query)
    for cte in reversed(visible):
        if cte.alias.lower() in names:
            needed.insert(0, cte.copy())
            names |= _table_names(cte.this)
    if needed:
        query.set("with_", exp.With(expressions=needed))


def _table_names(node: exp.Expression) -> set[str]:
    return {t.name.lower() for t in node.find_all(exp.Table) if not t.db}


def _drop_unused_ctes(query: exp.Expression) -> None:
    while True:
        unused = [
            cte
            for cte in query.find_all(exp.CTE)
            if not any(t.name.lower() == cte.alias.lower() and not t.db and not _inside(t, cte)
                       for t in query.find_all(exp.Table))
        ]  # fmt: skip
        if not unused:
            return
        for cte in unused:
            with_ = cte.parent
            cte.pop()
            if with_ is not None and not with_.expressions:
                with_.pop()


def _inside(node: exp.Expression, ancestor: exp.Expression) -> bool:
    at: exp.Expression | None = node
    while at is not None:
        if at is ancestor:
            return True
        at = at.parent
    return False


def _refuse_shadowed_ctes(tree: exp.Expression) -> None:
    names = [cte.alias.lower() for cte in tree.find_all(exp.CTE)]
    for name in names:
        if names.count(name) > 1:
            raise Refusal(
                f"WITH {name} AS (...) twice", "two CTEs of one name cannot be told apart", "one name for each"
            )


# ---- static parts of the residual ----------------------------------------------------------------------------------


class _StaticParts:
    """Takes out of a residual, in place, whatever reads an input, each part as large as it goes."""

    def __init__(self, residual: exp.Query) -> None:
        self.residual = residual
        self.cores: list[Core] = []
        self._tables: dict[str, Core] = {}
        self._ctes = {cte.alias.lower(): cte for cte in residual.find_all(exp.CTE)}

    def capture(self) -> None:
        for branch in [side for s in self.residual.find_all(exp.SetOperation) for side in (s.left, s.right)]:
            self._replace(branch)
        for subquery in list(self.residual.find_all(exp.Subquery)):
            if isinstance(subquery.parent, (exp.From, exp.Join)) and not subquery.find_ancestor(exp.Lateral):
                self._replace(subquery.this)
        _drop_unused_ctes(self.residual)
        for cte in self._ctes.values():
            if any(self._names(t, cte) and self._is_live(t) for t in self.residual.find_all(exp.Table)):
                self._replace(cte.this)
        _drop_unused_ctes(self.residual)
        for table in list(self.residual.find_all(exp.Table)):
            if self._reads_input(table) and self._in_residual(table):
                self._replace_table(table)

    def _is_live(self, node: exp.Expression) -> bool:
        """Whether a node is evaluated at read time: it is in no CTE that is static as a whole."""
        cte = node.find_ancestor(exp.CTE)
        return cte is None or not self._is_static(cte.this)

    def _correlatable(self, query: exp.Expression) -> bool:
        """Whether a query stands below EXISTS, IN or a scalar subquery, where it may name columns from outside."""
        node = query.parent
        if isinstance(node, exp.Subquery):
            node = node.parent
        while node is not None:
            if isinstance(node, (exp.Exists, exp.In)):
                return True
            if isinstance(node, exp.Subquery) and not isinstance(node.parent, (exp.From, exp.Join)):
                return True
            node = node.parent
        return False

    def _names(self, table: exp.Table, cte: exp.CTE) -> bool:
        return not table.db and table.name.lower() == cte.alias.lower()

    def _in_residual(self, node: exp.Expression) -> bool:
        return node.root() is self.residual.root()

    def _reads_input(self, table: exp.Expression) -> bool:
        if not isinstance(table, exp.Table) or is_placeholder(table):
            return False
        if isinstance(table.this, exp.Func):  # range(10) and the like: constants
            return False
        return bool(table.db) or table.name.lower() not in self._ctes

    def _is_static(self, query: exp.Expression, seen: frozenset[str] = frozenset()) -> bool:
        for table in query.find_all(exp.Table):
            if is_placeholder(table):
                return False
            name = table.name.lower()
            below = not table.db and name in self._ctes and name not in seen
            if below and not self._is_static(self._ctes[name].this, seen | {name}):
                return False
        return True

    def _has_input(self, query: exp.Expression, seen: frozenset[str] = frozenset()) -> bool:
        for table in query.find_all(exp.Table):
            if self._reads_input(table):
                return True
            name = table.name.lower()
            below = not table.db and name in self._ctes and name not in seen
            if below and self._has_input(self._ctes[name].this, seen | {name}):
                return True
        return False

    def _replace(self, query: exp.Query) -> None:
        taken = isinstance(query, exp.Query) and self._in_residual(query) and self._is_live(query)
        in_cte = isinstance(query.parent, exp.CTE) and self._in_residual(query)
        if not (taken or in_cte) or self._correlatable(query):
            return
        if not self._is_static(query) or not self._has_input(query):
            return
        visible = visible_ctes(query)
        part = query.copy()
        part.set("with_", None)
        _with_ctes(part, visible)
        core = self._new_core(part)
        query.replace(exp.select("*").from_(exp.to_table(core.placeholder)))

    def _replace_table(self, table: exp.Table) -> None:
        if table.args.get("joins") or table.args.get("laterals"):
            raise Refusal(fragment(table), "this table is nested in a way that is not covered", "a plain join")
        bare = table.copy()
        bare.set("alias", None)
        key = fragment(bare).lower()
        if key not in self._tables:
            self._tables[key] = self._new_core(exp.select("*").from_(bare))
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
        table.replace(exp.Table(this=exp.to_identifier(self._tables[key].placeholder), alias=alias.copy()))

    def _new_core(self, query: exp.Query) -> Core:
        _refuse_nondeterministic(query)
        core = Core(f"c{len(self.cores) + 1}", query)
        self.cores.append(core)
        return core


# ---- refusals ------------------------------------------------------------------------------------------------------


def _refuse_other_clocks(tree: exp.Expression) -> None:
    for node in tree.walk():
        name = CLOCKS.get(type(node)) or (node.name.lower() if isinstance(node, exp.Anonymous) else "")
        if name in CLOCKS.values() and not (name == "unix_timestamp" and node.expressions):
            raise Refusal(
                fragment(node),
                "its value is the instant of the run or of the read, whichever comes to evaluate it",
                "mz_now(), compared with an expression over the row",
            )


def _refuse_nondeterministic(query: exp.Expression) -> None:
    node = nondeterministic(query)
    if node is not None:
        raise Refusal(
            fragment(node),
            "it gives another value at every run, so rows would be retracted and added again for no reason",
            "the value as a column of an upstream table",
        )


def core_tables(core: Core) -> Iterator[str]:
    """The relations a core reads, as written."""
    ctes = {cte.alias.lower() for cte in core.query.find_all(exp.CTE)}
    for table in core.query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and (table.db or table.name.lower() not in ctes):
            yield ".".join(quote(part.name) for part in table.parts)
