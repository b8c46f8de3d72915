# SPDX-License-Identifier: MIT
"""`lockscale kernel` and `target`: build kernels, boot them, look after servers."""

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click

from lockscale.cli.completion import arms, studies, targets
from lockscale.cli.output import as_json, loaded, show, table
from lockscale.errors import BadInput


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
    """Build an arm's kernel, list those in the cache, or free the space of build folders."""


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
    help="Kind of build: rate, observe (counters), debug (lockdep, KASAN), kcsan or lockstat.",
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
    none = f"there is no kernel in {paths.KERNEL_CACHE}: `lockscale kernel build` builds one"
    show(rows, table(rows, "series", "kind", "release", "build_id", "spin_lock") if rows else none)


@kernel.command("folders")
@click.option("--remove", metavar="NAME", help="Remove the build folder NAME, then list those that remain.")
@as_json
def kernel_folders(remove: str | None) -> None:
    """List the build folders, one for each kernel source, with their size; or remove one and free its space.

    Built kernels are kept elsewhere and stay. A further build from the same source unpacks it again.
    """
    from lockscale import paths
    from lockscale.kernels.build_folders import build_folders, remove_build_folder

    if remove is not None:
        remove_build_folder(remove)
    rows = [asdict(folder) for folder in build_folders()]
    show(rows, table(rows) if rows else f"there is no build folder in {paths.BUILD_CACHE}")


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
    show(rows, table(rows, "name", "kind"))
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
@click.option("--remove", metavar="RELEASE", help="Remove the kernel RELEASE, then list those that remain.")
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
@click.option(
    "--show-command",
    is_flag=True,
    help="Build the kernel if it is not cached, print the QEMU command line, and boot nothing. The temporary "
    "folder that the line names no longer exists.",
)
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
