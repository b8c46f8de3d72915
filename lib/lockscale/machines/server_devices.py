# SPDX-License-Identifier: MIT
"""A server's disks and network interfaces: what they stand on, and the drivers below them in sysfs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from lockscale.kernels.server_config import Device, Driver
from lockscale.machines.machine import Machine

LSBLK = ["lsblk", "--json", "--inverse", "--output", "KNAME,TYPE,PTTYPE"]
SYSFS_TOP = 3  # /sys/devices/<bus>: nothing above it has a driver


@dataclass(frozen=True)
class Block:
    """A line of lsblk: kernel name; type (disk, part, lvm, crypt, raid1, ...); kind of partition table."""

    name: str
    type: str
    table: str

    @property
    def is_disk(self) -> bool:
        return self.type == "disk"


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
    kinds = tuple(dict.fromkeys(str(one.get("fstype")) for one in mounts if one.get("fstype")))
    at_root = next((one for one in mounts if one.get("target") == "/"), {})
    return str(at_root.get("source") or ""), kinds


def below_root(machine: Machine, root: str) -> list[Block]:
    """The block devices from the root file system down to its disks; none if it lies on no such device."""
    return blocks_in(said(machine, [*LSBLK, root])) if root.startswith("/dev/") else []


def blocks_in(text: str) -> list[Block]:
    """Each once, from the one asked for downwards: of lsblk --json --inverse."""
    found = (
        Block(str(one.get("kname")), str(one.get("type")), str(one.get("pttype") or ""))
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
    layers = tuple(dict.fromkeys(str(kinds[name]) for name in wanted if kinds.get(name)))
    return [name for name in wanted if not kinds.get(name)], layers


def devices_of(machine: Machine, places: Sequence[str]) -> list[Device]:
    """For each folder below /sys/class the drivers of its device and of what that hangs on."""
    real = machine.run_all([["realpath", "-e", f"{place}/device"] for place in places]) if places else []
    chains = [_upwards(one.stdout.strip()) if one.status == 0 else [] for one in real]
    drivers = _links(machine, "driver", [folder for chain in chains for folder in chain])
    modules = _links(machine, "module", [f"{folder}/driver/" for folder in drivers])
    return [
        Device(
            PurePosixPath(place).name,
            tuple(
                Driver(drivers[folder], modules.get(f"{folder}/driver", ""))
                for folder in chain
                if folder in drivers
            ),
        )
        for place, chain in zip(places, chains, strict=True)
    ]


def _upwards(path: str) -> list[str]:
    """`path` and the folders above it as far as devices go."""
    whole = PurePosixPath(path)
    return [str(one) for one in (whole, *whole.parents) if len(one.parts) > SYSFS_TOP]


def _links(machine: Machine, name: str, folders: list[str]) -> dict[str, str]:
    """Folder -> where its link `name` points, by the last part alone; for those that have one."""
    if not folders:
        return {}
    unique = list(dict.fromkeys(folders))
    argv = ["find", *unique, "-maxdepth", "1", "-name", name, "-type", "l", "-printf", "%h\\t%l\\n"]
    lines = (line.split("\t") for line in machine.run(argv).stdout.splitlines())
    return {at[0].rstrip("/"): PurePosixPath(at[1]).name for at in lines if len(at) == 2}
