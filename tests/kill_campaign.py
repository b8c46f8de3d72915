# SPDX-License-Identifier: MIT
"""Controllers killed with SIGKILL at random moments of runs until each run is whole, on any target."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lockscale.errors import BadInput
from lockscale.journal import whole_part
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import Run
from lockscale.measure.where_time_went import LINE
from lockscale.programs import need

KEY = ["arm", "cpus", "pair", "block", "iteration", "threads", "tool", "test", "metric", "statistic"]
WAIT_S = 1200
# $1 the run's folder, $2 study, $3 target, $4 parameters. Ends with 3 where the target is held.
CONTROLLER = """
import json, sys
from pathlib import Path
from lockscale.errors import BadInput
from lockscale.measure.run import run_plan
from lockscale.measure.run_folder import Run
from lockscale.study.file import load_study, load_target
folder, study, target, parameters = sys.argv[1:]
try:
    run_plan(Run(Path(folder)), load_study(study, json.loads(parameters)), load_target(target))
except BadInput as error:
    print(error, file=sys.stderr)
    sys.exit(3 if "is in use by" in str(error) else 1)
"""


@dataclass
class Campaign:
    """home: an empty folder for the runs, and for what their controllers leave in TMPDIR.

    arguments: of CONTROLLER behind the folder. taken: the target taken for somebody else, BadInput while it
    is held. left: what still works for a killed controller; asked while the target is taken. reach: of the
    time of an undisturbed run, the part in which a controller is killed; a sixth is about a step.
    """

    home: Path
    arguments: list[str]
    taken: Callable[[], AbstractContextManager[object]]
    left: Callable[[], list[str]]
    code: str = CONTROLLER
    reach: float = 1 / 6
    kills: int = 0
    refused: int = 0
    runs: int = 0
    undisturbed: list[tuple[object, ...]] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(25))

    def carry_out(self, kills: int) -> str:
        """So many kills and one undisturbed run before; the figures, for a log. Each fact is asserted."""
        began_s = time.monotonic()
        first = self._new_run()
        assert self._start(first).wait(WAIT_S) == 0, self._said(first)
        whole_s = time.monotonic() - began_s
        self.undisturbed = keys(read_rows(first.rows))
        while self.kills < kills:
            self.runs += 1
            found = keys(read_rows(self._one_run(kills, whole_s).rows))
            assert found == self.undisturbed and len(set(found)) == len(found)
        return (
            f"{self.arguments[1]}: {self.kills} kills in {self.runs} runs of {len(self.undisturbed)} rows, "
            f"{whole_s:.0f} s each undisturbed: the next was refused first after {self.refused}, and found "
            f"nothing left after all; rows as undisturbed in {self.runs} of {self.runs}"
        )

    def _new_run(self) -> Run:
        (self.home / "tmp").mkdir(exist_ok=True)
        run = Run(self.home / f"run-{self.runs}")
        run.folder.mkdir()
        return run

    def _log(self, text: str) -> None:
        with (self.home / "log").open("a") as log:
            log.write(f"{text}\n")

    def _one_run(self, kills: int, whole_s: float) -> Run:
        """A run from its begin to its end, its controllers killed as long as there are kills left."""
        run, ended = self._new_run(), False
        while not ended:
            before = whole_part(run.journal)
            controller = self._start(run)
            ended = self._ends(controller, run, whole_s if self.kills < kills else 0)
            assert whole_part(run.journal).startswith(before), "a line of the journal was changed"
        assert not list(run.folder.rglob("*.part")) and not list(run.folder.rglob("scratch.img"))
        return run

    def _start(self, run: Run) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-c", self.code, str(run.folder), *self.arguments]
        argv = [need("setpriv"), "--pdeathsig", "KILL", *argv]  # with the test, which may be interrupted
        with (run.folder / "controller.log").open("ab") as log:
            return subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.home / "tmp")},
            )  # fmt: skip

    def _ends(self, controller: "subprocess.Popen[bytes]", run: Run, whole_s: float) -> bool:
        """Whether the run came to its end; whole_s: its controller is killed within `reach` of it."""
        if whole_s and self._holds(controller, run):
            try:
                controller.wait(self.chance.uniform(0, whole_s * self.reach))
            except subprocess.TimeoutExpired:
                controller.kill()
                controller.wait()
                self.kills += 1
                refused = self._next()
                self.refused += refused
                self._log(f"kill {self.kills} in run {self.runs}: {'refused first' if refused else 'gone'}")
                return False
        assert controller.wait(WAIT_S) == 0, self._said(run)
        return True

    def _holds(self, controller: "subprocess.Popen[bytes]", run: Run) -> bool:
        """Wait until it has begun on the run; a kill before that is no kill of a run."""
        lock = run.folder / "lock"
        while controller.poll() is None:
            if lock.exists() and f"(process {controller.pid})" in lock.read_text():
                return True
            time.sleep(0.01)
        return False

    def _next(self) -> bool:
        """Somebody else, at once: refused at first, or not; when not, nothing of the killed one is left."""
        deadline_s, refused = time.monotonic() + WAIT_S, False
        while True:
            try:
                with self.taken():
                    left = self.left()
                    assert not left, f"the target was given away beside {left}"
                    break
            except BadInput as error:
                assert "is in use by" in str(error) and time.monotonic() < deadline_s, error
                refused = True
                time.sleep(0.01)
        assert not list((self.home / "tmp").glob("lockscale-guest-*"))
        return refused

    def _said(self, run: Run) -> str:
        return (run.folder / "controller.log").read_text(errors="replace")[-2000:]


def keys(rows: pd.DataFrame) -> list[tuple[object, ...]]:
    """What tells a row from the others of its run, sorted.

    Not of cache lines: which of them moved for long enough to tell is of each load.
    """
    always = rows[~rows.metric.str.startswith(LINE)]
    return sorted(map(tuple, always[KEY].to_numpy().tolist()))


def processes_with(word: str) -> list[str]:
    """The command lines of this machine's processes that hold `word`; a zombie has none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        found += [line] if word in line else []
    return found
