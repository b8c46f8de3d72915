# SPDX-License-Identifier: MIT
"""data/published through its Frictionless package: nothing is read that does not match it."""

import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput, near


def list_tables() -> list[str]:
    """Names of the published tables, in the order of their studies."""
    return list(_resources())


def describe(name: str) -> dict[str, Any]:
    """Where a table comes from.

    Keys: name, title, study, origin, rows, machine, kernel, mkfs, command, stated, source. A value
    is None where the source does not state it; `stated` says in words what it leaves out.
    """
    resource = _resource(name)
    sources = "; ".join(source["title"] for source in resource["sources"])
    keys = ["name", "title", "study", "origin", "rows", "machine", "kernel", "mkfs", "command", "stated"]
    return {key: resource[key] for key in keys} | {"source": sources}


def command_numbers(name: str, pattern: str) -> list[int]:
    """The groups of `pattern` in the command that made a table. Raises BadInput where they are not in it."""
    found = re.search(pattern, describe(name)["command"])
    if found is None:
        raise BadInput(f"the command of {name} in {_package_path().name} has changed: restore it from git")
    return [int(number) for number in found.groups()]


def reference_arm(name: str) -> str:
    """The arm that does the same work without the change of the others; empty where a table has none."""
    return str(_resource(name).get("reference", ""))


def published(name: str) -> pd.DataFrame:
    """One published table, one row per line of its CSV, columns and types as in its schema.

    Rates and times are long form (`value` beside `metric`, `statistic`, `unit`; `printed` is the
    text of the source); function costs have `total_us`, `count`, `avg_us`. Raises BadInput for an
    unknown table, a file that differs from its sha256, or one that does not fit its schema.
    """
    resource = _resource(name)
    path = paths.DATA / resource["path"]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; restore the file from git") from error
    if "sha256:" + hashlib.sha256(content).hexdigest() != resource["hash"]:
        raise BadInput(f"{path} differs from its sha256 in {_package_path().name}; restore both from git")
    return _typed(content, resource)


def function_cost(name: str) -> pd.DataFrame:
    """A function-cost table: columns function, total_us, count, avg_us; one row per function.

    Raises BadInput where the table holds no function costs.
    """
    frame = published(name)
    if "total_us" not in frame:
        costs = [table for table in list_tables() if "function_cost" in table]
        raise BadInput(f"{name} has no function costs: name one of {', '.join(costs)}")
    return frame[["function", "total_us", "count", "avg_us"]].reset_index(drop=True)


def repeats(name: str, arm: str, metric: str) -> list[float]:
    """Every value of one arm and metric of a long-form table, in the order printed."""
    frame = published(name)
    chosen = (frame["arm"] == arm) & (frame["metric"] == metric)
    return [float(value) for value in frame.loc[chosen, "value"]]


def printed_points(name: str, statistic: str) -> dict[tuple[str, int], str]:
    """What a long-form table prints for one statistic, by (arm, threads)."""
    frame = published(name)
    chosen = frame[frame["statistic"] == statistic]
    texts = zip(chosen["arm"], chosen["threads"], chosen["printed"], strict=True)
    return {(str(arm), int(threads)): str(text) for arm, threads, text in texts}


def _typed(content: bytes, resource: dict[str, Any]) -> pd.DataFrame:
    fields = resource["schema"]["fields"]
    columns = [field["name"] for field in fields]
    where = f"{resource['path']} does not fit its schema in {_package_path().name}"
    try:
        lines = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{where}: it is not CSV in UTF-8 ({error})") from error
    if lines[:1] != [columns] or len(lines) != 1 + resource["rows"]:
        raise BadInput(f"{where}: expected {resource['rows']} rows of {', '.join(columns)}")
    if any(len(line) != len(columns) for line in lines):
        raise BadInput(f"{where}: a row has more or fewer than {len(columns)} cells")
    texts = pd.DataFrame(lines[1:], columns=columns, dtype="str").replace("", None)
    for field in fields:
        texts[field["name"]] = _cast(texts[field["name"]], field, where)
    return texts


def _cast(texts: "pd.Series[Any]", field: dict[str, Any], where: str) -> "pd.Series[Any]":
    if field.get("constraints", {}).get("required") and texts.isna().any():
        raise BadInput(f"{where}: column {field['name']} has an empty cell")
    kind = field["type"]
    if kind == "string":
        return texts
    try:
        if kind == "boolean":
            flags = texts.map({"true": True, "false": False}).astype("boolean")
            if (flags.isna() & texts.notna()).any():
                raise ValueError(kind)
            return flags
        return pd.to_numeric(texts).astype("Int64" if kind == "integer" else "float64")
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where}: column {field['name']} is not of type {kind}") from error


def _package_path() -> Path:
    return paths.DATA / "datapackage.json"


def _resources() -> dict[str, dict[str, Any]]:
    try:
        package = json.loads(_package_path().read_text(encoding="utf-8"))
        return {r["name"]: r for r in package["resources"] if r["origin"] == "published"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{_package_path()} cannot be used; restore it from git") from error


def _resource(name: str) -> dict[str, Any]:
    resources = _resources()
    if name not in resources:
        raise BadInput(f"no published table is called {name!r}{near(name, resources)}")
    return resources[name]
