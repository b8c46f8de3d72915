# SPDX-License-Identifier: MIT
"""The fixture `server`: one booted test server for the whole session, its disks new and empty."""

import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from lockscale.machines.kvm_trial import choose_accel
from lockscale.machines.qemu import Guest
from lockscale.study.file import load_target
from server.image import image
from server.kernels import small_config
from server.machine import Server
from server.qemu import Hardware

TOGETHER = {
    "tests/machines/test_disk_matrix.py": "server",
    "tests/server/test_server_boot.py": "server",
    "tests/guest/test_pipeline_run.py": "virtual_run",
    "tests/manycore/test_blind_run.py": "virtual_run",
}
"""Files of `make test` that share a fixture of minutes, which is made once: one worker has them."""
SERVER = pytest.StashKey[Server]()
WANTS_FOUR_CPUS = "test_server_run.py"  # it measures what the guests with so many do


@pytest.fixture(scope="session")
def server(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
) -> Iterator[Server]:
    """The Debian server, up and reached by ssh. Building its image takes minutes and is shown."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        hardware = Hardware(_accel(request))
        if any(item.path.name == WANTS_FOUR_CPUS for item in request.session.items):
            hardware = replace(hardware, cpus=4)
        made = Server(image(hardware.accel), tmp_path_factory.mktemp("server"), hardware)
        pytestconfig.stash[SERVER] = made
        try:
            made.start()
            yield made
        finally:
            made.stop()


def _needs_server(item: pytest.Item | None) -> bool:
    return "server" in getattr(item, "fixturenames", ())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """It is on where a test wants it."""
    made = item.config.stash.get(SERVER, None)
    if made and not made.is_on and _needs_server(item):
        made.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """It is off while other files' tests run: one that does nothing takes a sixth of a processor."""
    yield
    made = item.config.stash.get(SERVER, None)
    if made and made.is_on and nextitem and nextitem.path != item.path and not _needs_server(nextitem):
        made.stop()


class _Together(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Asked by pytest-xdist where `-n` is given."""
    return _Together(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails with the server shows what its console said last."""
    report = yield
    found = getattr(item, "funcargs", {}).get("server")
    if report.failed and isinstance(found, Server):
        report.sections.append((f"the server's console, boot {found.boots}", found.console_tail()))
    return report


@pytest.fixture(scope="session")
def small_kernel_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel configuration that the test server comes back with, and that is built in minutes."""
    return small_config(tmp_path_factory.mktemp("config"))


def _accel(request: pytest.FixtureRequest) -> str:
    """As for every guest. Only the trial of KVM needs a built kernel."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    kernels = request.getfixturevalue("kernels")
    timeout_s = load_target("qemu").boot_timeout_s
    return choose_accel(Guest(kernels["search-locked"].image, 2, 1024, "tcg", timeout_s))
