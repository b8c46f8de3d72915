# SPDX-License-Identifier: MIT
"""xfstests (fstests), where the user has it: find it, configure it, run it.

It is not shipped and not installed: it is GPL, large, and built against the target's own libraries.
xfstests' check prints a line a test and ends in a summary, which is what counts: the lines add times
and reasons and have to agree with it. A run that was cut or interrupted has no result, because the
tests that it did not reach would look as if they were missing.

An arm's run is compared with the base's: what the patches broke, and what cannot be compared.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lockscale.errors import BadInput, printable
from lockscale.tools.target_tools import TargetTool, found_in

TOOL = "xfstests"
Status = Literal["pass", "fail", "notrun", "expunged"]
STATUSES: tuple[Status, ...] = ("pass", "fail", "notrun", "expunged")

NAME = r"[a-z][a-z0-9_]*/\d{3,}(?:-[A-Za-z0-9-]+)?"
TEST = re.compile(rf"^({NAME})(?:\s+\d+s \.\.\.)?(?=\s|$)\s*(.*)$")
SKIPPED = ("[expunged]", "- no such test?", "- unknown test, ignored")
PASSED_IN = re.compile(r"^\d+s$")  # seconds
PLATFORM = re.compile(r"^PLATFORM +-- \S+ \S+ (\S+)")
FAILED = re.compile(r"^Failed (\d+) of (\d+) tests$")
PASSED = re.compile(r"^Passed all (\d+) tests$")


def status_of(said: str) -> Status:
    """The status that is written `said`; BadInput for another."""
    for status in STATUSES:
        if status == said:
            return status
    raise BadInput(f"{printable(said, 40)!r} is no status of a test, which is one of {', '.join(STATUSES)}")


@dataclass(frozen=True)
class TestResult:
    """One test; `reason` is check's text. expunged: left out on demand, or not there."""

    __test__ = False  # pytest: this is no test

    test: str
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class CheckRun:
    """One whole run of check on one kernel (`uname -r`; "" when the output does not say)."""

    kernel: str
    results: tuple[TestResult, ...]

    def status(self, test: str) -> Status | None:
        """What became of `test`; None when the run does not name it."""
        return next((r.status for r in self.results if r.test == test), None)


def parse(text: str) -> CheckRun:
    """The run that check printed on its standard output."""
    lines = text.splitlines()
    if any(line.startswith("SECTION ") for line in lines):
        raise BadInput("xfstests' output has sections: give the output of a run without them")
    reported = _reported(lines)
    summary = _summary(lines, next(reversed(reported), ""))
    if any(reported.get(t, TestResult(t, "expunged")).status != s for t, s in summary.items()):
        raise BadInput("xfstests' output is damaged: its lines and its summary do not agree")
    extra = [r for r in reported.values() if r.status != "expunged" and r.test not in summary]
    if extra:
        raise BadInput(f"xfstests' output is damaged: its summary leaves out {extra[0].test}")
    kernel = next((match[1] for line in lines if (match := PLATFORM.match(line))), "")
    return CheckRun(kernel, tuple(reported.values()))


def begun(text: str) -> tuple[str, ...]:
    """The tests that check has begun, from what it has printed so far; the last of them may be running."""
    return tuple(match[1] for line in text.splitlines() if (match := TEST.match(line)))


def _reported(lines: list[str]) -> dict[str, TestResult]:
    """What the line of each test says, in order; a failure's reason may stand on the next line."""
    found: dict[str, TestResult] = {}
    last = ""
    for line in lines:
        if line.startswith("Ran: "):
            break
        if match := TEST.match(line):
            last = match[1]
            if last in found:
                raise BadInput(f"xfstests' output lists {last} twice: give the output of one run")
            found[last] = _result(last, match[2].strip())
        elif last and found[last].status == "fail" and not found[last].reason and line.strip():
            found[last] = TestResult(last, "fail", line.strip())
    return found


def _result(test: str, printed: str) -> TestResult:
    if PASSED_IN.match(printed):
        return TestResult(test, "pass")
    if printed.startswith("[not run]"):
        return TestResult(test, "notrun", printed.removeprefix("[not run]").strip())
    return TestResult(test, "expunged" if printed in SKIPPED else "fail", printed)


