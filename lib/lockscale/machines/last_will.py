# SPDX-License-Identifier: MIT
"""What ends a guest whose controller was killed: a process that waits for the controller's end of a pipe.

kill -9 leaves no time to end anything. The next run finds the machine's lock free, and would measure beside a
guest that goes on.
"""

import contextlib
import subprocess
from pathlib import Path

_REVOKED = b"revoked\n"
# what ends without the word has lost its writer
_CARRY_OUT = 'read -r word; [ "$word" = revoked ] || { kill -KILL "-$1"; rm -rf -- "$2"; }'


class LastWill:
    """Kills the process group `group` and removes the folder `room` once this process is gone."""

    def __init__(self, group: int, room: Path) -> None:
        argv, silent = ["sh", "-c", _CARRY_OUT, "sh", str(group), str(room)], subprocess.DEVNULL
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=silent, stderr=silent, start_new_session=True
        )

    def revoke(self) -> None:
        """The guest has ended; nothing is left to do."""
        assert self.process.stdin
        if self.process.stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(_REVOKED)
            self.process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
