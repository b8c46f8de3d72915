# SPDX-License-Identifier: MIT
"""`lockscale patches`: list the arms, prove their patches, and write them for others."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockscale.cli.completion import arms, studies_and_arms
from lockscale.cli.kernels import on_base
from lockscale.cli.output import as_json, say, show, show_verdicts, table
from lockscale.errors import BadInput

if TYPE_CHECKING:
    from lockscale.kernels.series import Series


@click.group()
def patches() -> None:
    """Kernel patches: list, check, soak and export the series."""


@patches.command("list")
@on_base
@as_json
def patches_list() -> None:
    """List every series with its patches."""
    from lockscale.kernels.series import all_series

    rows = [
        {"study": s.study, "arm": s.arm, "patches": len(s.patches), "unsafe": s.unsafe} for s in all_series()
    ]
    said = [{**row, "patches": row["patches"] or "none: the base as it is"} for row in rows]
    show(rows, table(said))


@patches.command("check")
@click.argument("which", required=False, metavar="[STUDY[/ARM]]", shell_complete=studies_and_arms)
@click.option(
    "--build",
    is_flag=True,
    help="Also run checkpatch, look for new W=1 warnings, and build each arm's kernel.",
)
@click.option("--boot", is_flag=True, help="Also boot each arm and compare its counters (implies --build).")
@click.option(
    "--iterations",
    default=8,
    show_default=True,
    type=click.IntRange(2, 100),
    help="Boots per arm for the counters; fewer than 4 give no 95% interval.",
)
@click.option(
    "--write-table",
    is_flag=True,
    help="Write the results into kernel-patches/README.md, and the counts behind them into data/counted "
    "(with --boot, of all arms or of all arms of STUDY).",
)
@click.option(
    "--resume",
    default="",
    metavar="RUN",
    help="Continue a check (patches-check-... in runs): its boots are not repeated, but for those counted "
    "beside other work.",
)
@on_base
@as_json
def patches_check(
    which: str | None, build: bool, boot: bool, iterations: int, write_table: bool, resume: str
) -> int:
    """Check that each series applies and is not in the base yet; by option, that it builds, boots, counts."""
    from lockscale import paths
    from lockscale.files import need_clone
    from lockscale.kernels.base import base
    from lockscale.prove.check import check
    from lockscale.prove.table import as_text, kept_counts, refuse_other_boots, write_readme

    if write_table:
        need_clone("--write-table writes into kernel-patches/README.md", paths.KERNEL_PATCHES)
    if write_table and ("/" in (which or "") or not boot):
        raise BadInput(
            "--write-table replaces the rows of whole studies: use it with --boot and without /ARM"
        )
    if write_table:
        refuse_other_boots(iterations, whole=which is None)
    if resume and not boot:
        raise BadInput("--resume continues counting, which needs --boot: add --boot, or leave out --resume")
    keep = kept_counts(base().line) if write_table else None
    with _machine("check") if boot else nullcontext():
        found = check(which, build=build or boot, boot=boot, iterations=iterations, resume=resume, keep=keep)
    if write_table:
        write_readme(found, whole=which is None)
    return show_verdicts(found, as_text(found))


@patches.command("soak")
@click.argument("which", required=False, metavar="[STUDY[/ARM]]", shell_complete=studies_and_arms)
@click.option(
    "--kind",
    default="debug",
    show_default=True,
    type=click.Choice(["debug", "kcsan"]),
    help="Kind of kernel: debug has lockdep and KASAN.",
)
@click.option(
    "--minutes",
    default=2.0,
    show_default=True,
    type=click.FloatRange(0.1, 600),
    help="Minutes of load in the guest, for each arm.",
)
@click.option(
    "--freeze",
    "freezes",
    is_flag=True,
    help="Beside the load, freeze and thaw the file system over and over, and fsync a file meanwhile.",
)
@click.option(
    "--mkfs",
    default="",
    metavar="OPTIONS",
    help="Further mkfs options for every arm, such as '-O fast_commit'.",
)
@on_base
@as_json
def patches_soak(which: str | None, kind: str, minutes: float, freezes: bool, mkfs: str) -> int:
    """Run loads on debug kernels: lockdep and KASAN must stay silent, KCSAN must find no new race."""
    from lockscale.prove.soak import Beside, as_text, soak_all
    from lockscale.study.file import DEFAULT_TARGET, load_target

    beside = Beside(freezes, tuple(mkfs.split()))
    with _machine("soak"):
        found = soak_all(_safe_arms(which), kind, load_target(DEFAULT_TARGET), round(60 * minutes), beside)
    return show_verdicts(found, as_text(found))


@patches.command("locality")
@click.argument("which", metavar="STUDY[/ARM]", shell_complete=studies_and_arms)
@click.option(
    "--iterations", default=3, show_default=True, type=click.IntRange(1, 100), help="Boots per arm."
)
@click.option(
    "--state",
    default="empty",
    show_default=True,
    type=click.Choice(["empty", "aged", "full"]),
    help="Initial state of the file system: aged has holes, full has 5% free.",
)
@on_base
@as_json
def patches_locality(which: str, iterations: int, state: str) -> None:
    """Show where files and free space end up after eight writers, for arms that change block allocation."""
    from lockscale.prove.locality import localities, summary
    from lockscale.study.file import DEFAULT_TARGET, load_target

    with _machine("locality"):
        found = localities(_safe_arms(which), load_target(DEFAULT_TARGET), iterations, state)
    show([one.as_json() for one in found], table(summary(found)))


@patches.command("xfstests")
@click.argument("which", metavar="STUDY/ARM", shell_complete=arms)
@click.option(
    "--group", metavar="GROUP", default="quick", show_default=True, help="Test group, as for check -g."
)
@click.option(
    "--test", "tests", metavar="NAME", multiple=True, help="Run this test, such as generic/001, not a group."
)
@click.option(
    "--resume",
    metavar="RUN",
    default="",
    help="Continue an interrupted run (patches-xfstests-... in runs); finished tests are not repeated.",
)
@on_base
@as_json
def patches_xfstests(which: str, group: str, tests: tuple[str, ...], resume: str) -> int:
    """Run your xfstests on the base and on an arm, and list what fails on the arm only.

    A test whose results on the two kernels differ is rerun twice on both. Exit status 1: the arm failed one
    at least once that the base never failed, or one ran on one of the two only.
    """
    from lockscale.measure.run_folder import folder_to_resume, new_run
    from lockscale.prove.xfstests import RUN, compare_with_base
    from lockscale.study.file import DEFAULT_TARGET, load_target, named_series

    series, target = named_series(which), load_target(DEFAULT_TARGET)
    with _machine("xfstests"):
        folder = folder_to_resume(resume, RUN) if resume else new_run(RUN).folder
        found = compare_with_base(series, target, folder, group=group, tests=tests)
    value = {"study": series.study, "arm": series.arm, "group": group, "tests": tests, "ok": found.ok}
    show({**value, "folder": str(folder), **asdict(found)}, f"{found.detail}\nresults in {folder}")
    return 0 if found.ok else 1


@patches.command("export")
@click.argument("which", metavar="STUDY/ARM", shell_complete=arms)
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice(["mbox", "quilt", "ldiskfs"]),
    help="A file for git am, or a folder for quilt or for a Lustre tree.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="File (mbox) or folder to write.  [default: STUDY-ARM.mbox or STUDY-ARM-FORMAT, here]",
)
@click.option(
    "--run",
    metavar="RUN",
    default="",
    help="Run whose rates the cover letter quotes.  [default: the latest in data/measured]",
)
@on_base
@as_json
def patches_export(which: str, form: str, output: Path | None, run: str) -> None:
    """Write an arm's patches for git am, quilt, or a Lustre tree."""
    from lockscale.kernels.export import export
    from lockscale.show.arm_letter import what_was_measured
    from lockscale.study.file import named_series

    series = named_series(which)
    measured = what_was_measured(series.study, series.arm, run)
    made = export(series, form, output, measured)
    say(f"not checked here: whether it applies and builds (lockscale patches check {which})")
    value = {"study": series.study, "arm": series.arm, "format": form}
    written = [made.path.with_name(name) for name in made.files] if form == "mbox" else [made.path]
    show({**value, "path": str(made.path), "files": list(made.files)}, "\n".join(map(str, written)))


