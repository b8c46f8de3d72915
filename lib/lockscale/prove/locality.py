# SPDX-License-Identifier: MIT
"""What an arm of the block allocator does to locality: where files and free space lie after a load."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.files import write_json
from lockscale.kernels.build import build
from lockscale.kernels.series import Series, refuse_unsafe, safe_of
from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.machine import Machine, Step, Write, must, must_all
from lockscale.measure.file_system import MOUNT_POINT, make, unmount_and_check
from lockscale.measure.load import LOAD_TIMEOUT_S
from lockscale.measure.plan import in_turn
from lockscale.measure.run_folder import new_run
from lockscale.measure.target_qemu import booted_guest
from lockscale.progress import progress
from lockscale.prove.aged_fs import STATES, filling
from lockscale.prove.series_checks import refuse_bad_surroundings
from lockscale.study.file import Study, Target, load_whole_study
from lockscale.study.target_file import with_disk
from lockscale.tools import fsload

FILES_PER_WRITER, WRITERS, FILE_BYTES = 24, 8, 1 << 20
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
# What filefrag -v and e2freefrag of e2fsprogs print.
_SIZE = re.compile(r"File size of (.+) is (\d+) \((\d+) blocks? of (\d+) bytes\)")
_EXTENT = re.compile(r" *(\d+): *(\d+)\.\. *(\d+): *(\d+)\.\. *(\d+): *(\d+):.*")
_FOUND = re.compile(r"(.+): (\d+) extents? found.*")
_FREE = re.compile(
    r"Min\. free extent: \d+ KB\s*\nMax\. free extent: \d+ KB\s*\nAvg\. free extent: (\d+) KB\s*\n"
)
_STREAM_ALLOC = 0x0800  # fs/ext4/ext4.h: EXT4_MB_STREAM_ALLOC


@dataclass(frozen=True)
class FileExtents:
    """A file's extents as (first physical block, blocks), in the order of the file, and its length."""

    path: str
    block_bytes: int
    extents: tuple[tuple[int, int], ...]
    size_bytes: int = FILE_BYTES

    @property
    def pieces(self) -> int:
        """Extents that do not lie behind each other on the disk: what a reader has to seek between."""
        ends = [first + blocks for first, blocks in self.extents]
        starts = [first for first, _ in self.extents]
        return sum(end != start for end, start in zip([-1, *ends], starts, strict=False))

    @property
    def allocated_bytes(self) -> int:
        """What its extents hold."""
        return self.block_bytes * sum(blocks for _, blocks in self.extents)


