# SPDX-License-Identifier: MIT
"""Results of long fits, kept by content: of the table, of the source that fits it, and of the settings."""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.files import write_json

FOLDER = paths.CACHE / "fits"
SOURCES = ("sim", "queueing", "fitting", "tables", "studies")


def cached(name: str, settings: Mapping[str, Any], make: Callable[[], Any]) -> Any:
    """What `make` returns, plain JSON, from the cache if table, source and settings are those of then.

    A file that cannot be read is made anew.
    """
    text = json.dumps({"settings": settings, "source": source_hash(), "data": _data_hash()}, sort_keys=True)
    path = FOLDER / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        made = make()
    write_json(path, made)
    return made


@cache
def source_hash() -> str:
    """Of every source file that has a say in a fit."""
    package = Path(__file__).parents[1]
    return _hash(sorted(file for part in SOURCES for file in (package / part).rglob("*.py")))


def _data_hash() -> str:
    described = [paths.DATA / "fit-targets.yaml", paths.DATA / "datapackage.json"]
    return _hash([*sorted(paths.PUBLISHED.glob("*.csv")), *described])


def _hash(files: list[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        found.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()
