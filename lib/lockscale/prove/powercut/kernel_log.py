# SPDX-License-Identifier: MIT
"""What the guest's kernel said of a mount after a power cut."""

import re

CLEANED = re.compile(r"(\d+) (?:orphan inode|truncate)s? ")


def orphans(dmesg: str) -> int:
    """How many inodes a mount deleted or truncated because a power cut left them half gone."""
    return sum(int(number) for number in CLEANED.findall(dmesg))


def replayed(dmesg: str) -> bool:
    """Whether a mount replayed the journal."""
    return "recovery complete" in dmesg
