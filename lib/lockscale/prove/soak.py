# SPDX-License-Identifier: MIT
"""An arm's debug kernel under its load for some minutes: lockdep, KASAN or KCSAN must have nothing to say."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.files import write_json
from lockscale.filesystems import fs_type
from lockscale.kernels.base import base
from lockscale.kernels.build import build
from lockscale.kernels.series import Series, all_series, refuse_unsafe, safe_of
from lockscale.machines.machine import Machine, must
from lockscale.measure.run_folder import new_run
from lockscale.measure.study_check import refuse_by_mkfs
from lockscale.measure.target_qemu import booted_guest
from lockscale.progress import progress
from lockscale.prove.series_checks import refuse_bad_surroundings
from lockscale.prove.soak_load import load_for
from lockscale.study.file import Study, Target, load_whole_study
from lockscale.study.target_file import guest_target, with_disk
from lockscale.tools.kernel_reports import races, reports

DEBUG, KCSAN = "debug", "kcsan"
# The log of a soak has to be whole: a report that was pushed out of it is silence.
WHOLE_LOG = "log_buf_len=16M"
BASE_AGAIN = 3  # further loads of the base before a race that it did not show counts as new
SLOWER_BOOT = 3  # a debug kernel's, against the boot timeout of the target file
LOCKDEP_IS_ON = ["grep", "-E", "^ *debug_locks: *1$", "/proc/lockdep_stats"]
# What shows that a kind's watchers were there, and in lockdep's case still are: it turns itself off
# at the first report, and when its tables are full.
AWAKE = {
    DEBUG: (LOCKDEP_IS_ON, "KernelAddressSanitizer initialized"),
    KCSAN: (["true"], "kcsan: enabled early"),
}


@dataclass(frozen=True)
class Soaked:
    """What one arm's kernel of one kind said. `races` are pairs of functions, KCSAN's alone.

    `new_races`: those that the base under the same load did not show. `failure`: why there was no soak.
    `again`: a further load of the base. `freezes`, `fsyncs`: what was done beside the loads, and `mkfs` with
    which further options.
    """

    study: str
    arm: str
    kind: str
    guest_seconds: int
    loads: int
    reports: tuple[str, ...]
    races: tuple[tuple[str, ...], ...]
    new_races: tuple[tuple[str, ...], ...] = ()
    failure: str = ""
    again: bool = False
    freezes: int = 0
    fsyncs: int = 0
    mkfs: tuple[str, ...] = ()
    origin: str = "qemu"

    @property
    def name(self) -> str:
        return f"{self.study}/{self.arm}"

    @property
    def heard(self) -> list[str]:
        """What is held against the arm: a race that the base has counts as silence."""
        other = [title for title in self.reports if "KCSAN" not in title]
        return [" / ".join(race) for race in self.new_races] + other

    @property
    def ok(self) -> bool:
        return not (self.failure or self.heard)

    def as_json(self) -> dict[str, Any]:
        return {"base": base().line, **asdict(self), "ok": self.ok}


@dataclass(frozen=True)
class Beside:
    """What is added to each study's load.

    freezes: freeze and thaw the file system over and over, and fsync a file meanwhile. mkfs: further options.
    """

    freezes: bool = False
    mkfs: tuple[str, ...] = ()

    def study(self, name: str) -> Study:
        """Raises BadInput for an option that may not be given."""
        study = load_whole_study(name)
        try:
            fs_type(study.filesystem).refuse_options(self.mkfs, "")
        except BadInput as error:
            raise BadInput(f"--mkfs, for the {study.filesystem} of {name}: {error}") from None
        return study.model_copy(update={"mkfs": [*study.mkfs, *self.mkfs]})

    def refuse_by_mkfs(self, study: Study, disk_mib: int) -> None:
        """Raises BadInput where mkfs itself does not take these options beside the study's."""
        try:
            refuse_by_mkfs(study, disk_mib)
        except BadInput as error:
            raise BadInput(f"with --mkfs {shlex.join(self.mkfs)}, {error}") from None


def soak(series: Series, kind: str, target: Target, guest_seconds: int, beside: Beside) -> Soaked:
    """Boot, mount, load over and over in every variant, unmount, check; then read the whole log."""
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    kernel, study = build(series, kind=kind), beside.study(series.study)
    disk_of = with_disk(target, study.disk_mib)
    watched = booted_guest(
        disk_of, kernel, study.check.cpus, kernel_arguments=(WHOLE_LOG,), slower=SLOWER_BOOT
    )
    with watched as (machine, disk):
        rounds = load_for(machine, series.arm, study, disk, guest_seconds, freezes=beside.freezes)
        heard = _said(machine, series, kind, guest_seconds, rounds.loads)
        return replace(heard, freezes=rounds.freezes, fsyncs=rounds.fsyncs, mkfs=beside.mkfs)


def _said(machine: Machine, series: Series, kind: str, guest_seconds: int, loads: int) -> Soaked:
    awake, line = AWAKE[kind]
    log = must(machine, ["dmesg"])
    if line not in log:
        raise RunFailed(f"the {kind} kernel of {series.name} does not print {line!r}: nothing was checked")
    found = reports(log)
    if machine.run(awake).status and not found:
        raise RunFailed(
            f"lockdep turned itself off in {series.name} without a report, so its silence means nothing"
        )
    return Soaked(
        series.study, series.arm, kind, guest_seconds, loads, tuple(found), tuple(sorted(races(log)))
    )


