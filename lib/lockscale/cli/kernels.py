# SPDX-License-Identifier: MIT
"""`lockscale kernel`, `target` and `patches`: builds and boots, and what each series is put through."""

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from lockscale.cli.completion import arms, studies, studies_and_arms, targets
from lockscale.cli.output import as_json, loaded, show, show_verdicts, table
from lockscale.errors import BadInput

if TYPE_CHECKING:
    from lockscale.kernels.series import Series


def on_base(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --base: the whole command is about the kernels of that line."""
    return click.option(
        "--base",
        metavar="LINE",
        expose_value=False,
        callback=_choose_base,
        help="Kernel line from kernel-patches/base.toml, such as 7.3.  [default: the first there]",
    )(command)


def _choose_base(context: click.Context, _: click.Parameter, line: str | None) -> None:
    from lockscale.kernels.base import VARIABLE, base

    if line is None:
        return
    before, os.environ[VARIABLE] = os.environ.get(VARIABLE), base(line).line
    context.call_on_close(lambda: _put_back(VARIABLE, before))


def _put_back(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value


@click.group()
def kernel() -> None:
    """Build an arm's kernel, or list those in the cache."""


@kernel.command("build")
@click.argument("which", metavar="STUDY/ARM", shell_complete=arms)
@click.option(
    "--source",
    metavar="PATH",
    help="Your kernel tarball or source tree.  [default: LOCKSCALE_KERNEL_SOURCE, else the distribution's]",
)
@click.option(
    "--kind",
    metavar="KIND",
    default="rate",
    show_default=True,
    help="Kind of build: rate, observe (counters), debug (lockdep, KASAN) or kcsan.",
)
@on_base
@as_json
def kernel_build(which: str, source: str | None, kind: str) -> None:
    """Build one arm's kernel, or take it from the cache."""
    from lockscale.kernels.build import build
    from lockscale.study.file import named_series

    built = build(named_series(which), source, kind)
    value = {**asdict(built), "image": str(built.image)}
    show(value, f"{built.release}\n{built.build_id}\n{built.image}")


@kernel.command("list")
@as_json
def kernel_list() -> None:
    """List the kernels in the cache."""
    from lockscale import paths
    from lockscale.kernels.build import cached_kernels

    rows = [asdict(k) for k in cached_kernels()]
    columns = ("series", "kind", "release", "build_id", "spin_lock")
    none = f"there is no kernel in {paths.KERNEL_CACHE}: `lockscale kernel build` builds one"
    show(rows, table([{c: row[c] for c in columns} for row in rows]) if rows else none)


@click.group()
def target() -> None:
    """Targets: list and check them, prepare a disk, boot an arm or the default kernel, remove our kernels."""


@target.command("list")
@as_json
def target_list() -> None:
    """List every target file."""
    from lockscale.study.file import list_targets, load_target

    found, damaged = loaded(list_targets(), load_target)
    rows = [target.model_dump(mode="json") for target in found]
    show(rows, table([{"name": r["name"], "kind": r["kind"]} for r in rows]))
    if damaged:
        raise BadInput(damaged)


@target.command("check")
@click.argument("name", metavar="TARGET", shell_complete=targets)
@click.option(
    "--study",
    metavar="STUDY",
    shell_complete=studies,
    help="Check for the tools of this study's file system.",
)
@as_json
def target_check(name: str, study: str | None) -> int:
    """Check whether a server is fit for a run, and say how to fix what is missing; changes nothing on it."""
    from lockscale.filesystems import FIRST, fs_type
    from lockscale.measure.target_ssh import check_server, server_target
    from lockscale.progress import progress
    from lockscale.study.file import load_study, load_target

    fs = fs_type(load_study(study).filesystem) if study else FIRST
    rows = []
    with progress(f"check {name}") as shown:
        for done, need in enumerate(check_server(server_target(load_target(name)), fs), start=1):
            rows.append(asdict(need))
            shown.update(done, need.name)
    ok = all(row["ok"] for row in rows)
    show({"ok": ok, "checks": rows}, table(rows))
    return 0 if ok else 1


@target.command("prepare")
@click.argument("name", metavar="TARGET", shell_complete=targets)
@click.option(
    "--token",
    metavar="TOKEN",
    help="The disk's token, needed the first time; the command says how to form it.",
)
@click.option("--dry-run", is_flag=True, help="Print each command that would destroy data; run none.")
@as_json
def target_prepare(name: str, token: str | None, dry_run: bool) -> None:
    """Format a server's disk as the test disk, after all checks that it may be erased."""
    from lockscale.measure.target_ssh import prepare_disk, server_target
    from lockscale.study.file import load_target

    done = prepare_disk(server_target(load_target(name)), token, dry_run)
    show(done, "\n".join(done["commands"]))


@target.command("kernels")
@click.argument("name", metavar="TARGET", shell_complete=targets)
@click.option("--remove", metavar="RELEASE", help="Remove this kernel first; RELEASE as in the list.")
@as_json
def target_kernels(name: str, remove: str | None) -> None:
    """List lockscale's kernels on a server, or remove one; never the running one or the default."""
    from lockscale.measure.target_ssh import kernels_on, server_target
    from lockscale.study.file import load_target

    rows = [asdict(kernel) for kernel in kernels_on(server_target(load_target(name)), remove)]
    show(rows, table(rows) if rows else "no lockscale kernel is installed")


@target.command("home")
@click.argument("name", metavar="TARGET", shell_complete=targets)
@as_json
def target_home(name: str) -> None:
    """Boot a server back into its own kernel, whatever state a dead run left it in."""
    from lockscale.measure.target_ssh import bring_home, server_target
    from lockscale.study.file import load_target

    done = bring_home(server_target(load_target(name)))
    taken_off = "".join(f"\nremoved after a failed installation: {release}" for release in done["taken_off"])
    show(done, f"{name} runs its own Linux {done['release']}{taken_off}")


@target.command("boot")
@click.argument("name", metavar="TARGET", shell_complete=targets)
@click.argument("which", metavar="STUDY/ARM", shell_complete=arms)
@click.option("--cpus", default=4, show_default=True, type=click.IntRange(1, 64), help="Virtual CPUs.")
@click.option("--show-command", is_flag=True, help="Print the exact QEMU command line; boot nothing.")
@on_base
@as_json
def target_boot(name: str, which: str, cpus: int, show_command: bool) -> None:
    """Boot an arm on a target once, check uname and build-id, and power it off."""
    from lockscale.measure.target_ssh import boot_arm
    from lockscale.prove.check import boot_once, example_line
    from lockscale.study.file import SshTarget, load_target

    if show_command:
        line = example_line(name, which, cpus)
        show({"qemu_line": line}, line)
        return
    target = load_target(name)
    found = boot_arm(target, which) if isinstance(target, SshTarget) else boot_once(name, which, cpus)
    show(found, f"{found['release']}\n{found['build_id']}")


def _safe_of(chosen: "list[Series]") -> "list[Series]":
    """The arms of `chosen` that can be proven; the others are named on stderr with the reason."""
    from lockscale.kernels.series import safe_of

    safe = safe_of(chosen)
    _say_left_out([series for series in chosen if series.unsafe])
    return safe


def _say_left_out(unsafe: "list[Series]") -> None:
    for series in unsafe:
        click.echo(f"{series.name} is left out: unsafe ({series.unsafe})", err=True)


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
    show(rows, table(rows))


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
    default=5,
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
    help="Continue an interrupted check (patches-check-... in runs); finished counts are not repeated.",
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
    from lockscale.prove.table import as_text, kept_counts, write_readme

    if write_table:
        need_clone("--write-table writes into kernel-patches/README.md", paths.KERNEL_PATCHES)
    if write_table and ("/" in (which or "") or not boot):
        raise BadInput(
            "--write-table replaces the rows of whole studies: use it with --boot and without /ARM"
        )
    if resume and not boot:
        raise BadInput("--resume continues counting, which needs --boot: add --boot, or leave out --resume")
    keep = kept_counts(base().line) if write_table else None
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
@on_base
@as_json
def patches_soak(which: str | None, kind: str, minutes: float) -> int:
    """Run loads on debug kernels: lockdep and KASAN must stay silent, KCSAN must find no new race."""
    from lockscale.kernels.series import chosen_series
    from lockscale.prove.soak import as_text, soak_all
    from lockscale.study.file import DEFAULT_TARGET, load_target

    found = soak_all(_safe_of(chosen_series(which)), kind, load_target(DEFAULT_TARGET), round(60 * minutes))
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
    from lockscale.kernels.series import chosen_series
    from lockscale.prove.locality import localities, summary
    from lockscale.study.file import DEFAULT_TARGET, load_target

    found = localities(_safe_of(chosen_series(which)), load_target(DEFAULT_TARGET), iterations, state)
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

    A test that ends differently on the two kernels runs twice more on both.
    """
    from lockscale.measure.run_folder import folder_to_resume, new_run
    from lockscale.prove.xfstests import RUN, compare_with_base
    from lockscale.study.file import DEFAULT_TARGET, load_target, named_series

    series, target = named_series(which), load_target(DEFAULT_TARGET)
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
    type=click.Path(),
    help="File (mbox) or folder to write.  [default: STUDY-ARM.mbox or STUDY-ARM-FORMAT, here]",
)
@click.option(
    "--run",
    metavar="RUN",
    default="",
    help="Run whose rates the letter tells.  [default: the latest in data/measured]",
)
@on_base
@as_json
def patches_export(which: str, form: str, output: str | None, run: str) -> None:
    """Write an arm's patches for git am, quilt, or a Lustre tree."""
    from pathlib import Path

    from lockscale.kernels.export import export
    from lockscale.show.arm_letter import what_was_measured
    from lockscale.study.file import named_series

    series = named_series(which)
    measured = what_was_measured(series.study, series.arm, run)
    made = export(series, form, Path(output) if output else None, measured)
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
    from lockscale.prove.powercut.campaign import as_text, cut_arms, split
    from lockscale.prove.powercut.load import Plan

    safe, unsafe = split(which)
    _say_left_out(unsafe)
    found = cut_arms(safe, Plan(cuts, seed))
    return show_verdicts(found, as_text(found))
