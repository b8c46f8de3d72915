# SPDX-License-Identifier: MIT
"""One controller at a time on a server: a lock that lives there, and ends with who holds it.

A shell on the server holds flock(1) for as long as its connection stands, so a controller that is killed lets
go at once. One that loses its power or its network cannot end the connection, so the shell also ends when it
has heard nothing for SILENT_S. What it hears keeps a kernel on trial from going home (boot_watchdog.py). A
reboot lets go too, and a run reboots: for the first minutes of a boot the record on the disk still counts,
but no longer than RETAKE_S after somebody else asked, as the holder tries every second to be back. The record
names who holds it and since when, in the holder's own words.
"""

import contextlib
import hashlib
import secrets
import threading

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.boot_watchdog import HEARD
from lockscale.machines.ssh_host import Lost, SshHost
from lockscale.machines.ssh_shell import Connection

FOLDER = "/var/lib/lockscale"

SILENT_S = 60
RETAKE_S = 180  # a login and a look at the kernel take an emulated server up to a minute
BEATS = 4  # in that time
_BEAT, _RELEASE = b"isalive\n", b"release\n"  # as long as each other: dd reads one whole, and no more

# $1 token, $2 run, $3 who holds it, $4 seconds that a boot may take, $5 folder, $6 seconds of silence, $7
# a file that is written, where it is there, whenever the holder is heard, $8 RETAKE_S. Says `mine`, `full`,
# or `held` and the holder's words, and then waits for the connection's end, for silence, or for `release`.
# The lock's file is first opened by true(1): a shell ends where a redirection of its special builtins fails.
# What waits has no part in the lock: it may outlive us by its time. Who is killed has the lock open: a
# number of the record may be another process's by now.
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
    [ "/proc/$pid/fd/9" -ef holder.lock ] && kill -KILL "$pid" 2> /dev/null
    flock -w 10 9 || held
else
    look
    read -r up _ < /proc/uptime
    up=${up%.*} asked_boot= asked=
    { read -r asked_boot asked < asked; } 2> /dev/null
    [ "$asked_boot" = "$boot" ] || { asked=$up; echo "$boot $up" > asked; }
    [ -z "$token" ] || [ "$token" = "$1" ] || [ "$run" = "$2" ] || [ "$its_boot" = "$boot" ] ||
        [ "$up" -ge "$4" ] || [ "$((up - asked))" -ge "$8" ] || held
fi
rm -f asked
printf '%s %s %s %s\\n%s\\n' "$1" "$2" "$boot" "$$" "$3" > holder.new &&
    sync holder.new && mv holder.new holder || { echo full; exit; }
echo mine
hear() { timeout "$6" dd bs=8 count=1 iflag=fullblock 2> /dev/null 9>&-; }
while word=$(hear "$@") && [ "$word" = isalive ]; do
    [ ! -e "$7" ] || echo > "$7"
done
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
    line, what a second controller is told. boot_s: how long a boot of this run may take. silent_s: after so
    long without a word the server takes us for dead. retake_s: and so long after another asked in a new boot.
    """

    def __init__(
        self,
        host: SshHost,
        run: str | None,
        holder: str,
        boot_s: int,
        folder: str = FOLDER,
        *,
        silent_s: int = SILENT_S,
        retake_s: int = RETAKE_S,
        heard: str = HEARD,
    ) -> None:
        self.host, self.folder = host, folder
        token = secrets.token_hex(16)
        name = hashlib.sha256((token if run is None else run).encode()).hexdigest()[:16]
        self.arguments = [token, name, holder, str(boot_s), folder, str(silent_s), heard]
        self.arguments.append(str(retake_s))
        self.beat_s = silent_s / BEATS
        self._connection: Connection | None = None
        self._ended = threading.Event()
        self._beating: threading.Thread | None = None

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
        self._beat(self._connection)

    def _beat(self, connection: Connection) -> None:
        """From now on the server hears that we live, until we let go or the connection is lost."""
        self._ended = ended = threading.Event()

        def beat() -> None:
            with contextlib.suppress(Lost, RunFailed, BadInput, ValueError):
                while not ended.wait(self.beat_s):
                    connection.say(_BEAT)

        self._beating = threading.Thread(target=beat, daemon=True)
        self._beating.start()

    def keep(self) -> None:
        """Take it again where its connection was lost meanwhile."""
        if self._connection is None or not self._connection.is_alive:
            self.take()

    def release(self) -> None:
        """Let go, and leave no record."""
        with contextlib.suppress(Lost, RunFailed, BadInput):
            if self._connection is not None:
                self._fall_silent()
                self._connection.leave(_RELEASE)
        self._let_go()

    def _fall_silent(self) -> None:
        self._ended.set()
        if self._beating is not None:
            self._beating.join()
            self._beating = None

    def _let_go(self) -> None:
        self._fall_silent()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