def _summary(lines: list[str], last: str) -> dict[str, Status]:
    """What the summary at the end says of each test; BadInput when it is not there or does not add up.

    Its lines Ran:, Not run: and Failures: name the tests, its last line says how many there are.
    """
    at, counts = f" at {last}" if last else "", None
    named: dict[str, list[str]] = {"Ran": [], "Not run": [], "Failures": []}
    for line in lines:
        head, colon, names = line.partition(": ")
        if colon and head in named:
            named[head] = names.split()
        elif line == "Interrupted!":
            raise BadInput(f"this run of xfstests was interrupted{at}: run it again")
        elif match := FAILED.match(line):
            counts = (int(match[1]), int(match[2]))
        elif match := PASSED.match(line):
            counts = (0, int(match[1]))
    if counts is None:
        first = next((line.strip() for line in lines if line.strip()), "nothing")
        raise BadInput(f"xfstests' output ends before its summary{at or f' (it says: {first[:80]})'}")
    ran, notrun, failed = named.values()  # check counts one that is not run among those that it ran
    distinct = all(len(set(names)) == len(names) for names in named.values())
    apart = set(failed) <= set(ran) - set(notrun)
    if not (distinct and apart and (ran or notrun) and counts == (len(failed), len(ran))):
        raise BadInput("xfstests' output is damaged: its summary and its counts do not agree")
    return {t: "fail" if t in failed else "notrun" if t in notrun else "pass" for t in (*ran, *notrun)}


RAN = ("pass", "fail")


@dataclass(frozen=True)
class Intermittent:
    """A test that failed in the arm in `failed` of `runs` runs, and in the base in none."""

    test: str
    failed: int
    runs: int


@dataclass(frozen=True)
class CheckComparison:
    """`failures`: fail in the arm and not in the base. `mended`: fail in the base, pass in the arm.
    `one_sided`: ran on one of the two kernels only.

    Of the tests that ended differently on the two kernels once, and not so in every further run, intermittent
    are those that only the arm ever failed, as a race of its own would let them; unsteady are the others.
    """

    in_both: int
    failures: tuple[TestResult, ...]
    mended: tuple[str, ...]
    one_sided: tuple[str, ...]
    intermittent: tuple[Intermittent, ...] = ()
    unsteady: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """No test that the arm alone failed, be it once, and none that only one of the kernels could run."""
        return not (self.failures or self.intermittent or self.one_sided)

    @property
    def differing(self) -> frozenset[str]:
        """The tests that did not end alike on both kernels."""
        return frozenset((*(r.test for r in self.failures), *self.mended, *self.one_sided))

    def confirmed_by(self, again: "CheckComparison") -> "CheckComparison":
        """What differed in the same way in a further run; the rest of what differed is unsteady."""
        failed = {r.test for r in again.failures}
        found = replace(
            self,
            failures=tuple(r for r in self.failures if r.test in failed),
            mended=tuple(test for test in self.mended if test in again.mended),
            one_sided=tuple(test for test in self.one_sided if test in again.one_sided),
        )
        lost = sorted(self.differing - found.differing)
        return replace(found, unsteady=(*self.unsteady, *lost))

    @property
    def detail(self) -> str:
        failed = [f"{one.test} ({one.reason})" if one.reason else one.test for one in self.failures]
        often = [f"{one.test} ({one.failed} of {one.runs})" for one in self.intermittent]
        found = {
            "failed in the arm only": failed,
            "failed in the arm only, in some of its runs (run them again, with --test)": often,
            "failed in the base only": self.mended,
            "ran on one kernel only": self.one_sided,
            "differed once, but not in each further run": self.unsteady,
        }
        ran = f"{self.in_both} {'test' if self.in_both == 1 else 'tests'} ran on both kernels"
        return "; ".join([ran, *(f"{what}: {', '.join(tests)}" for what, tests in found.items() if tests)])


def compare(base: CheckRun, arm: CheckRun) -> CheckComparison:
    """Test by test. One run of each cannot tell a flaky test from a broken one: repeat what differs."""
    found = differences(base, arm)
    if not found.in_both:
        raise BadInput("no test ran in both xfstests runs: give runs of the same group")
    return found


def settled(runs: Sequence[tuple[CheckRun, CheckRun]]) -> CheckComparison:
    """compare() of the first run of base and arm, as far as each further run of what differed confirms it."""
    found = compare(*runs[0])
    for base, arm in runs[1:]:
        found = found.confirmed_by(differences(base, arm))
    in_arm = {test: sum(arm.status(test) == "fail" for _, arm in runs) for test in found.unsteady}
    in_base = {test for test in found.unsteady for base, _ in runs if base.status(test) == "fail"}
    own = {test: failed for test, failed in in_arm.items() if failed and test not in in_base}
    return replace(
        found,
        intermittent=tuple(Intermittent(test, failed, len(runs)) for test, failed in own.items()),
        unsteady=tuple(test for test in found.unsteady if test not in own),
    )


