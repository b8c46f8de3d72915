# SPDX-License-Identifier: MIT
"""The user's own xfstests on an arm and on the base, and what the arm alone fails.

A run takes hours under emulation, so it is done in pieces: some tests on the base and, side by side with
it, the same on the arm, each in a guest of its own: whether a test passes is compared, not how long it
takes. The results of a piece are kept at once, and an interrupted run continues after the last one.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockscale.errors import BadInput, BootHung, Interrupted, RunFailed, printable
from lockscale.files import need_free_space, sha256_of_json
from lockscale.filesystems import Options, fs_type
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import Series, refuse_unsafe
from lockscale.machines.disk_guard import device_to_format
from lockscale.machines.guest_disks import Disks, Scratch
from lockscale.machines.machine import Machine, Write, assert_runs, must, must_all
from lockscale.machines.qemu import QemuMachine
from lockscale.measure.file_system import make
from lockscale.measure.target_qemu import LEAST_MIB, guest_of, named_disk
from lockscale.progress import LINE_EVERY_S, Progress, progress, tell
from lockscale.prove.kept_rows import read_rows, write_rows
from lockscale.scratch import scratch_folder
from lockscale.study.file import Target, load_whole_study
from lockscale.tools import xfstests
from lockscale.tools.xfstests import CheckComparison, CheckRun, TestResult, compare, settled

RUN = "patches-xfstests"
CPUS, SIZE_MIB = 4, 4096
TESTS_A_BOOT = 15  # enough that the boot does not matter, few enough that a hang does not cost an hour
TEST_TIMEOUT_S = 900  # a test that takes longer under emulation hangs
AGAIN = 2  # further runs, on both kernels, of a test that ended differently on them
TEST, SCRATCH, RESULTS = "/run/lockscale-test", "/run/lockscale-scratch", "/run/lockscale-results"
CONFIG = f"{RESULTS}/local.config"
# What tells a copy of xfstests from another: its commit, where there is one.
VERSION = 'cd "$1" && cat VERSION; git -c safe.directory="*" rev-parse HEAD 2>/dev/null || true'


@dataclass(frozen=True)
class Outcome:
    """What one test said on one kernel. Never a time: the guest's clock is an emulator's.

    protocol: a hash of what it ran with: xfstests' version, mkfs, mount options, machine.
    """

    kernel: str
    build_id: str
    protocol: str
    iteration: int
    test: str
    status: str
    reason: str
    origin: str = "qemu"


@dataclass
class Pair:
    """The base's kernel and the arm's, and what their tests said so far, in `folder`/results.csv."""

    kernels: dict[str, Kernel]
    options: Options
    target: Target
    folder: Path
    home: str = ""
    protocol: str = ""
    kept: list[Outcome] = field(default_factory=list)
    guests: list[QemuMachine] = field(default_factory=list)
    ended: bool = False

    @property
    def path(self) -> Path:
        return self.folder / "results.csv"

    def start(self, group: str, tests: Sequence[str]) -> tuple[str, ...]:
        """The tests, those of `group` unless some are named. Reads what is kept of an earlier run."""
        with (
            progress("boot the base and list the tests"),
            self._guest(self.kernels["base"]) as (machine, home),
        ):
            listing = xfstests.command(home, CONFIG, group, only_list=True)
            listed = tuple(tests) or xfstests.listed(must(machine, listing, timeout_s=TEST_TIMEOUT_S))
            version = must(machine, ["sh", "-c", VERSION, "sh", home])
            self.home = home
        said = {"version": version, "options": self.options.model_dump(), "target": self.target.name}
        self.protocol = sha256_of_json({**said, "cpus": CPUS, "size_mib": SIZE_MIB})[:16]
        self.kept = self._read()
        return listed

    def _read(self) -> list[Outcome]:
        kept = read_rows(self.path, Outcome)
        try:
            for one in kept:
                xfstests.status_of(one.status)
        except BadInput as error:
            raise BadInput(f"{self.path} is damaged ({error}): move it away, or give no --resume") from None
        return kept

    def results(self, name: str, iteration: int) -> dict[str, TestResult]:
        """What is kept of a kernel's tests, by test."""
        kernel = self.kernels[name]
        return {
            one.test: TestResult(one.test, xfstests.status_of(one.status), one.reason)
            for one in self.kept
            if (one.build_id, one.protocol, one.iteration) == (kernel.build_id, self.protocol, iteration)
        }

    def run(self, tests: Sequence[str], iteration: int = 0) -> None:
        """Each piece of `tests` on both kernels, side by side; what is kept is not repeated."""
        what = "xfstests" if not iteration else f"xfstests, those that differ, once more ({iteration})"
        pieces = [tests[at : at + TESTS_A_BOOT] for at in range(0, len(tests), TESTS_A_BOOT)]
        missing = [(piece[0], self._missing(piece, iteration)) for piece in pieces]
        with progress(what, sum(len(left) for _, by_name in missing for left in by_name.values())) as shown:
            done = 0
            for first, by_name in missing:
                shown.update(done, f"from {first} on")
                self._run_piece(by_name, iteration, done, shown)
                done += sum(map(len, by_name.values()))
            shown.update(done)

    def _missing(self, piece: Sequence[str], iteration: int) -> dict[str, list[str]]:
        """What is not kept of `piece`, by kernel."""
        kept = {name: self.results(name, iteration) for name in self.kernels}
        left = {name: [test for test in piece if test not in there] for name, there in kept.items()}
        return {name: tests for name, tests in left.items() if tests}

    def _run_piece(self, by_name: dict[str, list[str]], iteration: int, before: int, shown: Progress) -> None:
        """Both kernels at once; where one fails, or somebody interrupts, the other's guest ends as well.

        before: how many tests have run in earlier pieces.
        """
        with ThreadPoolExecutor(len(self.kernels)) as pool:
            try:
                begun = {
                    pool.submit(self._results, self.kernels[name], tests): self.kernels[name]
                    for name, tests in by_name.items()
                }
                running, ended = set(begun), 0
                while running:
                    over, running = wait(running, LINE_EVERY_S, FIRST_COMPLETED)
                    for one in over:
                        one.result()  # on a full disk tests fail that would not
                        need_free_space(Path(tempfile.gettempdir()), LEAST_MIB, "the guest's scratch disk")
                        found = [self._outcome(begun[one], iteration, result) for result in one.result()]
                        self.kept += found
                        ended += len(found)
                        write_rows(self.path, self.kept, Outcome)
                    self._show(before + ended, shown)
            except BaseException:
                self._end()
                raise

    def _show(self, ended: int, shown: Progress) -> None:
        """How far the guests' tests are, as they have printed it: a piece takes minutes."""
        begun = [tests for one in list(self.guests) if (tests := xfstests.begun(one.so_far()))]
        if begun:
            now = " and ".join(dict.fromkeys(tests[-1] for tests in begun))
            shown.update(ended + sum(len(tests) - 1 for tests in begun), f"now {now}")

    def _end(self) -> None:
        """No guest boots any more, and those that run are killed."""
        self.ended = True
        for machine in list(self.guests):
            machine.abandon()

    def _outcome(self, kernel: Kernel, iteration: int, result: TestResult) -> Outcome:
        reason = result.reason.replace(f"{self.home}/", "") if self.home else result.reason
        said = result.status, printable(reason, 300)  # without the folder of this machine
        return Outcome(kernel.series, kernel.build_id, self.protocol, iteration, result.test, *said)

    def _results(self, kernel: Kernel, tests: Sequence[str]) -> tuple[TestResult, ...]:
        """As _of_one_boot(); a guest that hangs before any test began is booted once more.

        An emulated one does so now and then on a busy machine, and a run has dozens of boots.
        """
        try:
            return self._of_one_boot(kernel, tests)
        except BootHung as hung:
            if self.ended:
                raise
            tell(f"{str(hung).partition(';')[0]}: it is booted once more")
            return self._of_one_boot(kernel, tests)

    def _of_one_boot(self, kernel: Kernel, tests: Sequence[str]) -> tuple[TestResult, ...]:
        """Of one boot; where the guest hangs or panics each test has a boot of its own, to find which did."""
        if self.ended:
            raise RunFailed("nothing boots any more")
        with self._guest(kernel) as (machine, home):
            argv = xfstests.command(home, CONFIG, tests=tests)
            try:
                done = machine.run(argv, timeout_s=TEST_TIMEOUT_S * min(len(tests), 4))
            except RunFailed as failed:
                if len(tests) == 1:
                    return (TestResult(tests[0], "fail", str(failed).partition(";")[0]),)
            else:
                return _whole(xfstests.parse(done.stdout), kernel, tests)
        return tuple(result for test in tests for result in self._results(kernel, [test]))

    @contextmanager
    def _guest(self, kernel: Kernel) -> Iterator[tuple[Machine, str]]:
        """A booted guest with a test disk, a scratch disk and our configuration; the folder of xfstests.

        BadInput when the guest, which sees the host's files, has no xfstests.
        """
        with scratch_folder("xfstests") as folder:
            disks = tuple(Scratch(folder / f"{n}.img", SIZE_MIB, f"XFSTESTS{n}") for n in (0, 1))
            for disk in disks:
                disk.make()
            machine = QemuMachine(guest_of(self.target, kernel, CPUS, disk=Disks(disks)))
            self.guests.append(machine)
            if self.ended:  # since it was asked
                machine.abandon()
            try:
                with machine:
                    assert_runs(machine, kernel)
                    home = must(machine, ["env", *_told(), *xfstests.FIND]).strip()
                    if not home:
                        raise xfstests.missing(self.target.name)
                    _prepare(machine, self.options, disks)
                    yield machine, home
            finally:
                self.guests.remove(machine)


