# SPDX-License-Identifier: MIT
"""The arms of a study as built kernels, refused when two of them are one and the same."""

from lockscale.kernels.build import Kernel, build, refuse_one_identity
from lockscale.kernels.series import read_series
from lockscale.progress import progress
from lockscale.study import Study


def build_arms(study: Study) -> dict[str, Kernel]:
    """Arm -> kernel, built or taken from the cache."""
    series = {arm.name: read_series(study.name, arm.name) for arm in study.arms}
    built = {}
    with progress(f"kernels of {study.name}", len(series)) as shown:
        for done, (name, one) in enumerate(series.items(), start=1):
            built[name] = build(one, study.parameters.kernel_source or None)
            shown.update(done, name)
    refuse_one_identity({name: (k, file_system_line(study)) for name, k in built.items()})
    return built


def file_system_line(study: Study) -> str:
    """The part of an arm's identity that is not its build-id: mkfs, mount and knobs."""
    return f"mkfs.ext4 {' '.join(study.mkfs)}; mount -o {','.join(study.mount)}"
