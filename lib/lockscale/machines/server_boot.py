# SPDX-License-Identifier: MIT
"""Boot a kernel once on a real server, and be back on the old one whatever happens.

GRUB forgets the trial as it starts it, so any reset leads to the default entry. What resets: a panic by
itself, a boot that nobody reaches by a timer of systemd, a hang before user space by the guard.
"""

from dataclasses import dataclass
from typing import Literal

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.build import Kernel
from lockscale.machines.boot_watchdog import (
    ARGUMENTS,
    ASKED,
    NOTE,
    UNREACHED,
    BootWatchdog,
    confirm,
    how_far,
    is_on_trial,
    prepare_trial,
)
from lockscale.machines.grub import Grub, MenuEntry, boot_next, disarm, pin_default, read_grub
from lockscale.machines.machine import Machine, assert_runs, must
from lockscale.machines.server_kernels import OURS
from lockscale.machines.ssh import SshMachine

Method = Literal["grub", "kexec"]
UNLESS = ", unless its power was cut"  # which looks the same from here
SYNC_S = 600.0  # a load may just have left as much as the page cache holds
# $1 what the note, $2, says until a trial runs. A kernel that is loaded would be started by the next reboot,
# where kexec-tools or shutdown(8) see to that. kexec_loaded is not about a crash kernel.
UNLOAD_KEXEC = 'grep -qsx 1 /sys/kernel/kexec_loaded && grep -qsx "$1" "$2" && kexec --unload'
SHUTDOWN_S = 120  # systemd gives a unit 90 s to stop


@dataclass(frozen=True)
class _Asked:
    """What was asked of the server, and where it was then."""

    kernel: Kernel
    guard: BootWatchdog
    timeout_s: int
    home: str
    clock_s: int  # the server's own


def boot_once(
    server: SshMachine, kernel: Kernel, guard: BootWatchdog, timeout_s: int, method: Method = "grub"
) -> str:
    """Boot the installed `kernel` once; its build-id, asserted from inside.

    `timeout_s`: how long a boot may take until the server is reached. RunFailed is one sentence that
    names what the kernel did, and the server is then back on its default kernel.
    """
    grub = read_grub(server)
    home = _home(server, grub)
    if kernel.release == home:
        raise BadInput(
            f"Linux {home} is the server's default kernel, so it cannot be booted on trial: "
            f"choose another default with grub-set-default"
        )
    against = list(guard.reasons_against(server, kernel.release))
    if against:
        raise BadInput(f"the boot guard cannot be used: {'; '.join(against)}")
    if method == "kexec" and guard.grub_commands:
        raise BadInput("this guard is armed by GRUB, which kexec bypasses: use method grub, or no guard")
    pin_default(server, grub)
    prepare_trial(server, guard, timeout_s)
    arguments = " ".join((*ARGUMENTS, *guard.kernel_arguments))
    must(server, ["sync"], timeout_s=SYNC_S)  # before anything is armed: it may take long
    entry = grub.entry_of(kernel.release)
    if method == "kexec":
        load_kexec(server, entry, arguments)
    else:
        boot_next(server, entry, guard.grub_commands, arguments)
    asked = _Asked(kernel, guard, timeout_s, home, int(must(server, ["date", "+%s"])))
    # Until the trial's own end, by timer or guard, and the boot of the old kernel after it.
    longest_s = SHUTDOWN_S + max(timeout_s, guard.timeout_s or 0) + SHUTDOWN_S + timeout_s
    never_back = (
        f"Linux {kernel.release} hangs and nothing reset the server within {longest_s} s: power-cycle it, "
        f"and it boots Linux {home}"
    )
    _restart(server, "kexec" if method == "kexec" else "reboot", longest_s, never_back)
    return _judge(server, asked)


def home_of(server: SshMachine) -> str:
    """The release that the server is left on: its default.

    Raises BadInput where it runs another one that is not ours, as after an upgrade: it would be lost.
    """
    return _home(server, read_grub(server))


