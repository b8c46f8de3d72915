# SPDX-License-Identifier: MIT
"""What a soak does to a mounted file system: the load over and over, and on request what breaks into it."""

from dataclasses import dataclass

from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.machine import Machine, must
from lockscale.measure.file_system import MOUNT_POINT, make, unmount_and_check
from lockscale.measure.load import LOAD_TIMEOUT_S, check_load
from lockscale.study.file import Study

# Until so many seconds have passed in the guest; each loop says how many rounds it made. A freeze waits for
# all operations and lets none start; an fsync commits. The freezer thaws what it froze before it ends. A loop
# that fails ends the others after their round, by a file that all of them look for.
FOR_A_WHILE = """\
end=$(($(date +%s) + $1)); freezes=$2; mounted=$3; shift 3
goes_on() { [ ! -e "$mounted/failed" ] && [ "$(date +%s)" -lt "$end" ]; }
ends_all() { touch "$mounted/failed"; return 1; }
loads() {
    n=0
    while goes_on; do "$@" > /dev/null || return 1; n=$((n + 1)); done
    echo "loads $n"
}
freezes() {
    n=0
    while goes_on; do
        fsfreeze --freeze "$mounted" || return 1
        sleep 0.2
        fsfreeze --unfreeze "$mounted" || return 1
        n=$((n + 1))
        sleep 1
    done
    echo "freezes $n"
}
fsyncs() {
    n=0
    while goes_on; do
        dd if=/dev/zero of="$mounted/fsynced" bs=4096 count=1 seek=$((n % 64)) conv=notrunc,fsync \\
            status=none || return 1
        n=$((n + 1))
    done
    rm "$mounted/fsynced" || return 1
    echo "fsyncs $n"
}
failed=0
if [ "$freezes" = yes ]; then
    { freezes || ends_all; } & freezer=$!
    { fsyncs || ends_all; } & writer=$!
fi
loads "$@" || ends_all || failed=1
for loop in $freezer $writer; do wait "$loop" || failed=1; done
exit "$failed"
"""


@dataclass(frozen=True)
class Rounds:
    """How often each was done; those of all variants together."""

    loads: int = 0
    freezes: int = 0
    fsyncs: int = 0


def load_for(
    machine: Machine, arm: str, study: Study, disk: NamedDisk, guest_seconds: int, *, freezes: bool
) -> Rounds:
    """Make, mount, load, unmount and check, in each of the study's variants for an equal share of the time.

    freezes: also freeze and thaw the file system over and over, and fsync a file meanwhile.
    """
    share_s, rounds = guest_seconds // len(study.check.variants), list[Rounds]()
    argv = [*rounds_command(share_s, MOUNT_POINT, freezes=freezes), *check_load(study)]
    for variant in study.check.variants:
        file_system = make(machine, study.options_of(arm, variant), disk)
        rounds.append(read_rounds(must(machine, argv, timeout_s=share_s + LOAD_TIMEOUT_S)))
        unmount_and_check(machine, file_system, kernel_log=False)  # soak() reads all of it
    return Rounds(
        sum(one.loads for one in rounds),
        sum(one.freezes for one in rounds),
        sum(one.fsyncs for one in rounds),
    )


def rounds_command(seconds: int, mounted: str, *, freezes: bool) -> list[str]:
    """What the load's own argv is appended to."""
    return ["sh", "-c", FOR_A_WHILE, "sh", str(seconds), "yes" if freezes else "no", mounted]


def read_rounds(printed: str) -> Rounds:
    """What FOR_A_WHILE printed."""
    return Rounds(**{name: int(n) for name, n in (line.split() for line in printed.splitlines())})
