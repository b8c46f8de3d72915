# SPDX-License-Identifier: MIT
"""What the guest's kernel said of its file system."""

import re

# What ext4 and jbd2 say when all is well matches none of these.
BAD = re.compile(r"EXT4-fs (?:error|warning).*|JBD2: .*|(?:WARNING|BUG): .*|I/O error.*")
CLEANED = re.compile(r"(\d+) (?:orphan inode|truncate)s? ")


def complaints(dmesg: str) -> list[str]:
    """What is wrong, in the kernel's words."""
    return BAD.findall(dmesg)


def orphans(dmesg: str) -> int:
    """How many inodes a mount deleted or truncated because a power cut left them half gone."""
    return sum(int(number) for number in CLEANED.findall(dmesg))


def replayed(dmesg: str) -> bool:
    """Whether a mount replayed the journal."""
    return "recovery complete" in dmesg
