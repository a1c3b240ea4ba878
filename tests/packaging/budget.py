"""The time of make test: what each module may take, and which grew.

    python tests/packaging/budget.py build/slice.xml             prints the time, exits with 1 beyond the limit
    python tests/packaging/budget.py --record build/slice.xml    this run is what later ones are compared with

The report is pytest's (`--junit-xml`). Machines differ: a module grew when its part of the whole did.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

BUDGET = Path(__file__).with_suffix(".json")
#: a module below this many seconds says nothing about the machine
MEASURABLE = 1.0


def main(arguments: list[str]) -> int:
    record, (report,) = "--record" in arguments, [Path(a) for a in arguments if a != "--record"]
    wall, spent = read(report)
    kept = json.loads(BUDGET.read_text())
    if record:
        kept["modules"] = {name: round(seconds, 1) for name, seconds in sorted(spent.items())}
        BUDGET.write_text(json.dumps(kept, indent=2) + "\n")
    limit = kept["limit_seconds"]
    print(f"the slice took {wall:.0f} s of {limit} s")
    if wall <= limit:
        return 0
    for name, more in grown(spent, kept["modules"])[:10]:
        print(f"{more:+7.1f} s  {name}")
    return 1


def read(report: Path) -> tuple[float, dict[str, float]]:
    """Seconds from the first test to the last, and those of each module in all processes."""
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    spent: defaultdict[str, float] = defaultdict(float)
    for case in suite.iter("testcase"):
        spent[module_of(case.attrib["classname"])] += float(case.attrib["time"])
    return float(suite.attrib["time"]), dict(spent)


def module_of(classname: str) -> str:
    """tests.engine.test_run, or of a class in it -> tests/engine/test_run.py"""
    parts = classname.split(".")
    end = next(i for i, part in enumerate(parts) if part.startswith("test_")) + 1
    return "/".join(parts[:end]) + ".py"


def grown(spent: dict[str, float], budget: dict[str, float]) -> list[tuple[str, float]]:
    """(module, seconds more than its budget on this machine), the largest first. A new module has no budget."""
    both = [spent[name] / budget[name] for name in spent if budget.get(name, 0) >= MEASURABLE]
    slower = statistics.median(both) if both else 1.0
    more = {name: seconds - slower * budget.get(name, 0) for name, seconds in spent.items()}
    return sorted(more.items(), key=lambda item: -item[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
