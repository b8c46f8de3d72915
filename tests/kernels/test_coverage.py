# SPDX-License-Identifier: MIT
"""A configuration without what the server starts from is refused before anything is installed."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.kernels.config import read_config
from lockscale.kernels.coverage import Coverage, coverage, modules_in
from lockscale.kernels.server_config import Device, Driver, ServerFacts, written
from server_sample import CONFIG, SERVER, drivers, server

# As Linux 6.12's Makefiles say it.
OPTIONS = {
    "virtio_blk": "VIRTIO_BLK", "virtio_pci": "VIRTIO_PCI", "virtio_net": "VIRTIO_NET", "ext4": "EXT4_FS",
    "xfs": "XFS_FS", "btrfs": "BTRFS_FS", "vfat": "VFAT_FS", "fuse": "FUSE_FS", "sd_mod": "BLK_DEV_SD",
    "ahci": "SATA_AHCI", "nvme": "BLK_DEV_NVME", "igb": "IGB", "bonding": "BONDING", "8021q": "VLAN_8021Q",
    "dm_mod": "BLK_DEV_DM", "dm_crypt": "DM_CRYPT", "raid1": "MD_RAID1", "i6300esb": "I6300ESB_WDT",
}  # fmt: skip
OPTIONS_OF = {module: frozenset({f"CONFIG_{option}"}) for module, option in OPTIONS.items()}


def checked(
    facts: ServerFacts = SERVER, watchdog: str | None = None, options_of: Mapping = OPTIONS_OF, **changes: str
) -> Coverage:
    """With the sample's own configuration, in which some options are replaced."""
    values = read_config(CONFIG) | {f"CONFIG_{name}": value for name, value in changes.items()}
    return coverage(facts, written(values), options_of, "6.12.99", watchdog)


def disk(*drivers: Driver) -> ServerFacts:
    return server(disks=(Device("sda", drivers),))


def test_the_servers_own_configuration_covers_it():
    assert checked() == Coverage((), ())
    assert checked(watchdog="i6300esb").ok


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            "VIRTIO_BLK",
            "the root disk vda needs virtio_blk (CONFIG_VIRTIO_BLK), which the configuration lacks",
        ),
        (
            "EXT4_FS",
            "the root file system (ext4) needs ext4 (CONFIG_EXT4_FS), which the configuration lacks",
        ),
        (
            "VIRTIO_NET",
            "the network interface ens3 needs virtio_net (CONFIG_VIRTIO_NET), which the configura",
        ),
        ("MSDOS_PARTITION", "the partition table (dos) of the root disk needs CONFIG_MSDOS_PARTITION, which"),
        ("BLK_DEV_INITRD", "the server starts with an initrd, which needs CONFIG_BLK_DEV_INITRD, which the"),
        ("DEVTMPFS", "udev on the server needs CONFIG_DEVTMPFS, which the configuration lacks"),
        ("SERIAL_8250_CONSOLE", "the server's console ttyS0 needs CONFIG_SERIAL_8250_CONSOLE, which the con"),
    ],
)
def test_each_thing_that_the_server_needs_is_named_with_its_option(option, said):
    found = checked(**{option: "n"})
    assert [one[: len(said)] for one in found.lacks] == [said]


def test_a_bus_driver_under_disk_and_card_is_needed_by_both():
    assert [one.partition(" needs ")[0] for one in checked(VIRTIO_PCI="n").lacks] == [
        "the root disk vda",
        "the network interface ens3",
    ]


@pytest.mark.parametrize(
    ("facts", "option"),
    [
        (disk(*drivers("nvme")), "BLK_DEV_NVME"),
        (disk(Driver("sd", "sd_mod"), *drivers("ahci")), "SATA_AHCI"),
        (disk(Driver("sd", "sd_mod"), *drivers("ahci")), "BLK_DEV_SD"),
        (disk(Driver("sd"), Driver("ahci")), "BLK_DEV_SD"),
        (server(layers=("lvm", "part")), "BLK_DEV_DM"),
        (server(layers=("crypt", "part")), "DM_CRYPT"),
        (server(layers=("raid1", "part")), "MD_RAID1"),
        (server(partition_tables=("gpt",)), "EFI_PARTITION"),
        (server(file_systems=("xfs",)), "XFS_FS"),
        (server(file_systems=("ext3",)), "EXT4_FS"),
        (server(file_systems=("ext4", "vfat")), "VFAT_FS"),
        (server(file_systems=("ext4", "fuseblk")), "FUSE_FS"),
        (server(network_layers=("bond",)), "BONDING"),
        (server(network_layers=("vlan",)), "VLAN_8021Q"),
        (server(efi=True, secure_boot=False), "EFI_STUB"),
    ],
)
def test_other_servers_need_other_options(facts, option):
    assert checked(facts).ok
    missing = checked(facts, **{option: "n"}).lacks
    assert missing and all(f"CONFIG_{option}" in one for one in missing)


