# SPDX-License-Identifier: MIT
"""What a machine says of one of its disks: read in one go, as text that can be compared later.

The same script runs twice: to judge the disk, and again right before mkfs, when its text must be the same.
"""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lockscale.errors import BadInput, RunFailed
from lockscale.filesystems import FsType, tools_of
from lockscale.machines.machine import Machine

TOKENS_TYPED = "/var/lib/lockscale/disks"  # on the machine: one line a disk whose token was typed

# look BY_ID RECORD prints parts, each followed by a line `== NAME STATUS`. Only printable ASCII passes, so
# that the text is the same bytes on both sides; another byte is a question mark, not nothing. fds are asked
# by device number: a name in /proc/PID/fd may be that of another root. The disk is opened with O_EXCL, which
# fails for whatever the kernel knows to hold it (a mount in a name space without a process, md, dm, bcache,
# ZFS), and tried with the file system's own dry run. Neither writes. Nothing found is an answer only of a
# tool that ran, which it may not where there are too many processes: awk reads at least one line, of
# openers() that of find's own input.
# lsblk nests what is made of a device below it only where NAME is asked for.
_LOOK = r"""
LC_ALL=C; PATH=$PATH:/usr/sbin:/sbin; export LC_ALL PATH
part() { name=$1; shift; "$@"; printf '\n== %s %s\n' "$name" $?; }
mounts() {
    cat /proc/[0-9]*/mountinfo 2>/dev/null | tree=$tree awk '
        BEGIN { n = split(ENVIRON["tree"], t); for (i = 1; i <= n; i++) { of[t[i]]; of["/dev/" t[i]] } }
        { for (i = 7; i < NF && $i != "-"; i++); line = $(i + 2) " " $5
          if (($3 in of || $(i + 2) in of) && !seen[line]++) print line }
        END { exit !NR }'
}
openers() {
    pids=$(
        find /proc/[0-9]*/fd -lname '/*' ! -lname /dev/null -exec stat -L -c '%F %t:%T %n' {} + \
            < /proc/version 2>/dev/null | numbers=$numbers self=$$ awk -F '[ /]' '
                BEGIN { n = split(ENVIRON["numbers"], t, "\n"); for (i = 1; i <= n; i++) of[t[i]] }
                $1 == "block" && $4 in of && $7 != ENVIRON["self"] && !seen[$7]++ { print $7 }
                END { exit !NR }'
    ) || return
    for pid in $pids; do
        comm=$(tr -cd '[:alnum:]._()-' < "/proc/$pid/comm") || continue
        case $comm in '(udev-worker)'|systemd-udevd) ;; *) echo "$pid $comm" ;; esac
    done
}
loops() { # a file behind a loop device is kept as a name: that of a device, or of another node of it
    for file in /sys/block/loop*/loop/backing_file; do
        behind=$(cat "$file") || continue
        is=$(stat -L -c %t:%T -- "$behind")
        for number in $numbers; do
            loop=${file%/loop/backing_file}
            if [ "$number" = "$is" ]; then echo "${loop##*/}"; fi
        done
    done
}
reads() {
    size=$(blockdev --getsize64 "$device") && for skip in 0 $((size - 65536)); do
        dd if="$device" of=/dev/null bs=64k count=1 skip="$skip" \
            iflag=direct,skip_bytes status=none 2>&1 || return
    done
}
alone() { perl -MFcntl -e 'sysopen D, shift, O_RDONLY | O_EXCL or die "in use by the system: $!\n"' "$1"; }
takes() {
    said=$(alone "$device" 2>&1 && DRY_RUN "$device" 2>&1) && return
    printf '%s\n' "$said" | tail -n 1
    return 1
}
lacks() {
    for tool in awk blockdev dd find lsblk perl readlink sha256sum stat wipefs TOOLS; do
        command -v "$tool" > /dev/null || echo "$tool"
    done
}
parts() {
    part lacks lacks
    udevadm settle --timeout=10 > /dev/null 2>&1
    device=$(readlink -f -- "$1")
    part link readlink -- "$1"
    part device echo "$device"
    part devices lsblk --all --json --bytes --output NAME,KNAME,MAJ:MIN,SERIAL,SIZE,TYPE,RO,RM
    part block test -b "$device"
    [ -b "$device" ] || return
    knames=$(lsblk --all --noheadings --raw --output KNAME "$device") || return
    tree=$(lsblk --all --noheadings --raw --output MAJ:MIN,KNAME "$device") || return
    numbers=$(for k in $knames; do stat -c %t:%T "/dev/$k" || exit; done) || return
    part mounts mounts
    part swaps cat /proc/swaps
    sys=/sys/class/block/${device##*/}
    part holders ls "$sys/holders"
    part loops loops
    part openers openers
    part serial cat "$sys/serial" "$sys/device/serial"
    part signatures wipefs --no-act --json --output OFFSET,TYPE,LABEL,USAGE "$device"
    part reads reads
    part takes takes
    part typed grep -cFx -e "$2" TOKENS_TYPED
}
look() { parts "$@" 2>/dev/null | tr -c '\t\n -~' '?'; }
""".replace("TOKENS_TYPED", TOKENS_TYPED)


