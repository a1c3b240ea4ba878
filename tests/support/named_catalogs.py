"""Catalogs beside the session's own.

| catalog | what it is | has views |
|---|---|---|
| `local` | Iceberg's of type jdbc, in a file | yes |
| `served` | Iceberg's of type rest, of a server on loopback | yes |
| `files` | Iceberg's of type hadoop, in a folder | no |
| `glue` | Iceberg's of type glue, over Glue and S3 of moto on loopback | no |
| `nessie` | Iceberg's of type rest, of Nessie's server on loopback, over S3 of moto | yes |
| `nessie_own` | Iceberg's of type nessie, of the same server by Nessie's own protocol, over a folder | yes |
| `plain` | FolderCatalog.java, by the interfaces of Spark 4.2 alone | yes |
"""

from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from support.jars import jars
from support.javas import java_of

#: the catalog without views that is beside each other one of Iceberg
FILES = "files"
#: the catalog whose tables and files are in AWS, that is in moto
GLUE = "glue"
#: the catalogs of Nessie's server: by Iceberg's protocol, with the files in S3; by a protocol of its own
NESSIE, NESSIE_OWN = "nessie", "nessie_own"
#: the catalogs whose files are in S3
IN_S3 = (GLUE, NESSIE)
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
NAMED = ("local", SERVED, NESSIE, NESSIE_OWN, *TABLES_ALONE, PLAIN)
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
#: the least Java of Nessie's server, and how many seconds it may take to start on a busy machine
NESSIE_JAVA, NESSIE_STARTS = 21, 180
#: where a server of Quarkus listens: by itself its management does so on all interfaces
LOOPBACK = {"host": "127.0.0.1", "port": "0"}


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
        "spark.jars": ",".join(map(str, [*jars("iceberg"), *(jars("aws") if catalog in IN_S3 else [])])),
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
    if catalog == NESSIE_OWN:
        address = servers.enter_context(nessie(folder, {}))
        return {"type": "nessie", "uri": f"{address}/api/v2", "ref": "main", "warehouse": str(folder / catalog)}
    storage = servers.enter_context(aws())
    if catalog == NESSIE:  # the server tells the session where S3 is, and does not tell that it has views
        address = servers.enter_context(nessie(folder, tables_in(storage)))
        return {"type": "rest", "uri": f"{address}/iceberg/", "view-endpoints-supported": "true"}
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
    for name in (PLAIN, FILES, *LACKING):
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


def tables_in(storage: str) -> dict[str, str]:
    """What Nessie's server is told so that it keeps the tables of its REST catalog in the bucket."""
    s3, secret = "nessie.catalog.service.s3.default-options", "tests.s3"
    return {
        "nessie.catalog.default-warehouse": BUCKET,
        f"nessie.catalog.warehouses.{BUCKET}.location": f"s3://{BUCKET}/nessie",
        f"{s3}.endpoint": storage,
        f"{s3}.region": REGION,
        f"{s3}.path-style-access": "true",
        f"{s3}.request-signing-enabled": "false",  # the session has credentials of its own
        f"{s3}.access-key": f"urn:nessie-secret:quarkus:{secret}",
        f"{secret}.name": "tests",
        f"{secret}.secret": "tests",
    }


@contextmanager
def nessie(folder: Path, tables: dict[str, str]) -> Iterator[str]:
    """Nessie's server on loopback, with its catalog in memory -> its address."""
    told = {
        **{f"quarkus.{server}.{key}": at for server in ("http", "management") for key, at in LOOPBACK.items()},
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.version.store.persist.cache-capacity-mb": "64",
        **tables,
    }
    (jar,) = jars("nessie")
    command = [java_for_nessie(), "-Xmx512m", *(f"-D{key}={value}" for key, value in told.items()), "-jar", str(jar)]
    log = folder / "nessie.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + NESSIE_STARTS
        while not (listening := re.search(r"Listening on: (http://\S+?)\.? ", log.read_text())):
            assert process.poll() is None and time.monotonic() < deadline, f"Nessie did not start\n{log.read_text()}"
            time.sleep(0.5)
        yield listening[1]
    finally:
        process.terminate()
        process.wait(30)


def java_for_nessie() -> str:
    return java_of("Nessie", NESSIE_JAVA)
