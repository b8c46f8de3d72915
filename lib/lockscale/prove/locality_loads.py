# SPDX-License-Identifier: MIT
"""Ways to write the same files: locality depends on who allocates their blocks, and when."""

from collections.abc import Sequence

from lockscale import paths
from lockscale.machines.machine import Step, Write
from lockscale.tools import fsload

FILES_PER_WRITER, WRITERS = 24, 8
HOW = ("moving", "pinned", "held open", "flushed")

# Delayed allocation: nothing has blocks until sync, whose one flusher gives all files theirs. They are
# closed by then, so that ext4_mb_group_or_file() gives none of them a stream goal: the control.
_FLUSHED = (
    'for c in $(seq "$1"); do mkdir "$2/$c"; (for n in $(seq "$3"); do head -c 1048576 /dev/zero > '
    '"$2/$c/$n" || exit 1; done) & done; wait; sync'
)
# The files stay open and grow in turn, so that the flusher comes back to each of them. After every
# round all that was written is allocated for; no writer allocates a block itself.
_HELD_OPEN = """\
import os, sys
folder, files, rounds, step = sys.argv[1], *map(int, sys.argv[2:])
os.mkdir(folder)
held = [os.open(f"{folder}/{n}", os.O_CREAT | os.O_EXCL | os.O_WRONLY) for n in range(files)]
for _ in range(rounds):
    for fd in held:
        os.write(fd, bytes(step))
    os.sync()
"""
_ALL_WRITERS = 'n="$1"; shift; for c in $(seq "$n"); do python3 -c "$1" "$2/$c" "$3" "$4" "$5" & done; wait'
_ROUNDS = 16

TRACING = "/sys/kernel/tracing"
_EVENT = f"{TRACING}/events/ext4/ext4_mballoc_alloc"
_STREAM_ALLOC = 0x0800  # fs/ext4/ext4.h: EXT4_MB_STREAM_ALLOC


def command(how: str, folder: str) -> Sequence[str]:
    """argv that lets WRITERS write FILES_PER_WRITER files of 1 MiB each under `folder`.

    moving, pinned: grown by fallocate(), 8 KiB at a time. held open: grown by write(), 64 KiB at a time, all
    files of a writer in turn, and allocated by writeback. flushed: written, closed, then allocated.
    """
    if how == "flushed":
        return ["sh", "-c", _FLUSHED, "sh", str(WRITERS), folder, str(FILES_PER_WRITER)]
    if how == "held open":
        numbers = [str(FILES_PER_WRITER), str(_ROUNDS), str((1 << 20) // _ROUNDS)]
        return ["sh", "-c", _ALL_WRITERS, "sh", str(WRITERS), _HELD_OPEN, folder, *numbers]
    return fsload.command(
        fsload.build(paths.CACHE / "bin"),
        folder,
        processes=WRITERS,
        items=FILES_PER_WRITER,
        phase="append",
        test="append_files",
        pin=how == "pinned",
    )


def counting_streams(load: Sequence[str]) -> list[Step]:
    """`load` between steps that count its stream allocations: searches for blocks at a stream goal.

    The last step prints what streams() reads.
    """
    return [
        Write(f"{_EVENT}/filter", f"flags & {_STREAM_ALLOC}\n"),
        Write(f"{TRACING}/trace", "\n"),
        Write(f"{_EVENT}/enable", "1\n"),
        load,
        Write(f"{_EVENT}/enable", "0\n"),
        ["sh", "-c", f"cat {TRACING}/per_cpu/cpu*/stats"],
    ]


def streams(stats: str) -> int:
    """Events that the trace buffers hold or held, from their `stats` files."""
    lines = (line.partition(": ") for line in stats.splitlines())
    return sum(int(value) for name, _, value in lines if name in ("entries", "overrun"))
