# SPDX-License-Identifier: MIT
"""A server outside of a run: what it lacks, its disk's first token, one boot of one arm."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.series import refuse_unsafe
from lockscale.machines.boot import boot_once, home_of
from lockscale.machines.format import formatting
from lockscale.machines.machine import Machine, must
from lockscale.machines.noise import read, refuse_other_load
from lockscale.machines.prepare import needed
from lockscale.machines.server_kernels import OnServer, installed_kernels, remove_kernel
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_needs import Check, needs, not_reached
from lockscale.machines.trial import is_on_trial
from lockscale.measure.place_ssh import at_home, install, recipe_of
from lockscale.measure.servers import disk_of, guard_of, held, machine_of, refuse_other_kind
from lockscale.study.file import SshTarget, Target, named_series


def server_target(target: Target) -> SshTarget:
    """`target` as a server. Raises BadInput for a guest or this machine."""
    if not isinstance(target, SshTarget):
        raise BadInput(
            f"target {target.name} is of kind {target.kind}: this is for a server, of kind ssh; "
            f"lockscale doctor --target {target.name} tries any other"
        )
    return target


def check_server(target: SshTarget) -> Iterator[Check]:
    """What keeps it from carrying out a run, one line each, and the fix. Nothing on it is changed."""
    try:
        with machine_of(target) as server:
            yield from _quick(target, server)
            yield from _at_rest(target, server)
            yield _asked(
                "a kernel for it brings it back", lambda: recipe_of(server, target, None).config.mode
            )
    except (BadInput, RunFailed) as error:
        yield from not_reached(target.name, error)


def refuse_unfit(target: SshTarget, run: str | None = None) -> None:
    """Raise BadInput with what is found missing on a server within seconds, before hours of a run.

    run: one that goes on, for which its dead controller may still hold the server. An arm that it left
    running there is not held against it.
    """
    with held(target, "a first look", run=run), machine_of(target) as server:
        checks = list(_quick(target, server))
        if all(check.ok for check in checks) and not is_on_trial(server):
            checks += _at_rest(target, server)
    if missing := [check for check in checks if not check.ok]:
        fixes = "; ".join(f"{check.name}: {check.found}, {check.fix}" for check in missing)
        raise BadInput(f"{target.name} cannot take a run ({fixes}): `lockscale target check {target.name}`")


def _quick(target: SshTarget, server: SshMachine) -> Iterator[Check]:
    """The lines that are the same whatever runs on the server."""
    yield from needs(target.name, server)
    yield _asked(f"{target.name} is what its file says", lambda: refuse_other_kind(target, server))
    yield _asked("its settings can be prepared", lambda: _changes(server, target))
    yield _asked("its GRUB boots a kernel once", lambda: f"and then {home_of(server)}")
    yield _asked("its boot guard", lambda: _guard(server, target))


def _at_rest(target: SshTarget, server: SshMachine) -> Iterator[Check]:
    """The lines that hold only while none of our runs is on the server."""
    yield _asked("its disk may be formatted", lambda: formatting(server, disk_of(target)).device)
    yield _asked("nothing else measures on it", lambda: refuse_other_load(read(server)))


def prepare_disk(target: SshTarget, token: str | None, dry_run: bool) -> dict[str, Any]:
    """Put this project's mark on the disk, the first time with its token. {device, commands, done}.

    dry_run: only say what would be done; nothing is written there, nor is the server held. It is
    never rebooted. Raises BadInput with every reason against the disk.
    """
    with nullcontext() if dry_run else held(target, "target prepare"), machine_of(target) as server:
        refuse_other_kind(target, server)
        planned = formatting(server, disk_of(target), token=token)
        if not dry_run:
            planned.carry_out(server)
        return {"device": planned.device, "commands": planned.dry_run(), "done": not dry_run}


def boot_arm(target: SshTarget, which: str) -> dict[str, str]:
    """Build, install and boot STUDY/ARM once, assert it, and go back. {release, build_id}."""
    series = named_series(which)
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    with at_home(target, f"target boot {which}") as (server, lock):
        kernel = recipe_of(server, target, None, study=series.study).build(series)
        install(server, [kernel])
        how = target.boot
        build_id = boot_once(server, kernel, guard_of(target), how.boot_timeout_s, how.method)
        lock.take()
        return {"release": kernel.release, "build_id": build_id}


def kernels_on(target: SshTarget, remove: str | None = None) -> list[OnServer]:
    """Our kernels on the server, without `remove`, a release that is taken off it first."""
    with held(target, "target kernels"), machine_of(target) as server:
        if remove:
            remove_kernel(server, remove)
        return installed_kernels(server)


def _asked(name: str, question: Any) -> Check:
    try:
        return Check(name, True, str(question() or "yes"))
    except (BadInput, RunFailed) as error:
        return Check(name, False, "no", str(error))


def _changes(server: Machine, target: SshTarget) -> str:
    changes = [one.text for one in needed(read(server), target.prepare) if one.old != one.new]
    return ", ".join(changes) or "nothing is to be changed"


def _guard(server: SshMachine, target: SshTarget) -> str:
    against = list(guard_of(target).reasons_against(server, must(server, ["uname", "-r"]).strip()))
    if against:
        raise BadInput("; ".join(against))
    return target.boot.guard
