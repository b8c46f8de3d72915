# SPDX-License-Identifier: MIT
"""Two arms are one when their kernels differ by nothing but their names."""

import gzip
import struct
from dataclasses import replace

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.build import Kernel, refuse_one_identity

KERNEL = Kernel("k", "6.12.99", "6.12.99-x-0a1b2c3d", "ab" * 20, "s/a", "1", "2", "3", "gcc", "queued")
CODE = b"\x55\x48\x89\xe5" * 500

pytestmark = pytest.mark.usefixtures("own_cache")


def built(kernel: Kernel, code: bytes = CODE, pack=gzip.compress) -> Kernel:
    """The kernel with a bzImage as Documentation/arch/x86/boot.rst lays it out: 3 setup sectors."""
    banner = f"Linux version {kernel.release} (gcc)\0".encode()
    payload = pack(code + banner + bytes.fromhex(kernel.build_id) + kernel.release.encode())
    head = bytearray(4 * 512)
    head[0x1F1] = 3
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, 100, len(payload))
    kernel.folder.mkdir(parents=True)
    kernel.image.write_bytes(bytes(head) + b"\xcc" * 100 + payload + b"\xcc" * 64)
    return kernel


def named(key: str, release: str, build_id: str) -> Kernel:
    return replace(KERNEL, key=key, release=release, build_id=build_id * 20)


def test_two_arms_of_one_identity_are_refused_by_name():
    built(KERNEL)
    other = built(named("o", "6.12.99-x-ffffffff", "cd"), CODE + b"\xc3")
    twin = built(named("z", "6.12.99-x-00000000", "ef"))
    refuse_one_identity({"before": (other, "mkfs"), "after": (KERNEL, "mkfs")})
    refuse_one_identity({"locked": (KERNEL, "mkfs -O x"), "off": (KERNEL, "mkfs")})
    with pytest.raises(BadInput, match="arms before and twin are the same kernel with the same mkfs"):
        refuse_one_identity({"before": (KERNEL, "mkfs"), "after": (other, "mkfs"), "twin": (twin, "mkfs")})


def test_release_and_build_id_are_no_code_and_one_byte_of_code_is():
    one = built(KERNEL).code_sha256
    assert built(named("n", "6.12.99-x-12345678", "12")).code_sha256 == one
    assert built(named("c", "6.12.99-x-12345678", "12"), CODE[:-1] + b"\xe4").code_sha256 != one


def test_a_kernel_that_is_packed_otherwise_is_known_by_its_build_id():
    assert built(KERNEL, pack=lambda content: b"\x28\xb5\x2f\xfd" + content).code_sha256 == KERNEL.build_id


@pytest.mark.parametrize(("at", "new"), [(0x202, b"XXXX"), (4 * 512 + 100 + 12, b"\xff" * 30)])
def test_a_damaged_image_is_one_sentence(at: int, new: bytes):
    image = built(KERNEL).image
    content = image.read_bytes()
    image.write_bytes(content[:at] + new + content[at + len(new) :])
    with pytest.raises(RunFailed, match=r"bzImage (is not a bzImage|cannot be unpacked).*build again$"):
        _ = KERNEL.code_sha256
