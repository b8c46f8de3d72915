# SPDX-License-Identifier: MIT
"""The trace events that an arm's observe kernel has, read from its source before it is built."""

import re
from collections.abc import Iterable
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.experiment.counting import OBSERVE
from lockscale.kernels.base import base
from lockscale.kernels.build import build_folder
from lockscale.kernels.series import Series, apply_beside, with_on_top
from lockscale.kernels.source import find_source

HEADER = "include/trace/events/ext4.h"
EVENT = re.compile(r"^(?:TRACE|DEFINE)_EVENT\w*\(\s*(?:\w+,\s*)?(ext4_\w+)", re.MULTILINE)


def refuse_unknown_events(arms: Iterable[Series], events: Iterable[str]) -> None:
    """BadInput when the observe kernel of one of the arms would lack one of `events`."""
    with build_folder(find_source()) as (tree, _):
        for series in arms:
            missing = sorted(set(events) - events_of(with_on_top(series, base().kind(OBSERVE).on_top), tree))
            if missing:
                raise BadInput(
                    f"the observe kernel of {series.name} has no trace event {', '.join(missing)}: "
                    "mend the name in arms.toml, or add it to kernel-patches/observe"
                )


def events_of(series: Series, tree: Path) -> set[str]:
    """ext4's events in the pristine `tree` with `series` on it."""
    changed = apply_beside(series, tree).get(HEADER)
    text = changed if changed is not None else (tree / HEADER).read_bytes()
    return set(EVENT.findall(text.decode()))