def differences(base: CheckRun, arm: CheckRun) -> CheckComparison:
    """The same where it may be that no test ran on both: of the few that differed."""
    before = {result.test: result.status for result in base.results}
    after = {result.test: result for result in arm.results}
    both = [t for t in after if after[t].status in RAN and before.get(t) in RAN]
    return CheckComparison(
        in_both=len(both),
        failures=tuple(r for t, r in after.items() if r.status == "fail" and before.get(t) != "fail"),
        mended=tuple(t for t in both if before[t] == "fail" and after[t].status == "pass"),
        one_sided=tuple(
            t for t in dict.fromkeys((*before, *after)) if (before.get(t) in RAN) != (arm.status(t) in RAN)
        ),
    )


# Its own `make install` puts it under /var/lib; src/ and ltp/ hold what has to be built first.
PLACES = ('"$XFSTESTS"', "/var/lib/xfstests", "/opt/xfstests", "/usr/lib/xfstests", '"$HOME/xfstests"')
FIND = found_in(PLACES, "[ -x {0}/check ] && [ -f {0}/common/rc ] && [ -x {0}/ltp/fsstress ]")
"""argv that prints the folder of a built xfstests on the machine it runs on, or nothing."""
GROUP = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)?")


def missing(target: str) -> BadInput:
    """What to say when FIND printed nothing."""
    return BadInput(
        f"there is no built xfstests on {target}: build it there (git clone, make) and set XFSTESTS to "
        "its folder, or put it in /var/lib/xfstests"
    )


def local_config(
    test_device: str,
    scratch_device: str,
    results: str,
    *,
    filesystem: str,
    mkfs: Sequence[str],
    mount: Sequence[str],
    test_dir: str = "/mnt/lockscale-test",
    scratch_dir: str = "/mnt/lockscale-scratch",
) -> str:
    """The file that HOST_OPTIONS names: a run on two devices, BOTH of which lose their content.

    The caller has made the folders and a `filesystem` on `test_device`; check formats `scratch_device`
    itself, again and again, with the options in `mkfs`. `mount` is used for both.
    """
    if test_device == scratch_device:
        raise BadInput(f"xfstests needs two devices, not {test_device} twice: give a partition to each")
    options = f"-o {','.join(mount)}" if mount else ""
    values = {
        "FSTYP": filesystem,
        "CANON_DEVS": "yes",  # so that by-id links are taken
        "TEST_DEV": test_device,
        "TEST_DIR": test_dir,
        "SCRATCH_DEV": scratch_device,
        "SCRATCH_MNT": scratch_dir,
        "RESULT_BASE": results,
        "MKFS_OPTIONS": " ".join(mkfs),
        "MOUNT_OPTIONS": options,
        "TEST_FS_MOUNT_OPTS": options,
    }
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items() if value)


def command(
    folder: str, config: str, group: str = "quick", tests: Sequence[str] = (), *, only_list: bool = False
) -> list[str]:
    """argv of `check -g group`, or of check with `tests`, with `config` in place of the user's local.config.

    check has to be run in its folder and as root. It exits 1 when a test failed, so only its output says
    whether it ran to its end. only_list: the names alone, which listed() reads.
    """
    if not GROUP.fullmatch(group):
        raise BadInput(f"{group!r} is not a group of xfstests: name one, such as quick or ext4/quick")
    if wrong := [test for test in tests if not re.fullmatch(NAME, test)]:
        raise BadInput(f"{wrong[0]!r} is not a test of xfstests: name one such as generic/001")
    chosen = list(tests) or ["-g", group]
    run = 'cd "$1" && HOST_OPTIONS="$2" && export HOST_OPTIONS && shift 2 && exec ./check "$@"'
    return ["sh", "-c", run, "sh", folder, config, *(["-n"] if only_list else []), *chosen]


def listed(text: str) -> tuple[str, ...]:
    """The tests that `check -n` named, in its order; BadInput for none."""
    found = dict.fromkeys(line.strip() for line in text.splitlines() if re.fullmatch(NAME, line.strip()))
    if not found:
        said = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
        raise BadInput(f"xfstests' check lists no test (it says: {printable(said, 120)})")
    return tuple(found)


ON_TARGET = TargetTool(
    name="xfstests",
    ask=FIND,
    version=None,
    without="patches are checked by the counters, soak and power cuts of `lockscale patches check`",
    get="build xfstests and set XFSTESTS to its folder",
    variables=["XFSTESTS", "HOME"],
)