def soak_all(
    chosen: Sequence[Series], kind: str, target: Target, guest_seconds: int, beside: Beside = Beside()
) -> list[Soaked]:
    """Every safe arm, kept in runs/soak-<time>/soak.json after each of them.

    KCSAN's races are held against those of the base: every arm of the study that adds no patch, or where all
    do, the unpatched one. It is loaded first, whether chosen or not, and again after an arm that shows more.
    An arm that fails has failed, and the others are loaded all the same; BadInput when no arm is safe, or for
    a fault of what all arms need.
    """
    safe, studies = safe_of(chosen), {series.study for series in chosen}
    for study in map(beside.study, sorted(studies) if beside.mkfs else ()):
        beside.refuse_by_mkfs(study, with_disk(guest_target(target), study.disk_mib).disk.size_mib)
    refuse_bad_surroundings(build=True, boot=True)
    bases = [base for study in sorted(studies) for base in _bases_of(study)] if kind == KCSAN else []
    order = [*bases, *(series for series in safe if series not in bases)]
    folder, done = new_run("soak").folder, list[Soaked]()
    load = partial(_outcome, kind=kind, target=target, guest_seconds=guest_seconds, beside=beside)
    with progress(f"{kind} kernels under load", len(order)) as shown:
        for at, series in enumerate(order):
            own_bases = [] if series in bases else [one for one in bases if one.study == series.study]
            shown.update(at, f"{series.name}: boot, then {guest_seconds} s of load in the guest")
            for loaded in _loads(series, own_bases, done, load):
                shown.update(at, f"{series.name}: {loaded.name} was loaded")
                done.append(loaded)
                write_json(folder / "soak.json", [one.as_json() for one in _held_against(bases, done)])
        shown.update(len(order))
    return _held_against(bases, done)


def _bases_of(study: str) -> list[Series]:
    arms = [series for series in all_series() if series.study == study]
    if bare := [series for series in arms if not series.patches]:
        return bare
    unpatched = load_whole_study(study).unpatched
    return [series for series in arms if series.arm == (unpatched.series or unpatched.name)]


def _loads(
    series: Series, bases: Sequence[Series], done: list[Soaked], load: Callable[[Series], Soaked]
) -> Iterator[Soaked]:
    """`series` under its load; then its base again for as long as a race of `series` is not the base's.

    The races of one kernel differ from one load to the next, so two minutes of the base do not list
    all that it has. `done` grows by what this yields.
    """
    if bases and all(one.failure for one in done if one.name in {bare.name for bare in bases}):
        yield _failed(series, KCSAN, "not loaded: there are no races of the base to compare with")
        return
    found = load(series)
    yield found
    for _ in range(BASE_AGAIN):
        for bare in bases:
            if new_races(found, _of(found, bases, done)):
                yield replace(load(bare), again=True)


def _outcome(series: Series, kind: str, target: Target, guest_seconds: int, beside: Beside) -> Soaked:
    try:
        return soak(series, kind, target, guest_seconds, beside)
    except FullDisk:  # no arm's fault
        raise
    except (BadInput, RunFailed) as error:
        return replace(_failed(series, kind, str(error)), mkfs=beside.mkfs)


def _failed(series: Series, kind: str, failure: str) -> Soaked:
    return Soaked(series.study, series.arm, kind, 0, 0, (), (), failure=failure)


def _held_against(bases: Sequence[Series], done: Sequence[Soaked]) -> list[Soaked]:
    """`done` with the new races of each arm that is no base, against all loads of its study's base."""
    names = {bare.name for bare in bases}
    return [
        one if one.name in names else replace(one, new_races=new_races(one, _of(one, bases, done)))
        for one in done
    ]


def _of(soaked: Soaked, bases: Sequence[Series], done: Sequence[Soaked]) -> list[Soaked]:
    """The loads of its study's base."""
    names = {base.name for base in bases if base.study == soaked.study}
    return [one for one in done if one.name in names]


def new_races(soaked: Soaked, base: Sequence[Soaked]) -> tuple[tuple[str, ...], ...]:
    """Races that no run of the base under the same load showed, by their functions."""
    known = {race for one in base for race in one.races}
    return tuple(race for race in soaked.races if race not in known)


def as_text(found: Sequence[Soaked]) -> str:
    """One line an arm."""
    return "\n".join(f"{'ok ' if one.ok else 'NO '} {one.name} {_line(one)}" for one in found)


def _line(one: Soaked) -> str:
    kind = " ".join([one.kind, *one.mkfs])
    if one.failure:
        return f"{kind}: {one.failure}"
    said = f"{kind}{', again' if one.again else ''}: "
    said += f"{one.loads} loads in {one.guest_seconds} s of guest time, "
    if one.freezes:
        said += f"{one.freezes} freezes and {one.fsyncs} fsyncs meanwhile, "
    if one.kind == KCSAN:
        said += f"{len(one.races)} race(s), {len(one.new_races)} that the base did not show, "
    return said + (f"first: {one.heard[0]}" if one.heard else "silent")
