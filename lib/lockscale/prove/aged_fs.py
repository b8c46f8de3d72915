# SPDX-License-Identifier: MIT
"""A file system that was in use before the load: aged, with holes of all sizes, or 95 % full.

Its files lie right in the root, so that those of a load, in folders of their own, are told from them. They
are allocated and not written: a guest's sparse disk stays sparse.
"""

from collections.abc import Sequence

STATES = ("empty", "aged", "full")
KEPT_FREE_PCT = 5.0
AGED_PCT = 80.0
"""What is filled before every second file is deleted."""
SIZES_KIB = (64, 128, 256, 1024, 4096, 16384, 65536)

# argv: the folder, the per cent to fill, MiB that stay free in any case, whether files are deleted, sizes in
# KiB. Which size comes next is drawn with one seed: each arm is filled alike.
_FILL = """\
import os, random, sys
folder, filled, free_mib, deletes, *sizes = sys.argv[1:]
filled, free_bytes = float(filled), int(free_mib) << 20
draw, made = random.Random(1), []
while True:
    there = os.statvfs(folder)
    left = there.f_bfree * there.f_frsize
    size = int(draw.choice(sizes)) << 10
    if left - size < max((1 - filled / 100) * there.f_blocks * there.f_frsize, free_bytes):
        break
    made.append(f"{folder}/filler-{len(made)}")
    fd = os.open(made[-1], os.O_CREAT | os.O_EXCL | os.O_RDWR)
    os.posix_fallocate(fd, 0, size)
    os.close(fd)
if deletes == "yes":
    for path in made[::2]:
        os.unlink(path)
os.sync()
"""


def filling(state: str, folder: str, room_mib: int) -> Sequence[str]:
    """argv that brings the file system mounted at `folder` into `state`, and leaves room for a load."""
    aged = state == "aged"
    said = [folder, str(AGED_PCT if aged else 100 - KEPT_FREE_PCT), str(room_mib), "yes" if aged else "no"]
    return ["python3", "-c", _FILL, *said, *map(str, SIZES_KIB)]
