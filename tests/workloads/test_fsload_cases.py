# SPDX-License-Identifier: MIT
"""The test cases of fsload beside create_unlink: which calls they make, and what a full disk does."""

import os
import signal
import subprocess
import time

import pytest
from fsload_process import error_sentence, run, session_members

from lockscale import workloads
from lockscale.errors import BadInput
from lockscale.workloads import fsload

CASES = {"fallocate2": "fallocate", "truncate_orphan": "truncate"}
# Writes the calls that change a file as lines of `call offset-or-0 size`.
SPY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
static void say(const char *call, long at, long size)
{
	static FILE *log;
	if (!log)
		log = fopen(getenv("SPY_LOG"), "ae");
	fprintf(log, "%s %ld %ld\n", call, at, size);
	fflush(log);
}
#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
int ftruncate(int fd, off_t size) { say("ftruncate", 0, size); return REAL(ftruncate)(fd, size); }
int fallocate(int fd, int mode, off_t at, off_t size)
{
	say(mode ? "other" : "fallocate", at, size);
	return REAL(fallocate)(fd, mode, at, size);
}
int unlink(const char *path) { say("unlink", 0, 0); return REAL(unlink)(path); }
"""


@pytest.fixture(scope="session")
def executable(tmp_path_factory):
    return fsload.build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="session")
def spy(tmp_path_factory):
    """A library that, loaded before libc, notes the calls of one process in $SPY_LOG."""
    folder = tmp_path_factory.mktemp("spy")
    (folder / "spy.c").write_text(SPY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "spy.so", folder / "spy.c", "-ldl"], check=True)
    return folder / "spy.so"


def calls_of_one_process(executable, spy, folder, test, items):
    argv = fsload.command(executable, str(folder), processes=1, items=items, test=test)
    log = folder.parent / f"{folder.name}.log"
    status, _, err = run(argv, env={**os.environ, "LD_PRELOAD": str(spy), "SPY_LOG": str(log)})
    assert (status, err) == (0, "")
    return [(call, int(at), int(size)) for call, at, size in map(str.split, log.read_text().splitlines())]


def test_fallocate2_appends_8_kib_up_to_1_mib_as_will_it_scale_does(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "fallocate2", 300)
    appends = [("fallocate", at * 8192, 8192) for at in range(128)]
    empty = ("ftruncate", 0, 0)
    assert calls == [("unlink", 0, 0), *appends, empty, *appends, empty, *appends[:44]]


def test_truncate_orphan_shortens_a_linked_file_byte_by_byte(executable, spy, tmp_path):
    calls = calls_of_one_process(executable, spy, tmp_path, "truncate_orphan", 5)
    sizes = [5, 4, 3, 2, 1, 0]  # the first makes the file as long as there are truncations
    assert calls == [*(("ftruncate", 0, size) for size in sizes), ("unlink", 0, 0)]


@pytest.mark.parametrize("test", CASES)
def test_each_process_does_its_items_and_leaves_nothing(executable, tmp_path, test):
    argv = fsload.command(executable, str(tmp_path), processes=3, items=150, test=test)
    status, out, err = run(argv)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])
    parsed = workloads.parse(out)
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
    with pytest.raises(BadInput, match="use one of append_files, create_unlink, fallocate2"):
        fsload.command(executable, "d", processes=1, items=1, test="fallocate1")
    with pytest.raises(BadInput, match="no phase create: use fallocate or both"):
        fsload.command(executable, "d", processes=1, items=1, phase="create", test="fallocate2")


def test_the_executable_knows_every_test_and_phase_that_is_offered(executable, tmp_path):
    for test, phases in fsload.PHASES.items():
        for phase in (*phases[:1], "both"):
            folder = tmp_path / f"{test}-{phase}"
            folder.mkdir()
            argv = fsload.command(executable, str(folder), processes=1, items=2, phase=phase, test=test)
            status, out, _ = run(argv)
            found = {row.test for row in workloads.parse(out).rows}
            assert (status, found) == (0, set(phases) if phase == "both" else {phase})
