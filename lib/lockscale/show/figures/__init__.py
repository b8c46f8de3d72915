# SPDX-License-Identifier: MIT
"""Every figure that is drawn of numbers, and how one is written to files; here those that notebooks draw.

The explorer's figure and the timeline of a trace, which move under the hand, are beside this folder.
"""

from lockscale.show.figures.casebook import casebook_figure
from lockscale.show.figures.fit import draw_fit, fit_figure, fit_numbers
from lockscale.show.figures.predicted import predicted_line
from lockscale.show.figures.stacks import waits_icicle, waits_table
from lockscale.show.figures.study import measured_rates, scale_figure, table_beside_simulated
from lockscale.show.figures.tables import (
    published_figure,
    scoreboard_figure,
    scoreboard_numbers,
    table_figure,
)

__all__ = [
    "casebook_figure",
    "draw_fit",
    "fit_figure",
    "fit_numbers",
    "measured_rates",
    "predicted_line",
    "published_figure",
    "scale_figure",
    "scoreboard_figure",
    "scoreboard_numbers",
    "table_beside_simulated",
    "table_figure",
    "waits_icicle",
    "waits_table",
]
