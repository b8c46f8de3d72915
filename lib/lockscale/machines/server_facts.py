# SPDX-License-Identifier: MIT
"""Ask a server for what its kernel's configuration depends on, and what it lacks. Nothing on it is changed.

Its disks and network interfaces are asked for with what they stand on, and the drivers below them in sysfs.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from lockscale.errors import BadInput, RunFailed
from lockscale.filesystems import FIRST, FsType, tools_of
from lockscale.kernels.server_config import Device, Driver, ServerFacts
from lockscale.machines.machine import Machine, must_all
from lockscale.machines.server_kernels import OURS
from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused, Unreachable

LSBLK = ["lsblk", "--json", "--inverse", "--output", "KNAME,TYPE,PTTYPE"]
SYSFS_TOP = 3  # /sys/devices/<bus>: nothing above it has a driver


@dataclass(frozen=True)
class BlockLayer:
    """A line of lsblk: kernel name; type (disk, part, lvm, crypt, raid1, ...); kind of partition table."""

    name: str
    type: str
    table: str


def said(machine: Machine, argv: Sequence[str]) -> str:
    """What a command printed; empty if it failed or is not there."""
    done = machine.run(argv)
    return "" if done.status else done.stdout


def _listed(text: str, key: str | None = None) -> list[dict[str, Any]]:
    """The list of objects in JSON text, below `key` if there is one."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    return _objects(value.get(key) if key and isinstance(value, dict) else value)


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none if it is something else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _tree(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in entries:
        yield one
        yield from _tree(_objects(one.get("children")))


def mounts_in(text: str) -> tuple[str, tuple[str, ...]]:
    """What is mounted at / and the kinds of all mounted file systems, that one first: of findmnt --json."""
    mounts = list(_tree(_listed(text, "filesystems")))
    mounts.sort(key=lambda one: one.get("target") != "/")
    kinds = _unique(str(one.get("fstype")) for one in mounts if one.get("fstype"))
    at_root = next((one for one in mounts if one.get("target") == "/"), {})
    return str(at_root.get("source") or ""), kinds


def blocks_in(text: str) -> list[BlockLayer]:
    """Each once, from the one asked for downwards: of lsblk --json --inverse."""
    found = (
        BlockLayer(str(one.get("kname")), str(one.get("type")), str(one.get("pttype") or ""))
        for one in _tree(_listed(text, "blockdevices"))
    )
    return list(dict.fromkeys(found))


def interfaces(machine: Machine) -> tuple[list[str], tuple[str, ...]]:
    """The network cards below the default route, and the kinds of interface that stand on them."""
    routes = _listed(said(machine, ["ip", "-json", "route"]))
    routes += _listed(said(machine, ["ip", "-6", "-json", "route", "show", "default"]))
    return cards_below(routes, _listed(said(machine, ["ip", "-json", "-details", "link"])))


def cards_below(
    routes: list[dict[str, Any]], links: list[dict[str, Any]]
) -> tuple[list[str], tuple[str, ...]]:
    """Without a default route the interfaces of all routes count."""
    default = [one for one in routes if one.get("dst") == "default"]
    wanted = list(dict.fromkeys(str(one.get("dev")) for one in default or routes if one.get("dev")))
    kinds = {str(one.get("ifname")): (one.get("linkinfo") or {}).get("info_kind") for one in links}
    for name in wanted:  # grows while it is walked: each one's lower interfaces
        lower = [str(one["ifname"]) for one in links if one.get("master") == name and "ifname" in one]
        lower += [str(one["link"]) for one in links if one.get("ifname") == name and one.get("link")]
        wanted += [one for one in lower if kinds.get(name) and one not in wanted]
    layers = _unique(str(kinds[name]) for name in wanted if kinds.get(name))
    return [name for name in wanted if not kinds.get(name)], layers


def devices_of(machine: Machine, places: Sequence[str]) -> list[Device]:
    """For each folder below /sys/class the drivers of its device and of what that hangs on."""
    real = machine.run_all([["realpath", "-e", f"{place}/device"] for place in places]) if places else []
    chains = [_upwards(one.stdout.strip()) if one.status == 0 else [] for one in real]
    drivers = _links(machine, "driver", [folder for chain in chains for folder in chain])
    modules = _links(machine, "module", [f"{folder}/driver/" for folder in drivers])
    found = []
    for place, chain in zip(places, chains, strict=True):
        own = (Driver(drivers[at], modules.get(f"{at}/driver", "")) for at in chain if at in drivers)
        found.append(Device(PurePosixPath(place).name, tuple(own)))
    return found


def _upwards(path: str) -> list[str]:
    """`path` and the folders above it as far as devices go."""
    whole = PurePosixPath(path)
    return [str(one) for one in (whole, *whole.parents) if len(one.parts) > SYSFS_TOP]


def _links(machine: Machine, name: str, folders: list[str]) -> dict[str, str]:
    """Folder -> where its link `name` points, by the last part alone; for those that have one."""
    if not folders:
        return {}
    unique = dict.fromkeys(folders)
    argv = ["find", *unique, "-maxdepth", "1", "-name", name, "-type", "l", "-printf", "%h\\t%l\\n"]
    lines = (line.split("\t") for line in machine.run(argv).stdout.splitlines())
    return {at[0].rstrip("/"): PurePosixPath(at[1]).name for at in lines if len(at) == 2}


EFI_VARIABLES = "/sys/firmware/efi/efivars"
SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
CONSOLES = "/sys/class/tty/console/active"
BLOCK, NET = "/sys/class/block/", "/sys/class/net/"


def server_facts(machine: Machine) -> ServerFacts:
    """The facts of a server whose own kernel runs; BadInput when that keeps no configuration."""
    steps = [["uname", "-r"], ["uname", "-m"], ["cat", "/proc/cmdline"]]
    release, architecture, cmdline = (one.stdout.strip() for one in must_all(machine, steps))
    if OURS.fullmatch(release):
        raise BadInput(
            f"the server runs {release!a}, a lockscale kernel: boot its own first with "
            f"`lockscale target home NAME`"
        )
    root, file_systems = mounts_in(said(machine, ["findmnt", "--json", "--real", "--nofsroot"]))
    blocks = blocks_in(said(machine, [*LSBLK, root])) if root.startswith("/dev/") else []
    cards, network_layers = interfaces(machine)
    disks = [BLOCK + one.name for one in blocks if one.type == "disk"]
    devices = tuple(devices_of(machine, [*disks, *(NET + card for card in cards)]))
    has_initrd = any(
        machine.run(["test", "-s", f"/boot/{name}"]).status == 0
        for name in (f"initrd.img-{release}", f"initramfs-{release}.img", f"initrd-{release}")
    )  # under the names that Debian, Fedora and SUSE give it
    return ServerFacts(
        release=release,
        architecture=architecture,
        config=_config(machine, release),
        lsmod=said(machine, ["cat", "/proc/modules"]),  # there is none in a kernel without modules
        root=root,
        asked_root=_asked_root(cmdline),
        layers=_unique(one.type for one in blocks if one.type != "disk"),
        partition_tables=_unique(one.table for one in blocks if one.table),
        disks=devices[: len(disks)],
        file_systems=file_systems,
        network=devices[len(disks) :],
        network_layers=network_layers,
        efi=machine.run(["test", "-d", "/sys/firmware/efi"]).status == 0,
        secure_boot=_secure_boot(machine),
        has_initrd=has_initrd,
        consoles=tuple(said(machine, ["cat", CONSOLES]).split()),
        package_architecture=said(machine, ["dpkg", "--print-architecture"]).strip(),
    )


def _config(machine: Machine, release: str) -> str:
    places = [["cat", f"/boot/config-{release}"], ["cat", f"/lib/modules/{release}/config"]]
    for argv in [*places, ["zcat", "/proc/config.gz"]]:
        if text := said(machine, argv):
            return text
    raise BadInput(
        f"the server has no configuration of its Linux {release!a} in /boot/config-* or /proc/config.gz: "
        f"reinstall that kernel's package"
    )


def _asked_root(cmdline: str) -> str:
    """The last root= of a kernel's command line, as the kernel takes it."""
    asked = [word.removeprefix("root=") for word in cmdline.split() if word.startswith("root=")]
    return asked[-1].strip('"') if asked else ""


def _secure_boot(machine: Machine) -> bool | None:
    """Whether the firmware starts signed kernels only; None when its variables cannot be read."""
    variables = said(machine, ["ls", EFI_VARIABLES]).split()
    if SECURE_BOOT not in variables:
        return False if variables else None
    value = said(machine, ["od", "-A", "n", "-t", "u1", f"{EFI_VARIABLES}/{SECURE_BOOT}"]).split()
    return value[-1] == "1" if value else None  # four bytes of attributes, then the value


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


# What every run on a server uses, whatever it measures.
TOOLS = {
    "lsblk": "util-linux",
    "wipefs": "util-linux",
    "sync": "coreutils",
    "od": "coreutils",
    "mount": "mount",
    "dpkg": "dpkg",
    "update-grub": "grub2-common",
    "grub-reboot": "grub2-common",
}
_WHERE = 'for tool; do command -v "$tool" || echo absent; done'


@dataclass(frozen=True)
class Check:
    """One line of the doctor: `fix` is what to do when it is not ok."""

    name: str
    ok: bool
    found: str
    fix: str = ""


def not_reached(name: str, error: BadInput | RunFailed) -> Iterator[Check]:
    """The lines for a server `name` that `error` keeps us from: which of the steps to it fails."""
    if isinstance(error, LoginRefused) and "sudo" in str(error):
        yield Check(f"{name} is reached", True, "by ssh, its host key known")
        yield Check(f"{name} lets root in", False, "no", str(error))
        return
    why: dict[type, str] = {
        HostKeyRefused: "its host key is not accepted",
        LoginRefused: "it refuses the login",
        Unreachable: "it does not answer",
    }
    found = why.get(type(error), "no")
    yield Check(f"{name} is reached", False, found, str(error))


def needs(name: str, machine: Machine, fs: FsType = FIRST) -> Iterator[Check]:
    """The lines for a server that is reached, on whose disk `fs` is to be made."""
    tools = {**TOOLS, **tools_of(fs)}
    yield Check(f"{name} is reached", True, "by ssh, its host key known")
    uid = machine.run(["id", "-u"]).stdout.strip()
    fix = "" if uid == "0" else f"log in as root, or allow sudo on {name} without a password"
    yield Check(f"{name} lets root in", uid == "0", f"uid {uid}", fix)
    answers = machine.run(["sh", "-c", _WHERE, "sh", *tools]).stdout.splitlines()
    for (tool, package), where in zip(tools.items(), answers, strict=True):
        there = where != "absent"
        yield Check(f"{tool} on {name}", there, where, "" if there else f"install {package} on {name}")
