# SPDX-License-Identifier: MIT
"""Power cuts of many arms: which of them, what was found, and where it is kept."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.files import write_json
from lockscale.kernels.arms import arms_file
from lockscale.kernels.build import build
from lockscale.kernels.series import Series, chosen_series, safe_of
from lockscale.measure.layout import new_run
from lockscale.progress import Progress, progress
from lockscale.prove.powercut.arm import Outcome, PowerCuts
from lockscale.prove.powercut.load import Plan
from lockscale.study.file import DEFAULT_TARGET, Target, load_target


def split(which: str | None) -> tuple[list[Series], list[Series]]:
    """The safe arms of `which` (a study, a study/arm, or everything), and the unsafe ones left out."""
    chosen = chosen_series(which)
    return safe_of(chosen), [series for series in chosen if series.unsafe]


def cut_arms(safe: Sequence[Series], plan: Plan) -> list[Outcome]:
    """Cut the power of each arm on the default target; kept in runs/powercut-<time> after each of them.

    An arm that is another one in kernel, mkfs, mount and knobs is not loaded again.
    """
    folder, target = new_run("powercut").folder, load_target(DEFAULT_TARGET)
    found: dict[tuple[str, str], Outcome] = {}
    outcomes: list[Outcome] = []
    with progress("power cuts", len(safe) * plan.cuts) as shown:
        for number, series in enumerate(safe):
            shown.update(number * plan.cuts, f"{series.name}: kernel")
            identity = build(series).build_id, arms_file(series.study).checked_with(series.arm).line
            twin = found.get(identity)
            if twin:
                same = replace(twin, study=series.study, arm=series.arm, same_as=f"{twin.study}/{twin.arm}")
            else:
                same = found[identity] = _cut(series, target, plan, folder, shown, number * plan.cuts)
            outcomes.append(same)
            write_json(folder / "powercut.json", [one.as_json() for one in outcomes])
    return outcomes


def _cut(series: Series, target: Target, plan: Plan, folder: Path, shown: Progress, done: float) -> Outcome:
    """An arm whose guest fails has failed, and the others are cut all the same."""
    options = arms_file(series.study).checked_with(series.arm)
    try:
        return PowerCuts(series.name, build(series), options, target, plan, folder).run(shown, done)
    except RunFailed as error:
        return Outcome(series.study, series.arm, 0, faults=(str(error),))


def as_text(outcomes: Sequence[Outcome]) -> str:
    """One line an arm."""
    return "\n".join(_line(one) for one in outcomes)


def _line(one: Outcome) -> str:
    name = f"{one.study}/{one.arm}"
    if one.same_as:
        return f"{'ok ' if one.ok else 'NO '} {name}: same as {one.same_as}"
    if one.faults:
        return f"NO  {name}: {one.cuts} power cuts, {len(one.faults)} fault(s), first: {one.faults[0]}"
    return (
        f"ok  {name}: {one.cuts} power cuts, {one.replayed} journals replayed, "
        f"{one.orphans} orphans cleaned up, {one.promised_files} promised files kept, "
        f"{one.flushes} flushes ({one.origin})"
    )
