# SPDX-License-Identifier: MIT
"""On a real server: every disk that something owns is refused unwritten, and the right one is formatted.

Each case is really set up there. "Unwritten" is shown by checksums of every disk: of the images here for
the virtio disks, read past the cache there for those of scsi_debug.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.targets.disk import NamedDisk, device_to_format
from lockscale.targets.disk_look import TOKENS_TYPED
from lockscale.targets.format import formatting
from lockscale.targets.machine import must
from lockscale.targets.ssh import SshMachine
from server.machine import Server

pytestmark = [pytest.mark.guest, pytest.mark.long]
BY_ID = Path("/dev/disk/by-id")
BLOCK = 1 << 16
SIZES_MIB = {"SYSTEM0": 4096, "LOCKSCALE1": 2048, "LOCKSCALE2": 1024, "MEDIUM1": 400, "MEDIUM2": 400}

SET_UP = """
exec 2>&1
set -ux
d() { readlink -f "/dev/disk/by-id/virtio-$1"; }
ours() { mkfs.ext4 -q -F -L lockscale -E lazy_itable_init=0,lazy_journal_init=0 "$1"; }
mbr() { # one partition of 50 MiB behind the first MiB
    printf '\\000\\000\\000\\000\\203\\000\\000\\000\\000\\010\\000\\000\\000\\220\\001\\000' |
        dd of="$1" bs=1 seek=446 conv=notrunc status=none
    printf '\\125\\252' | dd of="$1" bs=1 seek=510 conv=notrunc status=none
    sync; blockdev --rereadpt "$1"; udevadm settle
}
mkdir -p /mnt/mounted /mnt/hidden /mnt/part
ours "$(d SMALL01)"; mount -o ro "$(d SMALL01)" /mnt/mounted
ours "$(d SMALL02)"
systemd-run --quiet --unit=matrix-hidden unshare --mount \
    sh -c "mount -o ro $(d SMALL02) /mnt/hidden && exec sleep 100000"
ours "$(d SMALL03)"
mkdir -p /run/pin; mount --bind /run/pin /run/pin; mount --make-private /run/pin; touch /run/pin/ns
unshare --mount=/run/pin/ns mount -o ro "$(d SMALL03)" /mnt/hidden
mbr "$(d SMALL04)"
ours "$(d SMALL04)1"; mount -o ro "$(d SMALL04)1" /mnt/part
pvcreate -q "$(d SMALL05)"
pvcreate -q "$(d SMALL06)"; vgcreate -q matrix "$(d SMALL06)"; lvcreate -q -y -n volume -l 2 matrix
mdadm --create /dev/md7 --run --force --metadata=1.2 --level=1 --raid-devices=1 "$(d SMALL07)"
mdadm --readonly /dev/md7
mdadm --create /dev/md8 --run --force --metadata=1.2 --level=1 --raid-devices=1 "$(d SMALL08)"
mdadm --stop /dev/md8
mkswap -q "$(d SMALL09)"; swapon "$(d SMALL09)"
mbr "$(d SMALL10)"
mkswap -q "$(d SMALL10)1"; swapon "$(d SMALL10)1"
printf x | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 "$(d SMALL11)" -
dmsetup create matrix-path --uuid mpath-matrix --table "0 131072 linear $(d SMALL12) 0"
mkfs.xfs -q -f "$(d MEDIUM1)"
mkfs.btrfs -q -f "$(d MEDIUM2)"
modprobe loop
truncate -s 64M /run/matrix.loop
losetup /dev/loop0 /run/matrix.loop
cd /dev/disk/by-id
ln -s ../../loop0 matrix-loop
ln -s "$(d LOCKSCALE1)" matrix-moved
ln -s ../../nothing matrix-dangling
mknod matrix-node b $((0x$(stat -c %t "$(d LOCKSCALE1)"))) $((0x$(stat -c %T "$(d LOCKSCALE1)")))
sync
udevadm settle
"""
CLEAN = """
d() { readlink -f "/dev/disk/by-id/virtio-$1"; }
systemctl stop matrix-hidden
umount /mnt/mounted /mnt/part /run/pin/ns; umount /run/pin
rm -f /dev/disk/by-id/matrix-*
losetup -d /dev/loop0
dmsetup remove matrix-path
vgremove -q -y matrix
mdadm --stop /dev/md7
swapoff -a
for disk in 01 02 03 04 05 06 07 08 09 10 11 12; do
    wipefs -q --all "$(d SMALL$disk)"; blkdiscard -z -f "$(d SMALL$disk)"; partx -d "$(d SMALL$disk)"
