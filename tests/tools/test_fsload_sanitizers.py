# SPDX-License-Identifier: MIT
"""fsload under gcc's sanitizers: no bad access, no undefined step, no data race between its threads."""

import subprocess

import pytest
from fsload_process import run

from lockscale.paths import FSLOAD
from lockscale.tools import fsload
from lockscale.tools.c_program import FLAGS

pytestmark = pytest.mark.slow

SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}


@pytest.fixture(scope="module", params=SANITIZERS)
def sanitized(request, tmp_path_factory):
    program = tmp_path_factory.mktemp("sanitized") / "fsload"
    sources = sorted(FSLOAD.glob("*.c"))
    subprocess.run(["cc", *FLAGS, "-g", *SANITIZERS[request.param], "-o", program, *sources], check=True)
    return program


@pytest.mark.parametrize("test", fsload.PHASES)
def test_a_sanitizer_finds_nothing_in_a_run(sanitized, tmp_path, test):
    argv = fsload.command(sanitized, str(tmp_path), threads=4, items=20, test=test, latency=True, pin=True)
    status, _, err = run(argv)
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])


def test_a_sanitizer_finds_nothing_when_the_time_is_over(sanitized, tmp_path):
    status, _, err = run(fsload.command(sanitized, str(tmp_path), threads=2, seconds=1, latency=True))
    assert (status, err, list(tmp_path.iterdir())) == (0, "", [])


@pytest.mark.parametrize("arguments", [["--items", "0"], ["--containers", "3"], ["--phase", "x" * 9000]])
def test_a_sanitizer_finds_nothing_in_a_refusal(sanitized, tmp_path, arguments):
    argv = fsload.command(sanitized, str(tmp_path), processes=2, items=1)
    status, out, err = run([*argv, *arguments])
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_a_sanitizer_finds_nothing_when_a_thread_fails(sanitized, tmp_path):
    assert run(fsload.command(sanitized, str(tmp_path), threads=2, items=5, phase="create"))[0] == 0
    status, _, err = run(fsload.command(sanitized, str(tmp_path), threads=2, items=6, phase="remove"))
    assert status == 1 and err.count("\n") == 1 and "unlink of" in err
