# SPDX-License-Identifier: MIT
"""Who does the work: processes or threads, on which CPU, in which container, for how long, until what."""

import json
import os
import signal
from pathlib import Path

import pytest
from fsload_process import children, end, error_sentence, lines_of, run

from lockscale.tools import fsload
from lockscale.tools.registry import parse


def tasks(pid):
    return sorted(int(path.name) for path in Path(f"/proc/{pid}/task").iterdir())


@pytest.mark.parametrize("test", fsload.PHASES)
def test_threads_do_what_processes_do(executable, tmp_path, test):
    argv = fsload.command(executable, str(tmp_path), threads=3, items=20, test=test)
    status, out, err = run(argv)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    parsed = parse(out)
    assert {row.test for row in parsed.rows} == {f"{phase}_threads" for phase in fsload.PHASES[test]}
    for phase in fsload.PHASES[test]:
        assert [line["count"] for line in lines_of(out, phase)] == [20, 20, 20, 60]


@pytest.mark.parametrize(("how", "processes", "threads"), [("processes", 3, 1), ("threads", 1, 4)])
def test_threads_are_tasks_of_one_process(start, how, processes, threads):
    process = start(**{how: 3})
    found = [len(tasks(pid)) for pid in children(process)]
    assert found == [threads] * processes  # a process with threads also has the one that waits for them
    end(process)


def test_pinned_workers_take_the_cpus_that_fsload_may_use_in_turn(start):
    cpus = sorted(os.sched_getaffinity(0))
    process = start(processes=len(cpus) + 1, pin=True)
    assert [os.sched_getaffinity(pid) for pid in children(process)] == [{cpu} for cpu in [*cpus, cpus[0]]]
    end(process)


def test_pinned_threads_stay_among_the_cpus_that_are_allowed(start, executable, tmp_path):
    last = max(os.sched_getaffinity(0))
    argv = fsload.command(executable, str(tmp_path), threads=2, items=5, test="open_close", pin=True)
    _, out, _ = run(["taskset", "-c", str(last), *argv])
    assert [line["cpu"] for line in lines_of(out, "open") if "worker" in line] == [last, last]
    process = start(threads=1, pin=True)
    waits, works = tasks(children(process)[0])
    assert os.sched_getaffinity(works) == {min(os.sched_getaffinity(0))}
    assert os.sched_getaffinity(waits) == os.sched_getaffinity(0)
    end(process)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["processes", "threads"])
def test_a_fixed_time_is_kept_and_what_it_made_is_removed(executable, tmp_path, how):
    argv = fsload.command(executable, str(tmp_path), seconds=0.5, **{how: 2})
    status, out, err = run(argv)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    created, removed = lines_of(out, "create"), lines_of(out, "remove")
    assert created[-1]["seconds"] >= 0.5
    assert [line["count"] for line in created] == [line["count"] for line in removed]
    assert json.loads(out.splitlines()[0])["seconds"] == 0.5
    parsed = parse(out)
    rates = {row.statistic: row.value for row in parsed.rows if row.test.startswith("create")}
    slower = min(line["count"] / line["seconds"] for line in created[:2])
    assert rates["slowest_rank"] == pytest.approx(2 * slower, rel=1e-6, abs=5e-4)  # printed to 0.001/s


def test_the_time_is_over_before_anything_was_done(executable, spy, tmp_path):
    argv = fsload.command(executable, str(tmp_path), processes=1, seconds=0.001, test="open_close")
    environment = {**os.environ, "LD_PRELOAD": str(spy), "SLOW_SIGNAL": "300000"}
    status, out, err = run(argv, env=environment)
    assert (status, out, list(tmp_path.iterdir())) == (1, "", [])
    assert error_sentence(err) == "no item of open was done in 0.001 seconds: give more"


