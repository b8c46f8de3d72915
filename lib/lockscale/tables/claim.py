# SPDX-License-Identifier: MIT
"""The rows of an audit: what a source claims, what its numbers give with intervals, what it leaves out."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri, stdtrit

from lockscale.errors import BadInput
from lockscale.tables.datapackage import describe, published

Array = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A value with the ends of its 95% interval, all in one unit."""

    value: float
    low: float
    high: float


def ratio_of_means(base: Sequence[float], changed: Sequence[float]) -> Interval:
    """mean(changed) / mean(base) with its 95% interval; each at least two positive repeats.

    Delta method on the logarithm: var = s_b^2 / (n_b m_b^2) + s_c^2 / (n_c m_c^2), Student's t with
    Welch and Satterthwaite's degrees of freedom (Biometrika 34, 1947). Repeats that are all equal
    give an interval of no width.
    """
    n, variances = _of_the_means(base, changed)
    means = np.array([np.mean(base), np.mean(changed)])
    ratio, factor = float(means[1] / means[0]), float(np.exp(_half(variances / means**2, n)))
    return Interval(ratio, ratio / factor, ratio * factor)


def difference_of_means(base: Sequence[float], changed: Sequence[float]) -> Interval:
    """mean(changed) - mean(base) with its 95% interval as of Welch; each at least two repeats."""
    n, variances = _of_the_means(base, changed)
    gap, half = float(np.mean(changed) - np.mean(base)), _half(variances, n)
    return Interval(gap, gap - half, gap + half)


def _of_the_means(base: Sequence[float], changed: Sequence[float]) -> tuple[Array, Array]:
    """How many repeats each has (2,), and the variance of each mean (2,)."""
    _need_repeats(base, changed)
    n = np.array([len(base), len(changed)], float)
    return n, np.array([np.var(base, ddof=1), np.var(changed, ddof=1)]) / n


def _need_repeats(*sides: Sequence[float]) -> None:
    """Raises BadInput where a value alone would give an interval of no number, and so a wrong verdict."""
    if min(map(len, sides)) < 2:
        raise BadInput("an interval needs two repeats or more of each side: compare single values without")


def _half(parts: Array, n: Array) -> float:
    """Half the width of the 95% interval of two parts' sum, from their variances; 0 where there are none."""
    variance = float(parts.sum())
    if variance == 0.0:
        return 0.0
    freedom = variance**2 / float((parts**2 / (n - 1)).sum())
    return float(stdtrit(freedom, 0.975) * np.sqrt(variance))


def next_repeat(repeats: Sequence[float]) -> Interval:
    """Mean of n >= 2 repeats with the 95% prediction interval of one more from the same normal.

    mean +- t(n - 1) s sqrt(1 + 1/n).
    """
    _need_repeats(repeats)
    n, mean = len(repeats), float(np.mean(repeats))
    half = float(stdtrit(n - 1, 0.975) * np.std(repeats, ddof=1) * np.sqrt(1 + 1 / n))
    return Interval(mean, mean - half, mean + half)


def ratio_of_spreads(base: Sequence[float], changed: Sequence[float]) -> Interval:
    """sd(changed) / sd(base) of normal repeats with its 95% interval, from the F distribution.

    Each at least two repeats that are not all equal.
    """
    _need_repeats(base, changed)
    ratio = float(np.std(changed, ddof=1) / np.std(base, ddof=1))
    freedom = (len(changed) - 1, len(base) - 1)
    low, high = (ratio / float(np.sqrt(fdtri(*freedom, p))) for p in (0.975, 0.025))
    return Interval(ratio, low, high)


def welch_p(base: Sequence[float], changed: Sequence[float]) -> float:
    """Two-sided p of Welch's test that the means are equal; repeats not all equal in both."""
    from scipy import stats  # slow to import, and few tables have repeats

    return float(stats.ttest_ind(changed, base, equal_var=False).pvalue)


Verdict = Literal["holds", "fails", "unknown"]
NAMED = 6  # a longer list is not read


