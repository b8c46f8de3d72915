# SPDX-License-Identifier: MIT
"""The test cases of fsload beside create_unlink: which calls they make, and what a full disk does."""

import os
import signal
import subprocess
import time

import pytest
from fsload_process import error_sentence, run, session_members

from lockscale.errors import BadInput
from lockscale.tools import fsload
from lockscale.tools.registry import parse

CASES = {
    "creat_clo": "creat", "fallocate2": "fallocate", "open_close": "open", "rename_own_dir": "rename",
    "truncate_orphan": "truncate",
}  # fmt: skip


def calls_of_one_process(executable, spy, folder, test, items, **env):
    argv = fsload.command(executable, str(folder), processes=1, items=items, test=test)
    log = folder.parent / f"{folder.name}.log"
    status, _, err = run(argv, env={**os.environ, "LD_PRELOAD": str(spy), "SPY_LOG": str(log), **env})
    assert (status, err) == (0, "")
    return log.read_text().replace("file.mdtest.0.", "").splitlines()


def test_create_unlink_opens_with_a_name_once_and_unlinks_it_as_mdtest_does(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "create_unlink", 12)
    assert calls == [*(f"open {k} 1" for k in range(12)), *(f"unlink {k}" for k in range(12))]


def test_fallocate2_appends_8_kib_up_to_1_mib_as_will_it_scale_does(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "fallocate2", 300)
    appends = [f"fallocate 0 {at * 8192} 8192" for at in range(128)]
    assert calls[:2] == ["open 0 1", "unlink 0"]
    assert calls[2:] == [*appends, "ftruncate 0", *appends, "ftruncate 0", *appends[:44]]


def test_truncate_orphan_shortens_a_linked_file_byte_by_byte(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "truncate_orphan", 5)
    sizes = [5, 4, 3, 2, 1, 0]  # the first makes the file as long as there are truncations
    assert calls == ["open 0 1", *(f"ftruncate {size}" for size in sizes), "unlink 0"]


@pytest.mark.slow
def test_truncate_orphan_begins_again_with_1_mib(executable, spy, tmp_path):
    items = (1 << 20) + 2
    calls = calls_of_one_process(executable, spy, tmp_path, "truncate_orphan", items, SPY_JUMPS="1")
    assert calls == ["open 0 1", "ftruncate 1048576", "ftruncate 1048576", "unlink 0"]


def test_creat_clo_calls_creat_on_one_file_as_reaim_does(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "creat_clo", 3)
    assert calls == ["creat 0 777", "creat 0 777", "creat 0 777", "unlink 0"]


def test_open_close_opens_a_file_that_is_there_as_will_it_scale_does(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "open_close", 3)
    assert calls == ["open 0 1", "open 0 0", "open 0 0", "open 0 0", "unlink 0"]


def test_rename_own_dir_goes_to_and_fro_and_removes_the_last_name(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "rename_own_dir", 3)
    assert calls == ["open 0 1", "rename 0 1", "rename 1 0", "rename 0 1", "unlink 1"]


def files_while_running(executable, folder, test):
    """Every file of two processes of `test`, from the directory itself."""
    argv = fsload.command(executable, str(folder), processes=2, items=10**8, test=test)
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL, start_new_session=True)
    while len(session_members(process.pid)) < 3 or len(found := list(folder.rglob("file.*"))) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)
    return found


@pytest.mark.parametrize(("test", "directories"), [("creat_clo", 1), ("truncate_orphan", 2)])
def test_only_creat_clo_has_one_directory_for_all_as_reaim_does(executable, tmp_path, test, directories):
    found = files_while_running(executable, tmp_path, test)
    assert {path.name for path in found} == {"file.mdtest.0.0", "file.mdtest.1.0"}
    assert len({path.parent for path in found}) == directories


def test_append_files_leaves_1_mib_of_blocks_a_file(executable, tmp_path):
    options = {"processes": 2, "items": 3, "phase": "append", "test": "append_files"}
    assert run(fsload.command(executable, str(tmp_path), **options))[0] == 0
    found = [path.stat() for path in tmp_path.rglob("file.*")]
    assert [stat.st_size for stat in found] == [1 << 20] * 6
    # in pieces, it has blocks for its extents as well
    assert all(0 <= stat.st_blocks * 512 - stat.st_size <= 4 << 12 for stat in found)


