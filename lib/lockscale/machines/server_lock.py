# SPDX-License-Identifier: MIT
"""One controller at a time on a server: a lock that lives there, and ends with who holds it.

A shell on the server holds flock(1) for as long as its connection stands, so nothing has to be renewed
while a load runs, and a controller that is killed lets go at once. A reboot lets go too, and a run
reboots: for the first minutes of a boot the record on the disk still counts. The record names who holds
it and since when, in the holder's own words.
"""

import contextlib
import hashlib
import secrets

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.ssh_host import Lost, SshHost
from lockscale.machines.ssh_shell import Connection

FOLDER = "/var/lib/lockscale"

# $1 token, $2 run, $3 who holds it, $4 seconds that a boot may take, $5 folder. Says `mine`, `full`, or
# `held` and the holder's words, and then waits for the connection's end or the word `release`. The file is
# first opened by true(1): a shell ends where a redirection of its special builtins fails.
_TAKE = """\
umask 022
{ mkdir -p "$5" && cd "$5" && true >> holder.lock; } 2> /dev/null || { echo full; exit; }
exec 9>> holder.lock
boot=$(cat /proc/sys/kernel/random/boot_id)
held() { echo held; sed -n 2p holder 2> /dev/null || echo; exit; }
look() { token= run= its_boot= pid=; read -r token run its_boot pid < holder; } 2> /dev/null
if ! flock -n 9; then
    look
    [ "$token" = "$1" ] && [ "$its_boot" = "$boot" ] || held
    kill -KILL "$pid" 2> /dev/null
    flock -w 10 9 || held
else
    look
    read -r up _ < /proc/uptime
    [ -z "$token" ] || [ "$token" = "$1" ] || [ "$run" = "$2" ] || [ "$its_boot" = "$boot" ] ||
        [ "${up%.*}" -ge "$4" ] || held
fi
printf '%s %s %s %s\\n%s\\n' "$1" "$2" "$boot" "$$" "$3" > holder.new &&
    sync holder.new && mv holder.new holder || { echo full; exit; }
echo mine
read -r word
[ "$word" != release ] || rm -f holder
"""


class HeldByOther(Exception):
    """Somebody else has the server; `said` is what they wrote of themselves."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


class ServerLock:
    """A server held for one run. take() again after each reboot; the connection is the lock's own.

    run: who else names it may take the lock over once a reboot let go of it; None for nobody. holder: one
    line, what a second controller is told. boot_s: how long a boot of this run may take.
    """

    def __init__(
        self, host: SshHost, run: str | None, holder: str, boot_s: int, folder: str = FOLDER
    ) -> None:
        self.host, self.folder = host, folder
        token = secrets.token_hex(16)
        name = hashlib.sha256((token if run is None else run).encode()).hexdigest()[:16]
        self.arguments = [token, name, holder, str(boot_s), folder]
        self._connection: Connection | None = None

    def take(self) -> None:
        """Hold the server, or go on holding it. Raises HeldByOther with what the holder wrote."""
        self._let_go()
        self._connection = Connection(self.host, _TAKE, self.arguments)
        try:
            word = self._connection.line()
            if word == "held":
                raise HeldByOther(self._connection.line())
            if word != "mine":
                home = f"{self.folder} on {self.host.host}"
                raise BadInput(f"{home} cannot be written: is it full or read-only?")
        except BaseException:
            self._let_go()
            raise

    def keep(self) -> None:
        """Take it again where its connection was lost meanwhile."""
        if self._connection is None or not self._connection.is_alive:
            self.take()

    def release(self) -> None:
        """Let go, and leave no record."""
        with contextlib.suppress(Lost, RunFailed, BadInput):
            if self._connection is not None:
                self._connection.leave("release")
        self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
