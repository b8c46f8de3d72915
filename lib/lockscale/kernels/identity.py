# SPDX-License-Identifier: MIT
"""What a kernel is: the GNU build-id note, the same in the built file and in the running guest."""

import struct
import subprocess
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.programs import need

NT_GNU_BUILD_ID = 3


def build_id_from_notes(notes: bytes) -> str:
    """The build-id in a block of ELF notes, hexadecimal (/sys/kernel/notes; elf(5), Nhdr).

    Each note is three little-endian words (name size, descriptor size, type), then the name and
    the descriptor, each padded to four bytes.
    """
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name_at = at + 12
        at = name_at + (name_size + 3) // 4 * 4
        descriptor = notes[at : at + size]
        at += (size + 3) // 4 * 4
        is_gnu = notes[name_at : name_at + name_size] == b"GNU\0"
        if is_gnu and kind == NT_GNU_BUILD_ID and 0 < size == len(descriptor):
            return descriptor.hex()
    raise RunFailed("the kernel carries no GNU build-id note, so its numbers cannot be trusted")


def build_id_of(vmlinux: Path) -> str:
    """The build-id of a linked kernel."""
    notes = vmlinux.with_name("vmlinux.notes")
    argv = [need("objcopy"), "--output-target=binary", "--only-section=.notes"]
    done = subprocess.run([*argv, str(vmlinux), str(notes)], capture_output=True, text=True)
    if done.returncode:
        raise RunFailed(f"{vmlinux} is no linked kernel: {done.stderr.strip()}")
    return build_id_from_notes(notes.read_bytes())