@pytest.mark.parametrize("test", CASES)
def test_each_process_does_its_items_and_leaves_nothing(executable, tmp_path, test):
    argv = fsload.command(executable, str(tmp_path), processes=3, items=150, test=test)
    status, out, err = run(argv)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    parsed = parse(out)
    assert (parsed.tool, parsed.warnings) == ("fsload", ())
    assert {(r.test, r.threads, r.metric, r.unit) for r in parsed.rows} == {(CASES[test], 3, "rate", "ops/s")}
    rates = {row.statistic: row.value for row in parsed.rows}
    assert set(rates) == {"total", "slowest_rank", "rank0", "rank1", "rank2"}
    assert rates["slowest_rank"] == pytest.approx(3 * min(rates[f"rank{k}"] for k in range(3)))


def run_on_small_disk(executable, folder, options, **command):
    """status, stdout with what is left on the disk, stderr of a run on a tmpfs with `options`."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here: a small tmpfs cannot be mounted")
    argv = fsload.command(executable, str(folder), **command)
    script = f'mount -t tmpfs -o {options} none {folder} && "$@"; s=$?; ls -A {folder}; exit $s'
    return run(["unshare", "-rm", "sh", "-c", script, "sh", *argv])


@pytest.mark.parametrize(
    ("size_kib", "items", "fits"),
    [(4, 1, False), (8, 1, True), (8, 2, False), (1024, 1000, True), (1016, 127, True), (1016, 128, False)],
)
def test_fallocate2_holds_1_mib_at_most(executable, tmp_path, size_kib, items, fits):
    status, out, err = run_on_small_disk(
        executable, tmp_path, f"size={size_kib}k", processes=1, items=items, test="fallocate2"
    )
    assert status == (0 if fits else 1)
    if not fits:
        assert out == ""
        assert "fallocate of" in error_sentence(err) and "No space left on device" in err


@pytest.mark.parametrize("test", CASES)
@pytest.mark.parametrize("names", [2, 4])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(executable, tmp_path, test, names):
    """Room for the root, fsload's directory and then: nothing, or the two processes' directories."""
    status, out, err = run_on_small_disk(
        executable, tmp_path, f"nr_inodes={names}", processes=2, items=10**6, test=test
    )
    assert (status, out) == (1, "")
    assert error_sentence(err).endswith("No space left on device")


def test_a_killed_process_takes_its_file_with_it(executable, tmp_path):
    argv = fsload.command(executable, str(tmp_path), processes=2, items=10**8, test="truncate_orphan")
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while len(list(tmp_path.rglob("file.*"))) < 2:
        time.sleep(0.01)
    os.kill(max(set(session_members(process.pid)) - {process.pid}), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "was killed by signal 9" in error_sentence(err)
    assert (session_members(process.pid), list(tmp_path.iterdir())) == ([], [])


def test_a_test_or_a_phase_that_fsload_lacks_is_refused(executable):
    with pytest.raises(BadInput, match="use one of append_files, creat_clo, create_unlink"):
        fsload.command(executable, "d", processes=1, items=1, test="fallocate1")
    with pytest.raises(BadInput, match="no phase create: use fallocate or both"):
        fsload.command(executable, "d", processes=1, items=1, phase="create", test="fallocate2")
    for wrong in ({"processes": 1, "threads": 1, "items": 1}, {"threads": 1, "items": 1, "seconds": 1.0}):
        with pytest.raises(BadInput, match="needs either processes or threads, and either items or seconds"):
            fsload.command(executable, "d", **wrong)


def test_the_executable_knows_every_test_and_phase_that_is_offered(executable, tmp_path):
    for test, phases in fsload.PHASES.items():
        for phase in (*phases[:1], "both"):
            folder = tmp_path / f"{test}-{phase}"
            folder.mkdir()
            argv = fsload.command(executable, str(folder), processes=1, items=2, phase=phase, test=test)
            status, out, _ = run(argv)
            found = {row.test for row in parse(out).rows}
            assert (status, found) == (0, set(phases) if phase == "both" else {phase})
