"""Spark's plans as EXPLAIN prints them: the tables, functions, columns and scans of a plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..functions import registry
from ..functions.calls import OF_PEERS
from ..functions.row import CLOCK, SESSION
from ..text.identifiers import PART, folded, parts
from .relations import table_of
from .settings import is_on


def sections(plan: str) -> dict[str, str]:
    """Parsed, Analyzed, Optimized -> the text of this logical plan, with expression ids numbered in order."""
    parts = re.findall(r"== (\w+) Logical Plan ==\n(.*?)(?=\n== |\Z)", plan, re.DOTALL)
    return {name: numbered(body).strip() for name, body in parts}


def numbered(body: str) -> str:
    """Number expression ids, and the names that Spark numbers, in order of appearance. Quoted names stay as they are.

    >>> numbered("_common_expr_34#7 AS a#9L, _common_expr_34#7"), numbered("RelationV2[a#7] c.s.`t#7`")
    ('_common_expr_0#0 AS a#1, _common_expr_0#0', 'RelationV2[a#0] c.s.`t#7`')
    >>> numbered("CTERelationDef 31, false ... CTERelationRef 31, true")
    'CTERelationDef 0, false ... CTERelationRef 0, true'
    """
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    body = plan_text(body.replace("NOT isnull(", "isnotnull("))  # `x IS NOT NULL` and how the tree prints it
    body = re.sub(r"\b_common_expr_\d+", lambda m: names.setdefault(m.group(), f"_common_expr_{len(names)}"), body)
    return _ID.sub(lambda m: ids.setdefault(m.group(), f"#{len(ids)}") if m.group(1) else m.group(), body)


_ID = re.compile(r"(#\d+L?)|(?<=[ .])`(?:[^`\n]|``)+`")


def analyzed(plan: str) -> str:
    return sections(plan).get("Analyzed", "")


def columns(plan: str) -> list[tuple[str, str]] | None:
    """The columns of a query as (name, type), as DESCRIBE QUERY gives them, from the first line of its analyzed plan.

    None where the line can be read in two ways, as with a name that has a colon in it. EXPLAIN then does not tell.

    >>> columns("== Analyzed Logical Plan ==\\na: int, b: struct<c:int,d:decimal(3,1)>\\nProject [a#1, b#2]")
    [('a', 'int'), ('b', 'struct<c:int,d:decimal(3,1)>')]
    >>> columns("== Analyzed Logical Plan ==\\na: int, b: int\\nProject [a: int, b#1]") is None
    True
    """
    _, _, section = plan.partition("== Analyzed Logical Plan ==\n")
    line, _, body = section.partition("\n== ")[0].partition("\n")
    found = [_COLUMN.fullmatch(part) for part in line.split(", ")]
    pairs = [(match[1], match[2]) for match in found if match is not None]
    if len(pairs) != len(found) or not all(_is_type(kind) for _, kind in pairs):
        return None
    if any(not re.search(rf"\b{name}#\d", body) for name, _ in pairs):
        return None
    if any(f"{name}: {kind}, {after}" in body for (name, kind), (after, _) in zip(pairs, pairs[1:])):
        return None
    return pairs


#: a column in the first line of an analyzed plan: a plain name, and a type without a blank after a comma or colon
_COLUMN = re.compile(r"(\w+): ([a-z](?:[\w<>(),]|:(?! )| (?=[a-z]))*)")


def _is_type(kind: str) -> bool:
    """Whether a text can be a whole type: the names of columns and fields may have commas and colons in them."""
    return kind[-1] not in ",:" and kind.count("<") == kind.count(">") and kind.count("(") == kind.count(")")


#: the characters before the text of an operator
TREE = " :+-|"


def optimized(plan: str) -> str:
    return sections(plan)["Optimized"]


def correlates_items(plan: str) -> bool:
    """Whether a plan (EXPLAIN EXTENDED) has a correlated subquery in a SELECT list of the query or of a plain view.

    >>> correlates_items("Project [k#1, scalar-subquery#2 [k#1] AS m#3]"), correlates_items("Filter exists#2 [k#1]")
    (True, False)
    """
    return bool(_CORRELATED.search(plan))


_CORRELATED = re.compile(r"^[ :+\-|]*(?:Project|Aggregate) .*(?:subquery|exists|list)#\d+ \[[^\]]", re.MULTILINE)


def moves_by_itself(plan: str) -> bool:
    """Whether rows of an analyzed plan may change while its tables do not: by a clock, chance or the like.

    The call that moves rows is in a view: in the model's own text all such calls but mz_now() are refused.
    """
    return bool(_BY_ITSELF.search(plan))


def chooses_rows(plan: str) -> bool:
    """Whether another evaluation of a plan may give other rows of the same tables: by chance, or by the rows' order.

    Windows by the times of partners (see `coverage_sql`) choose nothing.

    >>> chooses_rows("GlobalLimit 3"), chooses_rows("GlobalLimit 0"), chooses_rows("Aggregate [max(a#1) AS b#2]")
    (True, False, False)
    >>> frame = "windowspecdefinition(a#1 ASC, specifiedwindowframe(RowFrame, unboundedpreceding$(), currentrow$()))"
    >>> chooses_rows(f"Window [row_number() {frame} AS b#2]"), chooses_rows(f"Window [rank(a#1) {frame} AS b#2]")
    (True, False)
    """
    return moves_by_itself(plan) or any(
        _CHOOSES.search(line) or len(_ROW_FRAME.findall(line)) > len(_PEERS.findall(line))
        for line in plan.splitlines()
        if "mz_partner_" not in line
    )


def pads_texts(plan: str, settings: Mapping[str, str]) -> bool:
    """Whether a plan may read a column of CHAR. Spark pads a constant text beside such a column to the column's length.

    >>> pads_texts("Project [static_invoke(CharVarcharCodegenUtils.readSidePadding(c#1, 8)) AS c#1]", {})
    True
    >>> leaf = "Relation spark_catalog.s.t[c#1] parquet"
    >>> pads_texts(leaf, {}), pads_texts(leaf, {"spark.sql.readSideCharPadding": "false"})  # no plan shows a CHAR then
    (False, True)
    """
    return "readSidePadding" in plan or not is_on(settings.get("spark.sql.readSideCharPadding", "true"))


_CHOOSES = re.compile(
    rf"\b(?:nth_value|{'|'.join(sorted(registry.names(lambda row: row.by_order)))})\(|"
    r"^[ :+\-|]*(?:(?:GlobalLimit|Offset) (?!0$)|Sample |ScriptTransformation )"
)
_ROW_FRAME = re.compile(r"RowFrame, (?!unboundedpreceding\$\(\), unboundedfollowing)")
_PEERS = re.compile(rf"\b(?:{'|'.join(OF_PEERS)})\(")


def adds_doubles(plan: str, types: Iterable[str]) -> bool:
    """Whether an analyzed plan may have sums of DOUBLE, whose last digits another evaluation may not give again.

    types: the types of the columns that the plan reads, since a plan shows the types of casts alone.

    >>> plan = "Aggregate [a#1], [a#1, sum(b#2) AS c#3]"
    >>> adds_doubles(plan, ["int"]), adds_doubles(plan, ["double"]), adds_doubles("Project [b#2]", ["double"])
    (False, True, False)
    """
    added = [line for line in plan.splitlines() if _ADDS.search(line) and "mz_partner_" not in line]
    return bool(added) and any(map(_DOUBLES.search, (plan, *types)))


_ADDS = re.compile(r"\b(?:(?:try_)?(?:sum|avg)|mean)\(")
_DOUBLES = re.compile(r"double|float|\b(?:avg|mean|median|percentile\w*|months_between)\(", re.IGNORECASE)


def reads_clock(plan: str) -> bool:
    """Whether an analyzed plan reads Spark's clock by a function.

    >>> reads_clock("Project [cast(now() as date) AS d#1]"), reads_clock("Project [mz_now#1, now#2]")
    (True, False)
    """
    return bool(_CLOCK.search(plan))


def frozen_at(plan: str) -> set[int]:
    """The fixed instants (ms) at which an analyzed plan, or a view in the plan, reads temporal_views.

    >>> frozen_at("Project [a#1]\\n+- SubqueryAlias mz_at_5")
    {5}
    """
    return {int(instant) for instant in re.findall(rf"SubqueryAlias `?{FROZEN}(-?\d+)\b", plan)}


def tables_read(plan: str) -> list[str] | None:
    """The tables at the leaves of an analyzed plan, one for each leaf that reads a table.

    None for no leaf, for a leaf that is neither a table nor a constant, and when `moves_by_itself` holds.
    """
    if moves_by_itself(plan):
        return None
    lines = plan.splitlines()[1:]  # the first is the schema
    depths = [len(line) - len(line.lstrip(TREE)) for line in lines]
    leaves = [line[depth:] for line, depth, after in zip(lines, depths, [*depths[1:], 0]) if after <= depth]
    found = []
    for leaf in leaves:
        table = table_of(leaf)
        if table is not None:
            found.append(table)
        elif not _CONSTANT.match(leaf):
            return None
    return found if leaves else None


def leaves_of_tables(plan: str) -> dict[str, str]:
    """The tables of an analyzed plan -> the leaf that reads each, as Spark prints the leaf."""
    lines = [line.lstrip(TREE) for line in plan.splitlines()[1:]]
    return {table: line for line in lines if (table := table_of(line)) is not None}


_MOVING = registry.names(lambda row: row.depends_on not in ("", SESSION) and row.arguments is None)
#: the alias of rows as at an instant begins so, and the instant follows
FROZEN = "mz_at_"
#: in a plan unix_timestamp() has another clock as its argument
_CLOCKS = registry.names(lambda row: row.depends_on == CLOCK and row.arguments is None)
_CLOCK = re.compile(rf"\b(?:{'|'.join(sorted(_CLOCKS))})\(", re.IGNORECASE)
_UNLESS = {row.name: row.unless for row in registry.ROWS if row.unless}
_TEXTS = (*sorted(registry.names(lambda row: row.makes_text)), "variablereference")
_WORD = r"(?:now|today|tomorrow|yesterday)\b(?!#)"
_BY_ITSELF = re.compile(
    rf"\b(?:{'|'.join(sorted(_MOVING - set(_UNLESS)))})\(|"
    + "".join(rf"\b{name}\((?![^\n]*\b{word}\b)|" for name, word in _UNLESS.items())
    +
    # text that Spark reads as its clock: `cast(now as timestamp)`, `to_date(today, None, ...)`
    rf"\(\s*{_WORD}[^,()#]* as (?:date|timestamp)|\bto_(?:date|timestamp)\w*\(\s*{_WORD}|"
    rf"\bcast\((?:{'|'.join(_TEXTS)})"
    r"\([^#\n]*?\) as (?:date|timestamp)",
    re.IGNORECASE,
)
_CONSTANT = re.compile(r"LocalRelation\b|OneRowRelation$|Range \(|CTERelationRef\b")


def plan_text(plan: str) -> str:
    """An analyzed plan whose CTE ids, which Spark counts from the start of the session, are numbered anew."""
    ctes: dict[str, str] = {}
    return re.sub(r"(?<=CTERelation)(Def|Ref) (\d+)", lambda m: f"{m[1]} {ctes.setdefault(m[2], str(len(ctes)))}", plan)


def runs_python(plan: str) -> bool:
    """Whether Spark hands rows to Python. Only the optimized plan tells; a function's name does not."""
    return bool(re.search(r"^[ :|+*()\d-]*\w*(?:EvalPython|Pandas|Python\w*|InArrow)\b", optimized(plan), re.MULTILINE))


