"""Catalogs beside the session's own.

| catalog | what it is | has views |
|---|---|---|
| `local` | Iceberg's of type jdbc, in a file | yes |
| `served` | Iceberg's of type rest, of a server on loopback | yes |
| `files` | Iceberg's of type hadoop, in a folder | no |
| `plain` | FolderCatalog.java, by the interfaces of Spark 4.2 alone | yes |
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyspark

from support.jars import jars

#: the catalog without views
TABLES_ALONE = "files"
#: the catalog by Spark's own interfaces
PLAIN = "plain"
#: catalogs beside it -> what these leave out
LACKING = {"unreplaced": "replaceView", "undropped": "dropView", "unmarked": "properties"}
NAMED = ("local", "served", TABLES_ALONE, PLAIN)
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"


@contextmanager
def conf_of(catalog: str, folder: Path) -> Iterator[dict[str, str]]:
    """The settings of a session that has a catalog, and beside one of Iceberg the one without views."""
    if catalog == PLAIN:
        yield plain(folder)
        return
    (sqlite,) = jars("sqlite")
    (folder / TABLES_ALONE).mkdir(exist_ok=True)  # an empty catalog of files does not list its namespaces without it
    conf = {
        "spark.jars": ",".join(map(str, jars("iceberg"))),
        "spark.driver.extraClassPath": str(sqlite),  # Java's DriverManager does not see spark.jars
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",  # Iceberg asks it for its scheme
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.defaultCatalog": catalog,
        f"spark.sql.catalog.{catalog}": ICEBERG,
        f"spark.sql.catalog.{TABLES_ALONE}": ICEBERG,
        f"spark.sql.catalog.{TABLES_ALONE}.type": "hadoop",
        f"spark.sql.catalog.{TABLES_ALONE}.warehouse": str(folder / TABLES_ALONE),
    }
    place = f"spark.sql.catalog.{catalog}"
    with server(folder) if catalog == "served" else nullcontext("") as address:
        if catalog == TABLES_ALONE:
            pass
        elif address:
            conf |= {f"{place}.type": "rest", f"{place}.uri": address}
        else:
            conf |= {f"{place}.type": "jdbc", f"{place}.uri": f"jdbc:sqlite:{folder / 'catalog.db'}"}
            conf |= {f"{place}.warehouse": str(folder), f"{place}.jdbc.schema-version": "V1"}  # the first has no views
        yield conf


def plain(folder: Path) -> dict[str, str]:
    """The settings of a session that has catalogs by Spark's own interfaces, which are compiled for its Spark."""
    interfaces = Path(pyspark.__file__).parent / "jars"
    classes, source = folder / "classes", Path(__file__).with_name("FolderCatalog.java")
    conf = {
        "spark.driver.extraClassPath": str(classes),
        "spark.sql.defaultCatalog": PLAIN,
        # a session remembers the files of tables there, and REFRESH TABLE does not make it forget them
        "spark.sql.filesourceTableRelationCacheSize": "0",
    }
    for name in (PLAIN, TABLES_ALONE, *LACKING):
        (folder / name).mkdir(exist_ok=True)
        conf |= {
            f"spark.sql.catalog.{name}": "FolderCatalog",
            f"spark.sql.catalog.{name}.warehouse": str(folder / name),
            f"spark.sql.catalog.{name}.without": LACKING.get(name, ""),
        }
    command = ["javac", "-nowarn", "--release", "17", "-cp", f"{interfaces}/*", "-d", str(classes), str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True)
    assert compiled.returncode == 0, f"the interfaces are those of Spark 4.2 and later\n{compiled.stderr}"
    return conf


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Iceberg's REST server on loopback -> its address. It ends with its standard input, so also with this process."""
    source = Path(__file__).with_name("RestCatalog.java")
    classes = ":".join(map(str, jars("rest")))
    command = ["java", "-cp", classes, str(source), str(folder / "catalog.db"), str(folder)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        told = process.stdout.readline()
        assert told.startswith("port "), (folder / "log").read_text()
        yield f"http://127.0.0.1:{told.split()[1]}"
    finally:
        process.stdin.close()
        process.wait(30)
