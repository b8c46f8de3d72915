# SPDX-License-Identifier: MIT
"""What make leaves on a fresh Debian, interrupted or not: packages, folders of the clone, and nothing else.

Takes an hour, root, and the archives of Debian and of Python packages.
"""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fresh_debian import Found, Trial, carried_out, make_base

from lockscale import paths
from server.image import _sources

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a Debian in a folder"),
]
POLICY = "/usr/sbin/policy-rc.d"
SIGNALS = ("INT", "TERM", "HUP", "KILL")
# what is interrupted somewhere in so many seconds, and whether make env was there before
INTERRUPTED = {
    "packages": (("make", "env"), 120, False),
    "Python packages": (("sh", "-c", "rm -rf .venv; exec make env"), 60, True),
    "packages of the tests": (("make", "test-env"), 60, True),
    "tests": (("make", "test"), 240, True),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lowest layer."""
    root = tmp_path_factory.mktemp("debian") / "base"
    committed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=paths.ROOT, capture_output=True, check=True
    )
    assert not committed.stdout, "a clone has what is committed"
    make_base(root, _sources(), paths.ROOT)
    return root


@pytest.fixture(scope="module")
def with_env(base: Path) -> tuple[Path, Found]:
    """A layer on it: what make env wrote there; and what it left."""
    upper = base.with_name("env")
    return upper, carried_out(Trial((str(base),), str(upper), ("make", "env")))


@pytest.fixture
def upper(base: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A layer of the trial's own."""
    made = base.with_name(f"trial-{abs(hash(request.node.name))}")
    yield made
    for path in (made, made.with_suffix(".work"), made.with_suffix(".merged")):
        shutil.rmtree(path, ignore_errors=True)


def test_make_env_leaves_packages_and_the_clones_folders(with_env: tuple[Path, Found]):
    found = with_env[1]
    assert (found.status, found.processes, found.strange) == (0, [], {}), found.said


@pytest.mark.parametrize("command", ["test-env", "clean"])
def test_so_do_the_others(base: Path, with_env: tuple[Path, Found], upper: Path, command: str):
    found = carried_out(Trial((str(with_env[0]), str(base)), str(upper), ("make", command)))
    assert (found.status, found.processes, found.strange) == (0, [], {}), found.said


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("what", INTERRUPTED)
@pytest.mark.parametrize("time", range(2))
def test_one_that_is_interrupted_leaves_no_more(
    base: Path, with_env: tuple[Path, Found], upper: Path, what: str, number: str, time: int
):
    command, most_s, on_env = INTERRUPTED[what]
    layers = (str(with_env[0]), str(base)) if on_env else (str(base),)
    moment_s = random.Random(f"{what}/{number}/{time}").uniform(0, most_s)
    found = carried_out(Trial(layers, str(upper), command, number, moment_s))
    left = dict(found.strange)
    if number == "KILL":  # nobody can; the next one takes it away
        left.pop(POLICY, None)
    assert (found.processes, left) == ([], {}), found.said
    if what == "packages":
        again = carried_out(Trial(layers, str(upper), ("python3", "setup/system.py")))
        assert (again.status, again.processes) == (0, []), again.said
        assert not (upper / POLICY.lstrip("/")).exists()
