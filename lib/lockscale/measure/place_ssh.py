# SPDX-License-Identifier: MIT
"""A server reached by ssh, rebooted into each arm once and left on its own kernel."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.base import RATE
from lockscale.kernels.coverage import check_coverage
from lockscale.kernels.package import ServerKernel, build_package
from lockscale.kernels.series import Series
from lockscale.kernels.server_config import ServerConfig, server_config
from lockscale.machines.boot import boot_once, go_home
from lockscale.machines.format import formatting
from lockscale.machines.machine import must
from lockscale.machines.noise import refuse_other_load
from lockscale.machines.prepare import prepared
from lockscale.machines.processors import online, only
from lockscale.machines.server_facts import server_facts
from lockscale.machines.server_kernels import install_package, installed_kernels
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_lock import ServerLock
from lockscale.measure.arms import build_each
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.layout import Run
from lockscale.measure.places import Booted
from lockscale.measure.rows import Origin
from lockscale.measure.scrub import scrub
from lockscale.measure.servers import (
    disk_of,
    guard_of,
    held,
    host_facts,
    is_emulated,
    machine_of,
    refuse_other_kind,
    told_who,
)
from lockscale.study.file import SshTarget, Study
from lockscale.tools import fsload

PROGRAMS = "/var/lib/lockscale/bin"  # /run is mounted noexec


@contextmanager
def hold_server(run: Run, study: Study, target: SshTarget, kind: str = RATE) -> Iterator["SshPlace"]:
    """The server held for the run, every arm installed; at the end it runs its own kernel again."""
    with at_home(target, run.id, run=run.id) as (server, lock):
        yield SshPlace(study, target, server, lock, kind)


@contextmanager
def at_home(
    target: SshTarget, what: str, *, run: str | None = None
) -> Iterator[tuple[SshMachine, ServerLock]]:
    """The server held, on its own kernel now and at the end, whatever was booted in between."""
    with held(target, what, run=run) as lock, machine_of(target) as server:
        server.end_others()
        _go_home(server, target, lock)  # a controller that died may have left an arm running
        refuse_other_kind(target, server)
        try:
            yield server, lock
        except BaseException as error:
            _home_after(error, server, target, lock)
            raise
        _go_home(server, target, lock)


def _go_home(server: SshMachine, target: SshTarget, lock: ServerLock) -> None:
    """The server on its own kernel, and still held: a reboot lets go of the lock, a failed one too."""
    with told_who(target):
        before = server.boot_id()
        lock.keep()
        go_home(server, target.boot.boot_timeout_s)
        if server.boot_id() != before:
            lock.take()


def _home_after(error: BaseException, server: SshMachine, target: SshTarget, lock: ServerLock) -> None:
    """Home whatever went wrong; where that fails too, the sentence says both."""
    try:
        _go_home(server, target, lock)
    except (BadInput, RunFailed) as later:
        raise RunFailed(f"{error or 'interrupted'}; besides, {later}") from error


@dataclass(frozen=True)
class Recipe:
    """How kernels for one server are made; not_known: what of it a person has to look at."""

    config: ServerConfig
    source: str | None
    not_known: tuple[str, ...]

    def build(self, series: Series) -> ServerKernel:
        """The package of `series`, from the cache if it is there."""
        return build_package(series, self.config, self.source)


def recipe_of(
    server: SshMachine, target: SshTarget, source: str | None, kind: str = RATE, study: str = ""
) -> Recipe:
    """From the server's own configuration, the study's on top. BadInput where it would not be back then."""
    facts, module = server_facts(server), guard_of(target).module
    config = server_config(facts, target.boot.start, [module] if module else [], kind, source, study)
    found = check_coverage(facts, config, module, source)
    if not found.ok:
        raise BadInput(f"a kernel for {target.name} would not bring it back: {'; '.join(found.lacks)}")
    return Recipe(config, source, found.not_known)


def install(server: SshMachine, kernels: Iterable[ServerKernel]) -> None:
    """Those that the server does not have; its default stays what it is."""
    there = {kernel.release for kernel in installed_kernels(server)}
    for kernel in kernels:
        if kernel.release not in there:
            install_package(server, kernel.release, kernel.package)
            there.add(kernel.release)


class SshPlace:
    """The server of one run, each arm's package installed."""

    at_once = 1

    def __init__(
        self, study: Study, target: SshTarget, server: SshMachine, lock: ServerLock, kind: str
    ) -> None:
        self.target, self.server, self.lock = target, server, lock
        self.origin: Origin = "qemu" if target.virtual else "hardware"
        self.label, self.disk, self.guard = target.name, disk_of(target), guard_of(target)
        most, has = max(guest.cpus for guest in study.parameters.guests), len(online(server))
        if most > has:
            raise BadInput(f"the study asks for {most} CPUs and {target.name} has {has}: ask for fewer")
        formatting(server, self.disk)  # refused before anything is built
        server.emulated = is_emulated(server)
        self.names = [target.host, must(server, ["uname", "-n"]).strip()]
        self.host, self.told = host_facts(server), server.describe()
        self.recipe = recipe_of(server, target, study.parameters.kernel_source or None, kind, study.name)
        self.kernels = build_each(study, self.recipe.build)
        self.arms = list(self.kernels)
        install(server, self.kernels.values())

    def describe(self) -> dict[str, Any]:
        return {
            "accel": None,
            "qemu_line": None,
            "host": self.host,
            "server": self.told,
            "not_known_of_the_server": list(self.recipe.not_known),
            "kernels": {arm: asdict(kernel) for arm, kernel in self.kernels.items()},
        }

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
