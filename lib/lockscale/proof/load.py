# SPDX-License-Identifier: MIT
"""The load that an arm is checked under, as its study's arms.toml says."""

from lockscale import paths
from lockscale.experiment.file_system import MOUNT_POINT
from lockscale.kernels.arms import Load
from lockscale.workloads import fsload

LOAD_TIMEOUT_S = 300


def command(load: Load) -> list[str]:
    """fsload's command line for `load` on the mounted file system."""
    return fsload.command(
        fsload.build(paths.CACHE / "bin"),
        MOUNT_POINT,
        processes=load.processes,
        items=load.items_per_process,
        test=load.testcase,
    )
