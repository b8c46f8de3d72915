# SPDX-License-Identifier: MIT
"""What a notebook's cell raises reaches the caller as what it was: one sentence of the same kind."""

from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.machines.ssh_host import HostKeyRefused, Unreachable
from lockscale.show.execution import execute

CELLS = [
    ("from lockscale.errors import BadInput as E; raise E('say which')", BadInput, "say which"),
    ("from lockscale.errors import RunFailed as E; raise E('it fell')", RunFailed, "it fell"),
    ("from lockscale.errors import FullDisk as E; raise E('the disk is full')", FullDisk, "the disk is full"),
    ("raise OSError(28, 'No space left on device')", FullDisk, "a disk is full (one.ipynb, cell 1)"),
    ("from lockscale.machines.ssh_host import Unreachable as E; raise E('gone')", RunFailed, "gone"),
    ("from lockscale.machines.ssh_host import HostKeyRefused as E; raise E('other')", BadInput, "other"),
    ("1 / 0", RunFailed, "one.ipynb failed in cell 1: ZeroDivisionError: division by zero"),
]  # fmt: skip


def test_a_servers_errors_are_kinds_of_ours():
    assert issubclass(Unreachable, RunFailed) and issubclass(HostKeyRefused, BadInput)


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "kind", "said"), CELLS)
def test_a_cells_error_keeps_its_kind_and_sentence(tmp_path: Path, cell: str, kind, said: str):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbformat.write(notebook, tmp_path / "one.ipynb")
    with pytest.raises((BadInput, RunFailed)) as error:
        execute(tmp_path / "one.ipynb", tmp_path / "done" / "one.ipynb", {}, tmp_path / "log", shown=False)
    assert type(error.value) is kind and str(error.value).startswith(said)


@pytest.mark.parametrize("kind", [BadInput, FullDisk, RunFailed, Unreachable, HostKeyRefused])
def test_below_a_cell_stands_the_sentence_and_no_traceback(kind: type[Exception], capsys):
    shell = InteractiveShell()
    shell.user_ns["kind"] = kind
    assert not shell.run_cell("raise kind('name another study')").success
    assert capsys.readouterr().out.split("\n")[0].strip() == "name another study"
