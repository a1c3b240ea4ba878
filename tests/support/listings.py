"""The listings of a page of docs/: the files it writes, the commands it runs, and what it says they print."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from support.project import Project, Result

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
    """Do what a page says, from the top down -> the number of dbt's commands.

    A listing of `text` after commands is what they print: each of its lines, in this order, other lines between them.
    `…` stands for anything. A command fails where the listing has FAIL or ERROR in it, and only there.
    """
    said, ran = listings(page), 0
    for listing, after in zip(said, [*said[1:], None]):
        if listing.file:
            project.write(listing.file, listing.text)
        if listing.language != "sh":
            continue
        shown = after.text if after is not None and after.language == "text" else ""
        results = [project.dbt(*words[1:], check=False) for words in listing.commands if words[0] == "dbt"]
        ran += len(results)
        printed = "\n".join(result.text for result in results)
        where = f"{page}, line {listing.line}: {listing.text}{printed}"
        assert all(result.success for result in results) == (re.search("FAIL|ERROR", shown) is None), where
        missing = _missing(shown, results)
        assert missing is None, f"{missing!r} is not printed. {where}"
    return ran


def _missing(shown: str, results: list[Result]) -> str | None:
    """The first line that is not printed."""
    printed = iter([line.rstrip() for result in results for line in result.text.splitlines()])
    for line in shown.splitlines():
        wanted = ".*".join(map(re.escape, line.rstrip().split("…")))
        if line.strip() not in ("", "…") and not any(re.fullmatch(wanted, one) for one in printed):
            return line
    return None
