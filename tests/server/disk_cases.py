# SPDX-License-Identifier: MIT
"""The disks of the test server as somebody owns them: what sets each case up there, and why it is refused."""

from collections.abc import Iterable
from pathlib import Path

from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.disk_look import TOKENS_TYPED

BY_ID = Path("/dev/disk/by-id")
SIZES_MIB = {"SYSTEM0": 4096, "LOCKSCALE1": 2048, "LOCKSCALE2": 1024, "MEDIUM1": 400, "MEDIUM2": 400}

HEAD = """
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
for disk in LOCKSCALE1 LOCKSCALE2; do wipefs -q --all "$(d $disk)"; done # a study may have run here before
mkdir -p /mnt/mounted /mnt/hidden /mnt/part
"""
# By the serial of the disk, or by the link that a case names it with.
SET_UP = {
    "SMALL01": """
ours "$(d SMALL01)"; mount -o ro "$(d SMALL01)" /mnt/mounted
""",
    "SMALL02": """
ours "$(d SMALL02)"
systemd-run --quiet --unit=matrix-hidden unshare --mount \
    sh -c "mount -o ro $(d SMALL02) /mnt/hidden && exec sleep 100000"
""",
    "SMALL03": """
ours "$(d SMALL03)"
mkdir -p /run/pin; mount --bind /run/pin /run/pin; mount --make-private /run/pin; touch /run/pin/ns
unshare --mount=/run/pin/ns mount -o ro "$(d SMALL03)" /mnt/hidden
""",
    "SMALL04": """
mbr "$(d SMALL04)"
ours "$(d SMALL04)1"; mount -o ro "$(d SMALL04)1" /mnt/part
""",
    "SMALL05": """
pvcreate -q "$(d SMALL05)"
""",
    "SMALL06": """
pvcreate -q "$(d SMALL06)"; vgcreate -q matrix "$(d SMALL06)"; lvcreate -q -y -n volume -l 2 matrix
""",
    "SMALL07": """
mdadm --create /dev/md7 --run --force --metadata=1.2 --level=1 --raid-devices=1 "$(d SMALL07)"
mdadm --readonly /dev/md7
""",
    "SMALL08": """
mdadm --create /dev/md8 --run --force --metadata=1.2 --level=1 --raid-devices=1 "$(d SMALL08)"
mdadm --stop /dev/md8
""",
    "SMALL09": """
mkswap -q "$(d SMALL09)"; swapon "$(d SMALL09)"
""",
    "SMALL10": """
mbr "$(d SMALL10)"
mkswap -q "$(d SMALL10)1"; swapon "$(d SMALL10)1"
""",
    "SMALL11": """
printf x | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 "$(d SMALL11)" -
""",
    "SMALL12": """
dmsetup create matrix-path --uuid mpath-matrix --table "0 131072 linear $(d SMALL12) 0"
""",
    "MEDIUM1": """
mkfs.xfs -q -f "$(d MEDIUM1)"
""",
    "MEDIUM2": """
mkfs.btrfs -q -f "$(d MEDIUM2)"
""",
    "matrix-loop": """
modprobe loop
truncate -s 64M /run/matrix.loop
losetup /dev/loop0 /run/matrix.loop
ln -s ../../loop0 /dev/disk/by-id/matrix-loop
""",
    "matrix-moved": """
ln -s "$(d LOCKSCALE1)" /dev/disk/by-id/matrix-moved
""",
    "matrix-dangling": """
ln -s ../../nothing /dev/disk/by-id/matrix-dangling
""",
    "matrix-node": """
cd /dev/disk/by-id
mknod matrix-node b $((0x$(stat -c %t "$(d LOCKSCALE1)"))) $((0x$(stat -c %T "$(d LOCKSCALE1)")))
""",
}
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


def set_up(cases: Iterable[str]) -> str:
    """The script that sets these cases up."""
    wanted = {name for case in cases for name in (CASES[case][0].serial, CASES[case][0].by_id.name)}
    return "".join(
        [HEAD, *(text for name, text in SET_UP.items() if name in wanted), "sync\nudevadm settle\n"]
    )


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
    "by-id missing": (disk("LOCKSCALE1", "virtio-ABSENT"), "does not exist"),
    "not a by-id name": (disk("LOCKSCALE1", "../by-path/x"), "not a name in /dev/disk/by-id"),
    "wrong serial": (disk("LOCKSCALE1", named="LOCKSCALE3"), "the target file says 'LOCKSCALE3'"),
    "wrong size": (disk("LOCKSCALE1", more=512), "the target file says 2147484160"),
}

# One of each kind in every `make test`: in use, signed by somebody, the system's, and not what the file says.
ALWAYS = (
    "mounted",
    "held by LVM",
    "swap",
    "xfs",
    "the system's disk",
    "link to another disk",
    "wrong serial",
)
