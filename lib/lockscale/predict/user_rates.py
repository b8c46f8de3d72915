# SPDX-License-Identifier: MIT
"""A user's rates and profile of the base, as people have them."""

from pathlib import Path

import numpy as np

from lockscale.errors import BadInput, printable
from lockscale.fitting.user_table import read_columns
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.rates import rates_of
from lockscale.tools.registry import profile_of

MOST_BYTES = 128 << 20
EXAMPLE = "-r 1:35k,4:140k"


def read_rates(text: str) -> dict[int, float]:
    """Operations/s by threads, from `1:35k,4:140k` or a CSV file with threads,value.

    Of a file's repeats the geometric mean. Raises BadInput.
    """
    if ":" not in text or Path(text).is_file():
        return _of_file(Path(text))
    return rates_of(text)


def _of_file(path: Path) -> dict[int, float]:
    if not path.is_file():
        raise BadInput(f"rates {printable(str(path))}: no such file, and not of the form {EXAMPLE}")
    columns = read_columns(path)
    if len(columns) != 1:
        names = ", ".join(one.name for one in columns)
        raise BadInput(f"{path} has {len(columns)} curves ({names}): give the base's rates alone")
    values: dict[int, list[float]] = {}
    for threads, rate in zip(columns[0].threads.tolist(), columns[0].rates_per_s.tolist(), strict=True):
        values.setdefault(int(threads), []).append(rate)
    return _checked(str(path), values)


def _checked(what: str, values: dict[int, list[float]]) -> dict[int, float]:
    for threads, rates in values.items():
        if threads < 1 or not all(0 < rate < 1e18 for rate in rates):
            raise BadInput(
                f"rates {printable(what)}: at {threads} threads a rate is not above 0: write {EXAMPLE}"
            )
    return {threads: float(np.exp(np.mean(np.log(rates)))) for threads, rates in sorted(values.items())}


def read_profile(path: Path, table: str | None = None) -> LockProfile:
    """The profile in the file; of several that of `table`, a number from 1 or a title."""
    if not path.is_file():
        raise BadInput(f"{path} is no regular file: save what the tool prints, and name that file")
    if path.stat().st_size > MOST_BYTES:
        raise BadInput(f"{path} has more than {MOST_BYTES >> 20} MiB: give a report, not raw samples")
    try:
        return profile_of(path.read_text(encoding="utf-8", errors="replace"), table=table)
    except BadInput as said:
        raise BadInput(f"{path}: {said}") from None