def look_function(fs: FsType) -> str:
    """The script's function `look` for a disk on which `fs` is to be made."""
    return _LOOK.replace("DRY_RUN", shlex.join(fs.dry_run)).replace("TOOLS", shlex.join(tools_of(fs)))


PARTS = ("mounts", "swaps", "holders", "loops", "openers", "serial", "signatures", "reads", "takes", "typed")


@dataclass(frozen=True)
class BlockDevice:
    """A block device with all that is made of it: partitions, volumes, arrays."""

    kname: str
    serial: str
    size_bytes: int
    type: str
    read_only: bool
    removable: bool
    children: tuple["BlockDevice", ...]

    @staticmethod
    def of(row: dict[str, Any]) -> "BlockDevice":
        """A row of `lsblk --json`; before util-linux 2.33 every value was a string."""
        return BlockDevice(
            row["kname"], (row["serial"] or "").strip(), int(row["size"] or 0), row["type"],
            row["ro"] in (True, "1"), row["rm"] in (True, "1"),
            tuple(BlockDevice.of(child) for child in row.get("children", ())),
        )  # fmt: skip

    def tree(self) -> Iterator["BlockDevice"]:
        """Itself and everything above it, depth first."""
        yield self
        for child in self.children:
            yield from child.tree()


@dataclass(frozen=True)
class Signature:
    """What libblkid recognises: `usage` is filesystem, raid, crypto, partition-table or other."""

    type: str
    label: str | None
    usage: str | None


@dataclass(frozen=True)
class Look:
    """A disk as its machine shows it. `text` is what was read; equal text is an unchanged disk.

    `signatures` is None where the disk cannot be probed. `said`: status and words of each part.
    """

    text: str
    device: str
    is_link: bool
    is_block: bool
    disks: tuple[BlockDevice, ...]
    signatures: tuple[Signature, ...] | None
    said: dict[str, tuple[int, str]]

    @property
    def itself(self) -> BlockDevice | None:
        """The device that the by-id name leads to."""
        every = (block for disk in self.disks for block in disk.tree())
        return next((block for block in every if f"/dev/{block.kname}" == self.device), None)

    def lines(self, part: str) -> list[list[str]]:
        """The words of each line of a part."""
        return [line.split() for line in self.said[part][1].splitlines() if line.strip()]


def look(machine: Machine, by_id: str, record: str, fs: FsType) -> Look:
    """Read everything that decides about the disk `by_id`; `record` is its line in TOKENS_TYPED."""
    done = machine.run(["sh", "-c", f'{look_function(fs)}look "$@"', "sh", by_id, record], timeout_s=120)
    done.check()
    try:
        return parse(done.stdout)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFailed(
            f"{by_id} is not formatted: the target's answers about it cannot be parsed"
        ) from error


def parse(text: str) -> Look:
    """A Look from the script's text. Raises ValueError, KeyError or TypeError for what is none."""
    said: dict[str, tuple[int, str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("== "):
            _, name, status = line.split()
            said[name] = int(status), "\n".join(lines).rstrip("\n")
            lines = []
        else:
            lines.append(line)
    if lacks := " ".join(said["lacks"][1].split()):
        raise BadInput(f"the target lacks {lacks}, which the check of a disk needs: install it there")
    if said["devices"][0]:
        raise BadInput("the target's lsblk does not list its disks: install util-linux 2.31 or newer")
    is_block = said["block"][0] == 0
    if is_block and (missing := [part for part in PARTS if part not in said]):
        raise KeyError(missing[0])
    rows = json.loads(said["devices"][1])["blockdevices"]
    return Look(
        text, said["device"][1].strip(), said["link"][0] == 0, is_block,
        tuple(BlockDevice.of(row) for row in rows),
        _signatures(*said["signatures"]) if is_block else None, said,
    )  # fmt: skip


def _signatures(status: int, text: str) -> tuple[Signature, ...] | None:
    """Each once, though ZFS alone writes hundreds."""
    if status:
        return None
    rows = json.loads(text)["signatures"] if text.strip() else []
    return tuple(dict.fromkeys(Signature(x["type"], x.get("label"), x.get("usage")) for x in rows))
