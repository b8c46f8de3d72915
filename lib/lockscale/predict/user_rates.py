# SPDX-License-Identifier: MIT
"""A user's rates and profile of the base, as people have them."""

from pathlib import Path

import numpy as np

from lockscale.errors import BadInput, printable
from lockscale.fitting.column import Column
from lockscale.fitting.user_table import read_columns
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.rates import rates_of
from lockscale.tools.registry import profile_of, text_of

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
        raise BadInput(f"rates {printable(str(path))}: neither a file nor of the form {EXAMPLE}")
    column = one_curve(path)
    logs = {int(n): np.log(column.rates_per_s[column.threads == n]) for n in sorted({*column.threads})}
    return {n: float(np.exp(repeats.mean())) for n, repeats in logs.items()}


def one_curve(path: Path) -> Column:
    """The one column of rates in a CSV file. Raises BadInput where it has several."""
    found = read_columns(path)
    if len(found) != 1:
        names = ", ".join(one.name for one in found)
        raise BadInput(f"{path} has {len(found)} curves ({names}): give only the unpatched kernel's")
    return found[0]


def read_profile(path: Path, table: str | None = None, tool: str | None = None) -> LockProfile:
    """The profile in the file; of several that of `table`, a number from 1 or a title.

    tool: that printed it, where the file does not show this or holds output of others too.
    """
    piped = path == Path("-")
    if not piped and not path.is_file():
        raise BadInput(f"{path} is not a regular file: save the tool's output and name that file")
    if not piped and path.stat().st_size > MOST_BYTES:
        raise BadInput(f"{path} is larger than {MOST_BYTES >> 20} MiB: give a report, not raw samples")
    try:
        return profile_of(text_of(path), table, tool)
    except BadInput as said:
        raise BadInput(f"{'standard input' if piped else path}: {said}") from None
