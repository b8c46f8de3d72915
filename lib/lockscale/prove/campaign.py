# SPDX-License-Identifier: MIT
"""Count what the arms of a study do: observe kernels, booted interleaved, ABBA by iteration."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from lockscale.files import write_text
from lockscale.kernels.arms import arms_file
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import Series, read_series, refuse_unsafe
from lockscale.measure.counting import count_points, sources_of
from lockscale.measure.guests import booted
from lockscale.measure.load import load_of
from lockscale.measure.plan import in_turn
from lockscale.progress import progress
from lockscale.study.file import Target


@dataclass(frozen=True)
class Counted:
    """One count of one load: `origin` says what it was counted on. Never a rate."""

    study: str
    arm: str
    variant: str
    iteration: int
    threads: int
    cpus: int
    source: str
    value: int
    build_id: str
    origin: str = "qemu"


def arms_to_count(study: str, wanted: Sequence[str]) -> list[str]:
    """The `wanted` that a counter compares, and what it compares them with, in the order of arms.toml."""
    file = arms_file(study)
    together = {arm for counter in file.counter if counter.arms & set(wanted) for arm in counter.arms}
    return [arm for arm in file.arm if arm in together]


def campaign(study: str, arms: Sequence[str], target: Target, iterations: int, folder: Path) -> list[Counted]:
    """Boot every arm `iterations` times; `folder`/counts-<study>.csv grows with each boot."""
    series = {arm: read_series(study, arm) for arm in arms}
    for one in series.values():
        refuse_unsafe(one, disposable=target.disposable, target=target.name)
    kernels = _observers(study, series)
    found: list[Counted] = []
    boots = list(in_turn(arms, iterations))
    with progress(f"count {study} on {target.name}", len(boots)) as shown:
        for done, (iteration, arm) in enumerate(boots):
            shown.update(done, f"{arm}, iteration {iteration}")
            boot = _Boot(study, arm, iteration, kernels[arm], target)
            found += boot.count()
            write_counts(folder / f"counts-{study}.csv", found)
        shown.update(len(boots))
    return found


def _observers(study: str, series: dict[str, Series]) -> dict[str, Kernel]:
    kernels, kind = {}, sources_of(arms_file(study)).kind
    with progress(f"observe kernels of {study}", len(series)) as shown:
        for done, (arm, one) in enumerate(series.items(), start=1):
            kernels[arm] = build(one, kind=kind)
            shown.update(done, arm)
    return kernels


@dataclass(frozen=True)
class _Boot:
    """One boot of one arm, and in it one new file system a variant."""

    study: str
    arm: str
    iteration: int
    kernel: Kernel
    target: Target

    def count(self) -> Iterator[Counted]:
        file = arms_file(self.study)
        cpus, processes = file.load.cpus, file.load.processes
        with booted(self.target, self.kernel, cpus) as (machine, disk):
            for variant in file.load.variants:
                options, loads = file.checked_with(self.arm, variant), {processes: load_of(file.load)}
                counted = count_points(machine, disk, options, loads, sources_of(file), cpus)
                for source, value in counted[processes].items():
                    yield Counted(
                        self.study, self.arm, variant, self.iteration, processes, cpus, source, value,
                        self.kernel.build_id,
                    )  # fmt: skip


def write_counts(path: Path, counts: Sequence[Counted]) -> None:
    """The counts as a table, whole or absent."""
    text = io.StringIO()
    table = csv.DictWriter(text, [field.name for field in fields(Counted)], lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(one) for one in counts)
    write_text(path, text.getvalue())
