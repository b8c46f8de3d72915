# SPDX-License-Identifier: MIT
"""Copies of data/: one from which every patched number is gone, one whose base is a simulated kernel."""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.measure.rows import keep_hash

BASES = {
    "inode-claim": {"steal-retry"},
    "write-access": {"slow-retry"},
    "group-trylock": {"wait-group"},
    "orphan-file": {"orphan-locked", "orphan-mutex"},
}

Row = dict[str, str]


def copy_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / "data"
    shutil.copytree(paths.DATA, data)
    monkeypatch.setattr(paths, "DATA", data)
    monkeypatch.setattr(paths, "PUBLISHED", data / "published")
    monkeypatch.setattr(paths, "MEASURED", data / "measured")
    return data


def rewrite(path: Path, change: Callable[[list[Row]], list[Row]]) -> int:
    """Change the rows of a CSV file in place; how many there are then."""
    with path.open(newline="") as lines:
        reader = csv.DictReader(lines)
        rows, names = change(list(reader)), reader.fieldnames
    with path.open("w", newline="") as lines:
        table = csv.DictWriter(lines, names or [], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    if path.name == "rows.csv":
        keep_hash(path)
    return len(rows)


def rewrite_published(data: Path, name: str, change: Callable[[list[Row]], list[Row]]) -> None:
    """The same, with the package's row count and hash made to fit."""
    package_path = data / "datapackage.json"
    package = json.loads(package_path.read_text())
    (resource,) = [one for one in package["resources"] if one["name"] == name]
    path = data / resource["path"]
    resource["rows"] = rewrite(path, change)
    resource["hash"] = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    package_path.write_text(json.dumps(package))


def cut_the_patched_rows(data: Path, study: str) -> int:
    """Leave the base's rows alone in every table of the study, and in its measured runs; how many went."""
    kept, gone = BASES[study], []

    def of_base(rows: list[Row]) -> list[Row]:
        gone.extend(row for row in rows if row["arm"] not in kept)
        return [row for row in rows if row["arm"] in kept]

    package = json.loads((data / "datapackage.json").read_text())
    for one in package["resources"]:
        if one["origin"] == "published" and one["study"] == study:
            rewrite_published(data, one["name"], of_base)
    for path in (data / "measured").glob(f"{study}-2*/rows.csv"):
        rewrite(path, of_base)
    return len(gone)


def put_base(data: Path, table: str, arm: str, unit: str, values: Mapping[int, float]) -> None:
    """The base's column becomes that of another kernel: one value for each number of threads."""

    def other(rows: list[Row]) -> list[Row]:
        like = next(row for row in rows if row["arm"] == arm and row["unit"] == unit)
        return [{**like, "threads": str(n), "value": repr(v), "printed": repr(v)} for n, v in values.items()]

    rewrite_published(data, table, other)
