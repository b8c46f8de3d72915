# SPDX-License-Identifier: MIT
"""On a real server: every disk that something owns is refused unwritten, and the right one is formatted.

Each case is really set up there. "Unwritten" is shown by checksums of every disk: of the images here for
the virtio disks, read past the cache there for those of scsi_debug.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.disk_guard import NamedDisk, device_to_format
from lockscale.machines.disk_look import TOKENS_TYPED
from lockscale.machines.format import formatting
from lockscale.machines.machine import must
from lockscale.machines.ssh import SshMachine
from server.checksums import checksums
from server.disk_cases import ALWAYS, CASES, CLEAN, RIGHT, set_up, token
from server.machine import Server

pytestmark = pytest.mark.guest
OPEN = """
systemd-run -q --unit=matrix-open sh -c 'exec 3< {device}; touch /run/matrix.open; exec sleep 100000'
until [ -e /run/matrix.open ]; do sleep 0.1; done
"""
NODE = "mknod {node} b $(stat -L -c '0x%t 0x%T' {disk})"
CLOSE = "systemctl stop matrix-open; rm /run/matrix.open"


@pytest.fixture(scope="module")
def machine(server: Server, request: pytest.FixtureRequest) -> Iterator[SshMachine]:
    """The server with every case that is asked for; a step that failed leaves one that its test finds."""
    here = [one for one in request.session.items if one.parent is request.node and hasattr(one, "callspec")]
    script = set_up(one.callspec.params["case"] for one in here if "case" in one.callspec.params)
    server.wait_for_ssh()  # whatever another test left behind
    with SshMachine(server.host) as found:
        found.run(["rm", "-f", TOKENS_TYPED])
        print(found.run(["sh", "-c", script], timeout_s=900).stdout)
        yield found
        print(found.run(["sh", "-c", CLEAN], timeout_s=600).stderr)


def do(machine: SshMachine, script: str) -> str:
    """What a script prints that has to succeed on the server."""
    return must(machine, ["sh", "-ec", script], timeout_s=300)


@contextmanager
def unwritten(server: Server, machine: SshMachine) -> Iterator[None]:
    """Nothing is written to any disk meanwhile."""
    must(machine, ["sync"])
    before = checksums(server)
    yield
    must(machine, ["sync"])
    assert checksums(server) == before


def some(cases: Iterable[str], always: Sequence[str]) -> list[Any]:
    """All of the cases, those that are not always run marked long."""
    return [pytest.param(case, marks=() if case in always else pytest.mark.long) for case in cases]


@pytest.mark.parametrize("case", some(CASES, ALWAYS))
def test_a_disk_that_is_not_ours_is_refused_unwritten(server: Server, machine: SshMachine, case: str):
    wrong, reason = CASES[case]
    with unwritten(server, machine), pytest.raises(BadInput, match=reason):
        formatting(machine, wrong, token=token(wrong)).carry_out(machine)


def test_there_are_cases_enough():
    assert len(CASES) >= 20


def test_a_blank_disk_takes_its_token_and_no_other(server: Server, machine: SshMachine):
    with unwritten(server, machine):
        for wrong, reason in (
            (None, "never used it"),
            ("CALE1-2GB", "wrong"),
            ("", "wrong"),
            ("ALE2-2GB", "wrong"),
        ):
            with pytest.raises(BadInput, match=reason):
                formatting(machine, RIGHT, token=wrong).carry_out(machine)
        assert "mkfs.ext4" in formatting(machine, RIGHT, token="ALE1-2GB").dry_run()[1]


@pytest.mark.parametrize("node", ["by-id", pytest.param("elsewhere", marks=pytest.mark.long)])
def test_a_disk_that_a_process_has_open_is_refused(server: Server, machine: SshMachine, node: str):
    """Also by a node outside of /dev, as containers have it."""
    device = str(RIGHT.by_id) if node == "by-id" else "/run/matrix-node"
    do(machine, f"ls {device} 2>/dev/null || {NODE.format(disk=RIGHT.by_id, node=device)}")
    do(machine, OPEN.format(device=device))
    try:
        with (
            unwritten(server, machine),
            pytest.raises(BadInput, match=r"process \d+ \((sh|sleep)\) has it open"),
        ):
            formatting(machine, RIGHT, token=token(RIGHT)).carry_out(machine)
    finally:
        do(machine, CLOSE)


def test_a_disk_behind_a_loop_device_is_refused(server: Server, machine: SshMachine):
    """Neither its mounts nor O_EXCL tell of a file system that begins a MiB behind its start."""
    do(machine, f"losetup --offset 1MiB /dev/loop1 {RIGHT.by_id}")
    try:
        with unwritten(server, machine), pytest.raises(BadInput, match="loop1 is a loop device on it"):
            formatting(machine, RIGHT, token=token(RIGHT)).carry_out(machine)
    finally:
        do(machine, "losetup --detach /dev/loop1")


def test_the_right_disk_is_formatted_and_known_from_then_on(server: Server, machine: SshMachine):
    must(machine, ["sync"])
    before = checksums(server)
    line = formatting(machine, RIGHT, ["-O", "^orphan_file"], token=token(RIGHT)).carry_out(machine)
    device = device_to_format(machine, RIGHT)
    assert line == f"mkfs.ext4 -q -F -L lockscale -O '^orphan_file' {device}"
    assert do(machine, f"blkid -o value -s LABEL {device}").strip() == "lockscale"
    must(machine, ["sync"])
    after = checksums(server)
    assert {serial for serial in after if after[serial] != before[serial]} == {"LOCKSCALE1"}
    do(machine, f"wipefs --quiet --all {device}")  # as an mkfs that was cut off leaves it
    assert device_to_format(machine, RIGHT) == device
    formatting(machine, RIGHT).carry_out(machine)


CHANGES = {
    "mounted": ("mkdir -p /mnt/late; mount -o ro {device} /mnt/late", "umount /mnt/late"),
    "made swap": ("mkswap -q {device}", "wipefs -q -a {device}; mkfs.ext4 -q -F -L lockscale {device}"),
    "opened": (OPEN, CLOSE),
    "another disk's name": (
        "ln -sfn $(readlink -f /dev/disk/by-id/virtio-LOCKSCALE2) {by_id}", "ln -sfn {device} {by_id}"
    ),
    "gone": ("mv {by_id} /run/by_id", "mv /run/by_id {by_id}"),
}  # fmt: skip


@pytest.mark.parametrize("change", some(CHANGES, ["another disk's name"]))
def test_a_disk_that_changes_after_it_was_judged_is_not_formatted(
    server: Server, machine: SshMachine, change: str
):
    if machine.run(["blkid", "-t", "LABEL=lockscale", str(RIGHT.by_id)]).status:
        formatting(machine, RIGHT, token=token(RIGHT)).carry_out(machine)
    planned = formatting(machine, RIGHT)
    change_it, undo = (text.format(device=planned.device, by_id=RIGHT.by_id) for text in CHANGES[change])
    do(machine, change_it)
    try:
        with unwritten(server, machine), pytest.raises(RunFailed, match="changed while it was checked"):
            planned.carry_out(machine)
    finally:
        do(machine, undo)


@contextmanager
def scsi_debug(machine: SshMachine, parameters: str = "") -> Iterator[list[NamedDisk]]:
    """Disks in the server's memory, as long as the module is loaded; what is on them stays as it is."""
    find = """
    modprobe sd_mod; modprobe scsi_debug dev_size_mb=64 PARAMETERS; udevadm settle
    for link in /dev/disk/by-id/scsi-*; do
        device=$(readlink -f "$link"); case $device in *[0-9]) continue ;; esac
        echo "$link $(lsblk -bdnro SIZE,SERIAL "$device")"
    done | sort -u -t' ' -k3
    """
    try:
        rows = do(machine, find.replace("PARAMETERS", parameters)).splitlines()
        links = [row.split(maxsplit=2) for row in rows]
        yield [NamedDisk(Path(link), serial, int(size)) for link, size, serial in links]
    finally:
        do(machine, "udevadm settle; sync; rmmod scsi_debug")


