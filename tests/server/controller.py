# SPDX-License-Identifier: MIT
"""A controller of its own: the process that a test may kill, cut off, or find refused."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from kill_campaign import KEY, keys
from lockscale.measure.resume import read_entries
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import Run
from server.machine import Server

WAIT_S = 1800
CODE = """
import json, os, signal, sys
from pathlib import Path
from lockscale import paths
from lockscale.errors import BadInput, RunFailed
from lockscale import journal
from lockscale.measure.run_folder import Run
from lockscale.measure.run import run_plan
from lockscale.study.file import load_study, load_target

folder, targets, parameters, dies_after = sys.argv[1:]
paths.TARGETS = Path(targets)
whole = journal.append_line

def append(path, line):
    whole(path, line)
    if json.loads(line)["step"].startswith(dies_after):
        os.kill(os.getpid(), signal.SIGKILL)

if dies_after:
    journal.append_line = append
try:
    study = load_study("inode-claim", json.loads(parameters))
    run_plan(Run(Path(folder)), study, load_target("example-server"))
except (BadInput, RunFailed) as error:
    print(error)
    sys.exit(1)
"""


class Controller:
    """`run_plan` in a process; `dies_after`: how the name of the step begins whose record it still writes."""

    def __init__(self, run: Run, targets: Path, parameters: str, dies_after: str = "") -> None:
        self.run = run
        argv = [sys.executable, "-c", CODE, str(run.folder), str(targets), parameters, dies_after]
        log = run.folder / "controller.log"
        with log.open("ab") as stream:
            self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stream, text=True)

    def steps(self) -> int:
        """How many steps are in the journal."""
        return len(read_entries(self.run.journal))

    def ends(self, timeout_s: float = 3600) -> tuple[int, str]:
        """Its exit status, minus the signal if one ended it, and the sentence that it printed."""
        said, _ = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, said.strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()  # an open pipe would be found in a later test


def asked_of(run: Run, **other: object) -> str:
    """The parameters of a guest's run, for the server to be asked the same, but for some."""
    return json.dumps(json.loads((run.folder / "study.json").read_text())["parameters"] | other)


def wait_until(what: Callable[[], bool], controller: Controller) -> None:
    """Until it is so, as long as the controller lives."""
    deadline_s = time.monotonic() + WAIT_S
    while not what():
        assert controller.process.poll() is None and time.monotonic() < deadline_s, controller.ends()
        time.sleep(0.5)


def wait_for_load(server: Server, controller: Controller) -> None:
    """Until a load of the next step runs on the server."""

    def runs() -> bool:  # a login costs an emulated server half a second: it waits for itself
        argv = ("timeout", "60", "sh", "-c", "until pgrep '^fsload'; do sleep 0.2; done")
        with contextlib.suppress(subprocess.TimeoutExpired):
            return server.run(*argv).returncode == 0
        return False

    wait_until(runs, controller)


def whole(controller: Controller, run: Run, guests: Run) -> pd.DataFrame:
    """The rows of a run that comes to its end: those of the guest's, none twice."""
    assert controller.ends(WAIT_S * 2) == (0, "")
    rows, of_guests = read_rows(run.rows), read_rows(guests.rows)
    assert keys(rows) == keys(of_guests)
    assert len(rows) == len(rows.drop_duplicates(KEY))
    return rows
