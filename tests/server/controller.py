# SPDX-License-Identifier: MIT
"""A controller of its own: the process that a test may kill, cut off, or find refused."""

import subprocess
import sys
from pathlib import Path

from lockscale.measure.resume import read_entries
from lockscale.measure.run_folder import Run

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
        self.process.wait()
