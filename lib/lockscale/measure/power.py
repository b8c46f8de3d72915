# SPDX-License-Identifier: MIT
"""How many iterations it takes to see a change of so many percent in the noise that a target has."""

import re
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import chdtri, ndtr, stdtrit

from lockscale.errors import BadInput, printable
from lockscale.measure.resume import LOAD, entries_alike
from lockscale.measure.rows import of_all_processes
from lockscale.measure.significance import ALPHA, POINT, log_ratios, pair_gaps, squares_within_blocks
from lockscale.study.file import Study

POWER = 0.8
SURE = 0.8
"""How sure it is that the noise is not larger than assumed: a short pilot tells it badly."""
MOST = 1000  # of Parameters.iterations


@dataclass(frozen=True)
class Detection:
    """So many blocks find a change at each point with 80%, None: over 1000; says: it in a sentence."""

    iterations: int | None
    says: str


def parse_percent(text: str) -> float:
    """The number of "3%" or "3". Raises BadInput for anything else, or outside 0.01 to 1000."""
    found = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,3})?)\s*%?\s*", text, re.ASCII)
    if found is None or not 0.01 <= float(found[1]) <= 1000:
        raise BadInput(f"{printable(text)!r} is not a change to detect: write it like 3%")
    return float(found[1])


def noise_of(rows: pd.DataFrame, study: Study) -> tuple[float, int]:
    """Standard deviation of the log ratio of two runs in one block, and its degrees of freedom.

    From what the blocks of arms differ beyond their mean, and from the A/A pairs, over all points.
    Raises BadInput where the rows hold neither two blocks nor an A/A pair.
    """
    rates = of_all_processes(rows[rows.pair.isin(["aa", "ab"])], study.operation)
    squares, df = 0.0, 0
    for _, here in rates.groupby(POINT):
        within, freedom = squares_within_blocks(pair_gaps(here[here.pair == "ab"], study, log_ratios))
        squares, df = squares + within, df + freedom
        pair = np.log(here[here.pair == "aa"].value.to_numpy(float))
        if pair.size == 2:
            squares, df = squares + float((pair[1] - pair[0]) ** 2), df + 1
    if not df:
        raise BadInput(
            "the rows have neither an A/A pair nor two blocks, so the noise is unknown: measure an A/A pair"
        )
    return float(np.sqrt(squares / df)), df


def at_most(sd: float, df: int) -> float:
    """The upper limit of sd at SURE (Browne, Statistics in Medicine 14, 1995: sample sizes from pilots)."""
    return float(sd * np.sqrt(df / chdtri(df, SURE)))


def power(iterations: int, effect: float, sd: float, alpha: float = ALPHA) -> float:
    """How often the blocked test sees a mean log ratio of `effect` (noncentral t), in noise of `sd`.

    Normal beyond scipy's reach, which ends where the power is 1 to many digits. A change that is seen
    with the wrong sign is none.
    """
    from scipy.stats import nct  # slow to import, and few commands ask for a power

    df = iterations - 1
    limit, shift = -stdtrit(df, alpha / 2), abs(effect) * np.sqrt(iterations) / sd
    exact = float(nct.sf(limit, df, shift))
    return exact if np.isfinite(exact) else float(ndtr(shift - limit))


def iterations_for(effect_pct: float, sd: float, comparisons: int = 1) -> int | None:
    """The fewest blocks that see `effect_pct` with 80%, at 5% over all comparisons; None for over 1000.

    Each comparison is taken at 5% / comparisons, which is what the first of Holm's steps asks.
    """
    effect, alpha = float(np.log1p(effect_pct / 100)), ALPHA / comparisons
    if sd <= 0:
        return 2
    if not power(MOST, effect, sd, alpha) >= POWER:
        return None
    blocks = range(2, MOST)  # power grows with them
    return 2 + bisect_left(blocks, POWER, key=lambda n: power(n, effect, sd, alpha))


def detection(rows: pd.DataFrame, study: Study, effect_pct: float) -> Detection:
    """What it takes to detect `effect_pct` at every point of `study`, from earlier `rows` of the target."""
    sd, df = noise_of(rows, study)
    most = at_most(sd, df)
    points = sum(len(set(guest.processes)) for guest in study.parameters.guests)
    comparisons = max(1, points * (len(study.arms) - 1))
    iterations = iterations_for(effect_pct, most, comparisons)
    said = f"two runs of a block differ by {100 * np.expm1(sd):.1f}% (at most {100 * np.expm1(most):.1f}%)"
    said += f" in run {rows.run.iloc[0]}" if "run" in rows else ""
    if iterations is None:
        more = f"even {MOST} iterations would not detect {effect_pct:g}%"
        return Detection(None, f"{said}: {more}: look for the source of the noise instead")
    runs = f"{100 * POWER:.0f} of 100 runs, at 5% over {comparisons} comparisons"
    return Detection(iterations, f"{said}: {iterations} iterations detect {effect_pct:g}% in {runs}")


def earlier_rows(study: Study, target: str) -> pd.DataFrame:
    """The rows of the latest run of `study` with the same LOAD on `target` here, finished or not.

    Raises BadInput where nothing was measured there yet.
    """
    for entries in entries_alike(study, target):
        if rows := [row for entry in entries for row in entry["rows"]]:
            return pd.DataFrame(rows)
    raise BadInput(
        f"nothing of study {study.name} was measured on target {target} yet with the same "
        f"{', '.join(LOAD)}, so its noise is not known: run the study once with the same values (it may be "
        "interrupted once its A/A pair is measured)"
    )
