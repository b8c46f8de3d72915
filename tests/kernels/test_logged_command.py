# SPDX-License-Identifier: MIT
"""A build that is ended leaves nobody writing into its folder."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.files import locked
from lockscale.kernels import logged_command

BUILDS = """
import signal, sys
from pathlib import Path
from lockscale.files import locked
from lockscale.kernels.logged_command import run_step
for wanted in (signal.SIGINT, signal.SIGTERM):  # the first one may be ignored by who started us
    signal.signal(wanted, signal.default_int_handler)
folder = Path(sys.argv[1])
with locked(folder / "lock", "the folder"):
    run_step(["sh", "-c", "sleep 300 & echo $!; wait"], "build", 10, folder / "log")
"""


@contextlib.contextmanager
def building(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that builds under a lock, and the id of the compiler that its make started."""
    with subprocess.Popen([sys.executable, "-c", BUILDS, str(folder)], stderr=subprocess.DEVNULL) as process:
        try:
            yield process, compiler(folder)
        finally:
            process.kill()


def compiler(folder: Path) -> int:
    for _ in range(12_000):
        log = folder / "log"
        if log.exists() and (children := sleeping(folder)):
            return children[0]
        time.sleep(0.01)
    raise AssertionError("the build did not start")


def sleeping(folder: Path) -> list[int]:
    """Processes of the build that hold its lock, but for the one that started it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "comm").read_text() == "sleep\n" and any(
                fd.readlink() == folder / "lock" for fd in (entry / "fd").iterdir()
            ):
                found.append(int(entry.name))
    return found


def is_gone(pid: int) -> bool:
    for _ in range(12_000):
        stat = Path(f"/proc/{pid}/stat")
        try:
            if stat.read_text().rpartition(") ")[2].startswith("Z"):
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_takes_its_compilers_with_it(tmp_path: Path, by: signal.Signals):
    with building(tmp_path) as (process, child):
        process.send_signal(by)
        process.wait(30)
        assert is_gone(child)
        with locked(tmp_path / "lock", "the folder"):
            pass


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_a_build_starts_waits_until_it_can_be_ended(by: signal.Signals):
    reached, before = [], signal.signal(by, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), logged_command.interrupts_later():
            os.kill(os.getpid(), by)
            reached.append(by)
    finally:
        signal.signal(by, before)
    assert reached == [by]


def test_a_killed_build_keeps_its_folder_locked_while_its_compilers_run(tmp_path: Path):
    with building(tmp_path) as (process, child):
        process.kill()
        process.wait(30)
        with pytest.raises(BadInput, match="in use"), locked(tmp_path / "lock", "the folder"):
            pass
        os.kill(child, signal.SIGKILL)
        assert is_gone(child)
        for _ in range(12_000):  # its shell ends a moment later
            with contextlib.suppress(BadInput), locked(tmp_path / "lock", "the folder"):
                return
            time.sleep(0.01)
        pytest.fail("the lock outlived everybody")
