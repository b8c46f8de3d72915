# SPDX-License-Identifier: MIT
"""An arm's run of xfstests beside the base's: what the patches broke, and what cannot be told."""

from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.workloads.xfstests_lines import CheckRun, Status, TestResult

RAN = ("pass", "fail")


@dataclass(frozen=True)
class OneSided:
    """A test that ran on one of the two kernels only; None: the other run does not name it."""

    test: str
    base: Status | None
    arm: Status | None


@dataclass(frozen=True)
class Comparison:
    """`failures`: fail in the arm and not in the base. `mended`: fail in the base, pass in the arm."""

    in_both: int
    failures: tuple[TestResult, ...]
    mended: tuple[str, ...]
    one_sided: tuple[OneSided, ...]

    @property
    def ok(self) -> bool:
        """No failure of the arm's own, and nothing that only one of the two kernels could run."""
        return not (self.failures or self.one_sided)

    @property
    def detail(self) -> str:
        said = f"{self.in_both} tests ran on both"
        if self.failures:
            said += f"; fail in the arm only: {', '.join(_named(r) for r in self.failures)}"
        if self.mended:
            said += f"; fail in the base only: {', '.join(self.mended)}"
        if self.one_sided:
            said += f"; ran on one only: {', '.join(o.test for o in self.one_sided)}"
        return said


def _named(result: TestResult) -> str:
    return f"{result.test} ({result.reason})" if result.reason else result.test


def compare(base: CheckRun, arm: CheckRun) -> Comparison:
    """Test by test. One run of each cannot tell a flaky test from a broken one: repeat what fails."""
    before = {result.test: result.status for result in base.results}
    after = {result.test: result for result in arm.results}
    both = [t for t in after if after[t].status in RAN and before.get(t) in RAN]
    if not both:
        raise BadInput("the two runs of xfstests have no test in common that ran: give runs of one group")
    sides = [OneSided(t, before.get(t), arm.status(t)) for t in dict.fromkeys((*before, *after))]
    return Comparison(
        in_both=len(both),
        failures=tuple(r for t, r in after.items() if r.status == "fail" and before.get(t) != "fail"),
        mended=tuple(t for t in both if before[t] == "fail" and after[t].status == "pass"),
        one_sided=tuple(s for s in sides if (s.base in RAN) != (s.arm in RAN)),
    )
