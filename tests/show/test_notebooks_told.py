# SPDX-License-Identifier: MIT
"""While a notebook works, a person reads which of how many it is, for how long, and its last note."""

import time
from pathlib import Path

import pytest

from lockscale.progress import TABLE_MARK
from lockscale.show import execution

NOTE = "measure inode-claim: 3/6 004 48 processes, about 1.7 h left"


@pytest.mark.slow
def test_a_silent_notebook_says_again_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(execution, "HEARTBEAT_S", 0.0)
    log, said, deadline_s = tmp_path / "progress.log", "", time.monotonic() + 60
    with execution._progress_shown("5/8 05_measure", log, True):
        while "running for" not in said and time.monotonic() < deadline_s:
            said += capsys.readouterr().err
            time.sleep(0.05)
        with log.open("a") as stream:
            stream.write(f"{NOTE}\n{TABLE_MARK}6 steps left\n")
        while "last:" not in said and time.monotonic() < deadline_s:
            said += capsys.readouterr().err
            time.sleep(0.05)
    lines = said.splitlines()
    assert lines[:1] == ["[5/8 05_measure] starts"] and f"[5/8 05_measure] {TABLE_MARK}6 steps left" in lines
    assert any(
        line.startswith("[5/8 05_measure] running for ") and line.endswith(f"s; last: {NOTE}")
        for line in lines
    )


def test_what_a_notebook_said_last_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Such as that an interrupted run did not bring its server home."""
    log = tmp_path / "log"
    with execution._progress_shown("5/8 05_measure", log, True):
        deadline_s, said = time.monotonic() + 60, ""
        while "starts" not in said and time.monotonic() < deadline_s:
            said += capsys.readouterr().err
        log.write_text(f"{TABLE_MARK}the server is off\n")
    assert "[5/8 05_measure] | the server is off\n[5/8 05_measure] done in" in capsys.readouterr().err


def test_an_interrupted_notebook_is_not_called_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with (
        pytest.raises(KeyboardInterrupt),
        execution._progress_shown("5/8 05_measure", tmp_path / "log", True),
    ):
        raise KeyboardInterrupt
    assert "[5/8 05_measure] not done, after " in capsys.readouterr().err
