# SPDX-License-Identifier: MIT
"""The load before the cut: files changed and fsynced in a guest whose disk is logged."""

from dataclasses import dataclass

from lockscale import paths
from lockscale.errors import RunFailed
from lockscale.kernels.arms import Options
from lockscale.machines.disk import NamedDisk
from lockscale.machines.machine import Machine, must, must_all
from lockscale.measure.file_system import MOUNT_POINT, make
from lockscale.prove.powercut.cuts import Cut, choose_cuts
from lockscale.prove.powercut.disks import FILE_SYSTEM_MIB, RECORDS_AT
from lockscale.prove.powercut.promises import OVERWRITE, records
from lockscale.prove.powercut.write_log import FLUSH, WriteLog
from lockscale.tools import c_program
from lockscale.tools.kernel_reports import reports

# The records are written to the disk beside a mounted file system, which the kernel else refuses.
KERNEL_ARGUMENTS = ("bdev_allow_write_mounted=1",)
# A small journal wraps within the load, so that its tail moves and is flushed for. Many small groups
# and a low limit for stream allocation: files of at most 32 KiB meet the goals of group-trylock too.
SMALL = Options(filesystem="ext4", mkfs=["-J", "size=4", "-g", "2048"], knobs={"mb_stream_req": 3})


@dataclass(frozen=True)
class Plan:
    """How an arm is loaded and cut; `seed` fixes the load's choices and, of one log, the cuts."""

    cuts: int
    seed: int = 1
    processes: int = 4
    load_s: float = 8


def fsynced() -> str:
    """The path of the program that loads and reads back (lib/fsynced), compiled when it has to be."""
    return str(c_program.build("fsynced", paths.FSYNCED, paths.CACHE / "bin"))


def write_load(machine: Machine, options: Options, disk: NamedDisk, plan: Plan) -> None:
    """Make the file system, leaving room for the records behind it, and load it."""
    wanted = SMALL.added_to(options)
    device = make(machine, wanted, disk, f"{FILE_SYSTEM_MIB}M").device
    cache = must(machine, ["cat", f"/sys/block/{device.removeprefix('/dev/')}/queue/write_cache"]).strip()
    if cache != "write back":
        raise RunFailed(f"the disk's write cache is '{cache}': the kernel would send no flush to lose")
    load = [fsynced(), "load", MOUNT_POINT, device, str(RECORDS_AT)]
    load += [str(plan.processes), str(plan.seed), str(plan.load_s)]
    *_, dmesg = must_all(machine, [["sync"], load, ["dmesg"]], timeout_s=120 + 10 * plan.load_s)
    if wrong := [report.title for report in reports(dmesg.stdout)]:
        raise RunFailed(f"the kernel complained under the load: {wrong[0]}")


def make_cuts(log: WriteLog, plan: Plan) -> list[Cut]:
    """Cuts of a load; RunFailed when it promised too little to test anything."""
    acked = [(at, state) for at, _, is_ack, state in records(log, RECORDS_AT) if is_ack]
    overwrites = [at for at, state in acked if state.operation == OVERWRITE]
    if len(overwrites) < plan.cuts:
        raise RunFailed(
            f"the load overwrote {len(overwrites)} files: too few for {plan.cuts} cuts, load for longer"
        )
    return choose_cuts([at for at, _ in acked], overwrites, plan.cuts, plan.seed)


def flushes(log: WriteLog) -> int:
    """How many flushes the kernel sent."""
    return sum(bool(entry.flags & FLUSH) for entry in log.entries)
