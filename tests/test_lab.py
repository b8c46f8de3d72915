# SPDX-License-Identifier: MIT
"""`make lab` serves a real JupyterLab with the notebooks' index."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_server import served
from lockscale import paths

TOKEN = "test"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server has its folders and its log."""
    return tmp_path_factory.mktemp("jupyter")


@pytest.fixture(scope="module")
def server(room: Path) -> Iterator[str]:
    """The address of a server that `make lab` started on a free port of loopback."""
    options = f"--no-browser --ip=127.0.0.1 --port=0 --IdentityProvider.token={TOKEN}"
    with served(["make", "--silent", "lab", f"LAB_OPTIONS={options}"], room, {}) as address:
        yield address


def get(server: str, path: str, data: bytes | None = None) -> str:
    head = {"Authorization": f"token {TOKEN}"}
    with urllib.request.urlopen(urllib.request.Request(f"{server}{path}", data, head), timeout=60) as answer:
        return str(answer.read().decode())


def test_the_index_is_served_and_its_notebooks_are_there(server: str):
    index = json.loads(get(server, "/api/contents/notebooks/README.md?type=file"))["content"]
    for path in sorted(paths.NOTEBOOKS.glob("*.ipynb")):
        assert f"({path.name})" in index
        served = json.loads(get(server, f"/api/contents/notebooks/{path.name}"))
        assert served["type"] == "notebook" and served["content"]["cells"]


def test_the_page_that_opens_is_the_lab(server: str):
    """In a workspace of its own: of another clone's it would show the tabs."""
    address = re.search(r"default_url=(\S+)", (paths.ROOT / "Makefile").read_text())
    assert address and address[1] == "/lab/workspaces/lockscale/tree/notebooks/README.md"
    page = get(server, address[1])
    assert "jupyter-config-data" in page and "JupyterLab" in page


def test_it_starts_with_a_kernel_that_listens_on_no_port_and_without_a_warning(server: str, room: Path):
    kernel = json.loads(get(server, "/api/kernels", b'{"name": "python3"}'))["id"]
    (connection,) = (room / "RUNTIME").glob(f"kernel-{kernel}.json")
    assert json.loads(connection.read_text())["transport"] == "ipc"
    deadline_s = time.monotonic() + 60
    while f"Kernel started: {kernel}" not in (room / "log").read_text() and time.monotonic() < deadline_s:
        time.sleep(0.1)
    log = (room / "log").read_text()
    assert "is running at" in log and f"Kernel started: {kernel}" in log
    lines = [line for line in log.splitlines() if "WARNING" in line or line.startswith(("[W ", "[E ", "[C "))]
    # a notebook that nobody signed is one wherever it is opened
    assert [line for line in lines if not line.endswith(".ipynb is not trusted")] == []


def runtime_of(home: Path) -> str:
    """Where the server of a user with this home has its sockets, with setup/jupyter's settings."""
    code = """if 1:
        import sys
        from jupyter_core.paths import jupyter_runtime_dir
        from traitlets.config.loader import PyFileConfigLoader
        loaded = PyFileConfigLoader("jupyter_server_config.py", "setup/jupyter").load_config()
        assert loaded.KernelManager.transport == "ipc"
        print(jupyter_runtime_dir())
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "XDG", "TMP"))
    }
    env = {**kept, "HOME": str(home)}
    said = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=paths.ROOT, check=True, capture_output=True
    )
    return said.stdout.decode().strip()


def test_sockets_of_a_home_with_a_long_name_lie_where_their_names_fit(tmp_path: Path):
    home = Path("/") / "home" / "jane"
    assert runtime_of(home) == f"{home}/.local/share/jupyter/runtime"
    long = tmp_path / "home-of-somebody-with-a-very-long-name-indeed"
    assert len(f"{runtime_of(long)}/kernel-{uuid.uuid4()}-ipc-5") <= 107
