"""What OpenLineage's wrapper of dbt sends about temporal views: `make lineage-check`, on the flights of the demo.

The wrapper knows adapters by a fixed list, so the profile is the one of docs/howto/lineage.md. Events go to a file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import yaml

import wheel_check

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "lineage.md"
#: temporal view -> its inputs, and columns that it takes from them as they are
EXPECTED = {
    "in_the_air": ({"flights"}, {"carrier", "origin", "arrives_at"}),
    "hourly_count": ({"flights"}, {"origin"}),
}


def profile_for_tools() -> dict[str, Any]:
    """Type and method as docs/howto/lineage.md writes them."""
    listing = re.search(r"```yaml title=\"profiles.yml\"\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert listing, f"{PAGE} has no profile"
    return yaml.safe_load(listing[1])["my_project"]["outputs"]["dev"]


def project(folder: Path) -> None:
    """The demo, with the flights unpacked and the page's profile."""
    shutil.copytree(ROOT / "integration_tests", folder, ignore=shutil.ignore_patterns("target", "logs", "tpch"))
    profiles = yaml.safe_load((folder / "profiles.yml").read_text())
    said = profile_for_tools()
    profiles["flights"]["outputs"]["dev"] |= {key: said[key] for key in ("type", "method", "host")}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profiles))
    transport = {"type": "file", "log_file_path": str(folder / "events"), "append": True}
    (folder / "openlineage.yml").write_text(yaml.safe_dump({"transport": transport}))


def check(event: dict[str, Any]) -> None:
    """The completed event of a temporal view has its inputs, the view as output, and where its columns come from."""
    name = event["job"]["name"].rpartition(".")[2]
    inputs, columns = EXPECTED[name]
    found = {one["name"].rpartition(".")[2] for one in event["inputs"]}
    assert found == inputs, f"{name}: inputs {found}"
    (output,) = event["outputs"]
    assert output["name"].rpartition(".")[2] == name, output["name"]
    assert output["facets"]["dbt_model"]["config"]["materialized"] == "temporal_view", output["facets"]["dbt_model"]
    fields = output["facets"]["columnLineage"]["fields"]
    assert columns <= set(fields), f"{name}: columns {set(fields)}"
    print(f"{name}: from {', '.join(sorted(found))}; {len(fields)} columns with their origin", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("== installing the adapter and openlineage-dbt into a clean environment", flush=True)
        venv.create(folder / "installed", with_pip=True)
        binaries = folder / "installed" / "bin"
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
        wheel_check.run(binaries / "python", *pip, "openlineage-dbt", f"{ROOT}[demo]", cwd=folder)
        project(folder / "demo")
        unpack = "from pathlib import Path; import flights; flights.unpack(Path('target/data'))"
        wheel_check.run(binaries / "python", "-c", unpack, cwd=folder / "demo")
        print("== dbt-ol run", flush=True)
        # dbt-ol calls the dbt of its PATH
        os.environ["PATH"] = f"{binaries}{os.pathsep}{os.environ['PATH']}"
        wheel_check.run(binaries / "dbt-ol", "run", "-s", *(f"+{model}" for model in EXPECTED), cwd=folder / "demo")
        events = [json.loads(line) for line in (folder / "demo" / "events").read_text().splitlines()]
        done = [e for e in events if e["eventType"] == "COMPLETE" and e["job"]["name"].rpartition(".")[2] in EXPECTED]
        for event in done:
            check(event)
        if len(done) != len(EXPECTED):
            sys.exit(f"{len(done)} completed events of {len(EXPECTED)} temporal views")


if __name__ == "__main__":
    main()
