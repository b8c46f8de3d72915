# SPDX-License-Identifier: MIT
"""What may be formatted: only the disk that the target file names, and only when nothing owns it.

The table of reasons is the function's own list; a disk is formatted when the list is empty.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput
from lockscale.targets.machine import Machine, must

OUR_LABEL = "lockscale"  # the mark that mkfs leaves, so that the next run knows its own disk
LSBLK = "PATH,SERIAL,SIZE,TYPE,FSTYPE,LABEL,MOUNTPOINTS,RO"


@dataclass(frozen=True)
class NamedDisk:
    """A disk as the target file names it."""

    by_id: Path
    serial: str
    size_bytes: int


def device_to_format(machine: Machine, disk: NamedDisk) -> str:
    """The kernel's name of `disk`, after every check; a sentence with each reason if one fails."""
    device = must(machine, ["readlink", "-e", str(disk.by_id)]).strip() if _is_there(machine, disk) else ""
    reasons = list(_reasons(machine, disk, device)) if device else [f"{disk.by_id} is not there"]
    if reasons:
        raise BadInput(f"{disk.by_id} is not formatted: {'; '.join(reasons)}")
    return device


def _is_there(machine: Machine, disk: NamedDisk) -> bool:
    return machine.run(["test", "-b", str(disk.by_id)]).status == 0


def _reasons(machine: Machine, disk: NamedDisk, device: str) -> Iterator[str]:
    listing = must(machine, ["lsblk", "--json", "--bytes", "--output", LSBLK, device])
    found = json.loads(listing)["blockdevices"][0]
    if found["type"] != "disk":
        yield f"it is a {found['type']}, not a whole disk"
    if found["serial"] != disk.serial:
        yield f"its serial is {found['serial']!r}, the target file says {disk.serial!r}"
    if int(found["size"]) != disk.size_bytes:
        yield f"it has {found['size']} bytes, the target file says {disk.size_bytes}"
    if found["ro"]:
        yield "it is read-only"
    if found.get("children"):
        yield "it has partitions or is in use by " + ", ".join(c["path"] for c in found["children"])
    if any(found["mountpoints"]):
        yield f"it is mounted on {', '.join(filter(None, found['mountpoints']))}"
    yield from _signature_reasons(machine, found)
    swaps = machine.run(["cat", "/proc/swaps"]).stdout  # absent in a kernel without swap
    if any(line.split()[0] == device for line in swaps.splitlines()[1:]):
        yield "it is swap"


def _signature_reasons(machine: Machine, found: dict[str, Any]) -> Iterator[str]:
    """Any signature but the ext4 file system that carries this project's label."""
    listing = must(machine, ["wipefs", "--no-act", "--json", found["path"]])
    signatures = json.loads(listing)["signatures"] if listing.strip() else []
    for signature in signatures:
        if (signature["type"], signature.get("label")) != ("ext4", OUR_LABEL):
            yield f"it carries a {signature['type']} signature"