def variables(plan: str) -> list[str]:
    """The session variables that a plan reads."""
    return list(dict.fromkeys(re.findall(r"\bvariablereference\([\w.`]*?\.?(\w+)`?=", plan)))


def views(plan: str) -> list[str]:
    """The views that an analyzed plan reads through, as Spark quotes them.

    An Iceberg view in a named catalog shows only as a name of several parts that is not the name of a table below.

    >>> views("SubqueryAlias spark_catalog.s.v\\n+- View (`spark_catalog`.`s`.`v`, [a#1])")
    ['`spark_catalog`.`s`.`v`']
    >>> views("SubqueryAlias s.v\\n+- Project [a#1]\\n   +- SubqueryAlias l.s.t\\n      +- RelationV2[a#1] l.s.t")
    ['s.v']
    """
    found = re.findall(r"\bView \((`[^(]*?`), \[", plan)
    lines = [line.lstrip(TREE) for line in plan.splitlines()]
    for at, line in enumerate(lines):
        name = _NAMED.fullmatch(line)
        if name is None:
            continue
        below = next((i for i in range(at + 1, len(lines)) if not _BETWEEN.match(lines[i])), len(lines) - 1)
        leaf = table_of(lines[below])
        is_table = leaf is not None and parts(leaf)[-len(parts(name[1])) :] == parts(name[1])
        if not is_table and not lines[below].startswith("View ("):
            found.append(name[1])
    return list(dict.fromkeys(found))


