# SPDX-License-Identifier: MIT
"""One run at a time on a target: who holds it, for which run, and since when."""

import json
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

from lockscale import paths
from lockscale.errors import printable
from lockscale.files import hold_lock, now_utc, user_name


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
    return Holder(user_name(), run, now_utc())


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

    return hold_lock(paths.MACHINE_LOCK, holder_of(run).json(), refusal, for_all=True)
