# SPDX-License-Identifier: MIT
"""Steps as a unit of systemd that runs once on the server, whatever becomes of the connection.

A job is a folder in its session's folder, and a unit of the same name. Whoever attends it asks systemd to
start the unit, also after a lost connection: systemd knows one unit of a name, and its script does nothing
the second time. systemd ends it when its time is over, with every process, and then writes how it ended. Who
waits sleeps in flock(1): the server does nothing while a job runs, and needs no message bus.
"""

import math
import shlex
from dataclasses import dataclass

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.machines.machine import Completed, Step, Write, argv_of, refuse_much
from lockscale.machines.ssh_host import Lost
from lockscale.machines.ssh_shell import Connection

GRACE_S = 120.0  # over the job's own time: to start, to be ended, and to send what it printed
UNIT = "lockscale-job-"
NEEDS = (
    "systemd-run", "systemctl", "head", "wc", "find", "touch", "mktemp", "mv", "sha256sum", "stat", "flock",
)  # fmt: skip
"""The commands that the scripts, the transfer of files and the lock need."""

_BOOT_ID = '"$(cat /proc/sys/kernel/random/boot_id)"'

# $1 folder of all sessions, $2 session. Says `open BOOT_ID`, `missing TOOL` or `full`, and then holds the
# connection open. The word `leave` takes the session away, which a lost connection does not. A day-old
# session of nobody goes.
SESSION = f"""\
umask 077
for tool in {shlex.join(NEEDS)}; do
    command -v "$tool" > /dev/null || {{ echo "missing $tool"; exit; }}
done
mkdir -p "$1" && mkdir -p "$1/$2" && touch "$1/$2" || {{ echo full; exit; }}
find "$1" -mindepth 1 -maxdepth 1 -type d -mmin +1440 -exec rm -rf {{}} +
echo open {_BOOT_ID}
read -r word
[ "$word" = leave ] && cd / && rm -rf "$1/$2" && rmdir "$1" 2> /dev/null
"""

# $1 session folder, $2 job, $3 boot id, $4 unit, $5 seconds, $6 bytes of steps on stdin, $7 number of
# steps. Says one word, or `done RESULT` (systemd.exec(5), SERVICE_RESULT), and then for each step
# `STATUS OUT_BYTES ERR_BYTES`, its output and its errors. What earlier jobs printed has arrived: of them
# stays how they ended, so that none runs again. A starved server's systemd ends ExecStopPost's command too,
# after TimeoutStopSec; a job whose last step has a status came to its end nevertheless. No prefix before
# that command: systemd 252 writes it down under a key that it does not know when it reads the unit again,
# at a daemon-reload.
ATTEND = f"""\
say() {{ echo "$1"; exit; }}
umask 077
[ {_BOOT_ID} = "$3" ] || say rebooted
cd "$1" 2> /dev/null && touch . || say gone
find . -mindepth 2 -maxdepth 2 ! -path "./$2/*" ! -name done -type f -delete
new=$(mktemp -d ./new.XXXXXXXX) || say full
{{ head -c "$6" > "$new/steps"; }} 2> /dev/null || {{ rm -rf "$new"; say full; }}
[ "$(wc -c < "$new/steps")" -eq "$6" ] || {{ rm -rf "$new"; say cut; }}
mv -T "$new" "$2" 2> /dev/null || {{ rm -rf "$new"; [ -d "$2" ] || say full; }}
cd "$2"
[ -e done ] || systemd-run --quiet --collect --unit="$4" --property=RuntimeMaxSec="$5" \\
    --property=TimeoutStopSec=15 --property=TasksMax=infinity --property=IgnoreSIGPIPE=no \\
    --property=ExecStopPost="/bin/sh '$1/$2/steps' ended" /bin/sh "$1/$2/steps" \\
    < /dev/null > /dev/null 2> refused
tries=0
until [ -e done ]; do
    flock lock true
    [ -e done ] && break
    case $(systemctl is-active "$4") in
        active|activating|deactivating|reloading) tries=0 ;;
        *) tries=$((tries + 1)) ;;
    esac
    if [ "$tries" -ge 40 ]; then
        [ -e started ] || say "refused $(tail -n 1 refused)"
        [ -s "$(($7 - 1)).status" ] && echo success > done.part && mv done.part done && break
        {{ echo 0 > probe; }} 2> /dev/null && say died || say overflow
    fi
    sleep 0.05
done
while case $(systemctl is-active "$4") in active|deactivating) ;; *) false ;; esac; do sleep 0.05; done
[ -e steps ] || say over
size() {{ if [ -e "$1" ]; then wc -c < "$1"; else echo 0; fi; }}
echo "done $(cat done)"
step=0
while [ "$step" -lt "$7" ]; do
    status=; [ -e "$step.status" ] && read -r status < "$step.status"
    out=$(size "$step.out") err=$(size "$step.err")
    echo "${{status:--}}" $out $err
    [ "$out" -eq 0 ] || head -c "$out" "$step.out"
    [ "$err" -eq 0 ] || head -c "$err" "$step.err"
    step=$((step + 1))
done
"""

# What stands before a job's steps: its folder is left as how it ended, once. $1 `ended`: after its end.
_FIRST = """\
cd {folder} || exit 1
if [ "$1" = ended ]; then
    [ -e done ] || {{ echo "$SERVICE_RESULT" > done.part && mv done.part done; }}
    exit
fi
exec 9>> lock
flock 9
(set -C; : > started) 2> /dev/null && [ ! -e done ] || exit 0
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
umask 022
cd /
"""

