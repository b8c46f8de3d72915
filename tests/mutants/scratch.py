# SPDX-License-Identifier: MIT
"""A copy of the tree's lib and tests in which one mutant at a time is put, and its tests are run."""

import contextlib
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from lockscale import paths
from mutants.listed import Mutant

COPIED = ("lib", "tests")
LEFT = (".git", ".venv", ".cache", "runs")
MOST_CPU_S = 60  # a test that goes round for ever is ended, and has noticed the change
MOST_S = 600.0  # of a test that waits for ever, or on a machine that is busy: nothing is known then
KILLED, SURVIVED, BROKEN = "killed", "survived", "broken"
# of pytest: all passed; some failed; a file that could not be imported
NOT_BEGUN = 4
_STATUS = {0: SURVIVED, 1: KILLED, 2: KILLED}
WORDS = ("-x", "-q", "-p", "no:cacheprovider", "-m", "not guest and not long and not slow")


class Scratch:
    """A folder that is a clone to lockscale; removed at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for entry in paths.ROOT.iterdir():
            if entry.name in COPIED:  # times too: compiled code is kept by them
                shutil.copytree(entry, folder / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif entry.name not in LEFT:
                (folder / entry.name).symlink_to(entry)
        unpacked = paths.CACHE / "unpacked"  # the tests' sshd, where the machine has none of its own
        if unpacked.exists():
            (folder / ".cache").mkdir()
            (folder / ".cache/unpacked").symlink_to(unpacked)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """KILLED, SURVIVED or BROKEN (no test ran), and the last line that pytest said."""
        file = self.folder / "lib" / "lockscale" / mutant.file
        whole, times = file.read_text(), file.stat()
        file.write_text(mutant.applied(whole))
        try:
            return self.tested(mutant.tests, interpreted=mutant.interpreted)
        finally:
            file.write_text(whole)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def tested(self, tests: Sequence[str], *, interpreted: bool) -> tuple[str, str]:
        """The same of the folder as it is."""
        log = self.folder / "log"
        plugin = ["-p", "mutants.interpreted"] if interpreted else []
        argv = [*WORDS, *plugin, *(f"tests/{name}" for name in tests)]
        pid = os.fork()
        if pid == 0:
            self._test(argv, log)
        status = _status_of(pid)
        said = log.read_text(errors="replace").strip().splitlines() or ["nothing"]
        if status is None:
            return BROKEN, f"no end within {MOST_S:.0f} s: is this machine busy?"
        if status == NOT_BEGUN and "while loading conftest" in "".join(said):
            return KILLED, said[-1]
        return _STATUS.get(status, BROKEN), said[-1]

    def _test(self, argv: list[str], log: Path) -> None:
        """In a child that has what pytest and the tests import already, but nothing of lockscale."""
        ended = _Ended()
        try:
            os.setsid()
            os.chdir(self.folder)
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
            places = [str(self.folder / part) for part in ("lib", "tests", ".")]
            os.environ.update(PYTHONPATH=os.pathsep.join(places), PYTHONDONTWRITEBYTECODE="1")
            sys.dont_write_bytecode = True
            sys.path[:0] = places
            ours = [str(paths.ROOT / part) for part in COPIED]
            for name, module in list(sys.modules.items()):  # a worker of pytest has run other tests before
                if any(str(getattr(module, "__file__", "")).startswith(f"{one}/") for one in ours):
                    del sys.modules[name]
            import pytest

            ended.status = int(pytest.main(argv, plugins=[ended]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended.status)


class _Ended:
    """How the tests ended, if pytest fails after them: a failed one may leave a file open, and that warns."""

    status = 3

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.status = int(exitstatus)


def _status_of(pid: int) -> int | None:
    """How the child ended; None where it had to be ended."""
    deadline_s = time.monotonic() + MOST_S
    while time.monotonic() < deadline_s:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with contextlib.suppress(ProcessLookupError):  # what a failed test left
                os.killpg(pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1
        time.sleep(0.05)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None
