"""Turn off the log of an embedded Spark, because dbt shows each error, unless people have configured that log."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Spark's setting of the options with which its Java starts
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
#: a configuration of Log4j that is off, or of the level in the Java property log.level
LOG4J = Path(__file__).with_name("log4j2.properties")
#: the option that makes a Java use LOG4J
QUIET = f"-Dlog4j2.configurationFile={LOG4J.as_uri()}"


def quieted(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a profile for a session that dbt is about to start, with the log of Spark off.

    The settings stay unchanged where they or Spark's own folder configure the log, and where a Spark is running
    already.

    >>> quieted({JAVA_OPTIONS: "-Dlog4j2.configurationFile=mine.properties"})
    {'spark.driver.extraJavaOptions': '-Dlog4j2.configurationFile=mine.properties'}
    """
    given = str(parameters.get(JAVA_OPTIONS, ""))
    if "log4j" in given or _is_configured() or _is_running():
        return dict(parameters)
    return {**parameters, JAVA_OPTIONS: f"{given} {QUIET}".strip()}


def _is_configured() -> bool:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and os.path.join(home, "conf"))
    return bool(folder) and any(Path(str(folder)).glob("log4j2.*"))


def _is_running() -> bool:
    """Whether this process has a Java, is a client of Spark Connect, or has no PySpark."""
    if os.environ.get("SPARK_REMOTE"):
        return True
    try:
        from pyspark import SparkContext
    except ImportError:
        return True
    return SparkContext._gateway is not None


def quiet_pyspark() -> None:
    """Stop PySpark 4 from printing each error of a query a second time, as JSON with Java's stack trace."""
    with suppress(ImportError):
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
