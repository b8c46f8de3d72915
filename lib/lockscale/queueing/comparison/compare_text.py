# SPDX-License-Identifier: MIT
"""A comparison of models as a person reads it: text in a terminal, HTML in a notebook."""

from typing import TYPE_CHECKING

from lockscale.queueing.text.html import html_table

if TYPE_CHECKING:
    from lockscale.queueing.comparison.compare import Comparison
    from lockscale.queueing.inference.fitted import Fit

HEADER = ("model", "free", "in sample", "leave-one-out", "from small N")


def comparison_text(all_of_them: "Comparison") -> str:
    """One line a model, best first, then the findings."""
    widths = (20, 5, 11, 15, 14)
    lines = [
        f"{cells[0]:<{widths[0]}}" + "".join(f"{c:>{w}}" for c, w in zip(cells[1:], widths[1:], strict=True))
        for cells in [HEADER, *_rows(all_of_them)]
    ]
    return "\n".join(lines + findings(all_of_them))


def comparison_html(all_of_them: "Comparison") -> str:
    """The same as a table."""
    n = all_of_them.best.points.threads
    title = f"Models of {len(n)} thread counts, {n[0]:g} to {n[-1]:g}: mean absolute error"
    return html_table(title, HEADER, _rows(all_of_them), findings(all_of_them))


def findings(all_of_them: "Comparison") -> list[str]:
    """Sentences: the noise floor, who ties with the best, who predicts large N, who was left out."""
    said = [
        _floor(all_of_them),
        _ties(all_of_them),
        _ahead(all_of_them),
        *map(_not_determined, all_of_them.fits),
    ]
    return [*filter(None, said), *all_of_them.best.points.warnings, *_left_out(all_of_them.left_out)]


def _rows(all_of_them: "Comparison") -> list[tuple[str, ...]]:
    ahead = all_of_them.extrapolation_pct
    return [
        (one.model, str(one.free_parameters), _pct(one.mape_pct), _pct(one.loo_pct), _pct(far))
        for one, far in zip(all_of_them.fits, ahead, strict=True)
    ]


def _pct(error: float | None) -> str:
    return "-" if error is None else f"{error:.1f}%"


def _floor(all_of_them: "Comparison") -> str:
    noise = all_of_them.noise
    if noise is None:
        return "No repeats: how near a perfect model would come is not known."
    if all_of_them.within_noise:
        names = _and(list(all_of_them.within_noise))
        return f"{noise}; in sample within it: {names}. A smaller error would fit the noise, so stop here."
    if all(one.calibrated for one in all_of_them.fits):
        return f"{noise}; every model goes through every point, which says nothing."
    return f"{noise}; the error in sample of every model that is not calibrated is larger."


def _ties(all_of_them: "Comparison") -> str:
    best, *others = all_of_them.not_told_apart or (all_of_them.best.model,)
    if all_of_them.best.held_out_pct is None:
        return "There are too few thread counts to leave one out: these models are not ranked."
    if others:
        return f"The data cannot tell {best} from {_and(others, 'or')} (F tests of misfit, 5%)."
    if len(all_of_them.fits) > 1:
        return f"The data exclude every other model, if {best} is right (F tests of misfit, 5%)."
    return ""


def _ahead(all_of_them: "Comparison") -> str:
    known = [(e, f.model) for e, f in zip(all_of_them.extrapolation_pct, all_of_them.fits, strict=True) if e]
    if not known:
        return ""
    error, model = min(known)
    return f"Fitted to the smaller half of thread counts, {model} predicts the larger best: {error:.1f}%."


def _not_determined(one: "Fit") -> str:
    """Why a fit has no leave-one-out error, where a ridge is the reason."""
    if not one.not_determined:
        return ""
    where = ", ".join(map(str, one.not_determined))
    return (
        f"Leave-one-out of {one.model}: not determined at N = {where} (equally good fits of the rest differ)."
    )


def _left_out(reasons: dict[str, str]) -> list[str]:
    """One sentence for each reason."""
    names = {why: [name for name, its in reasons.items() if its == why] for why in reasons.values()}
    return [f"Left out: {_and(left)}: {why.rstrip('.')}." for why, left in names.items()]


def _and(names: list[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
