# SPDX-License-Identifier: MIT
"""What the tests share: the two kernels, built once, and one short run of the whole pipeline."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from command import Lockscale, Said
from lockscale import paths
from lockscale.cli import main
from lockscale.kernels.build import Kernel
from lockscale.measure.build_arms import build_arms
from lockscale.measure.run_folder import Run
from lockscale.show.pipeline import run_study
from lockscale.study.file import load_study
from short_study import SHORT, SHORT_IN_VIRTUAL_TIME

pytest_plugins = ["server.fixture"]  # the Debian server that is reached by ssh

# The same examples in every `make test`, so that a red test is the change's own; `make test-all` looks
# for new ones. No deadline: no test asserts on seconds.
# no test is about seconds: on a busy machine data take as long as they take
SLOW = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=SLOW)
hypothesis.settings.register_profile("explore", derandomize=False, deadline=None, suppress_health_check=SLOW)
hypothesis.settings.load_profile("explore" if os.environ.get("LOCKSCALE_EXPLORE") else "same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that boot something first: they take minutes, and the many short ones fill up both processors."""
    boots = {item.path for item in items if item.get_closest_marker("guest")}
    items.sort(key=lambda item: item.path not in boots)


def pytest_collection_finish() -> None:
    """Modules and tests live to the end: each search for garbage need not go through them again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_machine_lock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Both processors run tests: each has a machine of its own to hold, and its children the same one."""
    with pytest.MonkeyPatch.context() as patched:
        lock = tmp_path_factory.getbasetemp() / "this-machine.lock"
        patched.setattr(paths, "MACHINE_LOCK", lock)
        patched.setenv("LOCKSCALE_MACHINE_LOCK", str(lock))
        yield


@pytest.fixture(scope="session")
def kernels() -> dict[str, Kernel]:
    """Both arms' kernels: every test that boots one shares this build."""
    return build_arms(load_study("inode-claim"))


@pytest.fixture(scope="session")
def short_run(
    kernels: dict[str, Kernel], tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Run:
    """One short run of study inode-claim through all eight notebooks, counted in QEMU, outside runs/."""
    return _run_through("qemu", SHORT, tmp_path_factory, pytestconfig)


@pytest.fixture(scope="session")
def virtual_run(
    kernels: dict[str, Kernel], tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Run:
    """The same in virtual time, where other work on this machine changes no number."""
    return _run_through("manycore", SHORT_IN_VIRTUAL_TIME, tmp_path_factory, pytestconfig)


def _run_through(
    target: str, changes: dict[str, Any], folders: pytest.TempPathFactory, config: pytest.Config
) -> Run:
    """It takes minutes, so its progress is shown and not captured."""
    capture = config.pluginmanager.getplugin("capturemanager")
    folder = folders.mktemp("runs")
    before = paths.RUNS
    paths.RUNS = folder
    os.environ["LOCKSCALE_RUNS"] = str(folder)
    try:
        with capture.global_and_fixture_disabled():
            return run_study("inode-claim", target, changes)
    finally:
        paths.RUNS = before
        del os.environ["LOCKSCALE_RUNS"]


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is also the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lockscale(capfd: pytest.CaptureFixture[str]) -> Lockscale:
    """Run a command in this process."""

    def run(*argv: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(argv)
        return Said(int(ended.value.code or 0), *capfd.readouterr())

    return run
