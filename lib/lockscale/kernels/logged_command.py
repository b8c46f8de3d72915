# SPDX-License-Identifier: MIT
"""Run one long command with its output in a log and its progress shown."""

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockscale.errors import FullDisk, RunFailed
from lockscale.files import MAKE_ROOM, full_disk_is_one_sentence
from lockscale.programs import need
from lockscale.progress import progress

NO_SPACE = re.compile("No space left on device|Disk quota exceeded")
# The kernel's Makefile drops LC_ALL.
ENGLISH = {"LC_ALL": "C", "LANG": "C", "LC_MESSAGES": "C", "LANGUAGE": "C"}
# What a `make` around this process hands down: a kernel's make is no part of it.
HANDED_DOWN = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GNUMAKEFLAGS", "MAKEFILES"}
# What kbuild reads of a kernel developer's shell (Documentation/kbuild): no key of the cache knows of it.
OF_KBUILD = re.compile(
    "(KBUILD|KCONFIG|LLVM|INSTALL|KDEB)(_.*)?|ARCH|SUBARCH|CROSS_COMPILE|LOCALVERSION|KDOCFLAGS"
    "|K(C|CPP|A|RUST)FLAGS|(C|A|RUST|LD)FLAGS_(KERNEL|MODULE)"
)
# Not just "error": a build prints the names of files such as net/9p/error.o.
SAYS_WHY = re.compile(r"error: |undefined reference|\*\*\* |Error \d|^tar: |^\w+: cannot ", re.IGNORECASE)


def run_step(
    argv: Sequence[str], what: str, lines_expected: int, log: Path, env: dict[str, str] | None = None
) -> None:
    """Run `argv`; each line of output is a step of about `lines_expected`; all of it goes to `log`.

    Raises RunFailed with the first line that looks like an error, or FullDisk. Whatever
    interrupts it ends the command and its children too; what outlives a kill -9 of ours holds the locks
    that we held (files.locked), so that nobody else builds in the same folder meanwhile.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    own = {k: v for k, v in os.environ.items() if k not in HANDED_DOWN and not OF_KBUILD.fullmatch(k)}
    with (
        full_disk_is_one_sentence(log.parent),
        log.open("w") as kept,
        progress(what, lines_expected) as shown,
        _started(argv, {**own, **ENGLISH, **(env or {})}) as process,
    ):
        assert process.stdout is not None
        for done, line in enumerate(process.stdout, start=1):
            kept.write(line)
            shown.update(min(done, lines_expected - 1))
    if process.returncode:
        raise _failure(argv, what, log)


def make_in(tree: Path, objects: Path, *more: str) -> list[str]:
    """argv of the kernel's make in `tree`, on all processors of ours, with what it makes in `objects`."""
    return [need("make"), f"--directory={tree}", f"O={objects}", f"-j{len(os.sched_getaffinity(0))}", *more]


@contextlib.contextmanager
def _started(argv: Sequence[str], env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The command, which ends with whoever waits for it."""
    process = None
    with contextlib.ExitStack() as stack:
        try:
            with interrupts_later():
                process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True, errors="replace", env=env, start_new_session=True, close_fds=False,
                )  # fmt: skip
                stack.enter_context(process)
            yield process
        except BaseException:
            if process is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)  # make removes what it has half made
            raise


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Signals come at its end: one while a process starts would leave it to nobody."""
    came: list[int] = []
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # as lockscale.cli takes them
    mine = asked if threading.current_thread() is threading.main_thread() else ()
    before = {one: signal.signal(one, lambda number, _: came.append(number)) for one in mine}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def _failure(argv: Sequence[str], what: str, log: Path) -> Exception:
    text = log.read_text(errors="replace")
    if NO_SPACE.search(text):
        return FullDisk(f"the disk under {log.parent} is full ({what}): {MAKE_ROOM}")
    lines = text.splitlines()
    first = next(filter(SAYS_WHY.search, lines), lines[-1] if lines else "no output")
    return RunFailed(f"{what} failed ({Path(argv[0]).name}): {first.strip()} (full log: {log})")
