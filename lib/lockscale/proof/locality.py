# SPDX-License-Identifier: MIT
"""What an arm of the block allocator does to locality: where files and free space lie after a load."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lockscale import paths
from lockscale.experiment.file_system import MOUNT_POINT, FileSystem, make, unmount_and_check
from lockscale.experiment.guests import booted
from lockscale.experiment.plan import in_turn
from lockscale.kernels.arms import arms_file
from lockscale.kernels.build import build
from lockscale.kernels.series import Series, refuse_unsafe, safe_of
from lockscale.profilers import filefrag
from lockscale.progress import progress
from lockscale.proof.load import LOAD_TIMEOUT_S
from lockscale.study import Target
from lockscale.targets.disk import NamedDisk
from lockscale.targets.machine import Machine, must
from lockscale.workloads import fsload

FILES_PER_WRITER, WRITERS = 24, 8
# Delayed allocation: nothing has blocks until sync, whose one flusher gives all files theirs.
FLUSHED = (
    'for c in $(seq "$1"); do mkdir "$2/$c"; (for n in $(seq "$3"); do head -c 1048576 /dev/zero > '
    '"$2/$c/$n" || exit 1; done) & done; wait; sync'
)
LIST = 'find "$1" -mindepth 2 -type f -printf "%i %p\\n"'
HOW = ("moving", "pinned", "flushed")


@dataclass(frozen=True)
class Locality:
    """Means over the files of one load, 1 MiB each, on an empty file system.

    pieces: extents of a file that do not follow each other on the disk. groups_used: block groups that
    hold any of the files' blocks, of `groups_needed` that they would fill. groups_from_inode: distance in
    block groups between a file's inode and its first block. free_extent_mib: mean free extent.
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
    origin: str = "qemu"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def localities(chosen: Sequence[Series], target: Target, iterations: int) -> list[Locality]:
    """Every safe arm of `chosen`, forwards and backwards by iteration; BadInput when none is safe."""
    boots = list(in_turn(safe_of(chosen), iterations))
    found: list[Locality] = []
    with progress("locality", len(boots)) as shown:
        for done, (iteration, series) in enumerate(boots):
            shown.update(done, f"{series.name}, iteration {iteration}")
            found += locality(series, target, iteration)
        shown.update(len(boots))
    return found


def summary(found: Sequence[Locality]) -> list[dict[str, Any]]:
    """Mean and range over the iterations, one row an arm and way of writing."""
    rows = []
    for arm, how in dict.fromkeys((one.arm, one.how) for one in found):
        same = [one for one in found if (one.arm, one.how) == (arm, how)]
        row: dict[str, Any] = {"arm": arm, "writers": how, "iterations": len(same), "origin": "qemu"}
        for name in ("pieces", "groups_used", "groups_from_inode", "free_extent_mib"):
            values = [getattr(one, name) for one in same]
            row[name] = f"{np.mean(values):.4g} [{min(values):.4g}, {max(values):.4g}]"
        rows.append({**row, "groups_needed": same[0].groups_needed})
    return rows


def locality(series: Series, target: Target, iteration: int = 1) -> Iterator[Locality]:
    """One boot: the writers moving between CPUs, kept on theirs, and left to one flusher."""
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    kernel, file = build(series), arms_file(series.study)
    with booted(target, kernel, file.load.cpus) as (machine, disk):
        for how in HOW:
            yield _one(machine, series, disk, how, iteration)


def _one(machine: Machine, series: Series, disk: NamedDisk, how: str, iteration: int) -> Locality:
    file_system = make(machine, arms_file(series.study).checked_with(series.arm), disk)
    must(machine, _load(how), timeout_s=LOAD_TIMEOUT_S)
    inodes = {
        path: int(inode)
        for inode, path in re.findall(r"(\d+) (.+)\n", must(machine, ["sh", "-c", LIST, "sh", MOUNT_POINT]))
    }
    files = filefrag.parse(must(machine, filefrag.command(sorted(inodes)), timeout_s=LOAD_TIMEOUT_S))
    header = must(machine, ["dumpe2fs", "-h", file_system.device])
    unmount_and_check(machine, file_system)
    free = filefrag.parse_free(must(machine, ["e2freefrag", file_system.device]))
    groups = _Groups.of(header, file_system)
    return Locality(
        series.study, series.arm, how, iteration, len(files),
        pieces=float(np.mean([file.pieces for file in files])),
        groups_used=len({group for file in files for group in groups.of_blocks(file)}),
        groups_needed=-(-len(files) * (1 << 20) // groups.bytes),
        groups_from_inode=float(np.mean([groups.from_inode(file, inodes[file.path]) for file in files])),
        free_extent_mib=free.avg_kib / 1024,
    )  # fmt: skip


def _load(how: str) -> Sequence[str]:
    binary = fsload.build(paths.CACHE / "bin")
    if how == "flushed":
        return ["sh", "-c", FLUSHED, "sh", str(WRITERS), MOUNT_POINT, str(FILES_PER_WRITER)]
    return fsload.command(
        binary,
        MOUNT_POINT,
        processes=WRITERS,
        items=FILES_PER_WRITER,
        phase="append",
        test="append_files",
        pin=how == "pinned",
    )


@dataclass(frozen=True)
class _Groups:
    """The geometry of a file system: which group a block and an inode lie in."""

    blocks: int
    inodes: int
    block_bytes: int

    @staticmethod
    def of(header: str, file_system: FileSystem) -> "_Groups":
        said = dict(re.findall(r"^([^:\n]+):\s*(\d+)$", header, re.MULTILINE))
        return _Groups(int(said["Blocks per group"]), file_system.inodes_per_group, int(said["Block size"]))

    @property
    def bytes(self) -> int:
        return self.blocks * self.block_bytes

    def of_blocks(self, file: filefrag.File) -> set[int]:
        return {
            group
            for first, blocks in file.extents
            for group in range(first // self.blocks, (first + blocks - 1) // self.blocks + 1)
        }

    def from_inode(self, file: filefrag.File, inode: int) -> int:
        return abs(file.extents[0][0] // self.blocks - (inode - 1) // self.inodes)