done
for disk in MEDIUM1 MEDIUM2 LOCKSCALE1 LOCKSCALE2; do wipefs -q --all "$(d $disk)"; done
rm -f TOKENS_TYPED
sync
""".replace("TOKENS_TYPED", TOKENS_TYPED)


def disk(serial: str, by_id: str = "", *, named: str = "", more: int = 0) -> NamedDisk:
    """A disk as a target file would name it; `named` and `more` make the file wrong about it."""
    size = (SIZES_MIB.get(serial, 64) << 20) + more
    return NamedDisk(BY_ID / (by_id or f"virtio-{serial}"), named or serial, size)


def token(of: NamedDisk) -> str:
    return f"{of.serial[-4:]}-{of.size_bytes // 10**9}GB"


RIGHT = disk("LOCKSCALE1")
CASES = {
    "mounted": (disk("SMALL01"), "is mounted on /mnt/mounted"),
    "mounted in another name space": (disk("SMALL02"), "is mounted on /mnt/hidden"),
    "mounted in a name space without a process": (disk("SMALL03"), "in use by the system"),
    "partition mounted": (disk("SMALL04"), "1 is mounted on /mnt/part"),
    "has partitions": (disk("SMALL04"), "has partitions: vd[a-z]+1"),
    "partition table": (disk("SMALL04"), "carries a dos partition table"),
    "a partition": (disk("SMALL04", "virtio-SMALL04-part1"), "is a partition, not a whole disk"),
    "LVM physical volume": (disk("SMALL05"), "LVM2_member signature"),
    "held by LVM": (disk("SMALL06"), r"held by dm-\d+ \(lvm\)"),
    "held by md": (disk("SMALL07"), r"held by md7 \(raid1\)"),
    "RAID member at rest": (disk("SMALL08"), "linux_raid_member signature"),
    "swap": (disk("SMALL09"), "vd[a-z]+ is swap"),
    "swap on a partition": (disk("SMALL10"), "vd[a-z]+1 is swap"),
    "LUKS": (disk("SMALL11"), "crypto_LUKS signature"),
    "multipath": (disk("SMALL12"), r"held by dm-\d+ \(mpath\)"),
    "xfs": (disk("MEDIUM1"), "xfs signature"),
    "btrfs": (disk("MEDIUM2"), "btrfs signature"),
    "read-only": (disk("READONLY1"), "is read-only"),
    "the system's disk": (disk("SYSTEM0"), "the running system is on it: /dev/vda1 on /"),
    "loop device": (disk("LOCKSCALE1", "matrix-loop"), "is a loop, not a whole disk"),
    "link to another disk": (disk("LOCKSCALE2", "matrix-moved"), "serial is 'LOCKSCALE1'"),
    "link to nothing": (disk("LOCKSCALE1", "matrix-dangling"), "leads to /dev/nothing"),
    "no link": (disk("LOCKSCALE1", "matrix-node"), "not a link that udev made"),
    "by-id missing": (disk("LOCKSCALE1", "virtio-ABSENT"), "is not there"),
    "not a by-id name": (disk("LOCKSCALE1", "../by-path/x"), "not a name in /dev/disk/by-id"),
    "wrong serial": (disk("LOCKSCALE1", named="LOCKSCALE3"), "the target file says 'LOCKSCALE3'"),
    "wrong size": (disk("LOCKSCALE1", more=512), "the target file says 2147484160"),
}

OPEN = """
systemd-run -q --unit=matrix-open sh -c 'exec 3< {device}; touch /run/matrix.open; exec sleep 100000'
until [ -e /run/matrix.open ]; do sleep 0.1; done
"""
CLOSE = "systemctl stop matrix-open; rm /run/matrix.open"


def checksums(server: Server) -> dict[str, str]:
    """Of every image but the system's, which runs."""
    return {serial: _sha256(path) for serial, path in server.images().items()}


