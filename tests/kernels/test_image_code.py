# SPDX-License-Identifier: MIT
"""An image's code is that of the kernel packed in it, without its release and its build-id."""

import gzip
import struct
from pathlib import Path

import pytest

from lockscale.errors import RunFailed
from lockscale.kernels.identity import MAGIC, MAGIC_AT, PAYLOAD_AT, SECTOR, SETUP_SECTORS_AT, code_sha256


def image(path: Path, kernel: bytes, packed: bytes | None = None) -> Path:
    """A bzImage with one sector of set-up, as Documentation/arch/x86/boot.rst has it."""
    payload = gzip.compress(kernel, mtime=0) if packed is None else packed
    head = bytearray(2 * SECTOR)
    head[SETUP_SECTORS_AT] = 1
    head[MAGIC_AT : MAGIC_AT + len(MAGIC)] = MAGIC
    struct.pack_into("<II", head, PAYLOAD_AT, 64, len(payload))
    path.write_bytes(bytes(head) + bytes(64) + payload + b"behind")
    return path


def kernel(release: str, build_id: str, code: bytes = b"\x90" * 50) -> bytes:
    return b"Linux version " + release.encode() + b"\0" + code + bytes.fromhex(build_id) + b"\xcc" * 9


def code(folder: Path, name: str, release: str, build_id: str, **more: bytes) -> str:
    return code_sha256(image(folder / name, kernel(release, build_id, **more)), release, build_id)


def test_release_and_build_id_make_no_other_code_and_any_byte_does(tmp_path: Path):
    first = code(tmp_path, "a", "6.12-lockscale-1", "ab" * 20)
    assert code(tmp_path, "b", "6.12-lockscale-2", "ab" * 20) == first
    assert code(tmp_path, "c", "6.12-lockscale-1", "cd" * 20) == first
    assert code(tmp_path, "d", "6.12-lockscale-1", "ab" * 20, code=b"\x90" * 49 + b"\x91") != first


def test_a_kernel_that_is_not_packed_with_gzip_is_known_by_its_build_id(tmp_path: Path):
    made = image(tmp_path / "a", b"", packed=b"\xfd7zXZ" + bytes(20))
    assert code_sha256(made, "6.12", "ab" * 20) == "ab" * 20


def test_what_is_no_image_or_is_damaged_is_one_sentence(tmp_path: Path):
    (tmp_path / "a").write_bytes(bytes(4096))
    with pytest.raises(RunFailed, match="is not a bzImage: remove its folder and build again"):
        code_sha256(tmp_path / "a", "6.12", "ab" * 20)
    with pytest.raises(RunFailed, match="cannot be unpacked"):
        code_sha256(image(tmp_path / "b", b"", packed=b"\x1f\x8b\x08" + b"\xff" * 30), "6.12", "ab" * 20)