#: a name that a query gives itself has one part
_NAMED = re.compile(rf"SubqueryAlias ({PART}(?:\.{PART})+)")
#: the operators that Spark puts between the name of a table and its rows, such as the padding of CHAR columns
_BETWEEN = re.compile(r"(?:Project|Filter) ")


#: the end of the name of a commit record
LIVE = "__live"


def is_temporal(plan: str) -> bool:
    """Whether an analyzed plan may read a temporal_view, at the clock or at a fixed instant."""
    return bool(frozen_at(plan)) or any(folded(parts(view)[-1]).endswith(LIVE) for view in views(plan))


def scans(plan: str) -> list[tuple[str, str]]:
    """The scans of files in a plan -> (table without quotes, the filters that reach partitions and statistics).

    >>> scans("== Physical Plan ==\\nFileScan parquet s.t[a#1] PushedFilters: [IsNotNull(a)], ReadSchema: x")
    [('s.t', 'PushedFilters: [IsNotNull(a)]')]
    >>> scans("== Physical Plan ==\\nBatchScan c.s.my t[a#1] IcebergScan(table=…, filters=a >= 5, runtimeFilters=)")
    [('c.s.my t', 'filters=a >= 5')]
    """
    physical = plan.rpartition("== Physical Plan ==")[2]
    return [(name, (of_spark or of_iceberg).strip()) for name, of_spark, of_iceberg in _SCAN.findall(physical)]


#: Spark puts no quotes around the names of tables and columns here
_SCAN = re.compile(
    r"(?:FileScan \w+|BatchScan(?: (?:parquet|orc|csv|json|text|avro))?) ([^\[\n]+)\[.*?"
    r"(?:((?:PartitionFilters|PushedFilters): .*?)(?:, ReadSchema|$)|"
    r"\b(filters=.*?)(?:, (?:runtimeFilters|groupedBy)=|$))",
    re.MULTILINE,
)


def is_bounded(filters: str) -> bool:
    """Whether the filters of a scan have more than IS NOT NULL.

    >>> is_bounded("filters=event-ts IS NOT NULL, event-ts >= 5"), is_bounded("filters=a, b IS NOT NULL")
    (True, False)
    """
    items = re.sub(r"\w+Filters: |filters=|[\[\]]", "", filters)
    others = re.sub(r"isnotnull\([^)]*\)", "", items, flags=re.IGNORECASE).split(", ")
    return any(_COMPARES.search(item) for item in others if not item.endswith(" IS NOT NULL"))


#: a part of a condition that is no part of a name: `k#1` alone is the condition of a BOOLEAN
_COMPARES = re.compile(r"[<>=(#]| IN | LIKE | IS NULL\b")
