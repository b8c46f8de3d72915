# SPDX-License-Identifier: MIT
"""The facts of the Debian server in QEMU, which is what tests/server made it."""

import pytest

from lockscale.kernels.config import read_config
from lockscale.kernels.server_config import Driver
from lockscale.machines.server_facts import server_facts
from lockscale.machines.ssh import SshMachine
from server.machine import Server

pytestmark = [pytest.mark.guest, pytest.mark.long]


def test_a_debian_server_says_what_its_kernel_has_to_cover(server: Server):
    with SshMachine(server.host) as machine:
        facts = server_facts(machine)
    assert (facts.architecture, facts.package_architecture) == ("x86_64", "amd64")
    assert facts.release.endswith("-amd64") and read_config(facts.config)["CONFIG_EXT4_FS"] == "m"
    assert {"ext4", "virtio_blk", "virtio_net"} <= set(facts.modules)
    assert (facts.root, facts.file_systems[0], facts.partition_tables) == ("/dev/vda1", "ext4", ("dos",))
    assert facts.layers == ("part",) and facts.asked_root.startswith("UUID=")
    bus = Driver("virtio-pci", "virtio_pci")
    assert [(disk.name, disk.drivers) for disk in facts.disks] == [
        ("vda", (Driver("virtio_blk", "virtio_blk"), bus))
    ]
    assert [card.drivers for card in facts.network] == [(Driver("virtio_net", "virtio_net"), bus)]
    assert (facts.efi, facts.secure_boot, facts.has_initrd) == (False, None, True)
    assert "ttyS0" in facts.consoles
