# SPDX-License-Identifier: MIT
"""Dask's workers on this machine: a process for each CPU."""

import contextlib
import importlib
import tempfile
from collections.abc import Iterator
from typing import Any

from lockscale.errors import BadInput
from lockscale.sim.replicate import Client, cpus


@contextlib.contextmanager
def local_cluster() -> Iterator[Client]:
    """A client of new worker processes, which end with it; they listen on this machine only."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise BadInput("Dask is not installed: install lockscale with the extra `scale`") from None
    with (
        tempfile.TemporaryDirectory(prefix="lockscale-", ignore_cleanup_errors=True) as folder,
        distributed.LocalCluster(
            n_workers=cpus(),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=folder,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
