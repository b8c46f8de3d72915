# SPDX-License-Identifier: MIT
"""Signals from outside: those that end a run leave nothing behind, the one that workers send is theirs."""

import os
import signal
import subprocess
import time

import pytest
from fsload_process import end, error_sentence, lines_of

from lockscale.tools import fsload

ENDS = [getattr(signal, f"SIG{name}") for name in ("HUP", "INT", "QUIT", "USR2", "ALRM", "TERM")]


@pytest.mark.parametrize("how", ["processes", "threads"])
@pytest.mark.parametrize("by", ENDS)
def test_an_interrupted_run_removes_its_files(start, tmp_path, how, by):
    process = start(**{how: 2})
    assert end(process, by) == (1, f"interrupted by signal {by.value}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("by", [signal.SIGHUP, signal.SIGQUIT])
def test_a_lost_session_leaves_no_cgroup(start, tmp_path, cgroups, by):
    process = start(processes=2, containers=2)
    assert len(list(cgroups.glob(f"fsload.{process.pid}.*"))) == 2
    assert end(process, by) == (1, f"interrupted by signal {by.value}")
    assert (list(tmp_path.iterdir()), list(cgroups.glob("fsload.*"))) == ([], [])


def test_under_nohup_a_lost_session_does_not_end_it(start):
    process = start(processes=2, signals="--ignore-signal=HUP")
    process.send_signal(signal.SIGHUP)  # of two that wait, the lower number is seen first
    assert end(process) == (1, f"interrupted by signal {signal.SIGTERM.value}")


def test_a_sigusr1_from_outside_does_not_start_the_time_again(start):
    process = start(test="creat_clo", processes=2, seconds=0.5)
    for _ in range(3000):
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.01)
    assert process.poll() == 0
    assert lines_of(process.communicate()[0], "creat")[-1]["seconds"] >= 0.5


def with_sigusr1_waiting(argv, **variables):
    """stdout of argv, to which a SIGUSR1 was sent before it began."""
    process = subprocess.Popen(
        ["env", "--block-signal=USR1", "sh", "-c", 'kill -USR1 $$; exec "$@"', "sh", *argv],
        env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out


def test_a_sigusr1_from_outside_does_not_end_the_items(executable, tmp_path):
    out = with_sigusr1_waiting(fsload.command(executable, str(tmp_path), processes=2, items=2000))
    assert [line["count"] for line in lines_of(out, "create")] == [2000, 2000, 4000]


def test_a_sigusr1_that_waits_from_the_start_hides_no_worker(executable, spy, tmp_path):
    """The kernel drops the worker's signal while one from outside waits for the parent."""
    argv = fsload.command(executable, str(tmp_path), processes=2, seconds=0.2, test="open_close")
    out = with_sigusr1_waiting(argv, LD_PRELOAD=str(spy), SLOW_FORK="200000")
    assert lines_of(out, "open")[-1]["seconds"] >= 0.2


@pytest.mark.parametrize("status", [0, 3])
def test_a_child_that_it_was_started_with_is_none_of_its_workers(executable, tmp_path, status):
    """A shell that starts another process and then becomes fsload leaves it that child."""
    argv = fsload.command(executable, str(tmp_path), processes=2, items=20_000, test="open_close")
    script = f'(exit {status}) & exec "$@"'
    done = subprocess.run(["sh", "-c", script, "sh", *argv], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line["count"] for line in lines_of(done.stdout, "open")] == [20_000, 20_000, 40_000]


def test_ctrl_c_at_a_terminal_reaches_all_and_is_one_sentence(start, tmp_path):
    process = start(test="create_unlink", processes=2)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (error_sentence(err), list(tmp_path.iterdir())) == ("interrupted by signal 2", [])