class AuditRow(TypedDict):
    """`printed`, `recomputed`, `low` and `high` are in `unit`; None where there is no such number.

    holds: the tables agree with the claim; fails: they contradict it; unknown: they cannot tell.
    `note` says what low and high are, and where the claim is not the source's own; `searched` names the
    source that does not state what is missing.
    """

    table: str
    claim: str
    printed: float | None
    recomputed: float | None
    low: float | None
    high: float | None
    unit: str
    verdict: Verdict
    note: str
    searched: str | None


def row(
    table: str,
    claim: str,
    printed: float | None,
    found: Interval | float | None,
    unit: str,
    verdict: Verdict,
    note: str,
) -> AuditRow:
    """An audit line; `found` is a bare number where there is no interval, None where there is nothing."""
    value, low, high = found if isinstance(found, Interval) else (found, None, None)
    return AuditRow(
        table=table,
        claim=claim,
        printed=printed,
        recomputed=value,
        low=low,
        high=high,
        unit=unit,
        verdict=verdict,
        note=note,
        searched=None,
    )


def judged(agrees: bool) -> Verdict:
    """The verdict of a claim that the tables do decide."""
    return "holds" if agrees else "fails"


def exceeds(table: str, claim: str, bound: float, found: Interval, unit: str, note: str) -> AuditRow:
    """A claim that something is more than `bound`; unknown while the 95% interval straddles it."""
    if found.low <= bound <= found.high:
        note = f"{note}; the interval straddles {bound:g}, so these repeats cannot tell"
        return row(table, claim, bound, found, unit, "unknown", note)
    return row(table, claim, bound, found, unit, judged(found.low > bound), note)


def equals(table: str, claim: str, printed: float, found: Interval, unit: str, note: str) -> AuditRow:
    """A claim of one number; it holds if the interval of what was recomputed contains it."""
    return row(table, claim, printed, found, unit, judged(found.low <= printed <= found.high), note)


def tally(table: str, claim: str, passed: dict[str, bool], unit: str, note: str = "") -> AuditRow:
    """One claim about many numbers: how many there are, how many obey; the note names the first others."""
    broken = [name for name, ok in passed.items() if not ok]
    if broken:
        more = [f"and {len(broken) - NAMED} more"] if len(broken) > NAMED else []
        note = "; ".join(["not " + ", ".join(broken[:NAMED] + more), *filter(None, [note])])
    obey = float(len(passed) - len(broken))
    return row(table, claim, float(len(passed)), obey, unit, judged(not broken), note)


def undecided(line: AuditRow, missing: str) -> AuditRow:
    """The line as unknown, because its table's source does not state what is missing."""
    source = describe(line["table"])["source"]
    note = "; ".join([f"the source does not state {missing}", *filter(None, [line["note"]])])
    return {**line, "verdict": "unknown", "note": note, "searched": source}


_PROVENANCE = ("machine", "kernel", "mkfs", "command")


class Gap(NamedTuple):
    """A claim and what would decide it: a column of the table, or one value in that column."""

    claim: str
    missing: str
    column: str
    value: str | None = None

    def is_open(self, table: str) -> bool:
        frame = published(table)
        if self.column not in frame:
            return True
        return self.value is not None and self.value not in set(frame[self.column])


def unstated(table: str, *gaps: Gap) -> list[AuditRow]:
    """A line for each claim that this table cannot decide, then whether the run can be repeated."""
    empty = [row(table, gap.claim, None, None, "", "unknown", "") for gap in gaps]
    undecidable = [
        undecided(line, gap.missing) for gap, line in zip(gaps, empty, strict=True) if gap.is_open(table)
    ]
    return [*undecidable, provenance(table)]


def provenance(table: str) -> AuditRow:
    """Machine, kernel, mkfs line and command: which of them the source gives for this table."""
    about = describe(table)
    given = {key: about[key] is not None for key in _PROVENANCE}
    line = tally(table, f"the source states {', '.join(_PROVENANCE)}", given, "facts")
    missing = [key for key, stated in given.items() if not stated]
    if not missing:
        return line
    line["note"] = f"details: {about['stated']}".removesuffix(".")
    return undecided(line, ", ".join(missing))
