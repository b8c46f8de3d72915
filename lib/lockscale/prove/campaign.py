# SPDX-License-Identifier: MIT
"""The counts of a check: every arm booted several times in turn; a check that was broken off can go on."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.files import sha256_of_json
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import refuse_unsafe
from lockscale.machines.run_delay import OthersOnCpus
from lockscale.measure.count_calls import count_points, sources_of
from lockscale.measure.load import check_load
from lockscale.measure.plan import in_turn
from lockscale.measure.target_qemu import booted_guest, guest_facts
from lockscale.progress import progress, tell
from lockscale.prove.kept_rows import read_rows, write_rows
from lockscale.study.file import Study, Target
from lockscale.study.target_file import with_disk

QUIET_CPUS = 0.25
"""Of this machine's CPUs, on average: its services and kernel threads may have so much of them."""


@dataclass(frozen=True)
class Counted:
    """One count of one load: `origin` says what it was counted on. Never a rate.

    protocol: a hash of what was done in that boot: load, mkfs, mount options, sources, the target's file.
    machine: which QEMU on which processors; empty in counts that are older than this column. others_cpus: how
    many of this machine's CPUs other processes had meanwhile, on average; -1: not known.
    """

    study: str
    arm: str
    variant: str
    iteration: int
    threads: int
    cpus: int
    source: str
    value: int
    build_id: str
    protocol: str = ""
    origin: str = "qemu"
    machine: str = ""
    others_cpus: float = -1

    @property
    def boot(self) -> tuple[str, int, str, str]:
        """What tells the boot that it was counted in from others."""
        return self.arm, self.iteration, self.build_id, self.protocol

    @property
    def beside_others(self) -> bool:
        """The guest's CPUs shared this machine with other work, which changes who meets whom at a lock."""
        return self.others_cpus > QUIET_CPUS


def arms_to_count(study: Study, wanted: Sequence[str]) -> list[str]:
    """The `wanted` that a counter compares, and what it compares them with, in the order of the study."""
    together = {arm for counter in study.counters if set(counter.arms) & set(wanted) for arm in counter.arms}
    return [arm for arm in study.checked_arms if arm in together]


def campaign(
    study: Study, arms: Sequence[str], target: Target, iterations: int, folder: Path
) -> list[Counted]:
    """Boot every arm `iterations` times; `folder`/counts-<study>.csv grows with each boot.

    A boot that is in that file already, of the same build, with the same protocol, on the same machine and
    not beside other work, is not repeated. What it has of other arms stays.
    """
    series = {arm: study.series_of(arm) for arm in arms}
    for one in series.values():
        refuse_unsafe(one, disposable=target.disposable, target=target.name)
    kernels, kind = {}, sources_of(study).kind
    with progress(f"observe kernels of {study.name}", len(series)) as shown:
        for done, (arm, one) in enumerate(series.items(), start=1):
            kernels[arm] = build(one, kind=kind)
            shown.update(done, arm)
    path = _counts(folder, study.name)
    protocols = {arm: _protocol(study, arm, target) for arm in arms}
    boots = [(arm, n, kernels[arm].build_id, protocols[arm]) for n, arm in in_turn(arms, iterations)]
    there, found = read_rows(path, Counted), list[Counted]()
    machine = ", ".join(f"{what} {which}" for what, which in guest_facts().items())
    kept = [one for one in there if one.boot in boots and one.machine in ("", machine)]
    others = [one for one in there if one.arm not in arms]
    with progress(f"count {study.name} on {target.name}", len(boots)) as shown:
        for done, boot in enumerate(boots):
            arm, iteration, *_ = boot
            shown.update(done, f"{arm}, iteration {iteration}")
            known = [one for one in kept if one.boot == boot]
            if known and not any(one.beside_others for one in known):
                found += known
            else:
                counted = _counted(study, arm, iteration, kernels[arm], target, protocols[arm])
                found += [replace(one, machine=machine) for one in counted]
                kept = [one for one in kept if one.boot != boot]
                write_rows(path, [*found, *(one for one in kept if one not in found), *others], Counted)
        shown.update(len(boots))
    if busy := beside_others(found, arms):
        most = max(one.others_cpus for one in found if one.beside_others)
        tell(
            f"{study.name}: {busy} of {len(boots)} boots were counted while other work had up to {most:.1f} "
            "of this machine's CPUs, which changes who meets whom at a lock: --resume counts these again"
        )
    return found


def beside_others(counted: Iterable[Counted], arms: Collection[str]) -> int:
    """How many boots of `arms` shared this machine with other work: --resume counts them again."""
    return len({one.boot for one in counted if one.arm in arms and one.beside_others})


def refuse_fewer(folder: Path, study: str, iterations: int) -> None:
    """Raises BadInput where `folder` has more boots of an arm: campaign() would drop those beyond."""
    there = read_rows(_counts(folder, study), Counted)
    if (most := max((one.iteration for one in there), default=0)) > iterations:
        raise BadInput(
            f"{folder.name} has {most} boots of each arm of {study}: give --iterations {most} or more, or "
            "leave out --resume"
        )


def _counts(folder: Path, study: str) -> Path:
    return folder / f"counts-{study}.csv"


def _protocol(study: Study, arm: str, target: Target) -> str:
    options = {name: study.options_of(arm, name).model_dump() for name in study.check.variants}
    load = {"check": study.check.model_dump(), "workload": study.workload, "disk_mib": study.disk_mib}
    sources = sorted(source for counter in study.counters for source in counter.sources)
    said = {**load, "options": options, "sources": sources, "target": target.model_dump(mode="json")}
    return sha256_of_json(said)[:16]


def _counted(
    study: Study, arm: str, iteration: int, kernel: Kernel, target: Target, protocol: str
) -> Iterator[Counted]:
    """One boot of one arm, and in it one new file system a variant."""
    cpus, processes = study.check.cpus, study.check.processes
    with booted_guest(with_disk(target, study.disk_mib), kernel, cpus) as (machine, disk):
        for variant in study.check.variants:
            options, loads = study.options_of(arm, variant), {processes: check_load(study)}
            others = OthersOnCpus(machine.group)
            counted = count_points(machine, disk, options, loads, sources_of(study), cpus)
            had_cpus = round(others.cpus(), 2)
            place = study.name, arm, variant, iteration, processes, cpus
            for source, value in counted[processes].items():
                yield Counted(*place, source, value, kernel.build_id, protocol, others_cpus=had_cpus)
