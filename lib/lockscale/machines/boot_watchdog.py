# SPDX-License-Identifier: MIT
"""What brings a server back from a kernel on trial: a watchdog, and a timer of systemd.

A panic reboots by itself, and a timer of systemd ends a boot that nobody reaches; its units are started by
the trial's own kernel arguments alone, and leave a note of how far it came. Once somebody reached it, a
second timer looks whether the controller is still heard, which the server's lock writes down, and ends the
trial where it is not. Neither runs in a kernel that hangs before user space: only something outside the
kernel helps there. More kinds (a BMC's watchdog, IPMI power) have to give the same five things.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from lockscale.errors import RunFailed
from lockscale.machines.machine import Machine, Write, must, must_all


class BootWatchdog:
    """Nothing, which is what a kind of watchdog overrides.

    timeout_s: when it resets a server that does not tend it; None for never. module: its driver, which
    Debian's list of unwanted modules keeps from loading by itself.
    """

    timeout_s: int | None = None
    module: str | None = None

    def reasons_against(self, server: Machine, release: str) -> Iterator[str]:
        """Why it cannot guard the kernel `release` on this server."""
        yield from ()

    @property
    def grub_commands(self) -> tuple[str, ...]:
        """What arms it, before GRUB starts the kernel."""
        return ()

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        """What makes the kernel on trial tend it."""
        return ()


class NoWatchdog(BootWatchdog):
    """A kernel that hangs before user space waits for a person."""


@dataclass(frozen=True)
class I6300esb(BootWatchdog):
    """Intel 6300ESB watchdog, as QEMU has it: GRUB arms and locks it, so no kernel can disarm it.

    Registers and the unlocking sequence: drivers/watchdog/i6300esb.c. Two equal stages run one after
    the other, counted at about 1 kHz in twenty bits.
    """

    timeout_s: int = 180
    module = "i6300esb"

    def reasons_against(self, server: Machine, release: str) -> Iterator[str]:
        find = ["sh", "-c", "grep -lsx 0x25ab /sys/bus/pci/devices/*/device"]
        built = ["grep", "-sE", "^CONFIG_I6300ESB_WDT=[ym]$", f"/boot/config-{release}"]
        found, driver = server.run_all([find, built])
        if not found.stdout.strip():
            yield "the server has no i6300esb watchdog (PCI 8086:25ab): choose another guard"
        if driver.status:
            yield f"Linux {release} lacks the watchdog's driver and would be reset: set CONFIG_I6300ESB_WDT"

    @property
    def grub_commands(self) -> tuple[str, ...]:
        stage = hex(self.timeout_s << 9)
        unlock = ("write_word 0x${wdt}c 0x80", "write_word 0x${wdt}c 0x86")
        return (
            "insmod setpci",
            "insmod memrw",
            "insmod regexp",
            "setpci -d 8086:25ab -v bar 10.l",
            # GRUB cannot add: the registers lie in sixteen bytes, so the last digit is free.
            "regexp --set 1:wdt '^(.*)0$' $bar",
            "setpci -d 8086:25ab 60.w=3",
            *unlock,
            f"write_dword 0x${{wdt}}0 {stage}",
            *unlock,
            f"write_dword 0x${{wdt}}4 {stage}",
            *unlock,
            "write_word 0x${wdt}c 0x300",
            "setpci -d 8086:25ab 68.b=3",
        )

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        # The driver sets the timer anew when it loads, by default to 30 s (esb_initdevice).
        return (f"i6300esb.heartbeat={self.timeout_s}", f"systemd.watchdog_sec={self.timeout_s // 2}")


NOTE = "/var/lib/lockscale/trial"
ASKED, USER_SPACE, UNREACHED = "asked", "user-space", "unreached"
UNITS = "/etc/systemd/system"
TIMER = "lockscale-trial.timer"
REACHED = "lockscale-trial-reached.service"
ARGUMENT = "lockscale.trial"

HOME_TIMER = "lockscale-home.timer"
HEARD = (
    "/run/lockscale-heard"  # there on a trial that somebody reached; changed with each word of the controller
)
LOOK_S = 300
ALONE_MIN = 15  # a controller gives up after five
AHEAD_MIN = 2  # further ahead than that is a word from before the clock was set back
LATELY = f"find {HEARD} -mmin +-{AHEAD_MIN} -mmin -{ALONE_MIN}"

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

_UNITS = {
    REACHED: f"""\
