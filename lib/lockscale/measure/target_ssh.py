# SPDX-License-Identifier: MIT
"""Target kind ssh: a server rebooted into each arm once; what it lacks, its disk's token, its kernels."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, RunFailed
from lockscale.filesystems import FIRST, FsType, fs_type, on_disk
from lockscale.kernels.base import RATE
from lockscale.kernels.coverage import check_coverage
from lockscale.kernels.package import ServerKernel, build_package
from lockscale.kernels.series import Series, refuse_unsafe
from lockscale.kernels.server_config import ServerConfig, server_config
from lockscale.kernels.source import Source, find_source
from lockscale.machines.boot_watchdog import is_on_trial
from lockscale.machines.format import formatting
from lockscale.machines.machine import Machine, must
from lockscale.machines.noise import read, refuse_other_load
from lockscale.machines.prepare import needed, online, only, prepared
from lockscale.machines.server_boot import boot_once, home_of
from lockscale.machines.server_facts import Check, needs, not_reached, server_facts
from lockscale.machines.server_kernels import (
    OnServer,
    install_package,
    installed_kernels,
    purge_torn,
    remove_kernel,
)
from lockscale.machines.server_lock import ServerLock
from lockscale.machines.ssh import SshMachine
from lockscale.measure.build_arms import build_each
from lockscale.measure.curate import scrub
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.run_folder import Run
from lockscale.measure.server_recovery import (
    disk_of,
    guard_of,
    host_facts,
    is_emulated,
    machine_of,
    on_own_kernel,
    origin_of,
    refuse_other_kind,
    server_lock,
)
from lockscale.measure.target import Booted, HeldTarget
from lockscale.study.file import SshTarget, Study, Target, named_series
from lockscale.tools import fsload

PROGRAMS = "/var/lib/lockscale/bin"  # /run is mounted noexec


@contextmanager
def hold_server(run: Run, study: Study, target: SshTarget, kind: str = RATE) -> Iterator["HeldServer"]:
    """The server held for the run, every arm installed; at the end it runs its own kernel again."""
    with on_own_kernel(target, run.id, run=run.id) as (server, lock):
        yield HeldServer(study, target, server, lock, kind)


@dataclass(frozen=True)
class Recipe:
    """How kernels for one server are made; not_known: what of it a person has to look at."""

    config: ServerConfig
    source: Source
    not_known: tuple[str, ...]

    def build(self, series: Series) -> ServerKernel:
        """The package of `series`, from the cache if it is there."""
        return build_package(series, self.config, self.source)


def recipe_of(
    server: SshMachine, target: SshTarget, source: Source, kind: str = RATE, study: str = ""
) -> Recipe:
    """From the server's own configuration, the study's on top. BadInput where it would not be back then."""
    facts, module = server_facts(server), guard_of(target).module
    config = server_config(facts, target.boot.start, [module] if module else [], kind, source, study)
    found = check_coverage(facts, config, module, source)
    if not found.ok:
        raise BadInput(f"{target.name} would not come back with a lockscale kernel: {'; '.join(found.lacks)}")
    return Recipe(config, source, found.not_known)


def install(server: SshMachine, kernels: Iterable[ServerKernel]) -> None:
    """Those that the server does not have whole; its default stays what it is."""
    there = {kernel.release for kernel in installed_kernels(server) if kernel.is_whole}
    for kernel in kernels:
        if kernel.release not in there:
            install_package(server, kernel.release, kernel.package)
            there.add(kernel.release)


def names_of(*hosts: str) -> list[str]:
    """A server's names, also as the device of a volume has them: /dev/mapper/lab--seven--vg-root."""
    return [*hosts, *(host.replace("-", "--") for host in hosts if "-" in host)]


class HeldServer(HeldTarget):
    """The server of one run, each arm's package installed."""

    kernels: dict[str, ServerKernel]

    def __init__(
        self, study: Study, target: SshTarget, server: SshMachine, lock: ServerLock, kind: str
    ) -> None:
        self.target, self.server, self.lock = target, server, lock
        self.origin = origin_of(target, server)
        self.label, self.disk, self.guard = target.name, disk_of(target), guard_of(target)
        most, has = max(guest.cpus for guest in study.parameters.guests), len(online(server))
        if most > has:
            raise BadInput(f"the study asks for {most} CPUs and {target.name} has {has}: ask for fewer")
        fs = on_disk(fs_type(study.filesystem))
        formatting(server, self.disk, fs=fs)  # refused before anything is built
        server.emulated = is_emulated(server)
        self.names = names_of(target.host, must(server, ["uname", "-n"]).strip())
        self.host, self.told = host_facts(server), server.describe()
        asked = study.parameters
        source = find_source(asked.kernel_source or None, asked.kernel_base)
        self.recipe = recipe_of(server, target, source, kind, study.name)
        self.kernels = build_each(study, self.recipe.build)
        install(server, self.kernels.values())

    def machine_facts(self) -> dict[str, str]:
        """Nothing that says which server it is to whoever does not have it."""
        serial = hashlib.sha256(self.disk.serial.encode()).hexdigest()[:16]
        processors = f"{self.host['cpus']} x {self.host['cpu_model']}"
        return {"the disk of serial number sha256": serial, "the processor": processors}

    def describe(self) -> dict[str, Any]:
        said = {"host": self.host, "server": self.told}
        return {**super().describe(), **said, "not_known_of_the_server": list(self.recipe.not_known)}

    @contextmanager
    def boot(self, arm: str, cpus: int) -> Iterator[Booted]:
        self.lock.keep()
        kernel, how = self.kernels[arm], self.target.boot
        build_id = boot_once(self.server, kernel, self.guard, how.boot_timeout_s, how.method)
        self.lock.take()
        with only(self.server, cpus), prepared(self.server, self.target.prepare) as quiet:
            refuse_other_load(quiet["found"])
            program = self._program()
            found = {"prepared": quiet}
            yield Booted(self.server, kernel.release, build_id, MOUNT_POINT, program, self.disk, found)

    def _program(self) -> str:
        """fsload on the server, where a boot before may have left it."""
        built = fsload.build(paths.CACHE / "bin", static=True)
        there = f"{PROGRAMS}/{built.name}"
        must(self.server, ["mkdir", "-p", PROGRAMS])
        self.server.put(built, there)
        return there

    def scrub(self, text: str) -> str:
        return scrub(text, self.names)


