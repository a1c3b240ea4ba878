"""The listings of a page of docs/: the files it writes, the commands it runs, and what it says they print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from support.project import Project

#: the schema of a project, in SQL and in what is printed
_IN_A_SCHEMA = re.compile(r"\b(?:analytics|raw)(?=\.\w)")
#: the title of SQL that is sent to Spark
IN_SPARK = "in Spark"
DOCS = Path(__file__).parents[2] / "docs"
#: a file's name: `title="seeds/orders.csv"` beside the language, or a comment on the first line
_TITLE = re.compile(r'title="([^"]+)"')
_COMMENT = re.compile(r"(?:--|#) ([\w./-]+\.\w+)$")
_FENCE = re.compile(r"^([ ]*)```(\w+)([^\n]*)\n(.*?)^\1```[ ]*$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Listing:
    """language: the word after the backquotes. file: the path in a project, or "". line: where the text begins."""

    language: str
    file: str
    text: str
    line: int

    @property
    def commands(self) -> list[list[str]]:
        """The command lines of a shell, in words. A backslash at the end of a line continues it."""
        joined = self.text.replace("\\\n", " ")
        return [shlex.split(line, comments=True) for line in joined.splitlines() if line.strip()]


def listings(page: str) -> list[Listing]:
    """page: its path below docs/."""
    text, found = (DOCS / page).read_text(), []
    for fence in _FENCE.finditer(text):
        body = re.sub(rf"^{fence[1]}", "", fence[4], flags=re.MULTILINE)
        named = _TITLE.search(fence[3]) or _COMMENT.match(body.partition("\n")[0])
        found.append(Listing(fence[2], named[1] if named else "", body, text.count("\n", 0, fence.start()) + 2))
    return found


def follow(project: Project, page: str) -> int:
    """Do what a page says, from the top down -> the number of commands that ran.

    | listing | is |
    |---|---|
    | with the name of a file | written |
    | `sql title="in Spark"` | sent to Spark |
    | `sh` | run: `dbt` in-process, `python` as a process |
    | `text` after commands | what they print: each of its lines, in this order, others between; `…` is anything |

    A command fails where the listing after it has FAIL or ERROR in it, and only there. Pages call the schema of their
    sources `raw` and the schema of the project `analytics`.
    """
    said, ran = [replace(one, text=_IN_A_SCHEMA.sub(project.schema, one.text)) for one in listings(page)], 0
    for listing, after in zip(said, [*said[1:], None]):
        if listing.file == IN_SPARK:
            project.sql(listing.text)
        elif listing.file:
            project.write(listing.file, listing.text)
        if listing.language != "sh":
            continue
        shown = after.text if after is not None and after.language == "text" else ""
        results = [_run(project, words) for words in listing.commands if words[0] in ("dbt", "python")]
        ran += len(results)
        printed = "\n".join(text for _, text in results)
        where = f"{page}, line {listing.line}: {listing.text}{printed}"
        assert all(success for success, _ in results) == (re.search("FAIL|ERROR", shown) is None), where
        missing = _missing(shown, printed)
        assert missing is None, f"{missing!r} is not printed. {where}"
    return ran


def _run(project: Project, words: list[str]) -> tuple[bool, str]:
    """-> whether it succeeded, and all that it printed."""
    if words[0] == "dbt":
        result = project.dbt(*words[1:], check=False)
        return result.success, result.text
    done = subprocess.run([sys.executable, *words[1:]], cwd=project.path, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def _missing(shown: str, printed: str) -> str | None:
    """The first line that is not printed."""
    lines = iter([line.rstrip() for line in printed.splitlines()])
    for line in shown.splitlines():
        wanted = ".*".join(map(re.escape, line.rstrip().split("…")))
        if line.strip() not in ("", "…") and not any(re.fullmatch(wanted, one) for one in lines):
            return line
    return None
