# SPDX-License-Identifier: MIT
"""The trace events that an arm's observe kernel has, read from its source before it is built."""

import re
from collections.abc import Iterable
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.filesystems import FsType
from lockscale.kernels.base import base
from lockscale.kernels.build import build_folder
from lockscale.kernels.series import Series, apply_beside, with_on_top
from lockscale.kernels.source import find_source
from lockscale.measure.counting import OBSERVE

EVENT = r"^(?:TRACE|DEFINE)_(?:\w+_)?EVENT\w*\(\s*(?:\w+,\s*)?({system}_\w+)"


def refuse_unknown_events(arms: Iterable[Series], events: Iterable[str], fs: FsType) -> None:
    """BadInput when the observe kernel of one of the arms would lack one of `events` of a file system."""
    with build_folder(find_source()) as (tree, _):
        for series in arms:
            whole = with_on_top(series, base().kind(OBSERVE).on_top)
            missing = sorted(set(events) - events_of(whole, tree, fs))
            if missing:
                raise BadInput(
                    f"the observe kernel of {series.name} has no trace event {', '.join(missing)}: "
                    "mend the name in arms.toml, or add it to kernel-patches/observe"
                )


def events_of(series: Series, tree: Path, fs: FsType) -> set[str]:
    """The events of a file system in the pristine `tree` with `series` on it."""
    if not fs.trace_header:
        return set()
    changed = apply_beside(series, tree).get(fs.trace_header)
    text = changed if changed is not None else (tree / fs.trace_header).read_bytes()
    return set(re.findall(EVENT.format(system=fs.trace_system), text.decode(), re.MULTILINE))
