# SPDX-License-Identifier: MIT
"""What is missing on this machine or on a target, and the fix; which tools it has, and of which version."""

import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lockscale import paths
from lockscale.apt_download import suite_answers
from lockscale.errors import BadInput, RunFailed, printable
from lockscale.kernels.base import RATE
from lockscale.kernels.build import cached_kernels, newest
from lockscale.kernels.source import find_source, to_fetch
from lockscale.machines.machine import Completed, LocalMachine, Machine, assert_runs, must, must_all
from lockscale.machines.qemu import QemuMachine
from lockscale.machines.qemu_backport import STILL, WANTED, can_fetch, known_qemu
from lockscale.machines.server_facts import Check, needs, not_reached
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.load import Load, choose_load
from lockscale.measure.target_manycore import guest_on
from lockscale.programs import packages
from lockscale.progress import progress
from lockscale.study.file import LocalTarget, SshTarget, Target, load_target
from lockscale.tools import fsload, lock_events
from lockscale.tools.registry import TARGET_TOOLS
from lockscale.tools.target_tools import Part, TargetTool

NEED_FREE_MIB = 6000  # kernel tree 1.7 GiB, objects 0.3, scratch disk and image copies the rest
LOAD_CPUS, LOAD_PROCESSES, LOAD_ITEMS, LOADS = 4, 8, 200, 7
ANSWER_S = 60
_MOST = 4096
_LONGEST_PATH = 240
# A tool that hangs, waits for a question or prints without end does not hold up the others.
_ANSWER = f'timeout -k 5 {ANSWER_S} "$@" </dev/null 2>/dev/null | head -c {_MOST}'
_STATUS = f'exec timeout -k 5 {ANSWER_S} "$@" </dev/null >/dev/null 2>&1'


@dataclass(frozen=True)
class Found:
    """A target's answer: path is None where the tool is absent; `doubt` says why version is None."""

    tool: TargetTool
    path: str | None = None
    version: str | None = None
    doubt: str = ""
    missing: tuple[Part, ...] = ()

    @property
    def usable(self) -> bool:
        """It is there, or something still works without it."""
        return self.path is not None or bool(self.tool.without)

    def says(self) -> str:
        """Version, path and what is missing; or what works without it and how to have it."""
        if self.path is None:
            offer = f"; to get it: {self.tool.get}" if self.tool.without else ""
            return f"missing: {self.tool.without or 'nothing is measured without it'}{offer}"
        version = self.version or f"version not known ({self.doubt})"
        lacks = [f"; without {part.name}: {part.without}" for part in self.missing]
        return f"{version}, {self.path}{''.join(lacks)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.tool.name,
            "version": self.version,
            "path": self.path,
            "missing": [{"name": part.name, "without": part.without} for part in self.missing],
            "works_without_it": self.tool.without or None,
        }


def doctor(target: str | None = None) -> dict[str, Any]:
    """{ok, checks, tools}; with a target also what it says of itself and its tools: a guest is booted."""
    checks = [*_machine(), *_virtual_time(), *_packages(), *_source(), *_kernels()]
    tools: list[Found] = []
    if target:
        checks += checks_of(load_target(target), tools)
    return {
        "ok": all(check.ok for check in checks),
        "checks": [{**asdict(check), "fix": "" if check.ok else check.fix} for check in checks],
        "tools": [found.to_json() for found in tools],
    }


def _machine() -> Iterator[Check]:
    version = platform.python_version()
    yield Check("python", tuple(map(int, version.split(".")[:2])) >= (3, 11), version, "Python >= 3.11")
    existing = next(p for p in (paths.CACHE, *paths.CACHE.parents) if p.exists())
    free_mib = shutil.disk_usage(existing).free >> 20
    fix = f"free {NEED_FREE_MIB} MiB or set LOCKSCALE_CACHE to a folder on a larger disk"
    yield Check("disk", free_mib >= NEED_FREE_MIB, f"{free_mib} MiB free", fix)
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK)
    found = "opens; the first guest shows whether it works" if usable else "absent or closed: QEMU emulates"
    yield Check("kvm", True, found)  # never a fault: without it the guest is slower, not wrong


def _virtual_time() -> Iterator[Check]:
    """A fault only where it is missing and cannot be fetched either."""
    known = known_qemu()
    if known:
        yield Check("QEMU for virtual time", True, f"QEMU {known.version}, {known.program}")
        return
    with progress("fetch a newer QEMU from the distribution"):
        reached = can_fetch()
    found = "not here yet: fetched when target manycore is first used" if reached else "missing"
    fix = (
        f"{WANTED}, but no mirror that has it answers: connect this machine to the network or install it; "
        f"{STILL}"
    )
    yield Check("QEMU for virtual time", reached, found, fix)


def _packages() -> Iterator[Check]:
    for package in packages():
        where = package.found()
        fix = f"apt-get install {package.name} ({package.why})"
        yield Check(package.name, where is not None, where or "missing", fix)


def _source() -> Iterator[Check]:
    """Nothing is fetched: where it would be, it is a fault only if nobody answers."""
    try:
        if wanted := to_fetch():
            suite = str(wanted.suite)
            reached = suite_answers(suite)
            later = f"not here yet: fetched when a kernel of {wanted.line} is first built"
            fix = (
                f"connect this machine to the network: {wanted.package} is in {suite}, which does not answer"
            )
            yield Check("kernel source", reached, later if reached else "missing", fix)
            return
        source = find_source()
        yield Check("kernel source", True, f"{source.path.name} sha256 {source.sha256[:16]}")
    except BadInput as error:
        yield Check("kernel source", False, "missing", str(error))


