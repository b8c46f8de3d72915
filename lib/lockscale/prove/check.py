# SPDX-License-Identifier: MIT
"""The checks of every arm in one go: series, build, boot, counters."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput, FullDisk, Interrupted, RunFailed
from lockscale.files import write_text
from lockscale.filesystems import fs_type
from lockscale.kernels.base import base
from lockscale.kernels.build import build
from lockscale.kernels.series import (
    Series,
    chosen_names,
    has_series,
    read_series,
    refuse_unsafe,
    unlisted,
)
from lockscale.machines.machine import assert_runs, must
from lockscale.machines.qemu import QemuMachine, qemu_line
from lockscale.measure.count_calls import sources_of
from lockscale.measure.file_system import make, unmount_and_check
from lockscale.measure.load import LOAD_TIMEOUT_S, check_load
from lockscale.measure.run_folder import folder_to_resume, new_run
from lockscale.measure.target_manycore import guest_on
from lockscale.measure.target_qemu import booted_guest, scratch_in
from lockscale.progress import progress
from lockscale.prove.campaign import arms_to_count, campaign, refuse_fewer
from lockscale.prove.counters import CounterEntry, counters_of
from lockscale.prove.series_checks import (
    CheckResult,
    adds_no_warning,
    applies,
    builds,
    differs,
    has_style,
    kernels_differ,
    refuse_bad_surroundings,
    refuse_unknown_events,
)
from lockscale.study.file import (
    DEFAULT_TARGET,
    ManycoreTarget,
    QemuTarget,
    Study,
    Target,
    guest_target,
    load_target,
    load_whole_study,
    named_series,
)
from lockscale.study.target_file import with_disk
from lockscale.tools import fsload
from lockscale.tools.kernel_reports import reports


def runs_its_load(series: Series, target: Target) -> str:
    """What the booted arm did; RunFailed when anything of it went wrong."""
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    kernel, study = build(series), load_whole_study(series.study)
    fs, operations = fs_type(study.filesystem), study.check.processes * study.check.items_per_process
    with booted_guest(with_disk(target, study.disk_mib), kernel, study.check.cpus) as (machine, disk):
        file_system = make(machine, study.options_of(series.arm), disk)
        printed = fsload.parse(must(machine, check_load(study), timeout_s=LOAD_TIMEOUT_S))
        if printed.warnings:
            raise RunFailed(f"{series.name}: the load did not end as it should: {printed.warnings[0]}")
        unmount_and_check(machine, file_system, kernel_log=False)
        if wrong := reports(must(machine, ["dmesg"])):  # of the whole boot, which is this arm's alone
            raise RunFailed(f"{series.name}: the kernel reported under the load: {wrong[0]}")
    clean = f", {' '.join(fs.check('')).strip()} clean" if fs.on_disk else ""
    return (
        f"{kernel.release} runs with build-id {kernel.build_id}; {operations} operations of "
        f"{study.workload} by {study.check.processes} processes; unmounted{clean}"
    )


def boot_once(target: str, which: str, cpus: int) -> dict[str, str]:
    """Boot an arm, assert uname and build-id from inside, power off."""
    said = _guest_target(target, cpus)
    series = named_series(which)
    refuse_unsafe(series, disposable=said.disposable, target=target)
    kernel = build(series)
    guest = guest_on(said, kernel, cpus)
    with progress(f"boot {which} on {target}") as shown:
        shown.update(0, guest.accel)
        with QemuMachine(guest) as machine:
            build_id = assert_runs(machine, kernel)
    return {"release": kernel.release, "build_id": build_id, "accel": guest.accel}


def _guest_target(name: str, cpus: int) -> QemuTarget | ManycoreTarget:
    """A target that boots guests of so many CPUs; BadInput before a kernel is built for another."""
    target = load_target(name)
    if not isinstance(target, ManycoreTarget):
        return guest_target(target)
    if cpus > target.most_cpus:
        raise BadInput(f"target {name} has {target.most_cpus} CPUs, not {cpus}: ask for fewer")
    return target


def example_line(target: str, which: str, cpus: int) -> str:
    """The exact qemu line that would boot an arm with a target's disk."""
    said = _guest_target(target, cpus)
    kernel = build(named_series(which))
    disk = scratch_in(Path(tempfile.gettempdir()), said) if isinstance(said, QemuTarget) else None
    return qemu_line(guest_on(said, kernel, cpus, disk))


RUN = "patches-check"
# Why an arm is not counted, by its check that is red.
RED = {
    "applies": "it does not apply, or lacks an event or a function that its study counts",
    "differs": "it is the same as another arm",
    "checkpatch": "checkpatch.pl reports errors",
    "W=1": "it adds warnings",
    "builds": "it does not build",
    "boots": "it does not boot or its load fails",
}


@dataclass
class CheckedArm:
    """An arm with the outcome of each check, and of each counter it is compared by."""

    study: str
    arm: str
    checks: dict[str, CheckResult] = field(default_factory=dict)
    counters: list[CounterEntry] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(c.ok for c in self.checks.values()) and not any(c.fails for c in self.counters)

    def as_json(self) -> dict[str, Any]:
        return {"base": base().line, **asdict(self), "ok": self.ok}


