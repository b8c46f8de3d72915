# SPDX-License-Identifier: MIT
"""Every figure that is drawn of numbers, and how one is written to files: `lockscale.show.figures` has all.

The explorer's figure and the timeline of a trace, which move under the hand, are beside this folder.
"""

from lockscale.show.figures.casebook import casebook_figure, casebook_numbers
from lockscale.show.figures.fit import draw_fit, fit_figure, fit_numbers
from lockscale.show.figures.formats import save
from lockscale.show.figures.gains import gains_figure
from lockscale.show.figures.predicted import predicted_line
from lockscale.show.figures.stacks import flame_graph, top_stacks, waits_icicle, waits_table
from lockscale.show.figures.study import (
    counted_against_unpatched,
    function_shares,
    measured_rates,
    scale_figure,
    table_beside_simulated,
)
from lockscale.show.figures.tables import (
    published_figure,
    scoreboard_figure,
    scoreboard_numbers,
    table_figure,
)

__all__ = [
    "casebook_figure",
    "casebook_numbers",
    "counted_against_unpatched",
    "draw_fit",
    "fit_figure",
    "fit_numbers",
    "flame_graph",
    "function_shares",
    "gains_figure",
    "measured_rates",
    "predicted_line",
    "published_figure",
    "save",
    "scale_figure",
    "scoreboard_figure",
    "scoreboard_numbers",
    "table_beside_simulated",
    "table_figure",
    "top_stacks",
    "waits_icicle",
    "waits_table",
]
