# SPDX-License-Identifier: MIT
"""A kernel on trial: it reboots by itself unless somebody reached it, and leaves a note of how far it came.

Units that only the trial's own kernel arguments start; any other boot of the server never sees them.
"""

from lockscale.errors import RunFailed
from lockscale.machines.guard import Guard
from lockscale.machines.machine import Machine, Write, must, must_all

NOTE = "/var/lib/lockscale/trial"
ASKED, USER_SPACE, UNREACHED = "asked", "user-space", "unreached"
UNITS = "/etc/systemd/system"
TIMER = "lockscale-trial.timer"
SERVICE = "lockscale-trial.service"
REACHED = "lockscale-trial-reached.service"
ARGUMENT = "lockscale.trial"

# A panic, an oops and a hang that the kernel itself notices end in a reset ten seconds later.
ARGUMENTS = (
    "panic=10",
    "oops=panic",
    "softlockup_panic=1",
    "hung_task_panic=1",
    ARGUMENT,
    f"systemd.wants={TIMER}",
    f"systemd.wants={REACHED}",
)

_REACHED = """\
[Unit]
Description=lockscale: the kernel on trial reached user space
ConditionKernelCommandLine={argument}
DefaultDependencies=no
After=local-fs.target
Conflicts=shutdown.target
[Service]
Type=oneshot
{load}ExecStart=/bin/sh -c 'echo {user_space} > {note} && sync {note}'
"""
_TIMER = """\
[Unit]
Description=lockscale: ends the trial of a kernel that nobody reached
ConditionKernelCommandLine={argument}
[Timer]
OnBootSec={timeout_s}s
AccuracySec=1s
"""
_SERVICE = """\
[Unit]
Description=lockscale: nobody reached the kernel on trial
ConditionKernelCommandLine={argument}
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo {unreached} > {note}; sync {note}; systemctl --no-block --force reboot'
"""


def prepare_trial(server: Machine, guard: Guard, timeout_s: int) -> None:
    """Write the units of the next trial, which ends `timeout_s` after its boot unless confirmed."""
    load = f"ExecStart=-/sbin/modprobe {guard.module}\n" if guard.module else ""
    names = {"argument": ARGUMENT, "note": NOTE, "timeout_s": timeout_s, "load": load}
    names |= {"user_space": USER_SPACE, "unreached": UNREACHED}
    must_all(
        server,
        [
            ["mkdir", "-p", NOTE.rpartition("/")[0]],
            Write(NOTE, ASKED + "\n"),
            Write(f"{UNITS}/{REACHED}", _REACHED.format(**names)),
            Write(f"{UNITS}/{TIMER}", _TIMER.format(**names)),
            Write(f"{UNITS}/{SERVICE}", _SERVICE.format(**names)),
            ["systemctl", "daemon-reload"],
        ],
    )


def forget_trials(server: Machine) -> None:
    """Take the units and the note away: nothing of a trial is left on the server."""
    must(server, ["rm", "-f", NOTE, *(f"{UNITS}/{unit}" for unit in (REACHED, TIMER, SERVICE))])


def confirm(server: Machine) -> None:
    """Somebody is there: the trial goes on until the next reboot."""
    active = server.run(["systemctl", "is-active", TIMER])
    if active.status:
        raise RunFailed(
            f"the trial's timer did not run ({active.stdout.strip()}): nothing would have ended it"
        )
    must(server, ["systemctl", "stop", TIMER])


def is_on_trial(server: Machine) -> bool:
    """Whether the running kernel was started for a trial."""
    return ARGUMENT in must(server, ["cat", "/proc/cmdline"]).split()


def how_far(server: Machine) -> str:
    """The note that the last trial left: ASKED, USER_SPACE or UNREACHED."""
    return must(server, ["cat", NOTE]).strip()
