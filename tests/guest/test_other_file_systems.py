# SPDX-License-Identifier: MIT
"""A study of another file system than ext4, in a real guest: its own kernel, mkfs, counters and check."""

from pathlib import Path

import pytest

from lockscale.kernels.build import build
from lockscale.machines.guest_disks import Scratch
from lockscale.machines.machine import assert_runs
from lockscale.machines.qemu import QemuMachine
from lockscale.measure import file_system
from lockscale.measure.load import LOAD_TIMEOUT_S, fsload_load
from lockscale.measure.profiling import profile, profilers
from lockscale.measure.target_qemu import guest_of, named_disk
from lockscale.study.file import load_study, load_target

pytestmark = pytest.mark.guest
CPUS, PROCESSES, EACH = 2, 8, 100
LOAD = fsload_load("create_unlink", file_system.MOUNT_POINT)


def test_both_arms_of_an_xfs_study_are_one_kernel_on_two_file_systems(tmp_path: Path):
    study = load_study("xfs-create")
    kernel = build(study.series_of("many-groups"))
    create, remove = (LOAD.command(PROCESSES, EACH, phase) for phase in LOAD.phases)
    scratch = Scratch(tmp_path / "scratch.img", 3072, "LOCKSCALE0")
    scratch.make()
    disk = named_disk(scratch)
    with QemuMachine(guest_of(load_target("qemu"), kernel, CPUS, disk=scratch)) as machine:
        assert assert_runs(machine, kernel) == kernel.build_id
        for arm, groups in (("four-groups", 4), ("many-groups", 32)):
            made = file_system.make(machine, study.options_of(arm), disk)
            assert (made.fs_type, made.facts["allocation_groups"]) == ("xfs", groups)
            assert made.mount_line.split()[2] == "xfs"
            functions = study.parameters.profiled_functions
            ((_, on_load),) = profilers(machine, ["ftrace_cost"], CPUS, functions)
            numbers = profile(machine, CPUS, on_load, create, [remove], LOAD_TIMEOUT_S).numbers
            found = {number.metric: number.value for number in numbers}
            # files, and what they lie in: a directory a process, and one for all
            assert found["xfs_create.calls"] == PROCESSES * EACH + PROCESSES + 1
            assert found[f"{study.called_function}.calls"] == found["xfs_create.calls"]
            file_system.unmount_and_check(machine, made)