def test_a_killed_process_of_threads_leaves_nothing(start, tmp_path):
    process = start(threads=3)
    os.kill(children(process)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert (error_sentence(err), list(tmp_path.iterdir())) == ("thread 0 was killed by signal 9", [])


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("-n 8", "Too many open files"),
        ("-v 100000", "pthread_create failed: Resource temporarily unavailable"),
    ],
)
def test_a_limit_is_one_sentence_and_hangs_nobody(executable, tmp_path, limit, says):
    argv = fsload.command(executable, str(tmp_path), threads=40, items=5, test="fallocate2")
    status, out, err = run(["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *argv])
    assert (status, out, list(tmp_path.iterdir())) == (1, "", [])
    assert error_sentence(err).endswith(says)


@pytest.mark.parametrize(("how", "processes"), [("processes", 2), ("threads", 1)])
def test_a_container_has_a_cgroup_and_a_directory_of_its_own(start, tmp_path, cgroups, how, processes):
    process = start(containers=2, **{how: 4})
    for container in range(2):
        cgroup = cgroups / f"fsload.{process.pid}.{container}"
        inside = sorted(map(int, (cgroup / "cgroup.procs").read_text().split()))
        assert len(inside) == processes
        for pid in inside:
            here = Path(f"/proc/{pid}/cgroup").read_text()
            assert f"/fsload.{process.pid}.{container}\n" in here
            files = [fd.readlink() for fd in Path(f"/proc/{pid}/fd").iterdir()]
            mine = [path for path in files if path.name.startswith("file.mdtest.")]
            assert {path.parents[1].name for path in mine} == {f"test-dir.{container}-0"}
            assert len(mine) == 4 // (2 * processes)
    assert end(process)[0] == 1
    assert list(tmp_path.iterdir()) == []


def test_containers_have_the_controllers_that_the_first_line_names(executable, tmp_path, cgroups):
    argv = fsload.command(executable, str(tmp_path), processes=2, items=5, containers=2, test="fallocate2")
    _, out, _ = run(argv)
    (cgroups / "fsload.test").mkdir()
    found = (cgroups / "fsload.test" / "cgroup.controllers").read_text().split()
    (cgroups / "fsload.test").rmdir()
    assert json.loads(out.splitlines()[0])["controllers"].split() == found


def test_rates_of_containers_follow_from_their_workers(executable, tmp_path, cgroups):
    argv = fsload.command(
        executable, str(tmp_path), processes=6, seconds=0.1, containers=3, test="open_close"
    )
    status, out, err = run(argv)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    workers = [line for line in lines_of(out, "open") if "worker" in line]
    rates = {row.statistic: row.value for row in parse(out).rows}
    expected = []
    for pair in (workers[0:2], workers[2:4], workers[4:6]):
        span_ns = max(line["end_ns"] for line in pair) - min(line["start_ns"] for line in pair)
        expected.append(sum(line["count"] for line in pair) / span_ns * 1e9)
    assert [rates[f"container{k}"] for k in range(3)] == pytest.approx(expected, abs=1e-3)
    assert rates["per_container"] == pytest.approx(sum(expected) / 3, abs=1e-3)


NO_MOUNT = "mount -t tmpfs none /proc"
NO_GROUP = f'mounts=$(cat /proc/mounts); {NO_MOUNT}; mkdir /proc/self; echo "$mounts" > /proc/self/mounts'
READ_ONLY = "mount -o remount,bind,ro $(sed -n 's/^[^ ]* \\([^ ]*\\) cgroup2 .*/\\1/p;T;q' /proc/mounts)"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (NO_MOUNT, "--containers needs cgroup v2, which is not mounted here"),
        (NO_GROUP, "--containers needs cgroup v2, in which fsload is not"),
        (READ_ONLY, "Read-only file system; run as root, or in a cgroup that is yours"),
    ],
)
def test_without_a_cgroup_it_says_what_containers_need(executable, tmp_path, cgroups, spoil, says):
    if os.geteuid():
        pytest.skip("only root can take the cgroups away")
    argv = fsload.command(executable, str(tmp_path), processes=2, items=5, containers=2)
    status, out, err = run(["unshare", "--mount", "sh", "-c", f'{spoil} && exec "$@"', "sh", *argv])
    assert (status, out, list(tmp_path.iterdir())) == (1, "", [])
    assert error_sentence(err).endswith(says)


def test_a_cgroup_that_cannot_be_entered_is_one_sentence(executable, spy, tmp_path, cgroups):
    argv = fsload.command(executable, str(tmp_path), processes=2, items=5, containers=2)
    status, out, err = run(argv, env={**os.environ, "LD_PRELOAD": str(spy), "NO_ENTRY": "1"})
    assert (status, out, list(tmp_path.iterdir())) == (1, "", [])
    assert "the write to cgroup.procs failed: Permission denied" in error_sentence(err)
