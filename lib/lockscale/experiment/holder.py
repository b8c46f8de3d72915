# SPDX-License-Identifier: MIT
"""One run at a time on a target: who holds it, for which run, and since when."""

import fcntl
import getpass
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import full_disk_is_one_sentence
from lockscale.printable import printable

NAME_VARIABLE = "LOCKSCALE_NAME"  # what others read of who holds a target; else the user's name


@dataclass(frozen=True)
class Holder:
    """What a second controller is told. It names a person and a run, never a machine."""

    who: str
    run: str
    since_utc: str

    def json(self) -> str:
        return json.dumps(asdict(self))

    def refusal(self, target: str) -> str:
        return (
            f"target {target} is in use by {self.who} since {self.since_utc} (run {self.run}): "
            "wait until it ends"
        )


def holder_of(run: str) -> Holder:
    """This user, as the holder of a target from now on, for the run of that name."""
    try:
        who = os.environ.get(NAME_VARIABLE) or getpass.getuser()
    except (KeyError, OSError):  # a user without an entry, as in some containers
        who = "an unnamed user"
    return Holder(printable(who, 40), run, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def read_holder(text: str) -> Holder:
    """What json() wrote; a text that is none of it, as after a crash, is somebody unknown."""
    try:
        said = json.loads(text)
        return Holder(*(printable(said[name]) for name in ("who", "run", "since_utc")))
    except (ValueError, KeyError, TypeError):
        return Holder("somebody", "unknown", "an unknown time")


@contextmanager
def hold_this_machine(run: str, target: str) -> Iterator[None]:
    """Hold this machine: guests and local loads would disturb one another.

    The kernel lets go of it when the last process of a run ends, however it ends.
    """
    path = paths.CACHE / "this-machine.lock"
    with full_disk_is_one_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as stream:
            os.set_inheritable(stream.fileno(), True)  # a guest that outlives us still holds it
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.seek(0)
                raise BadInput(read_holder(stream.read()).refusal(target)) from None
            stream.seek(0)
            stream.truncate()
            stream.write(holder_of(run).json())
            stream.flush()
            yield
