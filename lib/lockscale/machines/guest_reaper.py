# SPDX-License-Identifier: MIT
"""What ends a guest whose controller was killed: a process that waits for the controller's end of a pipe.

kill -9 leaves no time to end anything. The next run would find the machine's lock free, and would measure
beside a guest that goes on, so this process holds the lock as well, until the guest is gone.
"""

import contextlib
import subprocess
from pathlib import Path

_DISMISSED = b"dismissed\n"
_GONE_TRIES = 500  # of 20 ms each: memory of gigabytes is not given back at once
# What ends without the word has lost its writer. Who waits for zombies that nobody takes away waits for ever.
_REAP = f"""\
read -r group
read -r word
[ "$word" = dismissed ] && exit
[ -z "$group" ] || kill -KILL "-$group"
tries=0
while [ -n "$group" ] && [ $tries -lt {_GONE_TRIES} ] && kill -0 "-$group"; do
    sleep 0.02
    tries=$((tries + 1))
done
rm -rf -- "$1"
"""


class GuestReaper:
    """Once this process is gone, kills the process group that watches() names and removes the folder `room`.

    It is there before the guest is, and inherits what is inheritable: the locks of lockscale.files.
    """

    def __init__(self, room: Path) -> None:
        silent = subprocess.DEVNULL
        self.process = subprocess.Popen(
            ["sh", "-c", _REAP, "sh", str(room)],
            stdin=subprocess.PIPE, stdout=silent, stderr=silent, start_new_session=True, close_fds=False,
        )  # fmt: skip

    @property
    def is_dismissed(self) -> bool:
        """Whether nothing is ended any more when this process is."""
        assert self.process.stdin
        return self.process.stdin.closed

    def watches(self, group: int) -> None:
        """The process group of the guest, now that it has one."""
        self._say(f"{group}\n".encode())

    def dismiss(self) -> None:
        """The guest has ended, or never began; nothing is left to do."""
        assert self.process.stdin
        if self.is_dismissed:
            return
        self._say(_DISMISSED * 2)  # in place of the group, too, where there was none
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()

    def _say(self, words: bytes) -> None:
        """Nothing to one that ended, or that another thread dismissed."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(words)
            self.process.stdin.flush()
