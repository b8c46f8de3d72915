# SPDX-License-Identifier: MIT
"""What was printed of a scene's arm, as rates of all threads together."""

import functools

from lockscale.show.explore.scenes import scene
from lockscale.show.explore.setting import Setting
from lockscale.show.explore.view import view
from lockscale.tables import published

Points = tuple[tuple[int, float], ...]
PER_CONTAINER = "mean_per_container"
"""A statistic of which all threads together make so many times more."""


@functools.cache
def published_points(known: str, arm: str) -> Points:
    """(threads, rate per second) of each printed value of the arm; none for an arm that was not published.

    Rates of one container are taken times containers. Times of an unpublished amount of work
    are threads over time, scaled so that the arm `scaled` has its simulated rate at one thread.
    """
    of = scene(known)
    rows = published(of.table)
    rows = rows[(rows.metric == of.metric) & (rows.statistic == of.statistic)]
    here = rows[rows.arm == arm]
    pairs = [(int(n), float(v)) for n, v in zip(here.threads, here.value, strict=True)]
    if of.statistic == PER_CONTAINER:
        return tuple((n, n * rate) for n, rate in pairs)
    if of.scaled:
        time_of_one = float(rows[(rows.arm == of.scaled) & (rows.threads == 1)].value.iloc[0])
        scale = time_of_one * view(Setting(known, of.scaled, 1, compare=False)).at.rate_per_s
        return tuple((n, scale * n / time) for n, time in pairs)
    return tuple(pairs)
