"""What was tried with which versions: `make test-matrix` runs pairs of Spark and dbt-core for docs/versions.md.

    python tests/packaging/version_matrix.py                        every pair
    python tests/packaging/version_matrix.py 3.5/1.10 4.3/1.11      some
    python tests/packaging/version_matrix.py --record session jdbc iceberg    the calling environment, for other targets
    python tests/packaging/version_matrix.py --in 4.3/1.11 -m pytest tests/unit    a command of Python in that of a pair

A pair is an environment of its own in `.matrix`, and three things in it: the demo, the conformance cases, and a slice
of the histories. The outcome goes to `docs/versions.json`, and from there into the page. A row says which versions were
tried, so a run with the same versions and the same outcome changes no file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "docs" / "versions.json", ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- versions: begin -->", "<!-- versions: end -->"
#: every minor version that pyproject admits
SPARK, DBT = ("3.5", "4.0", "4.1", "4.2", "4.3"), ("1.10", "1.11", "1.12")
#: the optional parser of dbt-core from 1.12 on: its source package downloads a binary while it is built
PARSER = "dbt-core-experimental-parser"
#: what makes a row another row
KEY = ("method", "catalog", "format", "spark", "dbt-core")
TITLES = ("method", "catalog", "format of the diffs", "Spark", "dbt-core", "Python", "outcome")
#: what the pairs of the matrix are tried with
EMBEDDED = {"method": "session", "catalog": "in memory", "format": "parquet"}
TESTS = (
    "tests/conformance/test_cases.py",
    "tests/conformance/test_function_facts.py",
    "tests/property/test_histories.py",
    # versions of Spark describe functions in different ways
    "tests/engine/test_functions.py",
    "tests/property/test_redefined.py",
)
Row = dict[str, str]


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--record"]:
        method, catalog, file_format, *outcome = arguments[1:]
        keep({"method": method, "catalog": catalog, "format": file_format, **versions(), "outcome": " ".join(outcome)})
        return
    if arguments[:1] == ["--in"]:
        python, text = environment(*arguments[1].split("/"))
        if text:
            sys.exit(f"refused by pip: {last(text)}")
        sys.exit(subprocess.run([python, *arguments[2:]], cwd=ROOT, env=surroundings(), check=False).returncode)
    failed = []
    for cell in arguments or [f"{spark}/{dbt}" for spark in SPARK for dbt in DBT]:
        spark, dbt = cell.split("/")
        print(f"== Spark {spark}, dbt-core {dbt}", flush=True)
        row = tried(spark, dbt)
        print(f"   {row['outcome']}", flush=True)
        keep(row)
        failed += [cell] if row["outcome"].startswith("failed") else []
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def tried(spark: str, dbt: str) -> Row:
    """One pair in an environment of its own -> its row."""
    row = {**EMBEDDED, "spark": spark, "dbt-core": dbt, "python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    python, text = environment(spark, dbt)
    if text:
        return {**row, "outcome": f"refused by pip: {last(text)}"}
    _, told = run(python, __file__, "--versions")
    row |= json.loads(told)
    code, text = run(python, "integration_tests/demo.py")
    if code:
        return {**row, "outcome": f"failed: the demo ({last(text)})"}
    code, text = run(python, "-m", "pytest", "-q", "--catalog", "in-memory", "-m", "not deep", *TESTS)
    counts = {kind: int(number) for number, kind in re.findall(r"(\d+) (passed|failed|skipped|errors?)", last(text))}
    if code:
        print(*re.findall(r"^(?:FAILED|ERROR|E  ).*", text, flags=re.MULTILINE), sep="\n", flush=True)
        told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
        return {**row, "outcome": f"failed: {told or last(text)}"}
    told = ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "skipped") if kind in counts)
    return {**row, "outcome": f"passed: the demo, {told}"}


def environment(spark: str, dbt: str) -> tuple[Path, str]:
    """The Python of a pair's environment, which is made where it is missing, and what pip says against it, or ""."""
    home = ROOT / ".matrix" / f"{spark}-{dbt}"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    (home / "constraints.txt").write_text(own_pins())
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", home / "constraints.txt"]
    has_parser = number(dbt) >= (1, 12)
    first = "1.11" if has_parser else dbt
    code, text = run(*pip, "-e", f"{ROOT}[dev]", f"pyspark=={spark}.*", f"dbt-core=={first}.*")
    if has_parser and not code:
        code, text = without_parser(python, pip, dbt)
    return python, text if code else ""


def without_parser(python: Path, pip: list[object], dbt: str) -> tuple[int, str]:
    """Install a dbt-core with all that it requires but its parser, which only `--use-v2-parser` needs."""
    code, text = run(*pip, "--no-deps", f"dbt-core=={dbt}.*")
    if code:
        return code, text
    told = "from importlib import metadata; print(*metadata.requires('dbt-core'), sep='\\n')"
    wanted = [line for line in run(python, "-c", told)[1].splitlines() if line and not line.startswith(PARSER)]
    return run(*pip, *(line for line in wanted if "extra ==" not in line))


def own_pins() -> str:
    """The pins of what the project itself names beside dbt and Spark: these two decide about the rest."""
    named = re.findall(r'"([\w.-]+)[^"]*[<>=]=?\d', (ROOT / "pyproject.toml").read_text())
    kept = {name.lower() for name in named if not name.startswith(("dbt-", "pyspark"))}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return "\n".join(line for line in lines if line.partition("==")[0].lower() in kept) + "\n"


def versions() -> Row:
    """The versions in the calling environment."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"spark": metadata.version("pyspark"), "dbt-core": metadata.version("dbt-core"), "python": python}


def run(*command: object) -> tuple[int, str]:
    texts = [str(part) for part in command]
    done = subprocess.run(texts, cwd=ROOT, capture_output=True, text=True, env=surroundings(), check=False)
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def surroundings() -> dict[str, str]:
    """The variables of a command: without those that lead to another Spark."""
    kept = {key: value for key, value in os.environ.items() if key not in ("SPARK_REMOTE", "PYTHONPATH")}
    return {**kept, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}


def last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")[:200]


def keep(row: Row) -> None:
    """Put a row in the place of the one of the same minor versions, and the table into the page."""
    rows = [other for other in json.loads(RESULTS.read_text()) if key(other) != key(row)] if RESULTS.exists() else []
    rows = sorted([*rows, row], key=order)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{rendered(rows)}\n{END}{rest.partition(END)[2]}")


def order(row: Row) -> list[object]:
    return [*key(row)[:3], *map(number, key(row)[3:])]


def key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] if at < 3 else minor(row[name]) for at, name in enumerate(KEY))


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def rendered(rows: list[Row]) -> str:
    """The rows as the page shows them, with the pairs that were not run."""
    there = {key(row) for row in rows}
    pairs = [{**EMBEDDED, "spark": s, "dbt-core": d, "python": "", "outcome": "not run"} for s in SPARK for d in DBT]
    every = sorted([*rows, *(pair for pair in pairs if key(pair) not in there)], key=order)
    lines = [f"| {' | '.join(TITLES)} |", "|---" * len(TITLES) + "|"]
    return "\n".join(
        [*lines, *(f"| {' | '.join(row[name] for name in (*KEY, 'python', 'outcome'))} |" for row in every)]
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--versions"]:
        print(json.dumps(versions()))
    else:
        main(sys.argv[1:])
