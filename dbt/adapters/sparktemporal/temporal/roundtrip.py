"""Whether the tree means to Spark what the text means: the plans of both are compared.

sqlglot's grammar is close to Spark's, not the same. A model is accepted only when Spark itself makes the same plan of
the written text and of the text printed from the tree, so a misreading is refused instead of answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from ..errors import Refusal
from .dialect import expression, is_mz_now, mz_now_spans, parse, render
from .functions import CHANCE, CLOCK, CODE, FICKLE, FILES, PLACE
from .intervals import BIGINT, TIMESTAMP
from .predicates import Comparison
from .sql.relations import table_of
from .timestamps import as_written


def clock_literal(kind: str, instant: str) -> str:
    """mz_now() at an instant (SQL of a BIGINT, ms), as what it is compared with wants it."""
    return f"timestamp_millis({instant})" if kind == TIMESTAMP else f"({instant})"


def written_at(sql: str, kinds: Sequence[str], instant: str) -> str:
    """The model's own text with each mz_now() replaced; nothing else of it is touched.

    >>> written_at("select a from t where mz_now() < ts", ["timestamp"], "5L")
    'select a from t where timestamp_millis(5L) < ts'
    """
    out, last = [], 0
    for (start, end), kind in zip(mz_now_spans(sql), kinds, strict=True):
        out += [sql[last:start], clock_literal(kind, instant)]
        last = end
    return "".join(out) + sql[last:]


def printed_at(sql: str, kinds: Sequence[str], instant: str, local_timestamps: bool = False) -> str:
    """The same from the tree: what `check` compares the text with. local_timestamps: see `timestamps`."""
    starts = {start: kind for (start, _), kind in zip(mz_now_spans(sql), kinds, strict=True)}

    def replaced(call: exp.Expr) -> exp.Expr:
        return expression(clock_literal(starts[call.meta["start"]], instant))

    tree = as_written(parse(sql)) if local_timestamps else parse(sql)
    return render(tree.transform(lambda n: replaced(n) if is_mz_now(n) else n))


_AT_READ = {TIMESTAMP: "mz_now_timestamp", BIGINT: "mz_now_bigint"}


def with_marks(residual: exp.Expr, calls: Mapping[int, str]) -> exp.Expr:
    """A residual whose calls of mz_now() say which kind they are: what the state keeps is text."""
    return residual.transform(
        lambda n: exp.Anonymous(this=_AT_READ[calls[n.meta["start"]]], expressions=[]) if is_mz_now(n) else n
    )


def at_instant(residual: exp.Expr, instant: str) -> exp.Expr:
    """The same with the marks replaced by an instant (SQL of a BIGINT, ms)."""
    return with_clock(residual, lambda kind: expression(clock_literal(kind, instant)))


def with_clock(residual: exp.Expr, clock: Callable[[str], exp.Expr]) -> exp.Expr:
    """The same with the marks replaced by what `clock` makes of a kind."""
    kinds = {mark: kind for kind, mark in _AT_READ.items()}

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.lower() in kinds:
            return clock(kinds[node.name.lower()])
        return node

    return residual.transform(replaced)


def compared_kinds(comparisons: Sequence[Comparison], kinds: Sequence[str]) -> dict[int, str]:
    """Where a call stands -> TIMESTAMP, or BIGINT beside a number, for the calls that are compared bare.

    One call beside both (`mz_now() BETWEEN ms AND ts`) has no type, in Spark as here.
    """
    at: dict[int, str] = {}
    for comparison, kind in zip(comparisons, kinds):
        side = TIMESTAMP if kind == TIMESTAMP else BIGINT
        if at.setdefault(comparison.at, side) != side:
            raise Refusal(
                comparison.written,
                "one mz_now() is compared with a number and with a timestamp",
                "two comparisons joined by AND",
            )
    return at


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


_MOVING = sorted(name for kind in (CLOCK, CHANCE, PLACE, CODE, FILES) for name in FICKLE[kind] if name != "aes_encrypt")
_WORD = r"(?:now|today|tomorrow|yesterday)\b(?!#)"
_BY_ITSELF = re.compile(
    rf"\b(?:{'|'.join(_MOVING)})\(|"
    # a vector is made up, but in the mode ECB, which has none
    r"\baes_encrypt\((?![^\n]*\bECB\b)|"
    # text that Spark reads as its clock: `cast(now as timestamp)`, `to_date(today, None, ...)`
    rf"\(\s*{_WORD}[^,()#]* as (?:date|timestamp)|\bto_(?:date|timestamp)\w*\(\s*{_WORD}|"
    r"\bcast\((?:lower|upper|l?trim|rtrim|btrim|concat|concat_ws|substr|substring|replace|reverse|variablereference)"
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
