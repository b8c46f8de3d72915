# SPDX-License-Identifier: MIT
"""What disturbs a measurement on a machine: read for provenance; null where the machine does not say."""

import json
import re
from collections.abc import Callable
from typing import Any

from lockscale.errors import BadInput
from lockscale.machines.machine import Completed, Machine

CPU = "/sys/devices/system/cpu"
CPUFREQ = f"{CPU}/cpufreq"
NO_TURBO = f"{CPU}/intel_pstate/no_turbo"  # Intel's, inverted; every other driver has boost
BOOST = f"{CPUFREQ}/boost"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
SERVICES = ("cron", "crond", "anacron", "atd", "unattended-upgrades", "packagekit", "tuned", "irqbalance")
BENCHMARKS = re.compile(
    r"(fio|mdtest|fsload|fsstress|fsx|dbench|filebench|iozone|reaim|postmark|bonnie|stress-ng|sysbench"
    r"|mds-survey|mkfs|mke2fs|e2fsck|fsck|mdrun)([.+-].*)?"
)
OURS = "lockscale"  # units of ours, such as the guard of a trial boot, are never stopped


def read(machine: Machine, root: str = "") -> dict[str, Any]:
    """Everything that is asked, by name. `root` is put before /proc and /sys: a test's own folders."""
    asked: dict[str, tuple[list[str], Callable[[str], Any]]] = {
        "governors": (_of_policies(root, "scaling_governor"), _by_policy),
        "available_governors": (_of_policies(root, "scaling_available_governors"), _by_policy),
        "no_turbo": (["cat", root + NO_TURBO], _zero_or_one),
        "boost": (["cat", root + BOOST], _zero_or_one),
        "thp": (["cat", root + THP], _bracketed),
        "numa_balancing": (["cat", root + NUMA_BALANCING], int),
        "swap": (["cat", f"{root}/proc/swaps"], _swaps),
        "swappiness": (["cat", f"{root}/proc/sys/vm/swappiness"], int),
        "timers": (_list_units("timer"), _units),
        "next_timers": (["systemctl", "list-timers", "--output=json"], _next_timers),
        "services": (_list_units("service"), _units),
        "load_1min": (["cat", f"{root}/proc/loadavg"], lambda text: float(text.split()[0])),
        "benchmarks": (
            ["sh", "-c", 'cat "$1"/proc/[0-9]*/comm 2>/dev/null || true', "sh", root],
            _benchmarks,
        ),
        "file_systems": (["cat", f"{root}/proc/mounts"], _file_systems),
    }
    done = machine.run_all([argv for argv, _ in asked.values()])
    found = {name: _value(one, asked[name][1]) for name, one in zip(asked, done, strict=True)}
    no_turbo, boost, services = (found.pop(name) for name in ("no_turbo", "boost", "services"))
    found["turbo"] = boost if no_turbo is None else not no_turbo
    found["turbo_switch"] = NO_TURBO if no_turbo is not None else None if boost is None else BOOST
    known = {f"{name}.service" for name in SERVICES}
    found["noisy_services"] = None if services is None else [x for x in services if x in known]
    found["irqbalance"] = None if services is None else "irqbalance.service" in services
    return found


def refuse_other_load(found: dict[str, Any]) -> None:
    """Raise BadInput where a benchmark of somebody else runs: two disturb one another."""
    if names := found["benchmarks"]:
        raise BadInput(f"the target already runs {' and '.join(names)}: wait until it ends")


def _value(done: Completed, parse: Callable[[str], Any]) -> Any:
    if done.status:
        return None
    try:
        return parse(done.stdout)
    except (ValueError, IndexError, KeyError, TypeError):
        return None


def _of_policies(root: str, name: str) -> list[str]:
    return ["sh", "-c", 'cd "$1" && grep -H . policy*/"$2"', "sh", root + CPUFREQ, name]


def _by_policy(text: str) -> dict[str, str] | None:
    """policy0/scaling_governor:performance -> {policy0: performance}."""
    lines = (line.partition(":") for line in text.splitlines())
    return {path.split("/")[0]: value.strip() for path, _, value in lines} or None


def _zero_or_one(text: str) -> bool:
    return {"0": False, "1": True}[text.strip()]


def _bracketed(text: str) -> str:
    """always [madvise] never -> madvise; a file that was written in a test has no brackets."""
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen[1] if chosen else text.split()[0]


def _swaps(text: str) -> list[dict[str, Any]]:
    """Columns of /proc/swaps: file name, type, size and use in KiB, priority."""
    rows = [line.split() for line in text.splitlines()[1:]]
    names = ("size_kib", "used_kib", "priority")
    return [{"device": row[0], **dict(zip(names, map(int, row[2:5]), strict=True))} for row in rows]


def _list_units(kind: str) -> list[str]:
    return ["systemctl", "list-units", f"--type={kind}", "--state=active", "--plain", "--no-legend", "--full"]


def _units(text: str) -> list[str]:
    names = [line.split()[0] for line in text.splitlines() if line.strip()]
    return sorted(name for name in names if not name.startswith(OURS))


def _next_timers(text: str) -> list[dict[str, Any]]:
    """systemd gives microseconds since 1970, or null for a timer that will not fire."""
    fires = [row for row in json.loads(text) if row.get("next")]
    return [{"unit": row["unit"], "next_unix_s": row["next"] / 1e6} for row in fires]


def _benchmarks(text: str) -> list[str]:
    return sorted({name for name in text.splitlines() if BENCHMARKS.fullmatch(name)})


def _file_systems(text: str) -> list[str]:
    """Of /proc/mounts the kinds that are on disks: their volumes' names and places are their owner's."""
    return sorted({line.split()[2] for line in text.splitlines() if line.startswith("/dev/")})
