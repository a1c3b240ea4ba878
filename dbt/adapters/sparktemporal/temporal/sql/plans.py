"""Spark's plans as EXPLAIN prints them: whether two queries are one to Spark, and what a plan reads, calls and scans.

sqlglot's grammar is close to Spark's, not the same. A model is accepted only when Spark itself makes the same plan of
the written text and of the text printed from the tree, so a misreading is refused instead of answered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import Refusal
from .functions import registry
from .functions.row import SESSION
from .relations import table_of


def check(plan_of_text: str, plan_of_tree: str) -> None:
    """Refuse when two EXPLAIN EXTENDED outputs tell different queries.

    Optimized plans alone would not do: Spark orders several `count(DISTINCT …)` there by chance.
    """
    text, tree = _sections(plan_of_text), _sections(plan_of_tree)
    if any(text.get(k) == tree.get(k) is not None for k in ("Parsed", "Analyzed", "Optimized")):
        return
    ours = tree.get("Optimized", "").splitlines()
    line = next((a for a, b in zip(text.get("Optimized", "").splitlines(), ours) if a != b), "its plan")
    raise Refusal(
        line.strip(),
        "this part of the model is read differently here than by Spark, and nothing is guessed",
        "the same in plainer SQL, or move this part into an upstream model",
    )


def _sections(plan: str) -> dict[str, str]:
    """Section -> its text with expression ids numbered in the order they appear."""
    parts = re.findall(r"== (\w+) Logical Plan ==\n(.*?)(?=\n== |\Z)", plan, re.DOTALL)
    return {name: _numbered(body).strip() for name, body in parts}


def _numbered(body: str) -> str:
    """Expression ids, and the names that Spark numbers, in the order they appear. Quoted names stay as they are.

    >>> _numbered("_common_expr_34#7 AS a#9L, _common_expr_34#7"), _numbered("RelationV2[a#7] c.s.`t#7`")
    ('_common_expr_0#0 AS a#1, _common_expr_0#0', 'RelationV2[a#0] c.s.`t#7`')
    >>> _numbered("CTERelationDef 31, false ... CTERelationRef 31, true")
    'CTERelationDef 0, false ... CTERelationRef 0, true'
    """
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    ctes: dict[str, str] = {}
    body = body.replace("NOT isnull(", "isnotnull(")  # `x IS NOT NULL` and how the tree prints it
    body = _CTE.sub(lambda m: m.group(1) + ctes.setdefault(m.group(2), str(len(ctes))), body)
    body = re.sub(r"\b_common_expr_\d+", lambda m: names.setdefault(m.group(), f"_common_expr_{len(names)}"), body)
    return _ID.sub(lambda m: ids.setdefault(m.group(), f"#{len(ids)}") if m.group(1) else m.group(), body)


_CTE = re.compile(r"\b(CTERelation(?:Def|Ref) )(\d+)\b")
_ID = re.compile(r"(#\d+L?)|(?<=[ .])`(?:[^`\n]|``)+`")


def analyzed(plan: str) -> str:
    return _sections(plan).get("Analyzed", "")


def inside_of_view(plan: str) -> list[str]:
    """What an analyzed plan of reading a view has below the view and its casts to the types of its columns."""
    lines = plan.splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip(_TREE).startswith("View ("))
    assert lines[at + 1].lstrip(_TREE).startswith("Project [cast("), lines[at + 1]
    return _operators(lines[at + 2 :])


def without_names(plan: str) -> list[str]:
    """The operators of an analyzed plan, but for the names that queries have in it."""
    return _operators(plan.splitlines()[1:])  # the first is the schema


def _operators(lines: Sequence[str]) -> list[str]:
    bare = [line.lstrip(_TREE) for line in lines]
    return plan_text(_numbered("\n".join(line for line in bare if not line.startswith("SubqueryAlias ")))).splitlines()


_TREE = " :+-|"


def optimized(plan: str) -> str:
    return _sections(plan)["Optimized"]


def moves_by_itself(plan: str) -> bool:
    """Whether an analyzed plan has a clock or chance in it: a view's, for a model has no other clock than mz_now()."""
    return bool(_BY_ITSELF.search(plan))


def tables_read(plan: str) -> list[str] | None:
    """The tables at the leaves of an analyzed plan, one a leaf; None when it reads anything else but constants."""
    if moves_by_itself(plan):
        return None
    lines = plan.splitlines()[1:]  # the first is the schema
    depths = [len(line) - len(line.lstrip(" :+-")) for line in lines]
    leaves = [line[depth:] for line, depth, after in zip(lines, depths, [*depths[1:], 0]) if after <= depth]
    found = []
    for leaf in leaves:
        table = table_of(leaf)
        if table is not None:
            found.append(table)
        elif not _CONSTANT.match(leaf):
            return None
    return found if leaves else None


_MOVING = registry.names(lambda row: row.depends_on not in ("", SESSION) and row.arguments is None)
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
    """An analyzed plan with what Spark counts from the start of the session numbered anew."""
    ctes: dict[str, str] = {}
    return re.sub(r"(?<=CTERelation)(Def|Ref) (\d+)", lambda m: f"{m[1]} {ctes.setdefault(m[2], str(len(ctes)))}", plan)


def runs_python(plan: str) -> bool:
    """Whether Spark hands rows to Python: under what name a function is called does not tell."""
    return bool(re.search(r"^[ :|+*()\d-]*\w*(?:EvalPython|Pandas|Python\w*|InArrow)\b", optimized(plan), re.MULTILINE))


def variables(plan: str) -> list[str]:
    """The session variables that a plan reads."""
    return list(dict.fromkeys(re.findall(r"\bvariablereference\([\w.`]*?\.?(\w+)`?=", plan)))


def views(plan: str) -> list[str]:
    """The views a plan goes through, quoted."""
    return list(dict.fromkeys(re.findall(r"\bView \((`[^(]*?`), \[", plan)))


def scans(plan: str) -> list[tuple[str, str]]:
    """The scans of files in a plan -> (table, what of its filters reaches partitions and statistics, as Spark prints).

    >>> scans("== Physical Plan ==\\nFileScan parquet s.t[a#1] PushedFilters: [IsNotNull(a)], ReadSchema: x")
    [('s.t', 'PushedFilters: [IsNotNull(a)]')]
    >>> scans("== Physical Plan ==\\nBatchScan c.s.t[a#1] IcebergScan(table=c.s.t, filters=a >= 5, runtimeFilters=)")
    [('c.s.t', 'filters=a >= 5')]
    """
    physical = plan.rpartition("== Physical Plan ==")[2]
    return [(name, (of_spark or of_iceberg).strip()) for name, of_spark, of_iceberg in _SCAN.findall(physical)]


_SCAN = re.compile(
    r"(?:FileScan|BatchScan) (?:\w+ )?([\w.`]+)\[.*?"
    r"(?:((?:PartitionFilters|PushedFilters): .*?)(?:, ReadSchema|$)|"
    r"\b(filters=.*?)(?:, (?:runtimeFilters|groupedBy)=|$))",
    re.MULTILINE,
)


def is_bounded(filters: str) -> bool:
    """Whether the filters of a scan say more than that columns are no NULLs.

    >>> is_bounded("filters=ts IS NOT NULL, ts >= 5"), is_bounded("filters=ts IS NOT NULL")
    (True, False)
    """
    items = re.sub(r"\w+Filters: |filters=|[\[\]]", "", filters)
    said = re.sub(r"isnotnull\([^)]*\)|[\w.`]+ IS NOT NULL|\.\.\.", "", items, flags=re.IGNORECASE)
    return bool(said.strip(" ,"))