def _home(server: SshMachine, grub: Grub) -> str:
    home, running = str(grub.default.release), _running(server)
    if running != home and not OURS.fullmatch(running) and not is_on_trial(server):
        raise BadInput(
            f"the server runs Linux {running}, but a trial would leave it on its default, {home}: reboot "
            f"it by hand, or make the running one the default with grub-set-default"
        )
    return home


def go_home(server: SshMachine, timeout_s: int) -> None:
    """Reboot from a kernel of ours into the default one. Raises BadInput as home_of() does."""
    home = home_of(server)
    disarm(server)  # whoever armed it was ended before the reboot
    server.run(["sh", "-c", UNLOAD_KEXEC, "sh", ASKED, NOTE])
    if _running(server) == home and not is_on_trial(server):
        return
    stuck = f"did not come back from the trial kernel within {timeout_s} s: power-cycle it"
    _restart(server, "reboot", timeout_s + SHUTDOWN_S, f"the server {stuck}")
    if (running := _running(server)) != home:
        raise RunFailed(
            f"the server came back on Linux {running}, not on its default {home}: check its GRUB "
            f"configuration"
        )


def _judge(server: SshMachine, asked: _Asked) -> str:
    """The build-id of the right kernel, or the sentence on what came of the wrong one."""
    if not is_on_trial(server):
        where = f"the server is back on Linux {_running(server)}"
        raise RunFailed(f"{_what_happened(server, asked)}; {where}")
    try:
        build_id = assert_runs(server, asked.kernel)
        confirm(server)
    except RunFailed as wrong:
        go_home(server, asked.timeout_s)
        raise RunFailed(f"{wrong}; the server is back on Linux {asked.home}") from None
    return build_id


def _what_happened(server: SshMachine, asked: _Asked) -> str:
    """Why the trial ended before anybody reached it, from its note and from how long it took."""
    name = f"Linux {asked.kernel.release}"
    if disarm(server):
        return f"{name} was never started: the reboot bypassed GRUB"
    note = how_far(server)
    if note == UNREACHED:
        return f"{name} booted, but could not be reached over the network within {asked.timeout_s} s"
    where = "before user space" if note == ASKED else "in user space"
    # by the server's clock; proc(5), stat, btime: when the running kernel started
    took_s = int(must(server, ["grep", "^btime", "/proc/stat"]).split()[1]) - asked.clock_s
    limit_s = asked.guard.timeout_s
    if limit_s and took_s >= limit_s:
        return f"{name} hangs {where}: the guard reset it, {took_s} s after the reboot was asked for{UNLESS}"
    return f"{name} panicked {where}: it reset the server {took_s} s after the reboot was asked for{UNLESS}"


def _restart(server: SshMachine, verb: str, timeout_s: int, if_never: str) -> None:
    """`systemctl VERB`, and wait for another boot than this one: that ssh answers says nothing by itself."""
    boot_id = server.boot_id()
    # A moment later, so that the answer comes before the connection goes.
    later = ["systemd-run", "--quiet", "--on-active=1s", "--timer-property=AccuracySec=100ms"]
    must(server, ["sync"], timeout_s=SYNC_S)
    must(server, [*later, "systemctl", verb])
    try:
        server.reconnect(timeout_s, after=boot_id)
    except RunFailed:
        raise RunFailed(if_never) from None
    except KeyboardInterrupt:  # only a server that is reached again can be taken home
        server.reconnect(timeout_s, after=boot_id)
        raise


def _running(server: SshMachine) -> str:
    return must(server, ["uname", "-r"]).strip()


def load_kexec(server: Machine, entry: MenuEntry, arguments: str) -> None:
    """Load the kernel of a menu entry, with its arguments and ours, for `systemctl kexec`."""
    initrd = f"/boot/initrd.img-{entry.release}"
    has_initrd = server.run(["test", "-e", initrd]).status == 0
    argv = ["kexec", "--load", "--kexec-syscall-auto", f"/boot/vmlinuz-{entry.release}"]
    argv += [f"--command-line={entry.arguments} {arguments}"]
    argv += [f"--initrd={initrd}"] if has_initrd else []
    must(server, argv)