def command(how: str, folder: str) -> Sequence[str]:
    """argv that lets WRITERS write FILES_PER_WRITER files of 1 MiB each under `folder`.

    moving, pinned: grown by fallocate(), 8 KiB at a time. held open: grown by write(), 64 KiB at a time, all
    files of a writer in turn, and allocated by writeback. flushed: written, closed, then allocated.
    """
    if how == "flushed":
        return ["sh", "-c", _FLUSHED, "sh", str(WRITERS), folder, str(FILES_PER_WRITER)]
    if how == "held open":
        numbers = [str(FILES_PER_WRITER), str(_ROUNDS), str(FILE_BYTES // _ROUNDS)]
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


LIST = 'find "$1" -mindepth 2 -type f -printf "%i %p\\n"'


@dataclass(frozen=True)
class Locality:
    """Means over the files of one load, 1 MiB each, on a file system that was in some state before.

    pieces: extents of a file that do not follow each other on the disk. groups_used: block groups that
    hold any of the files' blocks, of `groups_needed` that they would fill. groups_from_inode: distance in
    block groups between a file's inode and its first block. free_extent_mib: mean free extent.
    stream_allocations: searches at a stream goal; where there is none, no arm can differ.
    """

    study: str
    arm: str
    how: str
    iteration: int
    files: int
    pieces: float
    groups_used: int
    groups_needed: int
    groups_from_inode: float
    free_extent_mib: float
    stream_allocations: int
    state: str = STATES[0]
    origin: str = "qemu"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def localities(
    chosen: Sequence[Series], target: Target, iterations: int, state: str = STATES[0]
) -> list[Locality]:
    """Every safe arm of `chosen`, forwards and backwards by iteration; BadInput when none is safe.

    Each figure is kept in runs/locality-<time>/locality.json as it comes. A boot that fails costs no
    other; RunFailed then names them at the end.
    """
    boots = list(in_turn(safe_of(chosen), iterations))
    refuse_bad_surroundings(build=True, boot=True)
    kept = new_run("locality").folder / "locality.json"
    found: list[Locality] = []
    failures: list[str] = []
    with progress("locality", len(boots)) as shown:
        for done, (iteration, series) in enumerate(boots):
            shown.update(done, f"{series.name}, iteration {iteration}")
            try:
                for one in locality(series, target, iteration, state):
                    found.append(one)
                    write_json(kept, [each.as_json() for each in found])
            except FullDisk:  # no boot's fault
                raise
            except (BadInput, RunFailed) as error:
                failures.append(f"{series.name}, iteration {iteration}: {error}")
        shown.update(len(boots))
    if failures:
        raise RunFailed(
            f"{len(failures)} of {len(boots)} boots failed ({'; '.join(failures)}): "
            f"{len(found)} figure(s) of the others are in {kept.parent}"
        )
    return found


def summary(found: Sequence[Locality]) -> list[dict[str, Any]]:
    """Mean and range over the iterations, one row an arm and way of writing."""
    rows = []
    for arm, how in dict.fromkeys((one.arm, one.how) for one in found):
        same = [one for one in found if (one.arm, one.how) == (arm, how)]
        row: dict[str, Any] = {"arm": arm, "writers": how, "file system": same[0].state}
        row |= {"iterations": len(same), "origin": "qemu"}
        for name in ("pieces", "groups_used", "groups_from_inode", "free_extent_mib", "stream_allocations"):
            values = [getattr(one, name) for one in same]
            row[name] = f"{np.mean(values):.4g} [{min(values):.4g}, {max(values):.4g}]"
        rows.append({**row, "groups_needed": same[0].groups_needed})
    return rows


def locality(
    series: Series, target: Target, iteration: int = 1, state: str = STATES[0]
) -> Iterator[Locality]:
    """One boot; every way of writing on a new file system, brought into `state` first."""
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    kernel, study = build(series), load_whole_study(series.study)
    with booted_guest(with_disk(target, study.disk_mib), kernel, study.check.cpus) as (machine, disk):
        for how in HOW:
            yield _one(machine, series, study, disk, how, iteration, state)


def _one(
    machine: Machine, series: Series, study: Study, disk: NamedDisk, how: str, iteration: int, state: str
) -> Locality:
    file_system = make(machine, study.options_of(series.arm), disk)
    if state != STATES[0]:
        must(machine, filling(state, MOUNT_POINT, 2 * WRITERS * FILES_PER_WRITER), timeout_s=LOAD_TIMEOUT_S)
    load = counting_streams(command(how, MOUNT_POINT))
    stats = must_all(machine, load, timeout_s=LOAD_TIMEOUT_S)[-1].stdout
    inodes = {
        path: int(inode)
        for inode, path in re.findall(r"(\d+) (.+)\n", must(machine, ["sh", "-c", LIST, "sh", MOUNT_POINT]))
    }
    files = parse_filefrag(must(machine, filefrag_command(sorted(inodes)), timeout_s=LOAD_TIMEOUT_S))
    refuse_unwritten(files, series.name)
    header = must(machine, ["dumpe2fs", "-h", file_system.device])
    unmount_and_check(machine, file_system)
    free = parse_free(must(machine, ["e2freefrag", file_system.device]))
    groups = _Groups.of(header)
    return Locality(
        series.study, series.arm, how, iteration, len(files),
        pieces=float(np.mean([file.pieces for file in files])),
        groups_used=len({group for file in files for group in groups.of_blocks(file)}),
        groups_needed=-(-len(files) * FILE_BYTES // groups.bytes),
        groups_from_inode=float(np.mean([groups.from_inode(file, inodes[file.path]) for file in files])),
        free_extent_mib=free.avg_kib / 1024,
        stream_allocations=streams(stats),
        state=state,
    )  # fmt: skip


def refuse_unwritten(files: Sequence[FileExtents], arm: str) -> None:
    """RunFailed where a writer failed: a file that it left out or cut short would lie in fewer places."""
    if len(files) != WRITERS * FILES_PER_WRITER:
        raise RunFailed(f"{arm}: the writers left only {len(files)} files: one of them failed")
    for file in files:
        if file.size_bytes != FILE_BYTES or file.allocated_bytes < FILE_BYTES:
            raise RunFailed(
                f"{arm}: {file.path} has {file.size_bytes} bytes, {file.allocated_bytes} of them allocated, "
                f"and not {FILE_BYTES}: its writer failed"
            )


@dataclass(frozen=True)
class _Groups:
    """The geometry of a file system: which group a block and an inode lie in."""

    blocks: int
    inodes: int
    block_bytes: int

    @staticmethod
    def of(header: str) -> "_Groups":
        said = dict(re.findall(r"^([^:\n]+):\s*(\d+)$", header, re.MULTILINE))
        return _Groups(*(int(said[name]) for name in ("Blocks per group", "Inodes per group", "Block size")))

    @property
    def bytes(self) -> int:
        return self.blocks * self.block_bytes

    def of_blocks(self, file: FileExtents) -> set[int]:
        return {
            group
            for first, blocks in file.extents
            for group in range(first // self.blocks, (first + blocks - 1) // self.blocks + 1)
        }

    def from_inode(self, file: FileExtents, inode: int) -> int:
        return abs(file.extents[0][0] // self.blocks - (inode - 1) // self.inodes)


def filefrag_command(paths: Sequence[str]) -> list[str]:
    """argv that prints every extent of `paths`; -s syncs first, so that delayed blocks are there."""
    return ["filefrag", "-s", "-v", *paths]


def parse_filefrag(text: str) -> list[FileExtents]:
    """Files in their order; BadInput for a cut output, or one whose extents are not those it counts."""
    files: list[FileExtents] = []
    path, size_bytes, block_bytes, extents = "", 0, 0, list[tuple[int, int]]()
    for line in text.splitlines():
        if size := _SIZE.fullmatch(line):
            if path:
                break
            path, size_bytes, block_bytes, extents = size[1], int(size[2]), int(size[4]), []
        elif extent := _EXTENT.fullmatch(line):
            extents.append((int(extent[4]), int(extent[6])))
        elif found := _FOUND.fullmatch(line):
            # filefrag counts extents that follow each other on the disk as one
            if found[1] != path or int(found[2]) > len(extents) or bool(int(found[2])) != bool(extents):
                break
            files.append(FileExtents(path, block_bytes, tuple(extents), size_bytes))
            path = ""
    else:
        if not path and files:
            return files
    raise BadInput(f"filefrag's output is cut or damaged at {path or 'its beginning'}: run it again")


@dataclass(frozen=True)
class FreeSpace:
    """Free extents of a file system in KiB (e2freefrag prints KB for 1024 bytes)."""

    avg_kib: int


def parse_free(text: str) -> FreeSpace:
    """The summary of e2freefrag DEVICE."""
    found = _FREE.search(text)
    if found is None:
        raise BadInput("this is not e2freefrag's output: there is no `Avg. free extent`")
    return FreeSpace(int(found[1]))
