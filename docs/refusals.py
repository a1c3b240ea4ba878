"""The errors of the product, as its code has them: each call with the code of a reason, and the page of all codes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dbt" / "adapters" / "sparktemporal"

#: the first digit of a code -> the heading of its section
SECTIONS = {
    "0": "Reads",
    "1": "Configs, instants and lengths",
    "2": "Names, the graph and the connection",
    "3": "Queries",
    "4": "Inputs",
    "5": "Runs",
    "6": "Macros",
    "7": "Operations",
    "8": "Queries for other engines",
    "9": "`explain`",
}
#: the codes of reasons that are gone. Their numbers are not used again
GONE: frozenset[str] = frozenset(
    {
        *("ST334", "ST335", "ST336"),  # of filters of a read that cannot be cut, which is no error
        "ST903",  # `explain` of names with a schema beside names without one, which is answered
    }
)
CODE = re.compile(r"ST\d{3}")


@dataclass(frozen=True, order=True)
class Refused:
    code: str
    found: str
    why: str
    instead: str


@cache
def refusals() -> list[Refused]:
    """Each error of the code that has a code, by the codes; `…` stands for what depends on the case."""
    said: set[Refused] = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(_with_tables(ast.parse(file.read_text()))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "raised":
                code, words = map(_text, node.args)
                said.add(Refused(code, re.sub(r": $", ": …", words), "", ""))
            elif isinstance(node, ast.Call) and len(node.args) >= 4:
                code, *parts = (" ".join(_text(argument).split()) for argument in node.args[:4])
                if CODE.fullmatch(code):
                    said.add(Refused(code, *parts))
    for raised in raised_by_macros():
        code, *parts = re.split(r" found: | why: | instead: ", " ".join(_of_jinja(raised).split()))
        said.add(Refused(code, *parts))
    return sorted(said)


def raised_by_macros() -> list[str]:
    """What each `raise_compiler_error` is called with, as Jinja has it."""
    files = [*(ROOT / "macros").glob("*.sql"), *(ROOT / "materializations").glob("*.sql")]
    call = re.compile(r"raise_compiler_error\((.*?)\) -?%\}", flags=re.DOTALL)
    return [raised for file in files for raised in call.findall(file.read_text())]


def _with_tables(tree: ast.Module) -> ast.Module:
    """A module with all values of a table of texts where one of them is taken."""
    tables = {
        node.targets[0].id: node.value.values
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict)
    }

    class Put(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            values = tables.get(node.value.id, []) if isinstance(node.value, ast.Name) else []
            texts = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
            return ast.Constant(" / ".join(texts)) if texts else self.generic_visit(node)

    return Put().visit(tree)


def _of_jinja(expression: str) -> str:
    """The texts of a concatenation, `…` for what is between them."""
    expression = re.sub(r"\.get\([^()]*\)", "", expression)
    texts = re.split(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", expression)
    texts[1::2] = [text[1:-1].replace("\\n", "\n") for text in texts[1::2]]
    texts[::2] = ["…" if re.search(r"\w", between) else "" for between in texts[::2]]
    return "".join(texts)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return re.sub(r"\{\w+\}", "…", _text(node.func.value))
    if isinstance(node, ast.IfExp):
        return " / ".join(filter(None, [_text(node.body), _text(node.orelse)]))
    return "…"


def _cell(words: str) -> str:
    """Words of an error as text: nothing in it is Markdown."""
    words = re.sub(r"…(?:…|\.…)+", "…", words).replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|])", r"\\\1", words)


def refusals_block() -> str:
    """A heading for each code and nothing else in it, so that a link to it holds when its words change."""
    lines: list[str] = []
    for digit, heading in SECTIONS.items():
        lines.append(f"## {heading}")
        for code, cases in groupby((one for one in refusals() if one.code[2] == digit), lambda one: one.code):
            listed = list(cases)
            # a reason that depends on the case has no words here
            whys = [f"**why:** {_cell(listed[0].why)}"] if re.search(r"\w", listed[0].why) else []
            lines += [f"#### {code}", *whys, *map(_lines, listed)]
    return "\n\n".join(lines)


def _lines(one: Refused) -> str:
    """The lines of an error besides its reason. What a read raises has one line."""
    return f"**found:** {_cell(one.found)}<br>**instead:** {_cell(one.instead)}" if one.instead else _cell(one.found)
