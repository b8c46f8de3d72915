# SPDX-License-Identifier: MIT
"""Quieten a machine as its target file asks, and put everything back, also after a crash.

Before each change a line with the old value is written to a journal on the machine and fsynced, so what
was changed is known whoever dies. A reboot undoes every change by itself: lines of another boot are void.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.machines.machine import Machine, Write, must, must_all
from lockscale.machines.noise import BOOST, CPUFREQ, NO_TURBO, NUMA_BALANCING, THP, read
from lockscale.yaml_text import Strict, spelt

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
class SettingChange:
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
            raise BadInput(
                f"{printable(self.target)} is not changed because of unusual characters in its "
                f"name: change it by hand"
            )
        return f"{boot_id}\t{self.kind}\t{self.target}\t{self.old}"


def of_line(line: str) -> tuple[str, SettingChange]:
    """The boot and the change of a journal's line. Raises RunFailed for one that is none of ours."""
    words = line.rstrip("\n").split("\t")
    if len(words) != 4 or not _may_be(*words[1:]):
        raise RunFailed(
            f"{JOURNAL} on the target has a line that lockscale did not write ({printable(line)}): "
            "look at it and delete the file"
        )
    boot_id, kind, target, old = words
    return boot_id, SettingChange(kind, target, old, "")


def _may_be(kind: str, target: str, old: str) -> bool:
    return bool(kind in TARGETS and TARGETS[kind].fullmatch(target) and OLD[kind].fullmatch(old))


BOOT_ID = "/proc/sys/kernel/random/boot_id"
# journal, line, then the change: it is not made unless the line is on the disk.
CHANGE = (
    'mkdir -p "${1%/*}" && printf "%s\\n" "$2" >> "$1" && sync "$1" "${1%/*}" || exit 99\nshift 2; exec "$@"'
)


class Preparation(Strict):
    """What a target file may ask under `prepare:`; what it does not name stays as it is."""

    governor: Annotated[str, spelt(r"[a-z_]+", "write a name such as performance", 16)] | None = None
    turbo: pydantic.StrictBool | None = None
    thp: Literal["always", "madvise", "never"] | None = None
    numa_balancing: pydantic.StrictBool | None = None
    swap: Literal[False] | None = None
    timers: Literal["stop"] | None = None
    irqbalance: Literal[False] | None = None


@contextmanager
def prepared(machine: Machine, wanted: Preparation, root: str = "") -> Iterator[dict[str, Any]]:
    """The machine quietened; {found, changed} for provenance. Put back at the end, however it ends."""
    try:
        yield prepare(machine, wanted, root)
    except BaseException as error:
        try:
            put_back(machine, root)
        except (RunFailed, BadInput) as later:  # the journal stays for the next time
            error.add_note(str(later))
        raise
    put_back(machine, root)


def prepare(machine: Machine, wanted: Preparation, root: str = "") -> dict[str, Any]:
    """Put back what an earlier run left, then make each change that is asked and needed.

    Raises BadInput before the first change for what this machine cannot do.
    """
    put_back(machine, root)
    found = read(machine, root)
    made = [change for change in needed(found, wanted) if change.old != change.new]
    boot_id = must(machine, ["cat", root + BOOT_ID]).strip()
    for change, line in [(change, change.line(boot_id)) for change in made]:
        argv = ["sh", "-c", CHANGE, "sh", root + JOURNAL, line, *change.command(root)]
        done = machine.run(argv, timeout_s=300)
        if done.status:
            raise RunFailed(f"the target did not accept {change.text}: {done.last_words}")
    left = [change.text for change in needed(read(machine, root), wanted) if change.old != change.new]
    if left:
        raise RunFailed(
            f"the target accepted {', '.join(left)} without an error, but did not change it: "
            f"take it out of prepare in the target file"
        )
    return {"found": found, "changed": [change.text for change in made]}


