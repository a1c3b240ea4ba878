"""TPC-H's customer, orders and lineitem as parquet files, made by the package tpchgen-cli."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLES = ("customer", "orders", "lineitem")


def generate(folder: Path, scale: float = 0.01) -> Path:
    """Put the three files into a folder; what is there already stays. Scale 0.01 is 15,000 orders, in 2.7 MB."""
    if all((folder / f"{name}.parquet").exists() for name in TABLES):
        return folder
    # beside this Python first: a virtual environment that is not activated is not on the PATH
    command = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if command is None:
        sys.exit("The package tpchgen-cli, which makes the data, is not installed: pip install tpchgen-cli")
    # only whole files under the final names: a generator that was interrupted must not leave half of the orders behind
    making = folder / "making"
    options = ["--scale-factor", str(scale), "--tables", ",".join(TABLES), "--output-dir", str(making), "--overwrite"]
    subprocess.run([command, "parquet", "--quiet", *options], check=True)
    for name in TABLES:
        (making / f"{name}.parquet").replace(folder / f"{name}.parquet")
    making.rmdir()
    return folder


if __name__ == "__main__":
    print(generate(HERE / "target" / "data"))