def _kernels() -> Iterator[Check]:
    kernels = cached_kernels(RATE)
    if not kernels:
        fix = "make kernels, or lockscale kernel build STUDY/ARM"
        yield Check("built kernels", False, "none, so their spin lock is not checked", fix)
    for kernel in kernels:
        fix = "set CONFIG_HYPERVISOR_GUEST=n: with an unfair spin lock there is no storm"
        is_fifo = kernel.spin_lock == "queued"
        found = f"{kernel.spin_lock} ({'FIFO' if is_fifo else 'not FIFO'})"
        yield Check(f"spin lock of kernel {kernel.release}", is_fifo, found, fix)


def checks_of(target: Target, tools: list[Found]) -> Iterator[Check]:
    """A target's lines; `tools` gets what is found there."""
    if isinstance(target, SshTarget):
        return _server(target, tools)
    return _here(tools) if isinstance(target, LocalTarget) else _target(target, tools)


def _here(tools: list[Found]) -> Iterator[Check]:
    """Ask this machine for its tools: a local target boots nothing."""
    tools += detect(LocalMachine(), TARGET_TOOLS, os.environ)
    yield from map(_tool, tools)


def _server(target: SshTarget, tools: list[Found]) -> Iterator[Check]:
    """Reach a server, and ask for root, for what every run needs, and for its tools. It is not changed."""
    from lockscale.measure.server_recovery import machine_of

    try:
        with machine_of(target) as machine:
            yield from needs(target.name, machine)
            tools += detect(machine, TARGET_TOOLS, {})
            yield from map(_tool, tools)
    except (BadInput, RunFailed) as error:
        yield from not_reached(target.name, error)


def _target(target: Target, tools: list[Found]) -> Iterator[Check]:
    """Boot the newest built kernel, assert it, ask for its tools, see waiters queue under a create load."""
    kernels = cached_kernels(RATE)
    if not kernels:
        return
    kernel = newest(kernels)
    try:
        guest = guest_on(target, kernel, LOAD_CPUS)
        with QemuMachine(guest) as machine:
            yield Check(f"{target.name} boots", True, guest.accel)
            yield Check("uname and build-id", True, assert_runs(machine, kernel))
            ours = fsload.on_target(fsload.build(paths.CACHE / "bin"))
            tools += detect(machine, (*TARGET_TOOLS, ours), os.environ)
            yield from map(_tool, tools)
            must(machine, ["mkdir", "-p", MOUNT_POINT])
            yield _queueing(machine, choose_load(machine, "fsload", MOUNT_POINT))
    except (BadInput, RunFailed) as error:  # the lines above say what is missing, and are not lost
        yield Check(f"{target.name} boots", False, "no", str(error))


def _tool(found: Found) -> Check:
    return Check(found.tool.name, found.usable, found.says(), found.tool.get)


def _queueing(machine: Machine, load: Load) -> Check:
    """Loads, each twice as long, until one meets contention: on a busy emulated machine many meet none."""
    for attempt in range(1, LOADS + 1):
        create_remove = load.command(LOAD_PROCESSES, LOAD_ITEMS << (attempt - 1), "both")
        steps = [lock_events.READ, create_remove, lock_events.READ]
        before, _, after = must_all(machine, steps, timeout_s=120)
        events = lock_events.difference(lock_events.parse(before.stdout), lock_events.parse(after.stdout))
        if lock_events.is_fifo(events):
            found = f"lock_slowpath {events['lock_slowpath']} in load {attempt}"
            return Check("waiters queue (FIFO)", True, found)
    fix = "run again on an idle machine; if it persists, the kernel's spin lock does not queue its waiters"
    return Check("waiters queue (FIFO)", False, f"lock_slowpath 0 in {LOADS} loads", fix)


def detect(machine: Machine, tools: Sequence[TargetTool], told: Mapping[str, str]) -> list[Found]:
    """What `machine` answers for each tool, asked in one go; told: the user's environment variables.

    An answer that is not understood is a version that is not known. RunFailed when the machine is lost.
    """
    questions = [question for tool in tools for question in _questions(tool, told)]
    answers = iter(machine.run_all(questions, timeout_s=60 + ANSWER_S * len(questions)))
    return [_found(tool, next(answers), [next(answers) for _ in tool.parts]) for tool in tools]


def _questions(tool: TargetTool, told: Mapping[str, str]) -> list[list[str]]:
    variables = [f"{name}={told[name]}" for name in tool.variables if name in told]
    plain = ["env", "LC_ALL=C", *variables]
    return [
        ["sh", "-c", _ANSWER, "sh", *plain, *tool.ask],
        *(["sh", "-c", _STATUS, "sh", *plain, *part.has] for part in tool.parts),
    ]


def _found(tool: TargetTool, answer: Completed, parts: Sequence[Completed]) -> Found:
    lines = answer.stdout[:_MOST].split("\n")
    at = next((number for number, line in enumerate(lines) if line.startswith("/")), None)
    if at is None:
        return Found(tool)
    version, doubt = _version(tool, "\n".join(lines[at + 1 :]))
    missing = tuple(part for part, done in zip(tool.parts, parts, strict=True) if done.status)
    return Found(tool, printable(lines[at], _LONGEST_PATH), version, doubt, missing)


def _version(tool: TargetTool, text: str) -> tuple[str | None, str]:
    if tool.version is None:
        return None, "it prints none"
    try:
        return printable(tool.version(text)), ""
    except BadInput as error:
        return None, printable(error)