def direct(machine: SshMachine, of: NamedDisk) -> str:
    """The checksum of a disk, read past the cache."""
    return do(machine, f"dd if={of.by_id} bs=1M iflag=direct status=none | sha256sum")


@pytest.mark.long
def test_a_removable_disk_is_refused(machine: SshMachine):
    with scsi_debug(machine, "removable=1") as disks:
        before = direct(machine, disks[0])
        with pytest.raises(BadInput, match="is removable"):
            formatting(machine, disks[0], token=token(disks[0])).carry_out(machine)
        assert direct(machine, disks[0]) == before


@pytest.mark.long
def test_two_disks_with_one_serial_are_refused(machine: SshMachine):
    with scsi_debug(machine, "add_host=2 vpd_use_hostno=0 per_host_store=1") as disks:
        before = direct(machine, disks[0])
        with pytest.raises(BadInput, match="has the same serial"):
            formatting(machine, disks[0], token=token(disks[0])).carry_out(machine)
        assert direct(machine, disks[0]) == before


@pytest.mark.long
def test_a_disk_that_cannot_be_read_is_refused(machine: SshMachine):
    with scsi_debug(machine) as (bad, *_):
        do(machine, "echo 0x2 > /sys/bus/pseudo/drivers/scsi_debug/opts")
        do(machine, "echo 0 > /sys/module/scsi_debug/parameters/medium_error_start")
        with pytest.raises(BadInput, match="cannot be read"):
            formatting(machine, bad, token=token(bad)).carry_out(machine)


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "reason"),
    [
        # five uberblocks in the first label of a pool: what libblkid takes for a member
        ("for u in 0 1 2 3 4 5 6 7; do printf '\\014\\261\\272\\000\\000\\000\\000\\000' | "
         "dd of=DISK bs=1k seek=$((128 + u)) conv=notrunc status=none; done", "zfs_member signature"),
        ("mkfs.ext4 -q -F -L somebody DISK", "an ext4 signature"),
        ("mkfs.ext4 -q -F -L lockscale DISK; "
         "printf '\\203\\000\\000\\000\\000\\010\\000\\000\\000\\220\\001\\000' | "
         "dd of=DISK bs=1 seek=450 conv=notrunc status=none; "
         "printf '\\125\\252' | dd of=DISK bs=1 seek=510 conv=notrunc status=none", "dos partition table"),
    ],
)  # fmt: skip
def test_what_somebody_put_there_is_refused(machine: SshMachine, made: str, reason: str):
    with scsi_debug(machine) as (of, *_):
        do(machine, made.replace("DISK", str(of.by_id)) + "; sync; udevadm settle")
        before = direct(machine, of)
        with pytest.raises(BadInput, match=reason):
            formatting(machine, of, token=token(of)).carry_out(machine)
        assert direct(machine, of) == before
