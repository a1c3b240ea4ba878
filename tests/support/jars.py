"""Jars and archives that tests and benchmarks need beside Spark's own, named in jars.xml and fetched once."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

#: what is fetched, by configurations
WANTED = Path(__file__).with_suffix(".xml")
FOLDER = Path(__file__).parents[2] / ".jars"


def jars(configuration: str) -> list[Path]:
    """The jars of a configuration of jars.xml, fetched the first time by the resolver that Spark has in it.

    One process fetches, and the others wait for it.
    """
    made_of = hashlib.sha256(WANTED.read_bytes()).hexdigest()[:12]
    folder = FOLDER / made_of / configuration
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch(folder)
    return sorted(folder.iterdir())


def _fetch(folder: Path) -> None:
    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    with TemporaryDirectory(dir=FOLDER) as fetching:
        pattern = f"{fetching}/jars/[artifact]-[revision](-[classifier]).[ext]"
        command = ["java", "-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(WANTED)]
        command += ["-confs", folder.name, "-retrieve", pattern]
        fetched = subprocess.run(command, capture_output=True, text=True)
        assert fetched.returncode == 0, fetched.stdout[-3000:]
        Path(fetching, "jars").rename(folder)
