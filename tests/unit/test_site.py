"""The site: the pages build in strict mode, and strict mode fails where a reader would end nowhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the page builder is set up by make lint and make docs, not by make test")
ROOT = Path(__file__).parents[2]
#: what is appended to a page -> the warning that fails the build
DEAD = {
    "[a page](nope.md)": "contains a link 'nope.md'",
    "[an anchor](semantics.md#nope)": "does not contain an anchor '#nope'",
    "[a file of the repository](../tests/nope.py)": "contains a link '../tests/nope.py'",
    "[the root](/nope)": "contains an absolute link '/nope'",
}


def built(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command of `make docs`, for the pages in a folder."""
    command = re.search(r"^docs:.*\n(?:\t.*\n)*?\t.*(mkdocs build.*)\n", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert command
    words = [sys.executable, "-m", *command[1].split(), "--site-dir", str(folder / "built")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The repository, with pages of its own."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    for entry in ROOT.iterdir():
        if entry.name not in ("docs", "site", ".git"):
            (tmp_path / entry.name).symlink_to(entry)
    return tmp_path


def test_the_pages_are_built(copy: Path) -> None:
    done = built(copy)
    assert done.returncode == 0, done.stderr
    html = "".join(page.read_text() for page in (copy / "built").rglob("*.html"))
    assert "<picture>" not in html  # the theme shows one of the two
    for name in ("read.png#only-light", "read-dark.png#only-dark"):
        assert html.count(f'/{name}"') == 2, f"{name}: in README and in benchmarks.md"
    assert not re.findall(r'(?:src|href)="https?://[^"]*\.(?:js|css|woff2?)"', html), "loaded when a page is viewed"


def test_a_link_to_nowhere_fails(copy: Path) -> None:
    with (copy / "docs" / "rights.md").open("a") as page:
        page.write("\n" + "\n".join(DEAD) + "\n")
    (copy / "docs" / "lost.md").write_text("# In no part of the navigation\n")
    done = built(copy)
    assert done.returncode != 0
    for warning in (*DEAD.values(), "lost.md"):
        assert warning in done.stderr