def _whole(run: CheckRun, kernel: Kernel, tests: Sequence[str]) -> tuple[TestResult, ...]:
    if run.kernel not in ("", kernel.release):
        raise RunFailed(f"xfstests ran on {run.kernel}, not on {kernel.release}")
    by_test = {result.test: result for result in run.results}
    if left_out := [test for test in tests if test not in by_test]:
        raise RunFailed(f"xfstests' output leaves out {left_out[0]}, which it was asked to run")
    return tuple(by_test[test] for test in tests)


def _told() -> list[str]:
    """The user's XFSTESTS and HOME: the guest sees this machine's files, not this shell's environment."""
    return [f"{name}={os.environ[name]}" for name in ("XFSTESTS", "HOME") if name in os.environ]


def _prepare(machine: Machine, options: Options, disks: tuple[Scratch, ...]) -> None:
    """The arm's file system on the test disk, an empty scratch disk, our configuration for the user's."""
    made = make(machine, options, named_disk(disks[0]))
    scratch = device_to_format(machine, named_disk(disks[1]))
    text = xfstests.local_config(
        made.device, scratch, RESULTS, filesystem=options.filesystem, mkfs=options.mkfs,
        mount=options.mount, test_dir=TEST, scratch_dir=SCRATCH,
    )  # fmt: skip
    must_all(
        machine,
        [["umount", made.device], ["mkdir", "-p", TEST, SCRATCH, RESULTS], Write(CONFIG, text)],
    )


