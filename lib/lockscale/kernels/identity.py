# SPDX-License-Identifier: MIT
"""What tells two kernels apart: a source's code without comments, an image's code, and the GNU build-id."""

import functools
import hashlib
import re
import struct
import subprocess
import zlib
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.programs import need

C_SOURCES = (".c", ".h")
# A string and a character keep what looks like a comment in them.
LITERAL_OR_COMMENT = re.compile(
    rb"""(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL
)
NEVER_MERGES = re.compile(rb" ?([(){}\[\],;]) ?")


def code_of(name: str, content: bytes | None) -> bytes | None:
    """`content` without comments and with plain spacing; None for a file that is none, or no code.

    Two files with the same outcome compile to the same code, but for the line numbers in messages. The
    reverse is not promised. A file that is not C is code to the last byte, documentation is none.
    """
    if content is None or name.startswith("Documentation/"):
        return None
    if not name.endswith(C_SOURCES):
        return content
    bare = LITERAL_OR_COMMENT.sub(_kept, content.replace(b"\\\n", b""))
    lines = [b" ".join(line.split()) for line in bare.split(b"\n")]
    # A directive ends with its line; a blank in `#define f (x)` makes another macro.
    marked = (b"\n" + line + b"\n" if line.startswith(b"#") else line for line in lines if line)
    joined = re.split(rb"\n+", b" ".join(marked))
    return b"\n".join(_plain(line.strip()) for line in joined if line.strip())


def _kept(found: re.Match[bytes]) -> bytes:
    """A literal in a form that holds no blank and no bracket, or the blank that a comment is."""
    literal = found["literal"]
    return b'"' + literal.hex().encode() + b'"' if literal else b" "


def _plain(line: bytes) -> bytes:
    return line if line.startswith(b"#") else NEVER_MERGES.sub(rb"\1", line)


# Documentation/arch/x86/boot.rst: offsets in the first sectors of a bzImage.
MAGIC_AT, MAGIC = 0x202, b"HdrS"
SETUP_SECTORS_AT, PAYLOAD_AT, SECTOR = 0x1F1, 0x248, 512
GZIP = b"\x1f\x8b"


@functools.cache
def code_sha256(image: Path, release: str, build_id: str) -> str:
    """sha256 of the kernel in `image` with its release and its build-id blotted out.

    A build-id covers the release, and the release of ours holds the hash of the series: it always
    differs from that of another series. A kernel that is not packed with gzip, as ours are, is known by
    its build-id.
    """
    content = image.read_bytes()
    if content[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        raise RunFailed(f"{image} is not a bzImage: remove its folder and build again")
    offset, length = struct.unpack_from("<II", content, PAYLOAD_AT)
    start = (content[SETUP_SECTORS_AT] + 1) * SECTOR + offset
    packed = content[start : start + length]
    if not packed.startswith(GZIP):
        return build_id
    try:
        kernel = zlib.decompressobj(wbits=31).decompress(packed)
    except zlib.error as error:
        raise RunFailed(f"{image} cannot be unpacked ({error}): remove its folder and build again") from None
    for name in (release.encode(), bytes.fromhex(build_id)):
        kernel = kernel.replace(name, bytes(len(name)))
    return hashlib.sha256(kernel).hexdigest()


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
    raise RunFailed(
        "the kernel has no GNU build-id note, so its numbers cannot be trusted: build it with one"
    )


def build_id_of(vmlinux: Path) -> str:
    """The build-id of a linked kernel."""
    notes = vmlinux.with_name("vmlinux.notes")
    argv = [need("objcopy"), "--output-target=binary", "--only-section=.notes"]
    done = subprocess.run([*argv, str(vmlinux), str(notes)], capture_output=True, text=True)
    if done.returncode:
        raise RunFailed(f"{vmlinux} is not a linked kernel: {done.stderr.strip()}")
    return build_id_from_notes(notes.read_bytes())
