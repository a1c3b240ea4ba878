"""Catalogs beside the session's own.

| catalog | what it is | has views |
|---|---|---|
| `local` | Iceberg's of type jdbc, in a file | yes |
| `served` | Iceberg's of type rest, of a server on loopback | yes |
| `files` | Iceberg's of type hadoop, in a folder | no |
| `glue` | Iceberg's of type glue, over Glue and S3 of moto on loopback | no |
| `plain` | FolderCatalog.java, by the interfaces of Spark 4.2 alone | yes |
"""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from support.jars import jars

#: the catalog without views that is beside each other one of Iceberg
FILES = "files"
#: the catalog whose tables and files are in AWS, that is in moto
GLUE = "glue"
#: the catalogs without views
TABLES_ALONE = (FILES, GLUE)
#: the catalog of Iceberg's REST server
SERVED = "served"
#: the bucket of moto, and where it is
BUCKET, REGION = "tests", "us-east-1"
#: the catalog by Spark's own interfaces
PLAIN = "plain"
#: catalogs beside it -> what these leave out
LACKING = {"unreplaced": "replaceView", "undropped": "dropView", "unmarked": "properties"}
NAMED = ("local", SERVED, *TABLES_ALONE, PLAIN)
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"


def without_views(catalog: str) -> str:
    """The catalog itself if it has no views, or the one beside it."""
    return catalog if catalog in TABLES_ALONE else FILES


@contextmanager
def conf_of(catalog: str, folder: Path) -> Iterator[dict[str, str]]:
    """The settings of a session that has a catalog, and beside one of Iceberg the one without views."""
    if catalog == PLAIN:
        yield plain(folder)
        return
    (sqlite,) = jars("sqlite")
    (folder / FILES).mkdir(exist_ok=True)  # an empty catalog of files does not list its namespaces without it
    conf = {
        "spark.jars": ",".join(map(str, [*jars("iceberg"), *(jars("aws") if catalog == GLUE else [])])),
        "spark.driver.extraClassPath": str(sqlite),  # Java's DriverManager does not see spark.jars
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",  # Iceberg asks it for its scheme
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.defaultCatalog": catalog,
    }
    with ExitStack() as servers:
        for name in {FILES, catalog}:
            conf[f"spark.sql.catalog.{name}"] = ICEBERG
            for key, value in place(name, folder, servers).items():
                conf[f"spark.sql.catalog.{name}.{key}"] = value
        yield conf


def place(catalog: str, folder: Path, servers: ExitStack) -> dict[str, str]:
    """What a catalog of Iceberg is told; the servers that it needs are started."""
    if catalog == FILES:
        return {"type": "hadoop", "warehouse": str(folder / FILES)}
    if catalog == "local":  # the first version of the schema has no views
        return {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{folder / 'catalog.db'}",
            "warehouse": str(folder),
            "jdbc.schema-version": "V1",
        }
    if catalog == SERVED:
        return {"type": "rest", "uri": servers.enter_context(server(folder))}
    storage = servers.enter_context(aws())
    return {
        "type": "glue",
        "warehouse": f"s3://{BUCKET}/glue",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": storage,
        "s3.path-style-access": "true",
        "client.region": REGION,
        "glue.endpoint": storage,
        # moto overwrites a table whose version is not the one that a commit names, as Glue does not: a lock decides
        "lock-impl": "org.apache.iceberg.aws.dynamodb.DynamoDbLockManager",
        "lock.table": "locks",
        "dynamodb.endpoint": storage,
    }


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
    # Trino knows no place without a scheme
    command = ["java", "-cp", classes, str(source), str(folder / "catalog.db"), folder.as_uri()]
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


@contextmanager
def aws() -> Iterator[str]:
    """moto as Glue, DynamoDB and S3 with a bucket, on loopback in a thread -> its address.

    Clients in this process and in its children find credentials in the environment, as they would outside of tests.
    """
    # moto is installed for the catalog that needs it alone
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        _, port = moto.get_host_and_port()
        address = f"http://127.0.0.1:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{address}/{BUCKET}", method="PUT")).close()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (("ACCESS_KEY_ID", "tests"), ("SECRET_ACCESS_KEY", "tests"), ("REGION", REGION)):
                patch.setenv(f"AWS_{name}", value)
            yield address
    finally:
        moto.stop()
