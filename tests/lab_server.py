# SPDX-License-Identifier: MIT
"""A JupyterLab of its own folders on a free port of loopback, ended with all that it started."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lockscale import paths

UP_S = 120


@contextlib.contextmanager
def served(argv: Sequence[str], room: Path, env: Mapping[str, str]) -> Iterator[str]:
    """The address of the server that `argv` starts; its log is `log` in `room`, its folders lie beside it."""
    folders = {f"JUPYTER_{k}_DIR": str(room / k) for k in ("CONFIG", "DATA")}
    # its sockets' paths have to be short, and pytest's folders are not
    with tempfile.TemporaryDirectory(prefix="jupyter-") as runtime, (room / "log").open("w") as log:
        (room / "RUNTIME").symlink_to(runtime)
        folders["JUPYTER_RUNTIME_DIR"] = runtime
        process = subprocess.Popen(
            argv,
            cwd=paths.ROOT,
            env={**os.environ, **folders, **env},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield _address(room / "RUNTIME", process, room / "log")
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=30)


def _address(runtime: Path, process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline_s = time.monotonic() + UP_S
    while time.monotonic() < deadline_s and process.poll() is None:
        for path in runtime.glob("jpserver-*.json"):
            if (text := path.read_text()) and _listens(port := json.loads(text)["port"]):
                return f"http://127.0.0.1:{port}"
        time.sleep(0.1)
    raise AssertionError(f"JupyterLab gave no server: {log.read_text()[-500:]}")


def _listens(port: int) -> bool:
    """Jupyter writes down its port first, and listens on it later."""
    with (
        contextlib.suppress(ConnectionRefusedError),
        socket.create_connection(("127.0.0.1", port), timeout=60),
    ):
        return True
    return False
