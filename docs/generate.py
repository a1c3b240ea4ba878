"""The reference pages, from the code: `python docs/generate.py` writes `PAGES`, which `make docs` does first.

A page is text by hand around blocks `<!-- name: begin -->` … `<!-- name: end -->`; `BLOCKS` makes the blocks.

| block | is made of |
|---|---|
| configs | the fields of `TemporalConfig` |
| macros, data tests, operations, others | the heads of macros/*.sql, and their signatures |
| fields | the fields of `TemporalResponse`, and their words in its docstring |
| refusals | the errors of `refusals` |
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
from pathlib import Path
from typing import Any

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.contracts import TemporalResponse
from dbt.adapters.sparktemporal.looking import arguments
from refusals import PACKAGE, ROOT, refusals_block

REFERENCE = ROOT / "docs" / "reference"


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