def put_back(machine: Machine, root: str = "") -> list[str]:
    """Undo what the journal says was changed since this boot, last change first; what was put back."""
    journal, boot = machine.run_all([["cat", root + JOURNAL], ["cat", root + BOOT_ID]])
    if journal.status:
        return []
    boot.check()  # else every line would be another boot's
    lines = [line for line in journal.stdout.splitlines(keepends=True) if line.endswith("\n")]
    since = [change for boot_id, change in map(of_line, lines) if boot_id == boot.stdout.strip()]
    undone = [(change, machine.run(change.undo(root), timeout_s=300)) for change in reversed(since)]
    if failed := [f"{change.target} ({done.last_words})" for change, done in undone if done.status]:
        raise RunFailed(
            f"some settings of the target could not be restored: {', '.join(failed)}; restore them by "
            f"hand, from {JOURNAL} on the target"
        )
    must(machine, ["sh", "-c", 'rm -f "$1" && sync "${1%/*}"', "sh", root + JOURNAL])
    return [f"{change.target} = {change.old}" for change in reversed(since)]


def needed(found: dict[str, Any], wanted: Preparation) -> list[SettingChange]:
    """Each setting that is asked, as found and as wanted. BadInput for what the machine lacks."""
    changes = list(_files(found, wanted))
    if wanted.swap is False:
        rows = _known(found, "swap")
        changes += [SettingChange("swap", row["device"], str(row["priority"]), "off") for row in rows]
    units: list[str] = []
    if wanted.timers == "stop":
        noisy = (name for name in _known(found, "noisy_services") if name != "irqbalance.service")
        units += [*_known(found, "timers"), *noisy]
    if wanted.irqbalance is False and _known(found, "irqbalance"):
        units.append("irqbalance.service")
    return [*changes, *(SettingChange("unit", unit, "active", "stopped") for unit in units)]


def _files(found: dict[str, Any], wanted: Preparation) -> Iterator[SettingChange]:
    if wanted.governor is not None:
        can = found["available_governors"] or {}
        for policy, governor in _known(found, "governors").items():
            if wanted.governor not in can.get(policy, "").split():
                raise BadInput(
                    f"the target's {policy} has no governor {wanted.governor}: set prepare.governor to one "
                    f"of {printable(', '.join(can.get(policy, 'nothing').split()))}"
                )
            yield SettingChange("file", f"{CPUFREQ}/{policy}/scaling_governor", governor, wanted.governor)
    if wanted.turbo is not None:
        is_on = _known(found, "turbo")
        inverted = found["turbo_switch"] == NO_TURBO
        old, new = (str(int(on != inverted)) for on in (is_on, wanted.turbo))
        yield SettingChange("file", found["turbo_switch"], old, new)
    if wanted.thp is not None:
        yield SettingChange("file", THP, _known(found, "thp"), wanted.thp)
    if wanted.numa_balancing is not None:
        old = str(_known(found, "numa_balancing"))
        yield SettingChange("file", NUMA_BALANCING, old, str(int(wanted.numa_balancing)))


def _known(found: dict[str, Any], name: str) -> Any:
    if found[name] is None:
        raise BadInput(f"the target does not report its {name}: take it out of prepare in the target file")
    return found[name]


ONLINE = "/sys/devices/system/cpu/online"


def parse_cpus(text: str) -> list[int]:
    """The processors of a kernel's list, as "0-3,8". Raises BadInput for a text that is none."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text.strip(), re.ASCII):
        raise BadInput(f"the target's {ONLINE} is not a list of CPUs")
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def online(machine: Machine) -> list[int]:
    """The numbers of the processors that run."""
    return parse_cpus(must(machine, ["cat", ONLINE]))


@contextmanager
def only(machine: Machine, cpus: int) -> Iterator[None]:
    """The first `cpus` processors run, the others are offline until the end.

    After a failure they stay offline: the machine may be gone, and a reboot brings them back. Raises
    BadInput where the machine has fewer.
    """
    running = online(machine)
    if cpus > len(running):
        raise BadInput(f"the study asks for {cpus} CPUs and the target has {len(running)}: ask for fewer")
    switches = [f"/sys/devices/system/cpu/cpu{n}/online" for n in running[cpus:]]
    must_all(machine, [*(Write(path, "0") for path in reversed(switches)), ["true"]], timeout_s=300)
    yield
    must_all(machine, [*(Write(path, "1") for path in switches), ["true"]], timeout_s=300)
