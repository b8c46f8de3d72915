# SPDX-License-Identifier: MIT
"""One run at a time on a target: who holds it, for which run, and since when."""

import getpass
import json
import os
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from lockscale import paths
from lockscale.files import hold_lock
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


def hold_this_machine(run: str, target: str) -> AbstractContextManager[None]:
    """Hold this machine while the context lasts: guests and local loads would disturb one another."""

    def refusal(said: str) -> str:
        return read_holder(said).refusal(target)

    return hold_lock(paths.CACHE / "this-machine.lock", holder_of(run).json(), refusal)
