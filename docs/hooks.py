"""What `make docs` adds to mkdocs: pages of the repository's root, links that leave docs/, pictures with a dark form.

| a link of a page to | becomes |
|---|---|
| a page of docs/, or one of `PAGES` | a link of the site |
| any other file or folder of the repository | its text alone: the site has no copy of the file |
| a path that is not there | stays as it is, and strict mode fails |

A `<picture>` with a source for dark pages follows the system where GitHub shows it. On the site it becomes two images,
of which the theme shows the one of the colours that the reader chose.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
#: file of the root -> page of the site
PAGES = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing/index.md", "CHANGELOG.md": "changelog.md",
         "SECURITY.md": "security.md"}  # fmt: skip
_SOURCES = {page: source for source, page in PAGES.items()}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")
_FENCED = re.compile(r"(^[ >]*```.*?^[ >]*```[ ]*$)", flags=re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img src="([^"]+)" alt="([^"]*)">\s*</picture>'
)


def on_files(files: Any, config: Any) -> Any:
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = page.file.src_uri
    source = _SOURCES.get(here, f"docs/{here}")
    parts = _FENCED.split(markdown)  # every second part is a listing
    parts[::2] = [_PICTURE.sub(r"![\3](\2#only-light)\n![\3](\1#only-dark)", part) for part in parts[::2]]
    parts[::2] = [_LINK.sub(lambda found: _on_the_site(found, source, here), part) for part in parts[::2]]
    return "".join(parts)


def _on_the_site(link: re.Match[str], source: str, here: str) -> str:
    """A link of the file `source`, which is the page `here`."""
    image, text, path, anchor = link.groups(default="")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if target in PAGES:
        target = PAGES[target]
    elif target == "docs" or target.startswith("docs/"):
        target = target.removeprefix("docs").lstrip("/") or "index.md"
    else:
        return text if (ROOT / target).exists() else link[0]
    if not posixpath.splitext(target)[1]:
        target += "/README.md"
    return f"{image}[{text}]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{anchor})"
