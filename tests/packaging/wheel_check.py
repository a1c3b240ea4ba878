"""Build wheel and sdist, install each into an environment of its own, and let dbt parse and compile a project there.

Run by `make wheel-check`. What an editable install cannot show: that the macros are in the package, and found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MACROS = {f.name for folder in ("macros", "materializations") for f in (ROOT / folder).glob("*.sql")}
INCLUDE = "dbt/include/sparktemporal/"
#: files and folders that a source package holds: those of the root, and what a build adds
SOURCE = {
    "dbt", "macros", "materializations", "dbt_project.yml", "profile_template.yml", "hatch_build.py", "pyproject.toml",
    "README.md", "LICENSE", ".gitignore", "PKG-INFO",
}  # fmt: skip


def run(*command: object, cwd: Path, typed: str = "") -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, input=typed)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def check_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {n.rsplit("/", 1)[1] for n in names if n.startswith(INCLUDE) and n.endswith(".sql")}
    assert shipped == MACROS, f"macros missing {MACROS - shipped}, unknown {shipped - MACROS}"
    assert f"{INCLUDE}profile_template.yml" in names, "dbt init has no questions to ask"
    page = "dbt/adapters/sparktemporal/looking/report.html.j2"
    assert page in names, "temporal_report has no page"
    # these would be deleted with the package, and they are dbt-core's
    foreign = {"dbt/__init__.py", "dbt/adapters/__init__.py", "dbt/include/__init__.py"} & set(names)
    assert not foreign, f"the wheel holds {foreign}"
    others = [n for n in names if not n.startswith(("dbt/adapters/sparktemporal/", INCLUDE, "dbt_sparktemporal-"))]
    assert not others, f"the wheel holds {others}"


def check_source(sdist: Path) -> None:
    """The source package has what the wheel is built from, and nothing else."""
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    top = {name.partition("/")[0] for name in names}
    assert top == SOURCE, f"sdist: unknown {top - SOURCE}, missing {SOURCE - top}"
    shipped = {n.rsplit("/", 1)[1] for n in names if n.startswith(("macros/", "materializations/"))}
    assert shipped == MACROS, f"sdist: macros missing {MACROS - shipped}, unknown {shipped - MACROS}"


def write_project(folder: Path) -> None:
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(
        "name: smoke\nversion: '1.0'\nprofile: smoke\nflags: {send_anonymous_usage_stats: false}\n"
        "models: {smoke: {+expiration: 22 days}}\n"
    )
    dev = {"type": "sparktemporal", "method": "session", "host": "local", "schema": "smoke"}
    (folder / "profiles.yml").write_text(json.dumps({"smoke": {"target": "dev", "outputs": {"dev": dev}}}))
    (folder / "models" / "m.sql").write_text(
        "{{ config(materialized='temporal_view') }}\nselect 1 as id where mz_now() < timestamp '2030-01-01'\n"
    )


def check_installed(built: Path, folder: Path) -> None:
    environment = folder / built.suffix.strip(".")
    print(f"== {built.name}: installing into a clean environment", flush=True)
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(python, *pip, "-c", ROOT / "constraints.txt", f"{built}[session]", cwd=folder)
    project = folder / f"project_{environment.name}"
    write_project(project)
    print(run(environment / "bin" / "dbt", "--no-use-colors", "parse", cwd=project), end="")
    manifest = json.loads((project / "target" / "manifest.json").read_text())
    ours = {key for key in manifest["macros"] if key.startswith("macro.dbt_sparktemporal.")}
    assert "macro.dbt_sparktemporal.materialization_temporal_view_sparktemporal" in ours, ours
    assert manifest["nodes"]["model.smoke.m"]["config"]["expiration"] == "22 days"
    print(f"== {built.name}: dbt sees {len(ours)} macros of it", flush=True)
    check_init(python, project)


def check_init(python: Path, folder: Path) -> None:
    """`dbt init` offers the adapter, asks its questions and writes a profile that parses."""
    names = "from dbt.version import _get_adapter_plugin_names as n; print(list(n()).index('sparktemporal') + 1)"
    number = run(python, "-c", names, cwd=folder).strip()
    dbt, home = python.parent / "dbt", folder.parent / f"init_{folder.name}"
    home.mkdir()
    run(dbt, "init", "shop", "--profiles-dir", home, cwd=home, typed=f"{number}\n1\n\nanalytics\n")
    run(dbt, "parse", "--profiles-dir", home, cwd=home / "shop")
    print(f"== {folder.name}: dbt init made a profile that parses", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("== building wheel and sdist", flush=True)
        run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
        built = sorted((folder / "dist").iterdir())
        assert [b.suffix for b in built] == [".whl", ".gz"] or [b.suffix for b in built] == [".gz", ".whl"], built
        for file in built:
            if file.suffix == ".whl":
                check_contents(file)
            else:
                check_source(file)
            check_installed(file, folder)
    print("wheel and sdist are whole")


if __name__ == "__main__":
    main()
