# SPDX-License-Identifier: MIT
"""One change of a machine's setting: how it is made, undone, and kept as a line of the journal."""

import re
from dataclasses import dataclass

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.machines.noise import BOOST, CPUFREQ, NO_TURBO, NUMA_BALANCING, THP

JOURNAL = "/var/lib/lockscale/prepare.journal"
WRITE = 'printf %s "$2" > "$1"'
POLICY = re.compile(re.escape(CPUFREQ) + r"/policy[0-9]+/scaling_governor")
TARGETS = {  # what alone may be changed, whatever a journal or a machine says
    "file": re.compile("|".join([POLICY.pattern, *map(re.escape, (NO_TURBO, BOOST, THP, NUMA_BALANCING))])),
    "swap": re.compile(r"/(?!.*/\.\./)[!-\[\]-~]+"),  # no blank and no backslash, which escapes one
    "unit": re.compile(r"(?!lockscale)[A-Za-z0-9][A-Za-z0-9@:_.\\-]*\.(timer|service)"),
}
OLD = {"file": re.compile("[a-z0-9_]+"), "swap": re.compile("-?[0-9]+"), "unit": re.compile("active")}


@dataclass(frozen=True)
class Change:
    """`target` is a file of /sys or /proc (kind file), a swap device (swap) or a unit of systemd (unit)."""

    kind: str
    target: str
    old: str
    new: str

    @property
    def text(self) -> str:
        """For a person and for provenance."""
        return f"{self.target} = {self.new}"

    def command(self, root: str = "") -> list[str]:
        """argv that makes the change; `root` is put before /proc and /sys: a test's own folders."""
        return {
            "file": ["sh", "-c", WRITE, "sh", root + self.target, self.new],
            "swap": ["swapoff", self.target],
            "unit": ["systemctl", "stop", self.target],
        }[self.kind]

    def undo(self, root: str = "") -> list[str]:
        """argv that puts the old value back; harmless where the change was never made."""
        on = 'grep -q "^$1 " "$3/proc/swaps" || exec swapon ${2:+-p "$2"} "$1"'
        priority = "" if self.old.startswith("-") else self.old  # the kernel gives the negative ones itself
        return {
            "file": ["sh", "-c", WRITE, "sh", root + self.target, self.old],
            "swap": ["sh", "-c", on, "sh", self.target, priority, root],
            "unit": ["systemctl", "start", self.target],
        }[self.kind]

    def line(self, boot_id: str) -> str:
        """The journal's line. Raises BadInput for a name that no line can hold."""
        if not _may_be(self.kind, self.target, self.old):
            raise BadInput(f"{printable(self.target)} is not changed: its name is unusual, do it by hand")
        return f"{boot_id}\t{self.kind}\t{self.target}\t{self.old}"


def of_line(line: str) -> tuple[str, Change]:
    """The boot and the change of a journal's line. Raises RunFailed for one that is none of ours."""
    words = line.rstrip("\n").split("\t")
    if len(words) != 4 or not _may_be(*words[1:]):
        raise RunFailed(
            f"{JOURNAL} on the target holds a line that lockscale did not write ({printable(line)}): "
            "look at it and delete the file"
        )
    boot_id, kind, target, old = words
    return boot_id, Change(kind, target, old, "")


def _may_be(kind: str, target: str, old: str) -> bool:
    return bool(kind in TARGETS and TARGETS[kind].fullmatch(target) and OLD[kind].fullmatch(old))
