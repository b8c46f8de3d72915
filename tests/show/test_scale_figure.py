# SPDX-License-Identifier: MIT
"""The scale study's figure: a panel for each path, its arms with bars, grey where nothing was published."""

import pandas as pd
import pytest

from lockscale.show.figures.study import scale_figure

FOUND = pd.DataFrame(
    {"path": path, "arm": arm, "threads": n, "metric": "throughput", "unit": "ops/s", "value": 10.0 * n,
     "low": 8.0 * n, "high": 13.0 * n, "published_to": 16, "draws": f"{8 * n} {13 * n}"}
    for path in ("create", "allocate", "truncate") for arm in ("ours", "theirs") for n in (1, 32)
)  # fmt: skip
OTHER = FOUND.assign(metric="saturates_at", value=1e9)


def test_each_path_has_its_arms_in_a_panel_and_legend_of_its_own():
    drawn = scale_figure(pd.concat([FOUND, OTHER]))
    lines, dots = drawn.data[::2], drawn.data[1::2]
    assert len({trace.legend for trace in lines}) == len({trace.xaxis for trace in drawn.data}) == 3
    assert [trace.name for trace in lines] == ["ours", "theirs"] * 3
    for line, several in zip(lines, dots, strict=True):
        assert list(line.y) == [10, 320] and line.error_y.array is None
        assert list(several.y) == [8, 13, 256, 416] and several.xaxis == line.xaxis


def test_a_curve_that_ends_early_is_told_in_the_caption():
    short = FOUND[(FOUND.arm == "theirs") | (FOUND.threads == 1)]
    assert "; curves that end at 1 CPUs do so because" in scale_figure(short).layout.meta["says"]
    assert "no farther" not in scale_figure(FOUND).layout.meta["says"]


def test_beyond_the_published_threads_it_is_grey():
    shapes = scale_figure(FOUND).layout.shapes
    assert [(one.x0, one.x1) for one in shapes] == [(16, pytest.approx(35.2))] * 3
