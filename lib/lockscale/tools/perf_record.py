# SPDX-License-Identifier: MIT
"""Where the processors are, sampled by perf record; perf_script folds what it prints."""

from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.tools.perf import plain
from lockscale.tools.perf_stat import parse
from lockscale.tools.seal import sealed
from lockscale.tools.target_tools import Part

TOOL = "perf_record"
# Odd, so that no timer of the kernel keeps step with it.
FREQUENCY_HZ = 499
# What event() reads: whether this machine counts cycles. Virtual ones mostly do not.
COUNTS_CYCLES = plain(["perf", "stat", "-j", "-e", "task-clock,cycles", "--log-fd", "1", "true"])

PARTS = (
    Part(
        "a count of cycles",
        ("sh", "-c", "perf stat -a -e cycles -x, --log-fd 1 true | grep -q '^[0-9]'"),
        "flame graphs are sampled by the clock, cpu-clock",
    ),
)


def event(counts: str) -> str:
    """The event to sample, from what COUNTS_CYCLES prints: a timer's, cpu-clock, where there is no PMU."""
    try:
        counted = {count.event for count in parse(counts).counts}
    except BadInput:  # not even a task clock: perf may not count at all, and says so when it records
        counted = set()
    return "cycles" if "cycles" in counted else "cpu-clock"


def record(command: Sequence[str], data: str, event: str) -> list[str]:
    """argv that runs `command` and samples the stacks of the whole machine, in the kernel, to `data`.

    Stacks of user space are left out: most programs keep no frame pointers, and perf makes them up.
    """
    options = ["-q", "-a", "-N", "-e", event, "-F", str(FREQUENCY_HZ), "-g", "--kernel-callchains"]
    return ["perf", "record", *options, "-o", data, "--", *command]


def script(data: str) -> list[str]:
    """argv that prints the samples of the file `data` for perf_script, without the paths of programs."""
    return sealed(["perf", "script", "-F", "comm,tid,time,event,ip,sym", "-i", data])