def test_without_an_initrd_the_way_to_the_root_is_built_in():
    plain = server(has_initrd=False, asked_root="/dev/vda1")
    assert [one.split(" built in ")[0] for one in checked(plain).lacks] == [
        "the root disk vda needs virtio_blk",
        "the root disk vda needs virtio_pci",
        "the root file system (ext4) needs ext4",
    ]
    assert checked(plain, VIRTIO_BLK="y", VIRTIO_PCI="y", EXT4_FS="y").ok
    by_uuid = checked(server(has_initrd=False), VIRTIO_BLK="y", VIRTIO_PCI="y", EXT4_FS="y")
    needs = "needs an initrd, and the running kernel has none in /boot"
    assert by_uuid.lacks == (f"root={SERVER.asked_root} {needs}",)


def test_the_watchdog_is_needed_only_by_the_guard_that_relies_on_it():
    assert checked(I6300ESB_WDT="n").ok
    needs = "needs i6300esb (CONFIG_I6300ESB_WDT), which the configuration lacks"
    without = checked(watchdog="i6300esb", I6300ESB_WDT="n")
    assert without.lacks == (f"the watchdog that guards the boot {needs}",)


def test_a_driver_from_outside_the_kernel_keeps_a_root_disk_away_but_not_a_pool_of_data():
    assert checked(disk(*drivers("hpdsa"))).lacks == (
        "the root disk sda needs the module 'hpdsa', which is not part of Linux 6.12.99",
    )
    pool = checked(server(file_systems=("ext4", "zfs")))
    assert pool == Coverage(
        (), ("zfs is mounted and not part of Linux 6.12.99: can the server do without it?",)
    )
    assert not checked(server(file_systems=("zfs", "vfat"))).ok


def test_secure_boot_other_machines_and_other_packages_are_refused():
    assert "Secure Boot is on" in checked(server(efi=True, secure_boot=True)).lacks[0]
    assert "no dpkg" in checked(server(package_architecture="")).lacks[0]
    assert "is aarch64" in checked(server(architecture="aarch64", package_architecture="arm64")).lacks[0]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (server(disks=(), root="rpool/root"), "the disk of the server's root (rpool/root) is not known"),
        (server(disks=(Device("nvme0n1"),)), "the driver of the root disk nvme0n1 is not known"),
        (disk(Driver("odd")), "the root disk sda has the driver 'odd', built into the server's kernel"),
        (server(network=()), "the network interface through which the server is reached is not known"),
        (server(network_layers=("vxlan",)), "the module of the server's interface of kind 'vxlan'"),
        (server(layers=("bcache",)), "the module of the layer bcache under the server's root is not"),
        (server(partition_tables=("sun",)), "the option for the partition table (sun)"),
        (server(partition_tables=()), "the option for the partition table ()"),
        (server(efi=True), "whether Secure Boot is on cannot be read"),
        (server(consoles=()), "the server's console is not known"),
        (server(file_systems=()), "the file system of the server's root (/dev/vda1) is not known"),
    ],
)
def test_what_cannot_be_known_is_said_and_refuses_nothing(facts, said):
    found = checked(facts)
    assert found.ok
    assert [one[: len(said)] for one in found.not_known] == [said]


@given(st.text(), st.text(), st.text())
def test_what_a_server_calls_itself_cannot_steer_a_terminal(name, kind, root):
    odd = server(
        disks=(Device(name),), layers=(kind,), root=root, file_systems=(), network_layers=(kind,), efi=True
    )
    found = checked(odd)
    assert all(one.isprintable() and len(one) <= 300 for one in (*found.lacks, *found.not_known))


@given(st.sampled_from(sorted(OPTIONS.values())))
def test_an_option_is_lacked_exactly_when_something_stands_on_it(option):
    stands = {"VIRTIO_BLK", "VIRTIO_PCI", "VIRTIO_NET", "EXT4_FS"}
    assert checked(**{option: "n"}).ok == (option not in stands)


# --- Which option gives a module ---------------------------------------------------------------------------

MAKEFILE = """obj-$(CONFIG_EXT4_FS) += ext4.o
ext4-y := balloc.o bitmap.o
obj-$(CONFIG_SND_HDA:m=y) \\
\t+= snd-hda-a.o \\
\t snd-hda-b.o sub/
obj-y += core.o
obj-$(CONFIG_IGB)\t:= igb/
# obj-$(CONFIG_NOT) += not.o
"""


def test_the_makefiles_say_which_option_gives_a_module():
    assert modules_in(MAKEFILE) == [
        ("ext4", "CONFIG_EXT4_FS"),
        ("snd_hda_a", "CONFIG_SND_HDA"),
        ("snd_hda_b", "CONFIG_SND_HDA"),
    ]
