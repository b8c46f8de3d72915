# SPDX-License-Identifier: MIT
"""Where a sweep's points are simulated: on threads of this process, or on the workers of a Dask client."""

import asyncio
import concurrent.futures
import contextlib
import importlib
import os
from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

from lockscale.errors import BadInput, RunFailed


def cpus() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


class Client(Protocol):
    """What is used of a ``distributed.Client``."""

    @property
    def loop(self) -> Any: ...
    def map(self, func: Callable[..., Any], /, *iterables: Any, pure: bool) -> Any: ...
    def gather(self, futures: Any, /) -> Any: ...
    def cancel(self, futures: Any, /) -> Any: ...


class Threads:
    """One thread for each CPU of this process."""

    def __init__(self) -> None:
        self.pool = concurrent.futures.ThreadPoolExecutor(cpus())

    def submit(self, work: Callable[..., Any], tasks: Collection[tuple[Any, ...]]) -> list[Any]:
        return [self.pool.submit(work, *task) for task in tasks]

    def finished(self, futures: Collection[Any]) -> Iterator[tuple[Any, Any]]:
        """Each future with its result, in the order in which they finish."""
        for future in concurrent.futures.as_completed(futures):
            yield future, future.result()

    def stop(self, futures: Collection[Any]) -> list[tuple[Any, Any]]:
        """Cancel what has not begun; the futures that have finished all the same, with results."""
        self.pool.shutdown(cancel_futures=True)
        ended = [f for f in futures if f.done() and not f.cancelled()]
        return [(f, f.result()) for f in ended if f.exception() is None]


class Dask:
    """The workers of a Dask client. What a dying worker had is run again on another.

    Not ``client.get_executor()``: its futures never end when the scheduler is lost while it
    fetches a result.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    def submit(self, work: Callable[..., Any], tasks: Collection[tuple[Any, ...]]) -> list[Any]:
        with _dask_errors():
            # not pure: new keys, so that a cancelled or failed sweep's leftovers are not taken for them
            return list(self.client.map(work, *zip(*tasks, strict=True), pure=False))

    def finished(self, futures: Collection[Any]) -> Iterator[tuple[Any, Any]]:
        """As for threads; what finishes together is fetched together."""
        distributed: Any = importlib.import_module("distributed")
        with _dask_errors():
            for batch in distributed.as_completed(futures, loop=self.client.loop).batches():
                yield from zip(batch, self.client.gather(batch), strict=True)

    def stop(self, futures: Collection[Any]) -> list[tuple[Any, Any]]:
        """As for threads, but what has begun is dropped."""
        ended = [f for f in futures if f.status == "finished"]
        try:
            points = self.client.gather(ended)
            self.client.cancel(list(futures))  # also the ended: a traceback may hold them, and so the cluster
            return list(zip(ended, points, strict=True))
        except (Exception, asyncio.CancelledError):
            return []  # the scheduler is lost, as the error says that led here


@contextlib.contextmanager
def _dask_errors() -> Iterator[None]:
    """Whatever Dask raises (its CancelledError is no Exception) as one sentence."""
    try:
        yield
    except (BadInput, RunFailed):
        raise
    except (Exception, asyncio.CancelledError) as error:
        raise RunFailed(
            f"Dask lost a point ({type(error).__name__}: {error}): look at its scheduler and its workers, "
            "which all need this lockscale"
        ) from error
