# SPDX-License-Identifier: MIT
"""An arm's debug kernel under its load for some minutes: lockdep, KASAN or KCSAN must have nothing to say."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lockscale.errors import RunFailed
from lockscale.experiment.file_system import make, unmount_and_check
from lockscale.experiment.guests import booted
from lockscale.kernels.arms import ArmsFile, arms_file
from lockscale.kernels.build import build
from lockscale.kernels.series import Series, all_series, refuse_unsafe
from lockscale.profilers.kernel_reports import races, reports
from lockscale.progress import progress
from lockscale.proof.load import LOAD_TIMEOUT_S, command
from lockscale.study import Target
from lockscale.targets.disk import NamedDisk
from lockscale.targets.machine import Machine, must

DEBUG, KCSAN = "debug", "kcsan"
# The log of a soak has to be whole: a report that was pushed out of it is silence.
WHOLE_LOG = "log_buf_len=16M"
SLOWER_BOOT = 3  # a debug kernel's, against the boot timeout of the target file
LOCKDEP_IS_ON = ["grep", "-E", "^ *debug_locks: *1$", "/proc/lockdep_stats"]
# What shows that a kind's watchers were there, and in lockdep's case still are: it turns itself off
# at the first report, and when its tables are full.
AWAKE = {
    DEBUG: (LOCKDEP_IS_ON, "KernelAddressSanitizer initialized"),
    KCSAN: (["true"], "kcsan: enabled early"),
}
# Loads until so many seconds have passed in the guest; says how many there were.
FOR_A_WHILE = (
    'end=$(($(date +%s) + $1)); shift; n=0; while [ "$(date +%s)" -lt "$end" ]; do '
    '"$@" > /dev/null || exit 1; n=$((n + 1)); done; echo "$n"'
)


@dataclass(frozen=True)
class Soaked:
    """What one arm's kernel of one kind said. `races` are pairs of functions, KCSAN's alone."""

    study: str
    arm: str
    kind: str
    guest_seconds: int
    loads: int
    reports: tuple[str, ...]
    races: tuple[tuple[str, ...], ...]
    origin: str = "qemu"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def soak(series: Series, kind: str, target: Target, guest_seconds: int) -> Soaked:
    """Boot, mount, load over and over in every variant, unmount, check; then read the whole log."""
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    kernel, file = build(series, kind=kind), arms_file(series.study)
    watched = booted(target, kernel, file.load.cpus, kernel_arguments=(WHOLE_LOG,), slower=SLOWER_BOOT)
    with watched as (machine, disk):
        loads = _load_for(machine, series.arm, file, disk, guest_seconds)
        return _said(machine, series, kind, guest_seconds, loads)


def _load_for(machine: Machine, arm: str, file: ArmsFile, disk: NamedDisk, guest_seconds: int) -> int:
    share_s = guest_seconds // len(file.load.variants)
    argv = ["sh", "-c", FOR_A_WHILE, "sh", str(share_s), *command(file.load)]
    loads = 0
    for variant in file.load.variants:
        file_system = make(machine, file.checked_with(arm, variant), disk)
        loads += int(must(machine, argv, timeout_s=share_s + LOAD_TIMEOUT_S))
        unmount_and_check(machine, file_system)
    return loads


def _said(machine: Machine, series: Series, kind: str, guest_seconds: int, loads: int) -> Soaked:
    awake, line = AWAKE[kind]
    log = must(machine, ["dmesg"])
    if line not in log:
        raise RunFailed(f"the {kind} kernel of {series.name} does not say {line!r}: nobody watched")
    found = [report.title for report in reports(log)]
    if machine.run(awake).status and not found:
        raise RunFailed(
            f"lockdep turned itself off in {series.name} without a report: its silence says nothing"
        )
    return Soaked(
        series.study, series.arm, kind, guest_seconds, loads, tuple(found), tuple(sorted(races(log)))
    )


def soak_all(
    chosen: Sequence[Series], kind: str, target: Target, guest_seconds: int
) -> Iterator[tuple[Soaked, list[tuple[str, ...]]]]:
    """Every safe arm, each beside its races that the base does not have.

    The base is every arm of the study that adds no patch; it is loaded first, whether chosen or not.
    """
    studies = {series.study for series in chosen}
    bases = [s for s in all_series() if s.study in studies and not s.patches] if kind == KCSAN else []
    safe = [series for series in chosen if not series.unsafe]
    order = [*bases, *(series for series in safe if series not in bases)]
    done: list[Soaked] = []
    with progress(f"{kind} kernels under load", len(order)) as shown:
        for at, series in enumerate(order):
            shown.update(at, series.name)
            done.append(soak(series, kind, target, guest_seconds))
            of_base = [one for one in done[: len(bases)] if one.study == series.study]
            yield done[-1], [] if series in bases else new_races(done[-1], of_base)
        shown.update(len(order))


def new_races(soaked: Soaked, base: Sequence[Soaked]) -> list[tuple[str, ...]]:
    """Races that no run of the base under the same load showed, by their functions."""
    known = {race for one in base for race in one.races}
    return [race for race in soaked.races if race not in known]


def verdict(soaked: Soaked, new: Sequence[tuple[str, ...]]) -> tuple[bool, str]:
    """Whether a soak was silent, and in a line what was heard. Races that the base has count as silence."""
    other = [title for title in soaked.reports if "KCSAN" not in title]
    heard = [" / ".join(race) for race in new] + other
    said = f"{soaked.kind}: {soaked.loads} loads in {soaked.guest_seconds} s of the guest, "
    if soaked.kind == KCSAN:
        said += f"{len(soaked.races)} race(s), {len(new)} that the base did not show, "
    return not heard, said + (f"first: {heard[0]}" if heard else "silent")