def check(
    which: str | None,
    *,
    build: bool = False,
    boot: bool = False,
    iterations: int = 8,
    resume: str = "",
    keep: Path | None = None,
) -> list[CheckedArm]:
    """One entry per arm of `which`: a study, a study/arm, or everything.

    With `boot` every study's counters are counted too, `iterations` times an arm; the counts stay in
    runs/patches-check-<time>, and a copy of the chosen studies' in `keep`. resume: such a folder, whose boots
    of the same kernels under the same load are not repeated. A fault of an arm is a red entry of that arm;
    BadInput is a fault of what all arms need: the choice, the kernel source, its build folder, a disk with
    room, the tools.
    """
    names = chosen_names(which)
    found = {f"{study}/{arm}": CheckedArm(study, arm) for study, arm in names}
    whole = {study for study, _ in names if which in (None, study)}
    found |= {f"{one.study}/{one.arm}": one for one in _without_series(whole)}
    folder = folder_to_resume(resume, RUN) if resume else None
    if folder:
        for study in dict.fromkeys(study for study, _ in names):
            refuse_fewer(folder, study, iterations)
    refuse_bad_surroundings(build=build, boot=boot)
    chosen = list(_readable(found.values()))
    steps: list[tuple[str, Callable[[Series], CheckResult]]] = [("applies", applies), ("differs", differs)]
    if build:
        steps += [("checkpatch", has_style), ("W=1", adds_no_warning), ("builds", builds)]
    if boot:
        target = load_target(DEFAULT_TARGET)
        steps += [("boots", lambda series: CheckResult(True, runs_its_load(series, target)))]
    with progress("check series", len(chosen)) as shown:
        for done, series in enumerate(chosen, start=1):
            for name, step in steps:
                if all(entry.ok for key, entry in found[series.name].checks.items() if key != "differs"):
                    found[series.name].checks[name] = _outcome(step, series)
            shown.update(done, series.name)
    for series in chosen if build else ():
        _compare_kernel(series, found[series.name].checks)
    if boot:
        folder = folder or new_run(RUN).folder
        _count(list(found.values()), target, iterations, folder)
        if keep:
            for path in sorted(folder / f"counts-{study}.csv" for study in {study for study, _ in names}):
                if path.is_file():
                    write_text(keep / path.name, path.read_text())
    return list(found.values())


def _without_series(studies: Iterable[str]) -> Iterator[CheckedArm]:
    """Arms that a study file names and that have no patches, not even none: they have failed."""
    for name in sorted(studies):
        try:
            study = load_whole_study(name)
        except BadInput:  # what is wrong with the file is no matter of its patches
            continue
        for arm in study.arms:
            if not has_series(name, arm.series or arm.name):
                folder = f"kernel-patches/{name}/{arm.series or arm.name}"
                why = f"the study names {arm.name}, but {folder} has no `series`: add one, empty for the base"
                yield CheckedArm(name, arm.name, {"applies": CheckResult(False, why)})


def _readable(found: Iterable[CheckedArm]) -> Iterator[Series]:
    """The series of all arms but those whose `series` file is not one or leaves out a patch: failed."""
    for one in found:
        try:
            if "applies" not in one.checks:
                series = read_series(one.study, one.arm)
                if left_out := unlisted(series):
                    raise BadInput(f"{left_out[0]} is not in `series`: list it, or comment it out there")
                yield series
        except BadInput as error:
            one.checks["applies"] = CheckResult(False, str(error))


def _compare_kernel(series: Series, checks: dict[str, CheckResult]) -> None:
    """Put in the place of the comparison of sources once every chosen arm is built."""
    if "builds" in checks and checks["builds"].ok and checks["differs"].ok:
        checks["differs"] = _outcome(kernels_differ, series)


def _outcome(step: Callable[[Series], CheckResult], series: Series) -> CheckResult:
    """An arm that fails a step has failed, and the others are checked all the same."""
    try:
        return step(series)
    except FullDisk:  # no arm's fault
        raise
    except (BadInput, RunFailed) as error:
        return CheckResult(False, str(error))


def _count(found: Sequence[CheckedArm], target: Target, iterations: int, folder: Path) -> None:
    """Counters of each study; where a guest fails the arms of its study have none, and say so."""
    studies = defaultdict(list)
    for one in found:
        studies[one.study].append(one)
    again = f"the same command with --resume {folder.name} does not repeat the boots counted so far"
    for name, arms in studies.items():
        try:
            _count_study(load_whole_study(name), arms, target, iterations, folder)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted: {again}") from None
        except FullDisk as error:
            raise FullDisk(f"{error}; {again}") from None
        except (BadInput, RunFailed) as error:
            for one in arms:
                one.checks.setdefault("counts", CheckResult(False, str(error)))


def _count_study(
    study: Study, arms: Sequence[CheckedArm], target: Target, iterations: int, folder: Path
) -> None:
    for one in arms:
        left_out = _why_not(one, study)
        if left_out:
            one.checks["counts"] = left_out
    wanted = [one for one in arms if "counts" not in one.checks]
    if not wanted:
        return
    red = {one.arm for one in arms if not one.ok}
    together = [arm for arm in arms_to_count(study, [one.arm for one in wanted]) if arm not in red]
    counted = [study.series_of(arm) for arm in together]
    refuse_unknown_events(counted, sources_of(study).trace, fs_type(study.filesystem))
    entries = counters_of(study, campaign(study, together, target, iterations, folder))
    for one in wanted:
        one.counters = [entry for entry in entries if entry.arm_name == one.arm]
        detail = f"{len(one.counters)} comparison(s), counts in {folder}"
        if not one.counters:
            detail = "not compared: all arms to compare it with are left out"
        one.checks["counts"] = CheckResult(bool(one.counters), detail)


def _why_not(one: CheckedArm, study: Study) -> CheckResult | None:
    """Why an arm is not counted, or None when it is to be."""
    red = next((name for name, entry in one.checks.items() if not entry.ok), None)
    if red:
        return CheckResult(False, f"not counted: {RED[red]}")
    if one.arm not in study.checked_arms:
        return CheckResult(False, f"add an arm {one.arm} to {one.study}.yaml")
    if not any(one.arm in counter.arms for counter in study.counters):
        return CheckResult(True, "not compared: no counter of its study names it")
    return None
