# SPDX-License-Identifier: MIT
"""Every wait says how far it is; the last word is never lost."""

import errno
import io
import threading
import time
from pathlib import Path

import pytest

from lockscale import progress as module
from lockscale.progress import FILE_VARIABLE, progress, tell, told_if_long


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the pipeline shows."""
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "progress.log"))
    return tmp_path / "progress.log"


def test_the_last_line_is_always_there(log: Path):
    with progress("build", 100) as shown:
        for done in range(101):
            shown.update(done, f"file {done}")
    assert log.read_text().splitlines()[-1] == "build: 100/100 file 100"


def test_lines_come_at_most_so_often(log: Path, monkeypatch):
    monkeypatch.setattr(module, "LINE_EVERY_S", 3600.0)
    with progress("build", 100) as shown:
        for done in range(101):
            shown.update(done)
        assert not log.exists()
    assert log.read_text() == "build: 100/100\n"


def test_a_step_of_minutes_is_announced_while_it_runs(log: Path, monkeypatch):
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.05)
    with progress("boot", 2) as shown:
        shown.update(0, "first arm")
        for _ in range(1000):
            if log.exists() and log.read_text():
                break
            time.sleep(0.01)
        assert log.read_text() == "boot: 0/2 first arm\n"


def test_every_update_is_a_line_when_none_is_held_back(log: Path, monkeypatch):
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    monkeypatch.setattr(module, "SURE_AFTER_S", 0.0)
    with progress("measure", 4) as shown:
        for done in range(5):
            shown.update(done)
    lines = log.read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == [f"measure: {done}/4" for done in range(5)]
    assert all(", about " in line and line.endswith(" s left") for line in lines[1:4])
    assert not any("left" in line for line in (lines[0], lines[4]))


def test_the_rest_is_not_told_from_a_moment_or_from_a_part_of_the_first_of_several(log: Path, monkeypatch):
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    with progress("compile", 90) as shown:
        shown.update(2)
    monkeypatch.setattr(module, "SURE_AFTER_S", 0.0)
    with progress("boots", 2) as shown:
        shown.update(0.6)
    assert log.read_text() == "compile: 2/90\nboots: 1/2\n"


def test_a_step_that_fails_still_says_how_far_it_came(log: Path):
    with pytest.raises(ZeroDivisionError), progress("build", 10) as shown:
        shown.update(3, "fs/ext4")
        raise ZeroDivisionError
    assert log.read_text().startswith("build: 3/10 fs/ext4")


def test_a_log_that_takes_no_more_ends_nothing(monkeypatch: pytest.MonkeyPatch, capfd):
    """Lines come from a thread of their own too, which would print a traceback amid a run."""
    monkeypatch.setattr("lockscale.progress.LINE_EVERY_S", 0.05)
    monkeypatch.setenv(FILE_VARIABLE, "/dev/full")
    tell("rates so far")
    with progress("measure", 2) as shown:
        shown.update(1)
        time.sleep(0.2)
    assert capfd.readouterr().err == ""


def test_a_standard_error_that_takes_no_more_ends_nothing(monkeypatch: pytest.MonkeyPatch):
    """A terminal that was closed, nohup's file on a full disk, a `tee` that Ctrl-C ended as well."""
    monkeypatch.delenv(FILE_VARIABLE, raising=False)

    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("sys.stderr", Closed())
    tell("rates so far")
    with progress("measure", 2) as shown:
        shown.update(1)


def test_two_steps_share_one_log(log: Path):
    for what in ("unpack", "build"):
        with progress(what) as shown:
            shown.update(7, "files")
    assert log.read_text().splitlines() == ["unpack: files", "build: files"]


def test_without_a_log_or_a_terminal_the_lines_go_to_standard_error(monkeypatch, capsys):
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    with progress("build", 2) as shown:
        shown.update(2)
    assert capsys.readouterr() == ("", "build: 2/2\n")


def test_a_wait_without_a_word_is_told_once_it_is_long(log: Path, monkeypatch: pytest.MonkeyPatch):
    """Such as for a port that accepts and never answers."""
    with told_if_long("connect to a"):
        pass
    assert not log.exists()
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.05)
    with told_if_long("connect to b"):
        deadline_s = time.monotonic() + 60
        while not log.exists() and time.monotonic() < deadline_s:
            time.sleep(0.02)
    assert log.read_text() == "| connect to b: not done yet\n"


def test_a_notebook_keeps_nothing_of_a_bar_that_has_ended(monkeypatch: pytest.MonkeyPatch):
    """A widget would stay in the saved file, and be "model not found" when it is opened again."""
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    monkeypatch.setattr(module, "_in_a_notebook", lambda: True)
    shown: list[dict[str, str]] = []

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(data)

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        handle = Handle()
        handle.update(data, raw=raw and display_id)
        return handle

    monkeypatch.setattr("IPython.display.display", display)
    with pytest.raises(ZeroDivisionError), progress("compare <b>", 14) as bar:
        bar.update(7, "usl & amdahl")
        bar.update(14)
        raise ZeroDivisionError
    pages = [data["text/html"] for data in shown]
    assert "compare &lt;b&gt;" in pages[0] and 'value="14" max="14"' in pages[-2]
    assert set(shown[-1].values()) == {""}


def test_nothing_is_said_of_a_wait_after_it_is_over(monkeypatch: pytest.MonkeyPatch):
    """What was begun is said to its end first: later its stream may be closed."""
    begun, said = threading.Event(), []

    def slow(text: str) -> None:
        begun.set()
        time.sleep(0.2)
        said.append(text)

    monkeypatch.setattr(module, "LINE_EVERY_S", 0.01)
    monkeypatch.setattr(module, "tell", slow)
    with told_if_long("connect to c"):
        assert begun.wait(60)
    assert said == ["connect to c: not done yet"]
