# SPDX-License-Identifier: MIT
"""fsload is compiled and really runs, on a small directory."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from fsload_process import error_sentence, run, session_members

from lockscale.errors import BadInput
from lockscale.paths import FSLOAD
from lockscale.tools import fsload
from lockscale.tools.registry import parse

PROCESSES, ITEMS = 4, 200


def create_unlink(executable, directory, phase="both", processes=PROCESSES, items=ITEMS):
    argv = fsload.command(executable, str(directory), processes=processes, items=items, phase=phase)
    return run(argv)


def files_in(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


def test_the_sources_compile_without_a_warning(tmp_path):
    argv = ["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
    sources = [str(path) for path in FSLOAD.glob("*.c")]
    done = subprocess.run([*argv, *sources, "-o", tmp_path / "fsload"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_both_phases_count_every_file_and_leave_nothing(executable, tmp_path):
    status, out, err = create_unlink(executable, tmp_path)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    lines = [json.loads(line) for line in out.splitlines()]
    assert (lines[0]["workers"], lines[0]["as"]) == (PROCESSES, "processes")
    assert (lines[0]["items"], lines[0]["clock"]) == (ITEMS, "CLOCK_MONOTONIC")
    for phase in ("create", "remove"):
        counts = [line["count"] for line in lines if line.get("phase") == phase]
        assert counts == [ITEMS] * PROCESSES + [PROCESSES * ITEMS]


def test_create_alone_leaves_the_files_that_remove_takes(executable, tmp_path):
    assert create_unlink(executable, tmp_path, "create")[0] == 0
    files = files_in(tmp_path)
    assert len(files) == PROCESSES * ITEMS
    assert len({path.parent for path in files}) == PROCESSES
    assert (files[0].parents[2], files[0].stat().st_size) == (tmp_path, 0)
    status, out, _ = create_unlink(executable, tmp_path, "remove")
    assert (status, list(tmp_path.iterdir())) == (0, [])
    assert {row.test for row in parse(out).rows} == {"remove"}


def test_names_are_those_of_mdtest(executable, tmp_path):
    create_unlink(executable, tmp_path, "create", processes=2, items=11)
    last = tmp_path / "test-dir.0-0" / "mdtest_tree.1.0" / "file.mdtest.1.10"
    assert last in files_in(tmp_path)


def test_no_process_starts_before_all_are_ready(executable, tmp_path):
    _, out, _ = create_unlink(executable, tmp_path)
    workers = [line for line in map(json.loads, out.splitlines()) if "worker" in line]
    for phase in ("create", "remove"):
        mine = [line for line in workers if line["phase"] == phase]
        assert max(line["ready_ns"] for line in mine) <= min(line["start_ns"] for line in mine)


def test_printed_rates_are_those_of_the_times_and_counts(executable, tmp_path):
    _, out, _ = create_unlink(executable, tmp_path)
    parsed = parse(out)
    assert (parsed.tool, parsed.warnings) == ("fsload", ())
    workers = [
        line for line in map(json.loads, out.splitlines())
        if line.get("phase") == "create" and "worker" in line
    ]  # fmt: skip
    took = [line["end_ns"] - line["start_ns"] for line in workers]
    span = max(line["end_ns"] for line in workers) - min(line["start_ns"] for line in workers)
    rates = {row.statistic: row.value for row in parsed.rows if row.test == "create"}
    assert rates["total"] == pytest.approx(PROCESSES * ITEMS * 1e9 / span, abs=1e-3)
    assert rates["slowest_rank"] == pytest.approx(PROCESSES * ITEMS * 1e9 / max(took), abs=1e-3)
    assert rates["rank2"] == pytest.approx(ITEMS * 1e9 / took[2], abs=1e-3)
    slowest = min(rates[f"rank{k}"] for k in range(4))  # printed to the thousandth, as the whole is
    assert rates["slowest_rank"] == pytest.approx(PROCESSES * slowest, abs=(PROCESSES + 1) * 0.5e-3)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["create_unlink"],
        ["create_unlink", "--dir", "."],
        ["create_unlink", "--dir", "", "--processes", "1", "--items", "1"],
        ["no_such_test", "--dir", ".", "--processes", "1", "--items", "1"],
        ["fallocate2", "--dir", ".", "--processes", "1", "--items", "1", "--phase", "create"],
        ["create_unlink", "--dir", ".", "--processes", "0", "--items", "1"],
        ["create_unlink", "--dir", ".", "--processes", "-1", "--items", "1"],
        ["create_unlink", "--dir", ".", "--processes", "1e3", "--items", "1"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--items", "99999999999999999999"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--items", "1", "--phase", "stat"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--items", "1", "--colour"],
        ["create_unlink", "--dir", ".", "--items", "1"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--threads", "1", "--items", "1"],
        ["create_unlink", "--dir", ".", "--threads", "4097", "--items", "1"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--items", "1", "--seconds", "1"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "0"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "1e3"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "0x10"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "1.5.0"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "."],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "nan"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "86401"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--seconds", "1", "--phase", "create"],
        ["create_unlink", "--dir", ".", "--processes", "3", "--items", "1", "--containers", "2"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--items", "1", "--containers", "0"],
        ["create_unlink", "--dir", ".", "--processes", "1", "--items"],
        ["create_unlink", "fallocate2", "--dir", ".", "--processes", "1", "--items", "1"],
        ["create_unlink", "--dir", "x" * 4090, "--processes", "1", "--items", "1"],
    ],
)
def test_bad_arguments_are_one_sentence_and_exit_2(executable, tmp_path, arguments):
    status, out, err = run([str(executable), *arguments], cwd=tmp_path)
    assert (status, out) == (2, "")
    assert error_sentence(err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("before", [[], ["create_unlink", "--dir", "."]])
def test_help_is_the_usage_and_a_success(executable, tmp_path, before):
    status, out, err = run([str(executable), *before, "--help"], cwd=tmp_path)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    assert out.startswith("use: fsload TEST --dir D ") and all(test in out for test in fsload.PHASES)
    with Path("/dev/full").open("w") as full:
        assert subprocess.run([executable, "--help"], stdout=full).returncode == 1


def test_a_directory_that_is_absent_or_a_file_is_one_sentence_and_exit_1(executable, tmp_path):
    plain = tmp_path / 'a "file"\n'
    plain.touch()
    for directory in (tmp_path / "absent", plain):
        status, out, err = create_unlink(executable, directory)
        assert (status, out) == (1, "")
        assert error_sentence(err).startswith(f"cannot make {directory}/test-dir.0-0: ")


def test_what_an_earlier_run_left_is_not_touched(executable, tmp_path):
    create_unlink(executable, tmp_path, "create")
    before = sorted(files_in(tmp_path))
    status, _, err = create_unlink(executable, tmp_path)
    assert (status, sorted(files_in(tmp_path))) == (1, before)
    assert "remove what an earlier run left" in error_sentence(err)


def test_a_call_that_fails_ends_all_processes_and_names_the_file(executable, tmp_path):
    create_unlink(executable, tmp_path, "create", items=5)
    status, out, err = create_unlink(executable, tmp_path, "remove", items=6)
    assert (status, out) == (1, "")
    assert "unlink of" in error_sentence(err) and ".5 failed: No such file" in err


def test_a_full_disk_is_one_sentence_and_the_files_go(executable, tmp_path):
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here: a full tmpfs cannot be mounted")
    argv = fsload.command(executable, str(tmp_path), processes=PROCESSES, items=ITEMS)
    script = f'mount -t tmpfs -o nr_inodes=100 none {tmp_path} && "$@"; s=$?; ls {tmp_path}; exit $s'
    status, out, err = run(["unshare", "-rm", "sh", "-c", script, "sh", *argv])
    assert (status, out) == (1, "")
    assert "No space left on device" in error_sentence(err)


def test_a_killed_process_does_not_hang_the_others(executable, tmp_path):
    argv = fsload.command(executable, str(tmp_path), processes=2, items=10**8, phase="create")
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while len(members := session_members(process.pid)) < 3:
        time.sleep(0.01)
    os.kill(max(set(members) - {process.pid}), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "was killed by signal 9" in error_sentence(err)
    assert (session_members(process.pid), list(tmp_path.iterdir())) == ([], [])


def test_a_killed_parent_takes_the_processes_with_it(executable, tmp_path):
    argv = fsload.command(executable, str(tmp_path), processes=2, items=10**8, phase="create")
    process = subprocess.Popen(argv, start_new_session=True)
    while len(session_members(process.pid)) < 3:
        time.sleep(0.01)
    process.kill()
    process.wait()
    while session_members(process.pid):
        time.sleep(0.01)
    shutil.rmtree(tmp_path / "test-dir.0-0")


def test_a_result_that_cannot_be_written_is_a_failure(executable, tmp_path):
    argv = fsload.command(executable, str(tmp_path), processes=1, items=1)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot write the result" in error_sentence(done.stderr)


@pytest.mark.slow
def test_it_is_compiled_once_for_the_same_sources(tmp_path, monkeypatch):
    first = fsload.build(tmp_path)
    assert [first] == list(tmp_path.iterdir())
    before = first.stat().st_mtime_ns
    assert fsload.build(tmp_path).stat().st_mtime_ns == before
    changed = tmp_path / "sources"
    changed.mkdir()
    for source in FSLOAD.glob("*.[ch]"):
        (changed / source.name).write_bytes(source.read_bytes() + b"\n")
    monkeypatch.setattr(fsload, "FSLOAD", changed)
    assert fsload.build(tmp_path) != first


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="install gcc"):
        fsload.build(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sources_that_do_not_compile_leave_nothing_behind(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "broken.c").write_text("int main(void) { return x; }\n")
    monkeypatch.setattr(fsload, "FSLOAD", tmp_path / "src")
    with pytest.raises(BadInput, match="failed to compile"):
        fsload.build(tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
