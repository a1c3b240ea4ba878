"""What a release needs: all that can be done here is done, and what is left to a person is printed.

    python tests/packaging/release_check.py              before a tag
    python tests/packaging/release_check.py v0.1.0       of a tag: what is left fails

| made | is in |
|---|---|
| wheel and sdist, installed and tried | `dist/` |
| the bill of materials: what an installed wheel brings along (CycloneDX, JSON) | `build/sbom.json` |
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import wheel_check

ROOT = Path(__file__).parents[2]
_VERSION = re.compile(r'version = "([^"]+)"')
_HEADING = re.compile(r"^## (\S+), (.+)$", flags=re.MULTILINE)


def version() -> str:
    return _VERSION.findall((ROOT / "dbt/adapters/sparktemporal/__version__.py").read_text())[0]


def left(version: str, changelog: str, tag: str, metadata: str) -> Iterator[str]:
    """What a person has to do before a tag.

    changelog, metadata: the texts of CHANGELOG.md and of the wheel's METADATA.

    >>> built = "Version: 0.1.0\\nProject-URL: Repository, https://h/o/n"
    >>> list(left("0.1.0", "## 0.1.0, 2026-12-01", "v0.1.0", built))
    []
    >>> list(left("0.1.0", "## 0.1.0, unreleased", "v0.2.0", "Version: 0.1.0"))[0]
    'CHANGELOG.md begins with "0.1.0, unreleased": give it its date'
    """
    newest, date = (_HEADING.findall(changelog) or [("nothing", "")])[0]
    if newest != version:
        yield f"CHANGELOG.md begins with {newest}, and the version is {version}"
    elif not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        yield f'CHANGELOG.md begins with "{newest}, {date}": give it its date'
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, and the version is {version}"
    built = Parser().parsestr(metadata)
    if built["Version"] != version:
        yield f"the wheel has the version {built['Version']}"
    if not any(url.startswith("Repository,") for url in built.get_all("Project-URL", [])):
        yield (
            "pyproject.toml names no address of the repository: Repository in [project.urls]. Without one, the "
            "links and pictures of README.md lead nowhere on the page of the package index"
        )


def bill(wheel: Path, to: Path) -> int:
    """Write the bill of materials of an installed wheel -> the number of its components."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "installed", with_pip=True)
        python = folder / "installed" / "bin" / "python"
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        wheel_check.run(python, *pip, "-c", ROOT / "constraints.txt", f"{wheel}[session]", cwd=folder)
        made = folder / "sbom.json"
        wheel_check.run(sys.executable, "-m", "cyclonedx_py", "environment", python, "-o", made, cwd=folder)
        to.parent.mkdir(exist_ok=True)
        shutil.copy(made, to)
    return len(json.loads(to.read_text())["components"])


def main(tag: str = "") -> int:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    wheel_check.run(sys.executable, "-m", "build", "--outdir", dist, ROOT, cwd=ROOT)
    wheel_check.main()
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        metadata = files.read(next(n for n in files.namelist() if n.endswith("METADATA"))).decode()
    print(f"build/sbom.json: {bill(wheel, ROOT / 'build' / 'sbom.json')} components")
    todo = list(left(version(), (ROOT / "CHANGELOG.md").read_text(), tag, metadata))
    if tag:
        print(*(f"missing: {one}" for one in todo), sep="\n")
        return 1 if todo else 0
    todo += [
        "release.yml as a publisher of the package index, and the environment pypi with its reviewers",
        "pages and private reports of vulnerabilities, switched on in the settings of the repository",
        f"the tag v{version()}, on a commit whose checks and last nightly run passed",
    ]
    print("left to a person:", *(f"- {one}" for one in todo), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
