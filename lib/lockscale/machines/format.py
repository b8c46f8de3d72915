# SPDX-License-Identifier: MIT
"""The one act that destroys: mkfs on a judged disk, which is held open and looked at again before."""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.errors import RunFailed
from lockscale.filesystems import FIRST, FsType
from lockscale.machines.disk_guard import OUR_LABEL, NamedDisk, judged
from lockscale.machines.disk_look import TOKENS_TYPED, look_function
from lockscale.machines.guest_disks import DEVICE, InMemory, MemoryFormatting
from lockscale.machines.machine import Machine, must

# While file 9 is open the kernel gives the disk's number to no other disk, so mkfs writes to the very
# disk that was looked at, whatever becomes of its names. It is closed for the look itself: only this
# shell has it open. MOVED, CHANGED: nothing was written. (A plain exec would end the shell by itself.)
HELD = "/proc/self/fd/9"
MOVED, CHANGED = 90, 91
GUARD = f"""
by_id=$1 record=$2 seen=$3; shift 3
command exec 9< "$by_id" || exit {MOVED}
now=$(exec 9<&-; look "$by_id" "$record" | sha256sum)
[ "${{now%% *}}" = "$seen" ] || exit {CHANGED}
[ "$(readlink -f -- "$by_id")" -ef {HELD} ] || exit {MOVED}
exec "$@"
"""
# Written before the first mkfs, so that a disk whose first mkfs was cut off is still known.
RECORD = (
    'umask 022; mkdir -p "${1%/*}" && { grep -qFx -e "$2" "$1" 2>/dev/null || '
    'printf "%s\\n" "$2" >> "$1"; } && sync "$1" "${1%/*}"'
)


@dataclass(frozen=True)
class Formatting:
    """A disk that was judged, and what will be done to it; nothing is written before `carry_out`."""

    disk: NamedDisk
    device: str
    command: tuple[str, ...]
    seen_sha256: str
    records: bool
    fs: FsType

    def dry_run(self) -> list[str]:
        """Every command that would change the machine, as a person would type it."""
        record = ["sh", "-c", RECORD, "sh", TOKENS_TYPED, self.disk.record]
        return [shlex.join(argv) for argv in ([record] if self.records else []) + [list(self.command)]]

    def carry_out(self, machine: Machine) -> str:
        """mkfs, unless anything about the disk changed since it was judged. The mkfs line."""
        seen = self.seen_sha256
        if self.records:
            must(machine, ["sh", "-c", RECORD, "sh", TOKENS_TYPED, self.disk.record])
            seen = _sha256(judged(machine, self.disk, fs=self.fs).text)
        mkfs = [HELD if word == self.device else word for word in self.command]
        script = look_function(self.fs) + GUARD
        guarded = ["sh", "-c", script, "sh", str(self.disk.by_id), self.disk.record, seen, *mkfs]
        done = machine.run(guarded, timeout_s=600)
        if done.status in (MOVED, CHANGED):
            raise RunFailed(f"{self.disk.by_id} is not formatted: it changed while it was checked, try again")
        if done.status:
            raise RunFailed(f"`{shlex.join(self.command)}` ended with {done.status}: {done.last_words}")
        return shlex.join(self.command)


def formatting(
    machine: Machine,
    disk: NamedDisk,
    options: Sequence[str] = (),
    size: str = "",
    token: str | None = None,
    *,
    fs: FsType = FIRST,
) -> Formatting:
    """Judge `disk` and say what mkfs of `fs` would do; `options` and `size` as that mkfs takes them.

    Raises BadInput with every reason against the disk, or for an option that reaches beyond it.
    """
    fs.refuse_options(options, size)
    seen = judged(machine, disk, token, fs)
    command = fs.mkfs(options, OUR_LABEL, seen.device, size)
    return Formatting(disk, seen.device, tuple(command), _sha256(seen.text), token is not None, fs)


def formatting_in_memory(
    disk: InMemory, options: Sequence[str], size: str = "", *, fs: FsType = FIRST
) -> MemoryFormatting:
    """The same of a disk in a guest's own memory, which is nobody's. Raises BadInput for such an option."""
    fs.refuse_options(options, size)
    command = fs.mkfs(options, OUR_LABEL, DEVICE, size)
    return MemoryFormatting(DEVICE, tuple(command), disk.size_gib << 21)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
