# SPDX-License-Identifier: MIT
"""Ctrl-C while a notebook runs: the cell ends what it began, however long that takes, before all is over."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

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


@pytest.mark.slow
def test_an_interrupted_cell_has_the_time_to_take_a_server_home(tmp_path: Path):
    cell = nbformat.v4.new_code_cell(CELL.format(here=str(tmp_path)))
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "one.ipynb")
    child = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "began").exists():
        assert child.poll() is None
        time.sleep(0.1)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 7, said
    assert (tmp_path / "home").exists() and "Traceback" not in said