def _sha256(path: Path) -> str:
    """Of all of its blocks that are not zero and where they are; holes need not be read for that."""
    said = hashlib.sha256()
    with path.open("rb") as stream:
        for at in _blocks_with_data(stream):
            stream.seek(at)
            if (block := stream.read(BLOCK)).strip(b"\0"):
                said.update(f"{at} ".encode() + block)
    return said.hexdigest()


def _blocks_with_data(stream: BinaryIO) -> Iterator[int]:
    at, end = 0, os.fstat(stream.fileno()).st_size
    while at < end:
        try:
            data = os.lseek(stream.fileno(), at, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            return
        upto = os.lseek(stream.fileno(), data, os.SEEK_HOLE)
        yield from range(max(at, data - data % BLOCK), upto, BLOCK)
        at = upto + -upto % BLOCK


@pytest.fixture(scope="module")
def machine(server: Server) -> Iterator[SshMachine]:
    """The server with every case set up; a step that failed leaves a case that its own test finds."""
    with SshMachine(server.host) as found:
        found.run(["rm", "-f", TOKENS_TYPED])
        print(found.run(["sh", "-c", SET_UP], timeout_s=900).stdout)
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


@pytest.mark.parametrize("case", CASES)
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


def test_a_disk_that_a_process_has_open_is_refused(server: Server, machine: SshMachine):
    do(machine, OPEN.format(device=RIGHT.by_id))
    try:
        with (
            unwritten(server, machine),
            pytest.raises(BadInput, match=r"process \d+ \((sh|sleep)\) has it open"),
        ):
            formatting(machine, RIGHT, token=token(RIGHT)).carry_out(machine)
    finally:
        do(machine, CLOSE)


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


@pytest.mark.parametrize("change", CHANGES)
def test_a_disk_that_changes_after_it_was_judged_is_not_formatted(
    server: Server, machine: SshMachine, change: str
):
    if machine.run(["blkid", "-t", "LABEL=lockscale", str(RIGHT.by_id)]).status:
        formatting(machine, RIGHT, token=token(RIGHT)).carry_out(machine)
    planned = formatting(machine, RIGHT)
    change_it, undo = (text.format(device=planned.device, by_id=RIGHT.by_id) for text in CHANGES[change])
    do(machine, change_it)
    try:
        with unwritten(server, machine), pytest.raises(RunFailed, match="changed while it was looked at"):
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


def test_a_removable_disk_is_refused(machine: SshMachine):
    with scsi_debug(machine, "removable=1") as disks:
        before = direct(machine, disks[0])
        with pytest.raises(BadInput, match="is removable"):
            formatting(machine, disks[0], token=token(disks[0])).carry_out(machine)
        assert direct(machine, disks[0]) == before


def test_two_disks_with_one_serial_are_refused(machine: SshMachine):
    with scsi_debug(machine, "add_host=2 vpd_use_hostno=0 per_host_store=1") as disks:
        before = direct(machine, disks[0])
        with pytest.raises(BadInput, match="has the same serial"):
            formatting(machine, disks[0], token=token(disks[0])).carry_out(machine)
        assert direct(machine, disks[0]) == before


def test_a_disk_that_cannot_be_read_is_refused(machine: SshMachine):
    with scsi_debug(machine) as (bad, *_):
        do(machine, "echo 0x2 > /sys/bus/pseudo/drivers/scsi_debug/opts")
        do(machine, "echo 0 > /sys/module/scsi_debug/parameters/medium_error_start")
        with pytest.raises(BadInput, match="cannot be read"):
            formatting(machine, bad, token=token(bad)).carry_out(machine)


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
