"""Jars that tests need beside Spark's own: named in jars.xml, fetched once into a folder of the checkout."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pyspark

#: what is fetched, by configurations
WANTED = Path(__file__).with_suffix(".xml")
FOLDER = Path(__file__).parents[2] / ".jars"


def jars(configuration: str) -> list[Path]:
    """The jars of a configuration of jars.xml. All are fetched the first time, by the resolver that Spark has in it."""
    made_of = hashlib.sha256(WANTED.read_bytes()).hexdigest()[:12]
    folder = FOLDER / made_of
    if not folder.exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
        pattern = f"{FOLDER}/fetched/[conf]/[artifact]-[revision](-[classifier]).[ext]"
        command = ["java", "-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(WANTED), "-retrieve", pattern]
        fetched = subprocess.run(command, capture_output=True, text=True)
        assert fetched.returncode == 0, fetched.stdout[-3000:]
        (FOLDER / "fetched").rename(folder)
    return sorted((folder / configuration).glob("*.jar"))
