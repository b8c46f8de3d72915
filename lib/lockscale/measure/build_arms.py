# SPDX-License-Identifier: MIT
"""The arms of a study as built kernels, refused when two of them are one and the same."""

import difflib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lockscale.errors import BadInput
from lockscale.kernels.base import RATE
from lockscale.kernels.build import Kernel, build, refuse_one_identity
from lockscale.kernels.series import Series
from lockscale.progress import progress
from lockscale.study.file import Study

K = TypeVar("K", bound=Kernel)
PATTERN = re.compile(r"[*?\[]")


def build_arms(study: Study, kind: str = RATE) -> dict[str, Kernel]:
    """Arm -> kernel for a guest, built or taken from the cache."""
    source = study.parameters.kernel_source or None
    return build_each(study, lambda one: build(one, source, kind=kind))


def build_each(study: Study, build_one: Callable[[Series], K]) -> dict[str, K]:
    """Arm -> what `build_one` makes of its series, refused where two arms are one and the same."""
    series = {arm.name: study.series_of(arm.name) for arm in study.arms}
    built: dict[str, K] = {}
    with progress(f"kernels of {study.name}", len(series)) as shown:
        for done, (name, one) in enumerate(series.items(), start=1):
            built[name] = build_one(one)
            shown.update(done, name)
    refuse_one_identity({name: (k, study.options_of(name).line) for name, k in built.items()})
    for kernel in built.values():
        refuse_unknown_functions(study, kernel.folder / "System.map")
    return built


def refuse_unknown_functions(study: Study, symbols: Path) -> None:
    """BadInput for a profiled function that a kernel has not: its profiler would refuse all of them.

    symbols: a kernel's System.map; where none was kept, the profiler finds out. A pattern may match nothing.
    """
    if not symbols.is_file():
        return
    known = {line.rpartition(" ")[2] for line in symbols.read_text().splitlines()}
    for function in study.parameters.profiled_functions:
        if not PATTERN.search(function) and function not in known:
            meant = difflib.get_close_matches(function, known, n=1)
            raise BadInput(
                f"{study.name}.yaml: profiled_functions names {function}, which the kernel does not have"
                f"{f' (did you mean {meant[0]}?)' if meant else ''}: name a function that is not inlined"
            )