def compare_with_base(
    series: Series, target: Target, folder: Path, *, group: str = "quick", tests: Sequence[str] = ()
) -> CheckComparison:
    """`check -g group`, or `tests`, on the base and on `series`, with the arm's mkfs and mount on both.

    A test that ended differently runs AGAIN times more on both. What it said goes to `folder`, where a run
    of the same kernels that was broken off continues.
    """
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    options = load_whole_study(series.study).options_of(series.arm)
    if not fs_type(options.filesystem).on_disk:
        raise BadInput(f"{options.filesystem} does not use a disk, but xfstests needs two: name another arm")
    base = replace(series, arm="base", patches=(), unsafe="")
    pair = Pair({"base": build(base), "arm": build(series)}, options, target, folder)
    try:
        listed = pair.start(group, tests)
        pair.run(listed)
        return _compared(pair, listed)
    except KeyboardInterrupt:
        again = f"the same command with --resume {folder.name} does not repeat the tests done so far"
        raise Interrupted(f"interrupted: {again}") from None


def _compared(pair: Pair, tests: Sequence[str]) -> CheckComparison:
    runs = [_runs_of(pair, 0)]
    found = compare(*runs[0])
    differ = [test for test in tests if test in found.differing]
    for iteration in range(1, 1 + AGAIN if differ else 1):
        pair.run(differ, iteration)
        runs.append(_runs_of(pair, iteration))
    return settled(runs)


def _runs_of(pair: Pair, iteration: int) -> tuple[CheckRun, CheckRun]:
    return _run_of(pair, "base", iteration), _run_of(pair, "arm", iteration)


def _run_of(pair: Pair, name: str, iteration: int) -> CheckRun:
    return CheckRun(pair.kernels[name].release, tuple(pair.results(name, iteration).values()))
