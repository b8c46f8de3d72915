# SPDX-License-Identifier: MIT
"""A Debian server as it says itself: what the tests of its kernel start from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from lockscale.kernels.server_config import Device, Driver, ServerFacts

SAMPLES = Path(__file__).with_name("server") / "samples"
CONFIG = (SAMPLES / "config-6.1.0-56-amd64.txt").read_text()
LSMOD = """virtio_net 73728 0 - Live 0x0000000000000000
net_failover 24576 1 virtio_net, Live 0x0000000000000000
ext4 983040 1 - Live 0x0000000000000000
mbcache 16384 1 ext4, Live 0x0000000000000000
jbd2 167936 1 ext4, Live 0x0000000000000000
virtio_blk 32768 2 - Live 0x0000000000000000
virtio_pci 24576 0 - Live 0x0000000000000000
dm_mod 184320 0 - Live 0x0000000000000000
"""


def drivers(*names: str) -> tuple[Driver, ...]:
    """Drivers that are modules of their own name."""
    return tuple(Driver(name, name) for name in names)


SERVER = ServerFacts(
    release="6.1.0-56-amd64",
    architecture="x86_64",
    config=CONFIG,
    lsmod=LSMOD,
    root="/dev/vda1",
    asked_root="UUID=0c5c3a4e-2a1c-4a3e-8f0e-8d1c8b1e7a55",
    layers=("part",),
    partition_tables=("dos",),
    disks=(Device("vda", (Driver("virtio_blk", "virtio_blk"), Driver("virtio-pci", "virtio_pci"))),),
    file_systems=("ext4",),
    network=(Device("ens3", (Driver("virtio_net", "virtio_net"), Driver("virtio-pci", "virtio_pci"))),),
    network_layers=(),
    efi=False,
    secure_boot=None,
    has_initrd=True,
    consoles=("ttyS0",),
    package_architecture="amd64",
)


def server(**changes: Any) -> ServerFacts:
    """The server with some facts replaced."""
    return replace(SERVER, **changes)
