# SPDX-License-Identifier: MIT
"""A real JupyterLab on loopback with a token, its notebooks a copy, and the system's Chromium."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from lab_server import served
from lockscale import paths
from lockscale.programs import need

TOKEN = "test-token"
QUIET = {
    "docmanager-extension/plugin": {"autosave": False},
}
"""Settings of Lab: nothing is written. That nothing is asked of the network is in setup/jupyter."""


class Lab(NamedTuple):
    """Where a server listens, and the folder that it serves."""

    url: str
    root: Path

    def page(self, path: str, workspace: str) -> str:
        """The address of a file in a workspace of its own: what another test left open would come back beside
        it, and might be the notebook whose cells are run."""
        return f"{self.url}/lab/workspaces/{workspace}/tree/{path}?token={TOKEN}"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    room = tmp_path_factory.mktemp("lab")
    root = room / "root"
    for folder in (paths.NOTEBOOKS, paths.FIGURES):
        shutil.copytree(folder, root / folder.name)
    for name, said in QUIET.items():
        file = room / "SETTINGS" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(said))
    env = {"JUPYTER_CONFIG_PATH": str(paths.ROOT / "setup" / "jupyter")}  # as `make lab` does
    env |= {"JUPYTERLAB_SETTINGS_DIR": str(room / "SETTINGS"), "LOCKSCALE_RUNS": str(room / "runs")}
    argv = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0",
        f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True",
        f"--ServerApp.root_dir={root}",
    ]  # fmt: skip
    with served(argv, room, env) as address:
        yield Lab(address, root)


@pytest.fixture(scope="module")
def chromium():
    """The system's Chromium under Playwright, which downloads none of its own.

    Gone with its file: while it lives an event loop runs in this thread, and Dask's client wants none.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=need("chromium"))
        yield browser
        browser.close()