@patches.command("powercut")
@click.argument("which", required=False, metavar="[STUDY[/ARM]]", shell_complete=studies_and_arms)
@click.option(
    "--cuts",
    default=20,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Number of power cuts per arm.",
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(0), help="Random seed of loads and cuts."
)
@on_base
@as_json
def patches_powercut(which: str | None, cuts: int, seed: int) -> int:
    """Load each safe arm, cut the power many times, and check what was fsynced (hours under emulation)."""
    from lockscale.prove.powercut.campaign import as_text, cut_arms
    from lockscale.prove.powercut.load import Plan

    with _machine("powercut"):
        found = cut_arms(_safe_arms(which), Plan(cuts, seed))
    return show_verdicts(found, as_text(found))


def _machine(command: str) -> AbstractContextManager[None]:
    """This machine, on which nothing else is measured meanwhile, nor another check goes on with the run."""
    from lockscale.measure.target import hold_this_machine
    from lockscale.study.file import DEFAULT_TARGET

    return hold_this_machine(f"patches {command}", DEFAULT_TARGET)


def _safe_arms(which: str | None) -> "list[Series]":
    """The arms of `which` that can be proven; the others are named on stderr with the reason."""
    from lockscale.kernels.series import chosen_series, safe_of

    chosen = chosen_series(which)
    safe = safe_of(chosen)
    for series in chosen:
        if series.unsafe:
            say(f"{series.name} is left out: unsafe ({series.unsafe})")
    return safe
