# SPDX-License-Identifier: MIT
"""One run of mdtest: what it was asked to do, and its result lines as they are printed."""

from dataclasses import dataclass, field

from lockscale.workloads.mdtest_asked import Asked
from lockscale.workloads.rows import Row, rate_row


@dataclass(frozen=True)
class Result:
    """One result line: its number, the test, the numbers on it, and its iteration if it has one."""

    line: int
    test: str
    values: tuple[float, ...]
    iteration: int | None = None


@dataclass
class Run:
    """`summary` and `processes` are keyed by `rate` (ops/s) and `time` (s)."""

    version: str
    tasks: int
    items_total: int
    asked: Asked
    iterations: list[Result] = field(default_factory=list)
    summary: dict[str, list[Result]] = field(default_factory=dict)
    processes: dict[str, list[Result]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def leave_out(self, result: Result, reason: str) -> None:
        """Says that a line is left out."""
        self.warnings.append(f"line {result.line}: {reason}, left out")

    def miss(self, found: int, expected: int, what: str) -> None:
        """Says so when fewer results than expected were kept."""
        if found < expected:
            self.warnings.append(f"only {found} of {expected} {what} could be read")

    def has(self, result: Result, values: tuple[float, ...], *, rounded: bool = False) -> bool:
        """Whether a phase was asked for and has numbers; mdtest prints zeros for the others."""
        asked = result.test in self.asked.tests
        if asked and not any(values):
            reason = "is too short for the milliseconds printed" if rounded else "has no rate"
            self.leave_out(result, f"{result.test} {reason}")
        elif not asked and any(values):
            self.leave_out(result, f"{result.test} was not asked for and has numbers")
        return asked and any(values)

    def row(self, result: Result, metric: str, value: float, whose: str, iteration: int | None) -> Row:
        """A rate in ops/s or a time in s."""
        if metric == "rate":
            return rate_row(result.test, self.tasks, iteration, value, whose)
        return Row(result.test, self.tasks, iteration, metric, "s", value, whose)


def like(result: Result, results: list[Result]) -> Result | None:
    """The result of the same phase and iteration."""
    same = [r for r in results if (r.test, r.iteration) == (result.test, result.iteration)]
    return same[0] if same else None
