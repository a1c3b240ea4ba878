"""What inputs that only got more files add to a core, without reading their old ones.

A core is linear in a table when each of its rows comes from one row of it. With such A and B, and Δ their new files:

    core(A', B') - core(A, B)  =  core(ΔA, B')  +  core(A, ΔB)          A' = A + ΔA

One query for each place where a changed table is read: the places before it as they were, those after it as they are,
and of a UNION ALL only the branch it is in. A table that did not change may stand anywhere: below an outer join, in a
subquery, under an aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from .dialect import VerbatimSpark, string_literal
from .linear import is_linear

#: of new files so many are named one by one in a statement
MOST_FILES = 1_000

_PLAIN = ("this", "db", "catalog", "alias")


@dataclass(frozen=True)
class Added:
    """The new files of a table. pin: the column of `_metadata` that tells files apart."""

    pin: str
    files: tuple[str, ...]

    @property
    def condition(self) -> str:
        return f"{self.pin} IN ({', '.join(map(string_literal, self.files))})"


def tables(query: exp.Query) -> list[tuple[exp.Table, bool]]:
    """The tables a query reads, CTEs set aside, and whether it is linear in each."""
    ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    linear = {id(table) for table in _linear_tables(query, {})}
    found = []
    for table in query.find_all(exp.Table):
        if table.db or table.name.lower() not in ctes:
            found.append((table, id(table) in linear))
    return found


def added_rows(query: exp.Query, changes: Mapping[int, Added]) -> list[exp.Query]:
    """The queries whose rows together are what is new. changes: by place among the `tables`, each linear."""
    queries = []
    for place in sorted(changes):
        copy = query.copy()
        every = [table for table, _ in tables(copy)]
        for other, added in changes.items():
            if other < place:
                _restrict(every[other], f"NOT {added.condition}")
        _alone(every[place])
        _restrict(every[place], changes[place].condition)
        queries.append(copy)
    return queries


def _alone(table: exp.Table) -> None:
    """Without the other branches of the UNION ALLs that a table is below: they have no row of it."""
    node: exp.Expression = table
    while node.parent is not None:
        above = node.parent
        if isinstance(above, exp.SetOperation) and node.arg_key in ("this", "expression"):
            other = above.right if node.arg_key == "this" else above.left
            below = other if isinstance(other, exp.Subquery) else exp.Subquery(this=other.copy())
            none = exp.select("*").from_(exp.alias_(below.copy(), "mz_none", table=True)).where(exp.false())
            other.replace(none)
        node = above


def _restrict(table: exp.Table, condition: str) -> None:
    """A table -> its rows in some files, under the same name."""
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    plain = exp.Table(**{key: table.args[key].copy() for key in _PLAIN[:-1] if table.args.get(key)})
    of_files = exp.maybe_parse(condition, dialect=VerbatimSpark)
    table.replace(exp.Subquery(this=exp.select("*").from_(plain).where(of_files), alias=alias.copy()))


def _linear_tables(query: exp.Expression, outer: Mapping[str, exp.CTE]) -> Iterator[exp.Table]:
    """outer: the CTEs that may be read here, by name."""
    ctes = {**outer, **{cte.alias.lower(): cte for cte in getattr(query, "ctes", [])}}
    if isinstance(query, exp.Subquery):
        if not query.args.get("pivots") and not query.args.get("sample"):
            yield from _linear_tables(query.this, ctes)
    elif isinstance(query, exp.Union) and not query.args.get("distinct"):
        if not any(query.args.get(key) for key in ("order", "limit", "offset")):
            yield from _linear_tables(query.left, ctes)
            yield from _linear_tables(query.right, ctes)
    elif isinstance(query, exp.Select) and is_linear(query) and not query.find(exp.QueryTransform):
        for source in _kept_one_by_one(query):
            if isinstance(source, exp.Subquery):
                yield from _linear_tables(source, ctes)
            elif isinstance(source, exp.Table) and _is_plain(source):
                cte = None if source.db else ctes.get(source.name.lower())
                if cte is None:
                    yield source
                elif _reads(query.root(), cte.alias) == 1:
                    yield from _linear_tables(cte.this, ctes)


def _is_plain(table: exp.Table) -> bool:
    """No sample, version or pivot of it, and no function."""
    return isinstance(table.this, exp.Identifier) and not any(v for k, v in table.args.items() if k not in _PLAIN)


def _kept_one_by_one(select: exp.Select) -> Sequence[exp.Expression]:
    """The sources of a FROM of which each row is used by itself: not those an outer join fills with NULLs."""
    start = select.args.get("from_")
    kept = [start.this] if start is not None else []
    for join in select.args.get("joins") or []:
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        if kind in ("SEMI", "ANTI") or side == "LEFT":
            continue
        if side == "RIGHT":
            kept = [join.this]
        elif side or kind not in ("", "INNER", "CROSS"):
            kept = []
        else:
            kept.append(join.this)
    return kept


def _reads(query: exp.Expression, name: str) -> int:
    return sum(not t.db and t.name.lower() == name.lower() for t in query.find_all(exp.Table))
