# SPDX-License-Identifier: MIT
"""A fit as a person reads it: text in a terminal, HTML in a notebook."""

from typing import TYPE_CHECKING

from lockscale.queueing.text.html import html_table
from lockscale.queueing.text.numbers import short

if TYPE_CHECKING:
    from lockscale.queueing.inference.fitted import Estimate, Fit


def fit_text(one: "Fit") -> str:
    """The title, a line for each parameter, and what the fit is worth."""
    width = max(14, *(len(e.name) + 2 for e in one.parameters))
    lines = [
        f"  {name:<{width}}{value:>12} {unit:<4} {interval:<26} {status}"
        for name, value, interval, unit, status in map(_cells, one.parameters)
    ]
    return "\n".join([_title(one), *lines, *(f"  {note}" for note in _notes(one))])


def fit_html(one: "Fit") -> str:
    """The same as a table."""
    header = ("parameter", "value", "95% interval", "unit", "status")
    return html_table(_title(one), header, map(_cells, one.parameters), _notes(one))


def _title(one: "Fit") -> str:
    n = one.points.threads
    span = f"{n[0]:g} to {n[-1]:g} threads" if len(n) > 1 else f"{n[0]:g} threads"
    return f"{one.model}: {span}, points: {len(n)}, free parameters: {one.free_parameters}"


def _cells(e: "Estimate") -> tuple[str, str, str, str, str]:
    interval = ""
    if e.status not in ("fixed", "calibrated"):
        interval = f"[{short(e.low)}, {short(e.high)}]"
    return e.name, short(e.value), interval, e.unit, e.status


def _notes(one: "Fit") -> list[str]:
    notes = [f"error {one.mape_pct:.1f}% in sample, {_held_out(one)} leave-one-out"]
    if one.calibrated:
        notes.append("calibrated: no degree of freedom, so the error in sample says nothing")
    return [*notes, *one.points.warnings]


def _held_out(one: "Fit") -> str:
    if one.not_determined:
        return f"not determined at N = {', '.join(map(str, one.not_determined))}, so no"
    return "not computable" if one.loo_pct is None else f"{one.loo_pct:.1f}%"
