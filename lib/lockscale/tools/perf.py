# SPDX-License-Identifier: MIT
"""Linux perf: which version it is. PyPI's and conda's `perf` are other things."""

import re
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.tools.target_tools import TargetTool, on_path

VERSION = ("perf", "--version")


def version(text: str) -> str:
    """The version from what VERSION prints, as 6.1.187."""
    found = re.fullmatch(r"perf version (\d\S*)\s*", text)
    if found is None:
        raise BadInput(f"this perf is not Linux perf, it says {text[:40]!r}: apt-get install linux-perf")
    return found[1]


def plain(argv: Sequence[str]) -> list[str]:
    """`argv` with numbers as C prints them: perf stat follows the locale."""
    return ["env", "LC_ALL=C", *argv]


ON_TARGET = TargetTool(
    name="perf",
    ask=on_path("perf", *VERSION),
    version=version,
    without="function costs by ftrace, lock events; no waits by lock and no flame graph",
    get="apt-get install linux-perf",
)
