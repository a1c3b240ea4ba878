"""The Java of a server of the tests, which may need a younger one than Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path


def java_of(name: str, least: int, most: int = 999) -> str:
    """The first Java of a fitting version: JAVA_HOME's, the one on PATH, then those that Debian and others install.

    Raises AssertionError if there is none: the message tells what `name`, the server, needs and what was found.
    """
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    on_path = [Path(found)] if (found := shutil.which("java")) else []
    installed = sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
    tried = {}
    for java in [*(home / "bin" / "java" for home in homes), *on_path, *installed]:
        told = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
        tried[str(java)] = int(version[1]) if (version := re.search(r'version "(\d+)', told)) else 0
        if least <= tried[str(java)] <= most:
            return str(java)
    needed = f"{least} or later" if most > 100 else f"{least} to {most}"
    raise AssertionError(f"{name} needs Java {needed}, and these were found: {tried}")
