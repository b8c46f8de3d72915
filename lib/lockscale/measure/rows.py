# SPDX-License-Identifier: MIT
"""Measured rows in long form. A row carries its kernel's build-id and how it was obtained."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

import pandas as pd

from lockscale.errors import BadInput
from lockscale.files import write_text

Origin = Literal["published", "simulated", "qemu", "virtual", "vm", "hardware"]
"""virtual: a real kernel in virtual time. vm: on a virtual machine of which no more is known."""


@dataclass(frozen=True)
class Row:
    """One number: what was measured, where, on which build, and whether a profiler was on."""

    run: str
    study: str
    arm: str
    kernel: str
    tool: str
    tool_version: str
    test: str
    threads: int
    cpus: int
    pair: str
    block: int
    iteration: int
    metric: str
    statistic: str
    unit: str
    value: float
    target: str
    origin: Origin
    build_id: str
    profiled: bool
    started_utc: str

    def __post_init__(self) -> None:
        if not (self.run and self.build_id and self.started_utc):
            raise ValueError("a row without a run, a build-id and a time cannot exist")


COLUMNS = [field.name for field in fields(Row)]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """rows.csv, whole or absent; refused without the provenance beside it."""
    if not path.with_name("provenance.json").is_file():
        raise BadInput(f"{path.parent} has no provenance.json: rows are not written without it")
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) for row in rows)
    write_text(path, text.getvalue())


def read_rows(path: Path) -> pd.DataFrame:
    """The rows of a run as a frame with the columns of `Row`."""
    if not path.is_file():
        raise BadInput(f"{path} is not there: measure first (notebook 05, or lockscale study run)")
    frame = pd.read_csv(path)
    lacking = [name for name in COLUMNS if name not in frame.columns]
    if lacking:
        raise BadInput(f"{path} lacks the column {lacking[0]!r}: it is not a rows.csv of this project")
    return frame
