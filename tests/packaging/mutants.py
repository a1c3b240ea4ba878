"""Mutants of the pure core (`temporal/`), judged by the tests that need no Spark: `make mutants`.

    python tests/packaging/mutants.py                fails when fewer are killed than were recorded in mutants.json
    python tests/packaging/mutants.py --record       keeps how many are

mutmut (`[tool.mutmut]` of pyproject.toml) makes some twenty thousand mutants. The sample is the 300 whose names have
the smallest hashes: most of them are the same in the next version. mutmut runs those tests of a mutant that call its
function. A mutant survives when all of them pass, and is *untested* when there are none.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE = ROOT / "mutants"
RECORDED = Path(__file__).with_suffix(".json")
MUTMUT = str(Path(sys.executable).with_name("mutmut"))
SAMPLE = 300
#: a verdict of mutmut -> what it says of the tests
VERDICTS = {"killed": "killed", "timeout": "killed", "segfault": "killed", "no tests": "untested"}


def main(arguments: list[str]) -> None:
    shutil.rmtree(MADE, ignore_errors=True)  # what is left of another version
    mutmut("run", "no such mutant", check=False)  # makes the mutants, learns which tests call what, and finds no name
    sample = sorted(sampled(made()))
    mutmut("run", *sample)
    verdicts = dict(re.findall(r"^\s*(\S+__mutmut_\d+): (.+)$", mutmut("results", "--all", "true"), re.MULTILINE))
    found = {name: VERDICTS.get(verdicts[name], "survived") for name in sample}
    counts = Counter(found.values())
    for name, verdict in found.items():
        if verdict != "killed":
            print(f"{verdict:<10}{name}")
    survived = f"{counts['survived']} survived, {counts['untested']} untested"
    print(f"{counts['killed']} of {len(sample)} mutants killed, {survived}")
    if "--record" in arguments:
        RECORDED.write_text(json.dumps({"killed": counts["killed"], "sample": len(sample)}) + "\n")
    wanted = json.loads(RECORDED.read_text())["killed"]
    if counts["killed"] < wanted:
        sys.exit(f"{wanted} were killed when it was recorded: a test lost its teeth, or new code has none")


def made() -> list[str]:
    """The names of all mutants."""
    return [name for file in MADE.rglob("*.meta") for name in json.loads(file.read_text())["exit_code_by_key"]]


def sampled(names: list[str]) -> list[str]:
    """The names with the smallest hashes."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:SAMPLE]


def mutmut(*arguments: str, check: bool = True) -> str:
    """What it printed, its bars too. check: an error of it is one of this command."""
    ran = subprocess.run([MUTMUT, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and ran.returncode:
        sys.exit(ran.stdout.replace("\r", "\n")[-4000:])
    return ran.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