[Unit]
Description=lockscale: the kernel on trial reached user space
ConditionKernelCommandLine={ARGUMENT}
DefaultDependencies=no
After=local-fs.target
Conflicts=shutdown.target
[Service]
Type=oneshot
{{load}}ExecStart=/bin/sh -c 'echo {USER_SPACE} > {NOTE} && sync {NOTE}'
""",
    TIMER: f"""\
[Unit]
Description=lockscale: ends the trial of a kernel that nobody reached
ConditionKernelCommandLine={ARGUMENT}
[Timer]
OnBootSec={{timeout_s}}s
AccuracySec=1s
""",
    "lockscale-trial.service": f"""\
[Unit]
Description=lockscale: nobody reached the kernel on trial
ConditionKernelCommandLine={ARGUMENT}
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo {UNREACHED} > {NOTE}; sync {NOTE}; systemctl --no-block --force reboot'
""",
    HOME_TIMER: f"""\
[Unit]
Description=lockscale: looks whether the controller of the trial is still heard
ConditionKernelCommandLine={ARGUMENT}
[Timer]
OnActiveSec={LOOK_S}s
OnUnitActiveSec={LOOK_S}s
AccuracySec=1s
""",
    "lockscale-home.service": f"""\
[Unit]
Description=lockscale: ends a trial whose controller was not heard for {ALONE_MIN} minutes
ConditionKernelCommandLine={ARGUMENT}
[Service]
Type=oneshot
ExecStart=/bin/sh -c '{LATELY} | grep -q . || systemctl --no-block --force reboot'
""",
}


def prepare_trial(server: Machine, guard: BootWatchdog, timeout_s: int) -> None:
    """Write the units of the next trial, which ends `timeout_s` after its boot unless confirmed."""
    load = f"ExecStart=-/sbin/modprobe {guard.module}\n" if guard.module else ""
    units = [Write(f"{UNITS}/{k}", v.format(load=load, timeout_s=timeout_s)) for k, v in _UNITS.items()]
    folder = ["mkdir", "-p", NOTE.rpartition("/")[0]]
    must_all(server, [folder, Write(NOTE, ASKED + "\n"), *units, ["systemctl", "daemon-reload"]])


def forget_trials(server: Machine) -> None:
    """Take the units and the note away: nothing of a trial is left on the server."""
    must(server, ["rm", "-f", NOTE, *(f"{UNITS}/{unit}" for unit in _UNITS)])


def confirm(server: Machine) -> None:
    """Somebody is there: the trial goes on until the next reboot, or until nobody is heard any more."""
    active = server.run(["systemctl", "is-active", TIMER])
    if active.status:
        raise RunFailed(
            f"the trial's timer does not run ({active.stdout.strip()}), so nothing would end the trial: "
            f"look at systemd's log on the server"
        )
    must_all(server, [Write(HEARD, "\n"), ["systemctl", "start", HOME_TIMER]])
    must(server, ["systemctl", "is-active", HOME_TIMER])
    must(server, ["systemctl", "stop", TIMER])


def is_on_trial(server: Machine) -> bool:
    """Whether the running kernel was started for a trial."""
    return ARGUMENT in must(server, ["cat", "/proc/cmdline"]).split()


def how_far(server: Machine) -> str:
    """The note that the last trial left: ASKED, USER_SPACE or UNREACHED."""
    return must(server, ["cat", NOTE]).strip()
