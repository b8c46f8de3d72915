# SPDX-License-Identifier: MIT
"""The kernel of one notebook: nobody else on the machine reaches it, and cron gets no mail from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from traitlets import Unicode
from traitlets.config import Config

from lockscale.scratch import scratch_folder

__all__ = ["DeadKernelError", "QuietKernelManager", "last_words", "private_kernel"]
MOST_SAID = 2000


class QuietKernelManager(AsyncKernelManager):
    """Puts the kernel's own standard error into a file.

    What cells write arrives as messages. What is left is of the kernel's machinery: a crash, or a
    socket that closed while the kernel ended, and neither is for a terminal or for cron's mail.
    """

    stderr_path = Unicode(config=True)

    async def start_kernel(self, **popen: Any) -> None:  # type: ignore[override]  # typed as the blocking one
        with Path(self.stderr_path).open("ab") as said:
            await super().start_kernel(**{**popen, "stderr": said})


@contextmanager
def private_kernel(ends_s: float) -> Iterator[Config]:
    """The `config` of papermill and nbclient for one kernel: over TCP anybody on the machine could listen.

    The connection file has to be named: without one the sockets lie in the working directory, which
    the kernel and its client need not share. ends_s: how long the kernel may take to end what it does.
    """
    with scratch_folder("kernel") as folder:
        manager = {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}
        quiet = {"stderr_path": f"{folder}/stderr"}
        yield Config(
            {
                "KernelManager": {**manager, "shutdown_wait_time": 2 * ends_s},
                "QuietKernelManager": quiet,
                "NotebookClient": {"kernel_manager_class": QuietKernelManager},
            }
        )


def last_words(config: Config) -> str:
    """The last line that the kernel itself wrote, for one that died; empty where it wrote none."""
    try:
        said = Path(config.QuietKernelManager.stderr_path).read_text(errors="replace")[-MOST_SAID:]
    except OSError:
        return ""
    return next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