# $1 session folder, $2 job, $3 unit. `done` keeps a start that is still under way from starting.
CANCEL = """\
cd "$1" 2> /dev/null || exit 0
mkdir -p "$2" && { [ -e "$2/done" ] || echo canceled > "$2/done"; }
systemctl stop "$3.service" 2> /dev/null
"""

# $1 how units of jobs begin, $2 the session that is spared. Says how many jobs of others are ended.
END_OTHERS = """\
units=$(systemctl list-units --plain --no-legend --full "$1*.service" | cut -d ' ' -f 1 | grep -v "^$1$2-")
[ -z "$units" ] || systemctl stop $units
echo $units | wc -w
"""


@dataclass(frozen=True)
class JobFolder:
    """A folder on the server for the jobs of one controller, gone when it leaves or the server boots."""

    name: str
    above: str
    boot_id: str

    @property
    def path(self) -> str:
        return f"{self.above}/{self.name}"


@dataclass(frozen=True)
class Job:
    """Steps under a number that no other job of the session has."""

    session: JobFolder
    number: int
    steps: tuple[Step, ...]
    timeout_s: float

    @property
    def unit(self) -> str:
        return f"{UNIT}{self.session.name}-{self.number}"

    def attend(self, connection: Connection) -> list[Completed]:
        """Start the job unless it was started, wait for its end, and fetch what it printed.

        Lost with the connection: attend again with another one. RunFailed when there is no result.
        """
        text = self._script()
        seconds = max(1, math.ceil(self.timeout_s))
        arguments = [self.session.path, str(self.number), self.session.boot_id, self.unit]
        arguments += [str(seconds), str(len(text)), str(len(self.steps))]
        with connection.shell(ATTEND, arguments, seconds + GRACE_S, text) as shell:
            word, _, result = shell.line().partition(" ")
            if word == "cut":
                raise Lost("the job arrived incomplete")
            if word != "done":
                raise RunFailed(self._no_result(word, result, connection.host.host, self.steps[-1]))
            completed = []
            for step in self.steps:
                status, *sizes = shell.line().split()
                refuse_much(argv_of(step), max(map(int, sizes)))
                out, err = (shell.exactly(int(size)).decode(errors="replace") for size in sizes)
                if not status.isdigit():
                    word = result if result in ("timeout", "success", "canceled") else "died"
                    raise RunFailed(self._no_result(word, result, connection.host.host, step))
                completed.append(Completed(tuple(argv_of(step)), int(status), out, err))
            return completed

    def cancel(self, connection: Connection) -> None:
        """End the job, or keep it from starting."""
        with connection.shell(CANCEL, [self.session.path, str(self.number), self.unit], GRACE_S) as shell:
            shell.wait()

    def _script(self) -> bytes:
        folder = f"{self.session.path}/{self.number}"
        lines = [_line(f"{shlex.quote(folder)}/{k}", step) for k, step in enumerate(self.steps)]
        script = _FIRST.format(folder=shlex.quote(folder)) + "\n".join([*lines, "exit 0", ""])
        try:
            text = script.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            shown = _shown(self.steps[0])
            raise BadInput(f"`{shown}` contains a character that no file name or command can have") from None
        if b"\0" in text:
            raise BadInput(
                f"`{_shown(self.steps[0])}` contains a NUL, which would end an argument: it is not run"
            )
        return text

    def _no_result(self, word: str, detail: str, name: str, step: Step) -> str:
        """What the word of ATTEND, or systemd's result of the unit, means for a step."""
        shown = _shown(step)
        return {
            "timeout": f"`{shown}` did not end within {self.timeout_s:.0f} s and was killed",
            "success": f"`{shown}` was killed on {name}, or its output filled {self.session.above}",
            "canceled": f"`{shown}` was killed before: it does not run again",
            "rebooted": f"{name} rebooted while `{shown}` ran: its result is unknown",
            "gone": f"this session's folder on {name} is gone: `{shown}` did not run",
            "full": f"the disk under {self.session.above} on {name} is full: `{shown}` did not run",
            "over": f"`{shown}` was killed, or its result fetched, before: it does not run again",
            "overflow": f"the output of `{shown}` did not fit under {self.session.above} on {name}",
            "died": f"the unit of `{shown}` on {name} was killed: did it run out of memory?",
            "refused": f"systemd on {name} cannot start `{shown}`: {printable(detail, 200)}",
        }.get(word, f"{name} answers `{printable(word)}` instead of the result of `{shown}`")


def _shown(step: Step) -> str:
    return printable(shlex.join(argv_of(step)), 200)


def _line(stem: str, step: Step) -> str:
    """In a subshell: no step changes the next. A quoted first word is neither keyword nor variable."""
    first, *others = argv_of(step)
    quoted = "'" + first.replace("'", "'\"'\"'") + "'"
    command = " ".join([quoted, *map(shlex.quote, others)])
    if isinstance(step, Write):  # printf is built into the shell: no process for a write
        command = f"{command} > {shlex.quote(step.path)}"
    return f"( {command} ) > {stem}.out 2> {stem}.err 9>&-; echo $? > {stem}.status"
