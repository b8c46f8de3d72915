# SPDX-License-Identifier: MIT
"""A bzImage as the code in it: two kernels of one code differ by their names alone."""

import functools
import hashlib
import struct
import zlib
from pathlib import Path

from lockscale.errors import RunFailed

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
    packed = _payload(image)
    if not packed.startswith(GZIP):
        return build_id
    try:
        kernel = zlib.decompressobj(wbits=31).decompress(packed)
    except zlib.error as error:
        raise RunFailed(f"{image} cannot be unpacked ({error}): remove its folder and build again") from None
    for name in (release.encode(), bytes.fromhex(build_id)):
        kernel = kernel.replace(name, bytes(len(name)))
    return hashlib.sha256(kernel).hexdigest()


def _payload(image: Path) -> bytes:
    content = image.read_bytes()
    if content[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        raise RunFailed(f"{image} is no bzImage: remove its folder and build again")
    offset, length = struct.unpack_from("<II", content, PAYLOAD_AT)
    start = (content[SETUP_SECTORS_AT] + 1) * SECTOR + offset
    return content[start : start + length]