def server_target(target: Target) -> SshTarget:
    """`target` as a server. Raises BadInput for a guest or this machine."""
    if not isinstance(target, SshTarget):
        raise BadInput(
            f"target {target.name} is of kind {target.kind}: this is for a server, of kind ssh; "
            f"use `lockscale doctor --target {target.name}`"
        )
    return target


def check_server(target: SshTarget, fs: FsType = FIRST) -> Iterator[Check]:
    """What keeps it from carrying out a run with `fs`, one line each, and the fix. Nothing is changed."""
    try:
        with machine_of(target) as server:
            yield from _quick(target, server, fs)
            yield from _at_rest(target, server, fs)
            yield _asked(
                "it comes back with a lockscale kernel",
                lambda: recipe_of(server, target, find_source()).config.mode,
            )
    except (BadInput, RunFailed) as error:
        yield from not_reached(target.name, error)


def refuse_unfit(target: SshTarget, run: str | None = None, fs: FsType = FIRST) -> None:
    """Raise BadInput with what is found missing on a server within seconds, before hours of a run.

    run: one that goes on, for which its dead controller may still hold the server. An arm that it left
    running there is not held against it.
    """
    with server_lock(target, "a first check", run=run), machine_of(target) as server:
        checks = list(_quick(target, server, fs))
        if all(check.ok for check in checks) and not is_on_trial(server):
            checks += _at_rest(target, server, fs)
    if missing := [check for check in checks if not check.ok]:
        fixes = "; ".join(f"{check.name}: {check.found}, {check.fix}" for check in missing)
        raise BadInput(
            f"{target.name} cannot take a run ({fixes}): fix that, then run `lockscale target "
            f"check {target.name}`"
        )


def _quick(target: SshTarget, server: SshMachine, fs: FsType) -> Iterator[Check]:
    """The lines that are the same whatever runs on the server."""
    yield from needs(target.name, server, fs)
    yield _asked(f"{target.name} is what its file says", lambda: refuse_other_kind(target, server))
    yield _asked("its settings can be prepared", lambda: _changes(server, target))
    yield _asked("its GRUB boots a kernel once", lambda: f"and then returns to {home_of(server)}")
    yield _asked("its boot guard", lambda: _guard(server, target))


def _at_rest(target: SshTarget, server: SshMachine, fs: FsType) -> Iterator[Check]:
    """The lines that hold only while none of our runs is on the server."""
    disk = disk_of(target)
    yield _asked("its disk may be formatted", lambda: formatting(server, disk, fs=on_disk(fs)).device)
    yield _asked("nothing else measures on it", lambda: refuse_other_load(read(server)))


def prepare_disk(target: SshTarget, token: str | None, dry_run: bool) -> dict[str, Any]:
    """Put this project's mark on the disk, the first time with its token. {device, commands, done}.

    dry_run: only say what would be done; nothing is written there, nor is the server held. It is
    never rebooted. Raises BadInput with every reason against the disk.
    """
    disk = disk_of(target)
    disk.refuse_token(token)
    with nullcontext() if dry_run else server_lock(target, "target prepare"), machine_of(target) as server:
        refuse_other_kind(target, server)
        planned = formatting(server, disk, token=token)
        if not dry_run:
            planned.carry_out(server)
        return {"device": planned.device, "commands": planned.dry_run(), "done": not dry_run}


def boot_arm(target: SshTarget, which: str) -> dict[str, str]:
    """Build, install and boot STUDY/ARM once, assert it, and go back. {release, build_id}."""
    series = named_series(which)
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    with on_own_kernel(target, f"target boot {which}") as (server, lock):
        kernel = recipe_of(server, target, find_source(None, series.base), study=series.study).build(series)
        install(server, [kernel])
        how = target.boot
        build_id = boot_once(server, kernel, guard_of(target), how.boot_timeout_s, how.method)
        lock.take()
        return {"release": kernel.release, "build_id": build_id}


def bring_home(target: SshTarget) -> dict[str, Any]:
    """The server on its own kernel, whatever a controller that died left there. {release, taken_off}.

    taken_off: kernels of ours whose package was half-installed.
    """
    with on_own_kernel(target, "target home") as (server, _):
        release = must(server, ["uname", "-r"]).strip()
        return {"release": release, "taken_off": purge_torn(server)}


def kernels_on(target: SshTarget, remove: str | None = None) -> list[OnServer]:
    """Our kernels on the server, without `remove`, a release that is taken off it first."""
    with server_lock(target, "target kernels"), machine_of(target) as server:
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
    return ", ".join(changes) or "nothing has to be changed"


def _guard(server: SshMachine, target: SshTarget) -> str:
    against = list(guard_of(target).reasons_against(server, must(server, ["uname", "-r"]).strip()))
    if against:
        raise BadInput("; ".join(against))
    return target.boot.guard
