# SPDX-License-Identifier: MIT
"""A guest of many CPUs in virtual time (lib/manycore): how QEMU is started, and what each section says.

Each CPU's time is made of prices: of instructions, pauses, atomic operations, transfers of cache lines.
One host thread runs all of them in the order of their times, so no number depends on the host's speed.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lockscale import paths
from lockscale.errors import BadInput, RunFailed
from lockscale.machines.guest_init import write_starter
from lockscale.machines.qemu_backport import Qemu
from lockscale.tools import c_program

SECTIONS = "sections.jsonl"
MARKS = paths.FSLOAD / "section.h"
LIBRARY_FLAGS = ("-std=gnu11", "-O3", "-flto", "-shared", "-fPIC", "-fvisibility=hidden")
# Its clock is exact, so it need not be measured against others; its CPUs are idle by HLT alone, which is
# what the plugin sees; delay loops are known (a jiffy is 4 ms of a TSC of 1 GHz).
KERNEL_ARGUMENTS = (
    "tsc=reliable", "idle=halt", "lpj=4000000", "cpu_init_udelay=10", "no_timer_check",
)  # fmt: skip
# -la57: with five levels of page tables, which Linux 7.3 takes where it can, its map of all memory begins
# elsewhere, and a user's access to a line would not be known for the same line as the kernel's (lines.c).
CPU = "max,-monitor,-waitpkg,-la57"
# Whenever a device's registers move, QEMU maps memory anew for every CPU: one address space a CPU in place
# of two, and one region a device in place of three, halve the time to boot.
FEW_REGIONS = (
    "-machine smm=off", "-global virtio-serial-device.max_ports=2",
    *(f"-global {device}.{said}" for device in ("virtio-serial-pci", "virtio-9p-pci")
      for said in ("disable-legacy=on", "vectors=0")),
)  # fmt: skip


@dataclass(frozen=True)
class VirtualTime:
    """The machine: `options` are the plugin's, in picoseconds and numbers.

    settings: by name, an option of which the booted machine can take another value, and that value.
    """

    qemu: Qemu
    library: Path
    options: dict[str, int]
    settings: dict[str, tuple[str, int]]

    def starter(self, room: Path) -> Path:
        """A script in `room` that starts QEMU with the clock before everything else."""
        # by env: a shell that had the clock preloaded itself would not start
        words = ["env", f"LD_PRELOAD={self.library}", str(self.qemu.program), *self.qemu.options]
        return write_starter(room / "qemu-in-virtual-time", words)

    def qemu_options(self, room: Path) -> list[str]:
        """For `--qemu-opts`: one thread for all CPUs, the plugin, devices' clocks in virtual time."""
        said = {**self.options, "statistics": room / SECTIONS}
        words = [f"{name}={value}" for name, value in said.items()]
        words += [f"setting={option}:{value}" for option, value in self.settings.values()]
        plugin = shlex.quote(",".join([str(self.library), *words]))
        one_thread = "-accel tcg,thread=single,tb-size=1024"
        return [one_thread, f"-plugin {plugin}", f"-cpu {CPU}", "-rtc clock=vm", *FEW_REGIONS]


def build_library() -> Path:
    """The plugin, which is the preloaded clock too, compiled where its sources changed."""
    return c_program.build("manycore.so", paths.MANYCORE, paths.CACHE / "bin", LIBRARY_FLAGS)


def build_section() -> Path:
    """The program that marks sections in a guest, for tools without marks of their own."""
    return c_program.build("section", paths.MANYCORE / "guest", paths.CACHE / "bin", headers=[MARKS])


def build_mpi_marks() -> Path:
    """The library that marks one section in the ranks of an MPI program, which preload it."""
    flags = ("-shared", "-fPIC")
    return c_program.build("mpi-marks.so", paths.MANYCORE / "mpi", paths.CACHE / "bin", flags, [MARKS])


def with_setting(number: int, command: Sequence[str]) -> list[str]:
    """argv of `command` on the booted machine with one number another: the settings count from 1."""
    return [str(build_section()), "--setting", str(number), *command]


class MovedLine(NamedTuple):
    """A cache line that others waited for while it moved: how often it did, and how long that took.

    site: the instruction that moved it in more than half of the cases, or, if none did, another that moved
    it: the lower 32 bits of its address; 0 is a user's.
    """

    site: int
    moves: int
    occupied_ns: int
    queued_ns: int


@dataclass(frozen=True)
class Section:
    """What the machine counted between two marks.

    virtual_ns: of the clock. cpu_ns: of all CPUs that were not idle. shares: of cpu_ns, summing to 1.
    lines: the most occupied ones, in that order.
    """

    virtual_ns: int
    real_ns: int
    cpu_ns: int
    shares: dict[str, float]
    counts: dict[str, int]
    lines: tuple[MovedLine, ...] = ()


def read_sections(path: Path, skip: int = 0) -> list[Section]:
    """The sections that QEMU has written, but for the first `skip`."""
    lines = path.read_text().splitlines() if path.is_file() else []
    return [_section(json.loads(line)) for line in lines[skip:]]


PARTS = ("pause", "atomic", "transfer", "queue", "io")


def _section(said: dict[str, Any]) -> Section:
    whole = max(1, said["cpu_ns"])
    shares = {part: said[f"{part}_ns"] / whole for part in PARTS}
    shares["instructions"] = 1 - sum(shares.values())
    lines = tuple(MovedLine(*line) for line in said["lines"])
    counts = {k: v for k, v in said.items() if not k.endswith("_ns") and k not in ("section", "lines")}
    return Section(said["virtual_ns"], said["real_ns"], said["cpu_ns"], shares, counts, lines)


BROKEN = {
    "late_timers": "the host starved QEMU's main loop for 5 s, so a timer came late: run it again",
    "held_jumps": "a request to the host was in flight while all CPUs were idle, and such waits have no "
    "price: keep the load's files on the disk under test, and run the load once before measuring it",
    "broken_waits": "{} waits between CPUs were aborted: a CPU stopped in a way that the plugin does not "
    "see, so its time is unknown",
}


def refuse_broken(section: Section, what: str) -> None:
    """Raises RunFailed where the section's rates are no rates of the machine that is described."""
    for name, why in BROKEN.items():
        if count := section.counts[name]:
            raise RunFailed(f"{what}: {why.format(count)}")


def refuse_library(console: str) -> None:
    """Raises BadInput where the plugin said that this QEMU cannot be used."""
    for line in console.splitlines():
        if line.startswith("manycore: "):
            raise BadInput(f"{line.strip()[:200]}: name another QEMU on PATH, or use target qemu")
