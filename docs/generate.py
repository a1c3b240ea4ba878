"""The reference pages, from the code: `python docs/generate.py` writes `PAGES`, which `make docs` does first.

A page is text by hand around blocks `<!-- name: begin -->` … `<!-- name: end -->`; `BLOCKS` makes the blocks.

| block | is made of |
|---|---|
| configs | the fields of `TemporalConfig` |
| macros, data tests, operations, others | the heads of macros/*.sql, and their signatures |
| fields | the fields of `TemporalResponse`, and their words in its docstring |
| refusals | each call in the code that has the code of a reason |
| code | the first sentences of the docstrings of packages and modules |
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.contracts import TemporalResponse
from dbt.adapters.sparktemporal.looking import arguments

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PACKAGE = ROOT / "dbt" / "adapters" / "sparktemporal"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


# ---- words of a docstring --------------------------------------------------------------------------------------------


def described(of: type) -> dict[str, str]:
    """Field -> its words: `name: words`, over the lines that are indented below it, in the docstring of a class."""
    found: dict[str, str] = {}
    for entry in re.findall(r"^(\w+: .*(?:\n {4}.*)*)", inspect.getdoc(of) or "", flags=re.MULTILINE):
        name, _, words = entry.partition(": ")
        found[name] = " ".join(words.split())
    return found


def fields(of: type, without: type | None = None) -> list[Any]:
    inherited = {field.name for field in dataclasses.fields(without)} if without else set()
    return [field for field in dataclasses.fields(of) if field.name not in inherited]


# ---- configs ---------------------------------------------------------------------------------------------------------


def config_names() -> list[str]:
    """The configs of a temporal_view that a run reads."""
    return [config.name for config in dataclasses.fields(TemporalConfig)]


def config_rows() -> list[list[str]]:
    rows = []
    for config in dataclasses.fields(TemporalConfig):
        kind, words = config.metadata["kind"], config.metadata["words"]
        rows.append([f"`{config.name}`", words, kind.values, kind.shown(config.default)])
    return rows


def configs_block() -> str:
    return table(["config", "meaning", "values", "default"], config_rows())


# ---- macros ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Macro:
    """kind: macro, data test, operation or other. command: the command line of an operation, as its head has it."""

    name: str
    kind: str
    parameters: str
    words: str
    command: str = ""


@cache
def macros() -> list[Macro]:
    """Each macro and data test, by name."""
    return sorted((_macro(file.read_text()) for file in (ROOT / "macros").glob("*.sql")), key=lambda m: m.name)


def _macro(text: str) -> Macro:
    head = re.match(r"\s*\{#-?(.*?)-?#\}", text, flags=re.DOTALL)
    words = " ".join(head[1].split()) if head else ""
    found = re.search(r"\{%-?\s*(macro|test)\s+(\w+)\((.*?)\)\s*-?%\}", text, flags=re.DOTALL)
    assert found, text
    name, parameters = found[2], " ".join(found[3].split())
    command = re.match(rf"(dbt run-operation {name}(?: \[?--args '[^']*'\]?)?): ", words)
    if command:
        return Macro(name, "operation", parameters, words[command.end() :], command[1])
    kind = "data test" if found[1] == "test" else "macro" if parameters.startswith("relation=") else "other"
    return Macro(name, kind, parameters, words)


def _first(words: str) -> str:
    """The first sentence; where it goes on with columns or a call, what stands before these."""
    sentence = re.split(r"(?<=[.;])\s", words, maxsplit=1)[0].rstrip(".;")
    before, _, rest = sentence.partition(": ")
    return before if rest and len(before) > 15 else sentence


def _marked(macro: Macro) -> str:
    """The words, with the names of parameters as code."""
    names = "|".join(re.findall(r"(\w+)=", macro.parameters))
    return re.sub(rf"(?:^|(?<=[.;] ))({names})(?=: )", r"`\1`", macro.words) if names else macro.words


def _sections(kind: str) -> Iterator[str]:
    for macro in macros():
        if macro.kind == kind:
            yield f"### {macro.name}"
            yield _listing(macro)
            yield _capital(_marked(macro))


def _listing(macro: Macro) -> str:
    if macro.kind == "operation":
        known = arguments._ARGUMENTS.get(macro.name, {})
        listed = ", ".join(f"{name}: {value or '<model>'}" for name, value in known.items())
        full = f"dbt run-operation {macro.name} --args '{{{listed}}}'" if listed else macro.command
        return f"```sh\n{full}\n```"
    if macro.kind == "data test":
        given = re.sub(r"^model(?:, )?", "", macro.parameters)
        pairs = ", ".join(f"{name}: {_yaml(value)}" for name, value in re.findall(r"(\w+)=([^,]+)", given))
        return "```yaml\ndata_tests:\n  - " + macro.name + (f": {{arguments: {{{pairs}}}}}" if pairs else "") + "\n```"
    return "```jinja\n" + f"{macro.name}({macro.parameters})" + "\n```"


def _yaml(value: str) -> str:
    return {"none": "null"}.get(value.strip(), value.strip().replace("'", '"'))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def macro_block(kind: str) -> Callable[[], str]:
    def block() -> str:
        listed = [m for m in macros() if m.kind == kind]
        rows = [[f"[`{m.name}`](#{m.name})", _capital(_first(m.words))] for m in listed]
        return "\n\n".join([table([kind, "in one line"], rows), *_sections(kind)])

    return block


def others_block() -> str:
    return table(["macro", "does"], [[f"`{m.name}`", _capital(m.words)] for m in macros() if m.kind == "other"])


# ---- run_results.json ------------------------------------------------------------------------------------------------


def response_fields() -> list[str]:
    return [field.name for field in fields(TemporalResponse, TemporalResponse.__mro__[1])]


def fields_block() -> str:
    words, kinds = described(TemporalResponse), TemporalResponse.__annotations__
    rows = [[f"`{name}`", words.get(name, ""), _json(str(kinds[name]))] for name in response_fields()]
    return table(["field", "meaning", "type"], rows)


def _json(kind: str) -> str:
    plain = {"str": "text", "int": "number", "float": "number", "bool": "true or false"}
    first, *rest = kind.split(" | ")
    if first.startswith("list"):
        first = "list of texts" if first == "list[str]" else "list"
    elif first.startswith("dict"):
        first = "object"
    return plain.get(first, first) + (" or null" if "None" in rest else "")


# ---- refusals --------------------------------------------------------------------------------------------------------

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
            told = (
                f"**found:** {_cell(one.found)}<br>**instead:** {_cell(one.instead)}"
                if one.instead
                else _cell(one.found)
                for one in listed
            )
            lines += [f"#### {code}", *whys, *told]
    return "\n\n".join(lines)


def _lines(one: Refused) -> str:
    """The lines of an error besides its reason. What a read raises has one line."""
    return f"**found:** {_cell(one.found)}<br>**instead:** {_cell(one.instead)}" if one.instead else _cell(one.found)


# ---- the code --------------------------------------------------------------------------------------------------------


def code_block() -> str:
    """A heading for each package, the packages that import others before these, and a table of its modules."""
    parts = []
    for folder in (PACKAGE, *sorted({file.parent for file in PACKAGE.rglob("*.py")} - {PACKAGE})):
        name = folder.relative_to(PACKAGE).as_posix()
        modules = sorted(file for file in folder.glob("*.py") if file.stem not in ("__init__", "__version__"))
        head = "the root" if folder == PACKAGE else f"`{name}/`: {_first_sentence(folder / '__init__.py')}"
        parts.append(f"## {head.rstrip('.')}")
        if modules:
            parts.append(
                table(["module", "what it does"], [[f"`{file.stem}`", _first_sentence(file)] for file in modules])
            )
    return "\n\n".join(parts)


def _first_sentence(file: Path) -> str:
    said = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(said.partition("\n\n")[0].split()).replace("|", "\\|")


# ---- the pages -------------------------------------------------------------------------------------------------------

BLOCKS: dict[str, Callable[[], str]] = {
    "configs": configs_block,
    "macros": macro_block("macro"),
    "data tests": macro_block("data test"),
    "operations": macro_block("operation"),
    "others": others_block,
    "fields": fields_block,
    "refusals": refusals_block,
    "code": code_block,
}
#: the pages that have blocks
PAGES = sorted([*REFERENCE.glob("*.md"), ROOT / "docs" / "architecture" / "code.md"])


def written(page: Path) -> str:
    """A page with its blocks as the code has them now."""

    def block(found: re.Match[str]) -> str:
        return f"{found[1]}\n\n{BLOCKS[found[2]]()}\n\n{found[3]}"

    marks = r"(<!-- ([\w ]+): begin -->)\n.*?(<!-- \2: end -->)"
    return re.sub(marks, block, page.read_text(), flags=re.DOTALL)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page))
