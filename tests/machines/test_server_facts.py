# SPDX-License-Identifier: MIT
"""What decides a server's kernel is read from the server itself, on one like a laptop or a rack of RAID."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.kernels.server_config import Device, Driver, ServerFacts
from lockscale.machines.machine import Completed, LocalMachine, Machine, Step
from lockscale.machines.server_facts import (
    BlockLayer,
    blocks_in,
    cards_below,
    devices_of,
    mounts_in,
    server_facts,
)
from server_sample import CONFIG, LSMOD, SERVER

RELEASE = "6.1.0-56-amd64"
FINDMNT = """{"filesystems": [{"target": "/", "source": "/dev/mapper/vg-root", "fstype": "ext4", "children": [
  {"target": "/boot/efi", "source": "/dev/nvme0n1p1", "fstype": "vfat", "options": "rw"},
  {"target": "/srv", "source": "/dev/md0", "fstype": "xfs"}]}]}"""
LSBLK = """{"blockdevices": [{"kname": "dm-0", "type": "lvm", "pttype": null, "children": [
  {"kname": "dm-1", "type": "crypt", "pttype": null, "children": [
    {"kname": "nvme0n1p2", "type": "part", "pttype": "gpt", "children": [
      {"kname": "nvme0n1", "type": "disk", "pttype": "gpt"}]}]}]}]}"""
ROUTES = """[{"dst": "default", "gateway": "192.0.2.1", "dev": "bond0.7"},
  {"dst": "10.0.0.0/8", "dev": "docker0"}]"""
LINKS = """[{"ifname": "lo"}, {"ifname": "eth0", "master": "bond0"}, {"ifname": "eth1", "master": "bond0"},
  {"ifname": "eth2"}, {"ifname": "bond0", "linkinfo": {"info_kind": "bond"}}, {},
  {"ifname": "bond0.7", "link": "bond0", "linkinfo": {"info_kind": "vlan"}},
  {"ifname": "docker0", "linkinfo": {"info_kind": "bridge"}}]"""
PCI = "/sys/devices/pci0000:00"
REAL = {
    "/sys/class/block/nvme0n1": f"{PCI}/0000:00:01.0/0000:01:00.0/nvme/nvme0",
    "/sys/class/net/eth0": f"{PCI}/0000:00:02.0",
    "/sys/class/net/eth1": f"{PCI}/0000:00:03.0",
    "/sys/class/watchdog/watchdog0": f"{PCI}/0000:00:1f.0/iTCO_wdt",
}
LINKED = {
    f"{PCI}/0000:00:01.0": ("pcieport", ""),
    f"{PCI}/0000:00:01.0/0000:01:00.0": ("nvme", "nvme"),
    f"{PCI}/0000:00:02.0": ("igb", "igb"),
    f"{PCI}/0000:00:03.0": ("igb", "igb"),
    f"{PCI}/0000:00:1f.0/iTCO_wdt": ("iTCO_wdt", "iTCO_wdt"),
}
SECURE = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SAID = {
    "uname -r": RELEASE,
    "uname -m": "x86_64",
    "cat /proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro root=UUID=0c5c quiet",
    "cat /proc/modules": LSMOD,
    f"cat /boot/config-{RELEASE}": CONFIG,
    "findmnt": FINDMNT,
    "lsblk": LSBLK,
    "ip -json route": ROUTES,
    "ip -json -details link": LINKS,
    "test -d /sys/firmware/efi": "",
    "ls /sys/firmware/efi/efivars": f"BootOrder-8be4\n{SECURE}\n",
    f"od -A n -t u1 /sys/firmware/efi/efivars/{SECURE}": "   6   0   0   0   1\n",
    f"test -s /boot/initrd.img-{RELEASE}": "",
    "cat /sys/class/tty/console/active": "tty0 ttyS0\n",
    "dpkg --print-architecture": "amd64\n",
}


class Told(Machine):
    """A machine that answers as it was told, and otherwise that the command failed."""

    def __init__(self, said: dict[str, str]) -> None:
        self.said = {key.rstrip("/"): value for key, value in said.items()}

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        line = " ".join(argv).rstrip("/")
        answer = self.said.get(line, self.said.get(argv[0]))
        if argv[0] == "realpath":
            answer = REAL.get(argv[-1].removesuffix("/device"))
        elif argv[0] == "find":
            answer = found(argv)
        return Completed(tuple(argv), 0 if answer is not None else 1, answer or "", "")

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        return [self.run(step) for step in steps if not hasattr(step, "path")]


def found(argv: Sequence[str]) -> str:
    name = argv[argv.index("-name") + 1]
    lines = []
    for folder in argv[1 : argv.index("-maxdepth")]:
        driver, module = LINKED.get(folder.removesuffix("/driver/"), ("", ""))
        target = driver if name == "driver" else module
        if target:
            lines.append(f"{folder}\t../../../bus/{target}\n")
    return "".join(lines)


def told(**changes: str) -> ServerFacts:
    return server_facts(Told(SAID | changes))


def test_a_server_of_raid_crypt_bond_and_efi_is_read_whole():
    assert told() == ServerFacts(
        release=RELEASE,
        architecture="x86_64",
        config=CONFIG,
        lsmod=LSMOD,
        root="/dev/mapper/vg-root",
        asked_root="UUID=0c5c",
        layers=("lvm", "crypt", "part"),
        partition_tables=("gpt",),
        disks=(Device("nvme0n1", (Driver("nvme", "nvme"), Driver("pcieport"))),),
        file_systems=("ext4", "vfat", "xfs"),
        network=(Device("eth0", (Driver("igb", "igb"),)), Device("eth1", (Driver("igb", "igb"),))),
        network_layers=("vlan", "bond"),
        efi=True,
        secure_boot=True,
        has_initrd=True,
        consoles=("tty0", "ttyS0"),
        package_architecture="amd64",
    )


def test_what_a_server_does_not_say_is_not_known_and_no_error():
    bare = {key: SAID[key] for key in ("uname -r", "uname -m", "cat /proc/cmdline")}
    facts = server_facts(Told({**bare, "zcat /proc/config.gz": CONFIG}))
    assert (facts.root, facts.disks, facts.network, facts.file_systems) == ("", (), (), ())
    assert (facts.efi, facts.secure_boot, facts.has_initrd) == (False, None, False)
    assert (facts.lsmod, facts.consoles, facts.package_architecture) == ("", (), "")


@pytest.mark.parametrize(
    ("variables", "value", "secure"),
    [
        (f"{SECURE}\n", " 6 0 0 0 1", True),
        (f"{SECURE}\n", " 6 0 0 0 0", False),
        ("Boot0000-8\n", "", False),
        ("", "", None),
    ],
)
def test_secure_boot_is_read_from_the_firmwares_variables(variables, value, secure):
    efivars = "/sys/firmware/efi/efivars"
    assert (
        told(**{f"ls {efivars}": variables, f"od -A n -t u1 {efivars}/{SECURE}": value}).secure_boot is secure
    )


def test_a_server_without_a_configuration_is_refused():
    without = {key: value for key, value in SAID.items() if "config" not in key}
    with pytest.raises(BadInput, match=f"has no configuration of its Linux '{RELEASE}' in /boot"):
        server_facts(Told(without))


def test_facts_are_those_of_the_servers_own_kernel():
    with pytest.raises(BadInput, match=r"runs '6\.12\.117-lockscale-e3b0c442-0badcafe', a lockscale kernel"):
        told(**{"uname -r": "6.12.117-lockscale-e3b0c442-0badcafe"})


def test_a_disk_below_two_layers_is_listed_once():
    twice = json.loads(LSBLK)
    twice["blockdevices"] *= 2
    names = [one.name for one in blocks_in(json.dumps(twice))]
    assert names == ["dm-0", "dm-1", "nvme0n1p2", "nvme0n1"]


def test_without_a_default_route_every_route_counts():
    cards, layers = cards_below([{"dst": "10.0.2.0/24", "dev": "ens3"}], [{"ifname": "ens3"}])
    assert (cards, layers) == (["ens3"], ())


def test_interfaces_that_stand_on_each_other_end():
    links = [
        {"ifname": "a", "link": "b", "linkinfo": {"info_kind": "vlan"}},
        {"ifname": "b", "link": "a", "linkinfo": {"info_kind": "vlan"}},
    ]
    assert cards_below([{"dst": "default", "dev": "a"}], links) == ([], ("vlan",))


@settings(max_examples=40)
@given(st.text(max_size=20) | st.lists(st.none() | st.integers(), max_size=3).map(json.dumps))
def test_text_that_is_no_listing_gives_nothing(text):
    assert blocks_in(text) == []
    assert mounts_in(text) == ("", ())


KEYS = st.sampled_from(["children", "target", "source", "fstype", "kname", "type", "pttype"])
ODD = st.none() | st.integers(0, 1) | st.sampled_from(["/", "ext4", []])


@settings(max_examples=40)
@given(st.lists(st.dictionaries(KEYS, ODD | st.lists(st.dictionaries(KEYS, ODD), max_size=2)), max_size=3))
def test_odd_listings_are_read_without_an_error(value):
    text = json.dumps({"filesystems": value, "blockdevices": value})
    root, kinds = mounts_in(text)
    assert isinstance(root, str) and all(isinstance(kind, str) for kind in kinds)
    assert all(isinstance(one, BlockLayer) for one in blocks_in(text))


def test_drivers_are_those_that_sysfs_itself_links():
    """Of every network card and disk of this machine; readlink -f is the oracle."""
    places = [str(p) for kind in ("net", "block") for p in Path("/sys/class", kind).iterdir()]
    for place, device in zip(places, devices_of(LocalMachine(), places), strict=True):
        folder = Path(place, "device").resolve()
        links = [
            p / "driver" for p in (folder, *folder.parents) if folder.exists() and (p / "driver").exists()
        ]
        expected = [
            Driver(p.resolve().name, (p / "module").resolve().name if (p / "module").exists() else "")
            for p in links
        ]
        assert device == Device(Path(place).name, tuple(expected))


def test_the_loaded_modules_are_the_first_words_of_the_lines():
    loaded = "dm_mod ext4 jbd2 mbcache net_failover virtio_blk virtio_net virtio_pci"
    assert " ".join(SERVER.modules) == loaded
