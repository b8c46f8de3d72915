# SPDX-License-Identifier: MIT
"""`lockscale kernel` and `target`: builds and boots."""

import click

from lockscale.cli.output import as_json, show, table
from lockscale.errors import BadInput


@click.group()
def kernel() -> None:
    """Build an arm's kernel, or list those in the cache."""


@kernel.command("build")
@click.argument("which", metavar="STUDY/ARM")
@click.option("--source", help="A kernel tarball or tree of your own.")
@click.option(
    "--kind",
    default="rate",
    show_default=True,
    help="What for: rate, observe (counters), debug (lockdep, KASAN) or kcsan.",
)
@as_json
def kernel_build(which: str, source: str | None, kind: str, as_json: bool) -> None:
    """Build one arm's kernel, or take it from the cache."""
    from dataclasses import asdict

    from lockscale.kernels.build import build
    from lockscale.kernels.series import named_series

    built = build(named_series(which), source, kind)
    value = {**asdict(built), "image": str(built.image)}
    show(value, as_json, f"{built.release}\n{built.build_id}\n{built.image}")


@kernel.command("list")
@as_json
def kernel_list(as_json: bool) -> None:
    """The kernels in the cache."""
    from dataclasses import asdict

    from lockscale.kernels.build import cached_kernels

    rows = [asdict(k) for k in cached_kernels()]
    columns = ("series", "kind", "release", "build_id", "spin_lock")
    show(rows, as_json, table([{c: row[c] for c in columns} for row in rows]))


@click.group()
def target() -> None:
    """The targets: list, check, prepare a disk, boot an arm, list and remove our kernels."""


@target.command("list")
@as_json
def target_list(as_json: bool) -> None:
    """Every target file."""
    from lockscale.study import list_targets, load_target

    rows, damaged = [], []
    for name in list_targets():
        try:
            rows.append(load_target(name).model_dump(mode="json"))
        except BadInput as error:
            damaged.append(str(error))
    show(rows, as_json, table([{"name": r["name"], "kind": r["kind"]} for r in rows]))
    if damaged:
        raise BadInput("; ".join(damaged))


@target.command("check")
@click.argument("name")
@as_json
def target_check(name: str, as_json: bool) -> int:
    """What keeps a server from carrying out a run, and the fix; nothing on it is changed."""
    from dataclasses import asdict

    from lockscale.experiment.target_work import check_server, server_target
    from lockscale.progress import progress
    from lockscale.study import load_target

    rows = []
    with progress(f"check {name}") as shown:
        for done, need in enumerate(check_server(server_target(load_target(name))), start=1):
            rows.append(asdict(need))
            shown.update(done, need.name)
    ok = all(row["ok"] for row in rows)
    show({"ok": ok, "checks": rows}, as_json, table(rows))
    return 0 if ok else 1


@target.command("prepare")
@click.argument("name")
@click.option("--token", help="The first time: what is asked for, typed off the disk or lsblk.")
@click.option("--dry-run", is_flag=True, help="Print each command that would destroy something; do nothing.")
@as_json
def target_prepare(name: str, token: str | None, dry_run: bool, as_json: bool) -> None:
    """Format a server's disk with this project's mark, after every check of it."""
    from lockscale.experiment.target_work import prepare_disk, server_target
    from lockscale.study import load_target

    told = prepare_disk(server_target(load_target(name)), token, dry_run)
    show(told, as_json, "\n".join(told["commands"]))


@target.command("kernels")
@click.argument("name")
@click.option("--remove", metavar="RELEASE", help="Take this one off it first, as the list calls it.")
@as_json
def target_kernels(name: str, remove: str | None, as_json: bool) -> None:
    """Our kernels on a server; the running one and the default are never removed."""
    from dataclasses import asdict

    from lockscale.experiment.target_work import kernels_on, server_target
    from lockscale.study import load_target

    rows = [asdict(kernel) for kernel in kernels_on(server_target(load_target(name)), remove)]
    show(rows, as_json, table(rows) if rows else "no kernel of ours is on it")


@target.command("boot")
@click.argument("name")
@click.argument("which", metavar="STUDY/ARM")
@click.option("--cpus", default=4, show_default=True, type=click.IntRange(1, 64))
@click.option("--show-command", is_flag=True, help="Print the exact qemu line, boot nothing.")
@as_json
def target_boot(name: str, which: str, cpus: int, show_command: bool, as_json: bool) -> None:
    """Boot an arm on a target once, assert uname and build-id, and power it off."""
    from lockscale.experiment.target_work import boot_arm
    from lockscale.proof.boot import boot_once, example_line
    from lockscale.study import ManycoreTarget, SshTarget, guest_target, load_target

    said = load_target(name)
    if isinstance(said, SshTarget) and not show_command:
        found = boot_arm(said, which)
        show(found, as_json, f"{found['release']}\n{found['build_id']}")
        return
    if not isinstance(said, ManycoreTarget):
        guest_target(said)
    if show_command:
        line = example_line(name, which, cpus)
        show({"qemu_line": line}, as_json, line)
        return
    found = boot_once(name, which, cpus)
    show(found, as_json, f"{found['release']}\n{found['build_id']}")
