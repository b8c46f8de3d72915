# SPDX-License-Identifier: MIT
"""What the lock explorer computes while somebody drags one of its sliders, at its default setting."""

import statistics

from lockscale.bench import new_process
from lockscale.bench.row import Row
from lockscale.bench.setting import Done, Setting

LIMIT_S = 0.1
DRAGS = {
    "threads": "threads=1 + k % 64",
    "hold": "hold=default('hold_ns') * 10 ** ((k % 60) / 20 - 1.5)",
}
"""Slider -> where its k-th move takes it: along the number of threads, along the hold's range."""
DRAG = """
import time
from lockscale.show.explore import setting as explorer
from lockscale.show.explore.view import view
start = explorer.Setting()
default = lambda name: explorer.default(start.of, name)
view(start)
for k in range({moves}):
    started_s = time.perf_counter()
    view(explorer.changed(start, {move}))
    print(time.perf_counter() - started_s)
"""


def explorer_rows(setting: Setting, done: Done) -> list[Row]:
    """One row a slider: from its new place to the numbers of the figure, in a new process."""
    return [_row(slider, move, setting.moves, done) for slider, move in DRAGS.items()]


def _row(slider: str, move: str, moves: int, done: Done) -> Row:
    took_s = sorted(new_process.start(DRAG.format(moves=moves, move=move)).inside_s)
    done(f"explorer, {slider}")
    median_s = statistics.median(took_s)
    return Row(
        case="explorer_recompute",
        engine=f"{slider} slider",
        seconds=median_s,
        target=f"<= {LIMIT_S:g} s",
        met=median_s <= LIMIT_S,
        note=f"median of {moves} moves; p95 {took_s[int(0.95 * (moves - 1))]:.3f} s",
    )
