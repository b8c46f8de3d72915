# SPDX-License-Identifier: MIT
"""Measured rows in long form: their build-id and origin, and which of them are the rate of all processes."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from lockscale.errors import BadInput, printable
from lockscale.files import sha256_of, write_json, write_text
from lockscale.measure.run_folder import rows_sha256
from lockscale.tools import ftrace_cost

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
            raise ValueError("a row needs a run, a build-id and a time")
        if not math.isfinite(self.value):
            raise ValueError(f"{self.metric} of {self.test} is {self.value}, which is not a number")


COLUMNS = [field.name for field in fields(Row)]
KINDS = {"threads": "i", "cpus": "i", "block": "i", "iteration": "i", "value": "fi", "profiled": "b"}
"""numpy's kinds of the columns that are no text."""
NEVER_EMPTY = (*KINDS, "run", "arm", "test", "metric", "statistic", "origin", "build_id", "started_utc")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """rows.csv, whole or absent, then its hash; refused without the provenance beside it."""
    if not path.with_name("provenance.json").is_file():
        raise BadInput(f"{path.parent} has no provenance.json: rows are not written without it")
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) for row in rows)
    write_text(path, text.getvalue())
    keep_hash(path)


def keep_hash(path: Path) -> None:
    """Write the hash of these rows into the provenance beside them."""
    beside = path.with_name("provenance.json")
    write_json(beside, {**json.loads(beside.read_text()), "rows_sha256": sha256_of(path)})


def refuse_changed(path: Path) -> None:
    """BadInput where the rows are not those of the hash; a run of before there was one has none."""
    known = rows_sha256(path.parent)
    if known and path.is_file() and known != sha256_of(path):
        raise _damaged(path, "is not the file that was written, by the sha256 in provenance.json")


def _damaged(path: Path, how: str) -> BadInput:
    again = "`lockscale study resume` writes a run's rows again from its journal"
    return BadInput(f"{path} {how}: {again}; of a kept run, copy the file again")


def read_rows(path: Path) -> pd.DataFrame:
    """The rows of a run as a frame with the columns of `Row`. Raises BadInput for a damaged file."""
    if not path.is_file():
        raise BadInput(f"{path} does not exist: measure first (notebook 05, or lockscale study run)")
    refuse_changed(path)
    try:
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    except ValueError as error:  # pandas's own, and of the text's encoding
        raise _damaged(path, f"cannot be read ({printable(str(error))})") from None
    lacking = [name for name in COLUMNS if name not in frame.columns]
    if lacking:
        raise BadInput(f"{path} lacks the column {lacking[0]!r}: it is not a rows.csv that lockscale wrote")
    for name in NEVER_EMPTY:
        kind_is_right = frame[name].dtype.kind in KINDS.get(name, frame[name].dtype.kind)
        if len(frame) and (frame[name].isna().any() or not kind_is_right):
            raise _damaged(path, f"has rows without a right {name!r}")
    if not np.isfinite(frame.value).all():
        raise _damaged(path, "has values that are no numbers")
    return frame


WORDS = {
    "qemu": "in QEMU",
    "virtual": "in virtual time",
    "vm": "in a virtual machine",
    "hardware": "on hardware",
}
ORIGINS = {
    "published": "published",
    "simulated": "simulated",
    **{origin: f"measured {words}" for origin, words in WORDS.items()},
}


def origin_in_words(origin: str) -> str:
    """A table's `origin`, also one that only its author knows."""
    return "origin not stated" if origin in ("", "not stated") else ORIGINS.get(origin, printable(origin))


def where_measured(provenance: dict[str, Any]) -> str:
    """For instance "in QEMU (tcg)": what stands after "measured"."""
    accel = provenance.get("accel")
    return WORDS[provenance["origin"]] + (f" ({accel})" if accel else "")


def is_benchmark(origin: str) -> bool:
    """Rates are one on hardware, and in virtual time, where no host stops a CPU in a queue of waiters."""
    return origin in ("hardware", "virtual")


def origin_of(rows: pd.DataFrame) -> str:
    """The one origin of `rows`. Raises BadInput where there are several: they are never compared."""
    found = sorted(rows.origin.unique())
    if len(found) != 1:
        raise BadInput(
            f"the rows are of origin {' and '.join(found) or 'none'}: compare rows of one origin only"
        )
    return str(found[0])


STATISTICS = ("total", "slowest_rank")
"""By preference; lockscale.tools.parsed_rows says what each is. mdtest 4 has no `total`."""
_ONE_LOAD = ["tool", "arm", "cpus", "threads", "pair", "block", "iteration", "metric"]


def operation_of(rows: pd.DataFrame) -> str:
    """What the rates of a run are of, as its rows say: what was profiled, else what the first rate is of.

    A run's first load is of its study's own workload, whose first phase is the operation.
    """
    profiled, rated = rows.test[rows.tool == ftrace_cost.TOOL], rows.test[rows.metric == "rate"]
    found = next((one for one in (profiled, rated) if len(one)), None)
    if found is None:
        raise BadInput("the rows have neither a rate nor a profile: give those of a run that has measured")
    return str(found.iloc[0])


def of_all_processes(rows: pd.DataFrame, test: str = "", metrics: Sequence[str] = ("rate",)) -> pd.DataFrame:
    """The rows of `test` that are the rate of all processes, one of each load, all of one statistic.

    test: by default the operation that the rows say.
    `total` where every load has it, else `slowest_rank` where every load has that: the two are not
    compared with each other. BadInput where no load has either, or some have only the one, some the other.
    """
    test = test or operation_of(rows)
    here = rows[(rows.test == test) & rows.metric.isin(metrics) & rows.statistic.isin(STATISTICS)]
    loads = len(here.drop_duplicates(_ONE_LOAD))
    for statistic in STATISTICS:
        alike = here[here.statistic == statistic]
        if loads and len(alike.drop_duplicates(_ONE_LOAD)) == loads:
            return alike
    if not loads:
        raise BadInput(
            f"no row has the rate of {test} of all processes together: measure with fsload or mdtest"
        )
    raise BadInput(f"some loads of {test} have only total rates and some only slowest_rank: use one tool")


def rate_note(rates: pd.DataFrame) -> str:
    """What has to stand beside such rates: nothing where they are totals."""
    return "" if (rates.statistic == "total").all() else " (slowest process x processes)"
