# SPDX-License-Identifier: MIT
"""A notebook's kernel: interrupted, its cell ends what it began; dead, it is told; cron hears nothing."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from lockscale.errors import RunFailed
from lockscale.show.execution import execute

CELL = """
import pathlib, time
here = pathlib.Path({here!r})
(here / "began").touch()
try:
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(12)  # as a server takes that is rebooted; jupyter_client would kill the kernel before
    (here / "home").touch()
    raise
"""
RUN = """
import signal, sys
from pathlib import Path
from lockscale.show.execution import Interrupted, execute
signal.signal(signal.SIGINT, signal.default_int_handler)
here = Path(sys.argv[1])
try:
    execute(here / "one.ipynb", here / "done.ipynb", {}, here / "log", ends_s=60)
except Interrupted:
    sys.exit(7)
"""


def notebook_of_one(cell: str, folder: Path) -> Path:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbformat.write(notebook, folder / "one.ipynb")
    return folder / "one.ipynb"


@pytest.mark.slow
def test_an_interrupted_cell_has_the_time_to_take_a_server_home(tmp_path: Path):
    notebook_of_one(CELL.format(here=str(tmp_path)), tmp_path)
    child = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "began").exists():
        assert child.poll() is None
        time.sleep(0.1)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 7, said
    assert (tmp_path / "home").exists() and "Traceback" not in said


def test_what_the_kernel_itself_writes_reaches_no_mail_of_cron(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    cell = "import atexit, sys\natexit.register(lambda: print('zmq: a socket closed', file=sys.__stderr__))"
    execute(notebook_of_one(cell, tmp_path), tmp_path / "done.ipynb", {}, tmp_path / "log", shown=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("death", "told"),
    [
        ("os.system('echo terminate called >&2'); os.abort()", "terminate called"),
        ("os.kill(os.getpid(), 9)", "it printed nothing, so it crashed or was killed"),
    ],
)
def test_a_kernel_that_died_is_told_with_its_last_words(
    death: str, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    notebook = notebook_of_one(f"import os; {death}", tmp_path)
    with pytest.raises(RunFailed, match=f"kernel of done.ipynb died: .*{told}"):
        execute(notebook, tmp_path / "done.ipynb", {}, tmp_path / "log", shown=False)
    assert capfd.readouterr() == ("", "")
