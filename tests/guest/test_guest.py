# SPDX-License-Identifier: MIT
"""A real guest: what it runs is asserted, what it formats is checked, and its death is told."""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.doctor import doctor
from lockscale.errors import BadInput, RunFailed
from lockscale.filesystems import Options
from lockscale.kernels.base import RATE
from lockscale.kernels.build import Kernel, cached_kernels
from lockscale.machines.disk_guard import NamedDisk, device_to_format
from lockscale.machines.guest_disks import Scratch
from lockscale.machines.kvm_trial import choose_accel
from lockscale.machines.machine import Write, assert_runs, must, must_all
from lockscale.machines.qemu import Guest, QemuMachine
from lockscale.measure import file_system, target_qemu
from lockscale.measure.load import fsload_load
from lockscale.programs import find
from lockscale.study.file import load_target
from lockscale.tools.registry import TARGET_TOOLS

pytestmark = pytest.mark.guest
SIZE_MIB = 256
DEVICE = "/dev/vda"


@pytest.fixture(scope="module")
def guest(kernels: dict[str, Kernel], tmp_path_factory: pytest.TempPathFactory) -> Guest:
    """A guest of the base kernel with a scratch disk of its own."""
    disk = Scratch(tmp_path_factory.mktemp("guest") / "scratch.img", SIZE_MIB, "LOCKSCALE0")
    disk.make()
    timeout_s = load_target("qemu").boot_timeout_s
    plain = Guest(kernels["search-locked"].image, 2, 1024, "tcg", timeout_s)
    return replace(plain, accel=choose_accel(plain), disk=disk)


@pytest.fixture(scope="module")
def booted(guest: Guest) -> Iterator[QemuMachine]:
    """That guest, booted once for all tests that do not end it."""
    with QemuMachine(guest) as machine:
        yield machine


@pytest.fixture
def machine(booted: QemuMachine) -> QemuMachine:
    """The same, its disk not mounted and empty, whatever another test left there."""
    booted.run(["umount", "--all-targets", DEVICE])
    must(booted, ["wipefs", "--quiet", "--all", DEVICE])
    return booted


@pytest.fixture
def right(guest: Guest) -> NamedDisk:
    """The guest's disk, as a target names it."""
    assert guest.disk
    return target_qemu.named_disk(guest.disk)


def test_udev_names_the_disk_and_is_asked_about_nothing_else_that_is_not_used(machine: QemuMachine):
    """As the kernel numbers them: 254 is its first virtio disk, 4 a terminal, of which there are 64."""
    known = must(machine, ["ls", "/run/udev/data"]).split()
    assert any(one.startswith("b254:") for one in known)
    assert not [one for one in known if one.startswith("c4:")]
    found = must(machine, ["sh", "-c", "command -v udevadm; ls -A /run/current-system/sw/bin"])
    assert found.split() in (["/bin/udevadm"], ["/usr/bin/udevadm"], ["/sbin/udevadm"])


CONTROLLER = """
import sys
from pathlib import Path
from lockscale.machines.qemu import Guest, QemuMachine
with QemuMachine(Guest(Path(sys.argv[1]), 1, 512, sys.argv[2], float(sys.argv[3]))) as machine:
    print(machine.process.pid, machine.room, flush=True)
    machine.run(["sh", "-c", "while :; do :; done"], timeout_s=600)
"""
GONE_WITHIN_S = 20


def test_a_busy_guest_is_gone_once_its_controller_was_killed(guest: Guest):
    argv = [sys.executable, "-c", CONTROLLER, str(guest.image), guest.accel, str(guest.boot_timeout_s)]
    controller = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert controller.stdout
    group, room = controller.stdout.readline().split()
    time.sleep(1)
    assert processes_of(int(group)) and Path(room).is_dir()
    controller.kill()
    controller.communicate()
    deadline_s = time.monotonic() + GONE_WITHIN_S
    while processes_of(int(group)) or Path(room).exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


def processes_of(group: int) -> list[str]:
    """Those of a process group that run."""
    said = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    found = [line.split() for line in said.splitlines()]
    return [state for of, state in found if int(of) == group and not state.startswith("Z")]


def test_the_kernel_is_asserted_from_inside_and_another_one_is_refused(
    machine: QemuMachine, kernels: dict[str, Kernel]
):
    ours, other = kernels["search-locked"], kernels["steal-retry"]
    assert assert_runs(machine, ours) == ours.build_id
    with pytest.raises(RunFailed, match="nothing is measured"):
        assert_runs(machine, other)
    with pytest.raises(RunFailed, match="build-id"):
        assert_runs(machine, replace(other, release=ours.release))


