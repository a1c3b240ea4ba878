"""A change of the product has a line in CHANGELOG.md.

    python tests/packaging/changelog_gate.py origin/main     compares with this commit

A change that no user can notice says so in the message of a commit: a line `no changelog: why`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

PRODUCT = ("dbt/", "macros/", "materializations/", "profile_template.yml", "dbt_project.yml")


def is_missing(names: Sequence[str], messages: str) -> bool:
    """names: the files that changed. messages: of the commits.

    >>> is_missing(["dbt/x.py"], "a mend"), is_missing(["dbt/x.py"], "moved\\n\\nno changelog: names alone")
    (True, False)
    >>> is_missing(["dbt/x.py", "CHANGELOG.md"], ""), is_missing(["docs/x.md"], "")
    (False, False)
    """
    told = "CHANGELOG.md" in names or any(line.startswith("no changelog: ") for line in messages.splitlines())
    return not told and any(name.startswith(PRODUCT) for name in names)


def asked(*command: str) -> str:
    return subprocess.run(["git", *command], capture_output=True, text=True, check=True).stdout


def main(base: str) -> int:
    names = asked("diff", "--name-only", f"{base}...HEAD").splitlines()
    if is_missing(names, asked("log", "--format=%B", f"{base}..HEAD")):
        print("the product changed: CHANGELOG.md needs a line, or a commit the line `no changelog: why`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
