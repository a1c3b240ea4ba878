"""Whether Spark takes two texts for one query, by the plans that EXPLAIN EXTENDED prints of them.

sqlglot's grammar is close to Spark's, and not the same. A model is accepted only when Spark makes the same plan of the
written text and of the text printed from the tree. So a query parsed wrongly is refused, never answered wrongly.

Analyzed plans decide, because Spark optimizes by chance: two runs of one text may differ in which projections are
merged and in the order of several `count(DISTINCT …)`. Equal optimized plans are enough all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....errors import Refusal
from .plans import TREE, numbered, sections


def check(plan_of_text: str, plan_of_tree: str) -> None:
    """Refuse when two outputs of EXPLAIN EXTENDED are of different queries. Names of CTEs and aliases may differ."""
    text, tree = sections(plan_of_text), sections(plan_of_tree)
    if any(text.get(k) == tree.get(k) is not None for k in ("Parsed", "Analyzed", "Optimized")):
        return
    analyses = [_operators(plan.get("Analyzed", "").splitlines()) for plan in (text, tree)]
    if analyses[0] == analyses[1] != []:
        return
    ours = tree.get("Optimized", "").splitlines()
    line = next((a for a, b in zip(text.get("Optimized", "").splitlines(), ours) if a != b), "its plan")
    raise Refusal(
        "ST317",
        line.strip(),
        "Spark resolves this part otherwise than dbt-sparktemporal; the model is refused rather than guessed at",
        "the same in plainer SQL, or move this part into an upstream model",
    )


def is_inside(of_view: str, of_text: str) -> bool:
    """Whether a text is the query of a view, by EXPLAIN EXTENDED of the view and of the text.

    The plan of the view differs only by casts to the types of the view's columns.
    """
    lines, alone = (sections(plan).get("Analyzed", "").splitlines() for plan in (of_view, of_text))
    at = next((i for i, line in enumerate(lines) if line.lstrip(TREE).startswith("View (")), len(lines))
    is_cast = len(lines) > at + 1 and lines[at + 1].lstrip(TREE).startswith("Project [cast(")
    return is_cast and _operators(lines[at + 2 :]) == _operators(alone[1:])  # the first line is the schema


def _operators(lines: Sequence[str]) -> list[str]:
    """A plan's operators that change rows or columns, without tree marks (`+-`), ids numbered in order of appearance.

    `SubqueryAlias`, `PipeOperator`, and a `Project` of all columns in their order change none.
    """
    depths = [len(line) - len(line.lstrip(TREE)) for line in lines]
    bare = [line[depth:] for line, depth in zip(lines, depths)]
    outputs: list[str | None] = [None] * len(bare)
    kept: list[str] = []
    for at in reversed(range(len(bare))):
        below = _child(depths, at)
        given = outputs[below] if below is not None else None
        outputs[at] = _output(bare[at], given)
        if bare[at].startswith(_NAMES) or (given is not None and bare[at] == f"Project [{given}]"):
            continue
        if below is not None and (bare[below], _RENAMED.sub("", bare[at])) == (
            f"LocalRelation [{given}]",
            f"Project [{given}]",
        ):
            kept.pop()
            bare[at] = f"LocalRelation [{outputs[at]}]"
        kept.append(bare[at])
    text = _LITERAL.sub(lambda m: m[1] or m[2], _NTZ.sub(r"\1", "\n".join(reversed(kept))))
    return [_BOUND.sub(r"\1", line) for line in numbered(text).splitlines()]


#: the names that a projection gives to `VALUES … AS n(a, b)`. Printed from the tree, the VALUES has these names itself
_RENAMED = re.compile(r" AS \w+#\d+L?")
#: a literal of a time, which the tree prints as a cast of its text
_TIME = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d*[1-9])?)"
_NTZ = re.compile(rf"cast\({_TIME} as timestamp_ntz\)")
_LITERAL = re.compile(rf"cast\({_TIME} as timestamp\)|cast\((\d{{4}}-\d\d-\d\d) as date\)")
#: how many rows a CTE has at most, where Spark knows
_BOUND = re.compile(r"^(CTERelationRef .*, (?:true|false)), \d+$")
_NAMES = ("SubqueryAlias ", "PipeOperator")
#: operators with the columns of their first child
_KEEP_COLUMNS = (*_NAMES, "Filter ", "Sort ", "GlobalLimit ", "LocalLimit ", "Offset ", "Distinct", "Union ")


def _child(depths: Sequence[int], at: int) -> int | None:
    """The index of an operator's first child. Subquery plans, one step deeper, may come before the child."""
    for below in range(at + 1, len(depths)):
        if depths[below] <= depths[at]:
            return None
        if depths[below] == depths[at] + 3:
            return below
    return None


def _output(operator: str, given: str | None) -> str | None:
    """The columns of an operator, written as in a `Project`; None where the operator's text does not tell.

    given: the columns of the operator's first child.

    >>> _output("Relation s.t[a#1,b#2L] parquet", None), _output("Project [a#1, (b#2L + 1) AS c#3L]", None)
    ('a#1, b#2L', 'a#1, c#3L')
    >>> _output("Aggregate [k#1], [k#1, max(f(a#2, b#3)) AS c#4]", None), _output("Join Inner", "a#1")
    ('k#1, c#4', None)
    """
    if operator.startswith(_KEEP_COLUMNS):
        return given
    leaf = _LEAF.fullmatch(operator)
    if leaf is not None:
        return ", ".join(re.split(", ?", leaf[1]))
    kind, _, rest = operator.partition(" ")
    if kind not in _LISTS:
        return None
    last = _items(rest)[-1]
    names = [_NAMED.search(item) for item in _items(last.removeprefix("[").removesuffix("]"))]
    return ", ".join(name[0] for name in names if name is not None) if all(names) else None


#: operators whose last list is their columns
_LISTS = {"Project", "Aggregate", "Expand"}
#: a plain column with its id, whole or behind AS
_NAMED = re.compile(r"(?:^|(?<= AS ))\w+#\d+L?$")
_LEAF = re.compile(r"(?:Relation|RelationV2|LocalRelation) ?[\w.`]*\[(\w+#\d+L?(?:, ?\w+#\d+L?)*)\](?: [\w.`]+)?")


def _items(text: str) -> list[str]:
    """The items of a text, split at each `, ` outside of brackets."""
    items, depth = [""], 0
    for part in re.split(r"(, |[(\[{]|[)\]}])", text):
        depth += (part in {*"([{"}) - (part in {*")]}"})
        if part == ", " and depth == 0:
            items.append("")
        else:
            items[-1] += part
    return items