def test_only_the_named_empty_disk_may_be_formatted(machine: QemuMachine, right: NamedDisk):
    """On a guest's disk; every other reason to refuse one is in tests/machines/test_disk_matrix.py."""
    assert device_to_format(machine, right) == DEVICE
    for wrong, reason in (
        (replace(right, serial="OTHER"), "serial"),
        (replace(right, size_bytes=right.size_bytes + 512), "bytes"),
    ):
        with pytest.raises(BadInput, match=reason):
            device_to_format(machine, wrong)
    must(machine, ["mkfs.ext4", "-q", "-F", "-L", "somebody", DEVICE])
    with pytest.raises(BadInput, match="ext4 signature"):
        device_to_format(machine, right)
    must(machine, ["mkfs.ext4", "-q", "-F", "-L", "lockscale", DEVICE])
    assert device_to_format(machine, right) == DEVICE
    must(machine, ["mkdir", "-p", "/run/t"])
    must(machine, ["mount", DEVICE, "/run/t"])
    with pytest.raises(BadInput, match="mounted on /run/t"):
        device_to_format(machine, right)


def test_a_damaged_file_system_and_a_missing_feature_give_no_numbers(machine: QemuMachine, right: NamedDisk):
    small = Options(
        filesystem="ext4", mkfs=["-J", "size=8", "-O", "^orphan_file"], mkfs_asserts=["has_journal"]
    )
    made = file_system.make(machine, small, right)
    assert "has_journal" in made.features and "orphan_file" not in made.features
    file_system.unmount_and_check(machine, made)
    wanting = small.added_to(Options(mkfs_asserts=["orphan_file"]))
    with pytest.raises(RunFailed, match="did not apply orphan_file"):
        file_system.make(machine, wanting, right)
    damage = "set_inode_field /lost+found links_count 77"
    must(machine, ["umount", file_system.MOUNT_POINT])
    must(machine, ["debugfs", "-w", "-R", damage, made.device])
    must(machine, ["mount", made.device, file_system.MOUNT_POINT])
    with pytest.raises(RunFailed, match="damaged"):
        file_system.unmount_and_check(machine, made)
    file_system.make(machine, small, right)
    must_all(machine, [Write("/dev/kmsg", f"EXT4-fs warning (device {made.device}): as if\n")])
    with pytest.raises(RunFailed, match=r"the kernel reported 'EXT4-fs warning .*: as if' while"):
        file_system.unmount_and_check(machine, made)
    file_system.unmount_and_check(machine, file_system.make(machine, small, right))


def test_a_file_system_in_memory_is_mounted_and_needs_no_check(machine: QemuMachine, right: NamedDisk):
    load = fsload_load("create_unlink", file_system.MOUNT_POINT)
    made = file_system.make(machine, Options(filesystem="tmpfs", mount=["size=256m"]), right)
    assert (made.device, made.mkfs_line, made.mount_line.split()[2]) == ("tmpfs", "", "tmpfs")
    rows = load.parse(must(machine, load.command(8, 100, "both"), timeout_s=120)).rows
    assert {row.test for row in rows} == {"create", "remove"}
    file_system.unmount_and_check(machine, made)


def test_a_panic_ends_the_guest_with_its_last_words(machine: QemuMachine):
    """The last one on the guest that the others share."""
    with pytest.raises(RunFailed, match=r"panicked \(Kernel panic - not syncing: sysrq triggered crash\)"):
        machine.run(["sh", "-c", "echo c > /proc/sysrq-trigger"])


def test_a_hang_ends_with_a_sentence_that_names_the_command(guest: Guest):
    with (
        pytest.raises(RunFailed, match="hangs: `sleep 600` did not end"),
        QemuMachine(replace(guest, disk=None)) as machine,
    ):
        machine.run(["sleep", "600"], timeout_s=2)


def test_an_image_that_is_no_kernel_does_not_hang(guest: Guest, tmp_path: Path):
    image = tmp_path / "bzImage"
    image.write_bytes(b"not a kernel" * 1000)
    with (
        pytest.raises(RunFailed, match=r"did not boot|QEMU exited while the guest booted"),
        QemuMachine(replace(guest, image=image, boot_timeout_s=8)),
    ):
        pass


def test_the_doctor_sees_tools_and_that_waiters_queue_in_the_guest(kernels: dict[str, Kernel]):
    said = doctor("qemu")
    found = {check["name"]: check for check in said["checks"]}
    assert found["waiters queue (FIFO)"]["ok"]
    tools = {tool["name"]: tool for tool in said["tools"]}
    assert len(tools) == len(TARGET_TOOLS) + 1 and all(found[name]["ok"] for name in tools)
    for name in ("perf", "mpirun", "mdtest", "fio", "strace"):  # the guest has the host's user space
        assert bool(tools[name]["path"]) == bool(find(name)), name
    assert tools["perf"]["version"] and tools["mpirun"]["version"] and tools["fsload"]["version"]
    releases = {kernel.release for kernel in cached_kernels(RATE)}
    for name in ("ftrace function profiler", "lock event counters", "ext4 and jbd2 statistics"):
        assert tools[name]["version"] in releases and not tools[name]["missing"], name
    missing = {part["name"] for part in tools["perf"]["missing"]}
    assert "the tracepoint lock:contention_begin" not in missing
    assert found["uname and build-id"]["found"] in {kernel.build_id for kernel in cached_kernels(RATE)}
    for kernel in kernels.values():
        assert found[f"spin lock of kernel {kernel.release}"]["found"] == "queued (FIFO)"
