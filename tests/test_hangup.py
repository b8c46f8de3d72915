# SPDX-License-Identifier: MIT
"""A closed terminal ends a run as Ctrl-C does: cleaned up, with the sentence that goes on with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CODE = """
import signal, sys
from pathlib import Path
from lockscale import paths
paths.RUNS = Path(sys.argv[1])
# the tests themselves may run under nohup
signal.signal(signal.SIGINT, signal.default_int_handler)  # nor in the background, where it is ignored
signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[2] == "nohup" else signal.SIG_DFL)
from lockscale.cli import main
point = "guests=[{cpus: 1, processes: [1]}]"
own = ["-p", point, "-p", "operations_per_point=40", "-p", "iterations=200"]
sys.argv = ["lockscale", "study", "run", "inode-claim", "--target", "local", *own]
main()
"""


def begun(folder: Path, how: str) -> subprocess.Popen[str]:
    """A run of its own that has measured a step."""
    argv = [sys.executable, "-c", CODE, str(folder), how]
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not any(folder.glob("*/journal.jsonl")):
        assert child.poll() is None, child.communicate()[1]
        time.sleep(0.05)
    return child


@pytest.mark.slow
def test_a_hangup_cleans_up_and_says_how_to_go_on(tmp_path: Path):
    child = begun(tmp_path, "terminal")
    child.send_signal(signal.SIGHUP)
    said = child.communicate(timeout=120)[1]
    (run,) = tmp_path.glob("inode-claim-*")
    assert child.returncode == 130 and f"`lockscale study resume {run.name}`" in said
    assert "Traceback" not in said and not (run / "load").exists()


@pytest.mark.slow
def test_under_nohup_a_hangup_is_nothing(tmp_path: Path):
    child = begun(tmp_path, "nohup")
    os.kill(child.pid, signal.SIGHUP)
    time.sleep(0.5)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert "study resume" in child.communicate(timeout=120)[1]
