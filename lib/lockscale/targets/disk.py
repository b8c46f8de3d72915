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
from lockscale.targets.machine import Machine

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
    by_id = str(disk.by_id)
    listing, signatures, swaps = machine.run_all(
        [
            ["lsblk", "--json", "--bytes", "--output", LSBLK, by_id],
            ["wipefs", "--no-act", "--json", by_id],
            ["cat", "/proc/swaps"],  # absent in a kernel without swap
        ]
    )
    if listing.status:
        raise BadInput(f"{by_id} is not formatted: it is not there")
    signatures.check()
    found = json.loads(listing.stdout)["blockdevices"][0]
    reasons = [
        *_identity_reasons(disk, found),
        *_use_reasons(found, swaps.stdout),
        *_signature_reasons(signatures.stdout),
    ]
    if reasons:
        raise BadInput(f"{by_id} is not formatted: {'; '.join(reasons)}")
    return str(found["path"])


def _identity_reasons(disk: NamedDisk, found: dict[str, Any]) -> Iterator[str]:
    """It is the very disk that the target file names."""
    if found["type"] != "disk":
        yield f"it is a {found['type']}, not a whole disk"
    if found["serial"] != disk.serial:
        yield f"its serial is {found['serial']!r}, the target file says {disk.serial!r}"
    if int(found["size"]) != disk.size_bytes:
        yield f"it has {found['size']} bytes, the target file says {disk.size_bytes}"


def _use_reasons(found: dict[str, Any], swaps: str) -> Iterator[str]:
    """Nothing uses it: no mount, partition, LVM, RAID, device mapper or swap."""
    if found["ro"]:
        yield "it is read-only"
    if found.get("children"):
        yield "it has partitions or is in use by " + ", ".join(c["path"] for c in found["children"])
    if any(found["mountpoints"]):
        yield f"it is mounted on {', '.join(filter(None, found['mountpoints']))}"
    if any(line.split()[0] == found["path"] for line in swaps.splitlines()[1:]):
        yield "it is swap"


def _signature_reasons(listing: str) -> Iterator[str]:
    """It carries no signature but the ext4 file system with this project's label."""
    for signature in json.loads(listing)["signatures"] if listing.strip() else []:
        if (signature["type"], signature.get("label")) != ("ext4", OUR_LABEL):
            yield f"it carries a {signature['type']} signature"
