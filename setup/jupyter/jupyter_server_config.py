# SPDX-License-Identifier: MIT
"""Settings of `make lab`'s server: kernels are reached by sockets that no other user can open, and figures
follow a dark theme."""

import atexit
import os
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_runtime_dir

from lockscale.scratch import ScratchFolder

MOST = 107
"""Bytes of a socket's path (unix(7): sun_path without its end); beyond, every kernel's start is refused."""
NAME = f"/kernel-{'0' * 36}-ipc-5"

if len(os.fsencode(jupyter_runtime_dir() + NAME)) > MOST:  # a home with a long name
    short = ScratchFolder("lab")
    atexit.register(short.remove)
    os.environ["JUPYTER_RUNTIME_DIR"] = str(short.path)

c = get_config()  # type: ignore[name-defined]  # noqa: F821  # traitlets gives it to the file
c.KernelManager.transport = "ipc"
c.LabApp.custom_css = True
c.ServerApp.tornado_settings = {
    "ws_ping_timeout": 90000,
    # the user's own custom.css, if there is one, takes the place of ours
    "static_custom_path": [f"{jupyter_config_dir()}/custom", str(Path(__file__).parent / "custom")],
}
