# SPDX-License-Identifier: MIT
"""What each numbered notebook found, in one sentence that an index of executed notebooks can show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pandas as pd

from lockscale.measure.compare_arms import most_extra, proof_of
from lockscale.measure.rows import origin_in_words
from lockscale.predict.predicted_against_measured import CANNOT_BE_TOLD, YES, Fitted
from lockscale.queueing.compare import Comparison
from lockscale.study.file import Study
from lockscale.text_table import cell_text

MIME = "application/vnd.lockscale.headline+json"
"""Where it lies in an executed notebook; JupyterLab passes over it and shows the text."""


@dataclass(frozen=True)
class Headline:
    """`numbers`: those of the sentence, named with their units: the columns of a batch's summary."""

    says: str
    numbers: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.says

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """As markup too, which breaks between words; plain text breaks inside of them."""
        whole = {"says": self.says, "numbers": self.numbers}
        return {"text/plain": self.says, "text/html": f"<p>{escape(self.says)}</p>", MIME: whole}


def audited(claims: pd.DataFrame) -> Headline:
    """01: how many claims of the tables hold."""
    if claims.empty:
        return Headline("no table of the study prints a claim that could be recomputed")
    counts = claims.verdict.value_counts()
    holds, fails, unknown = (int(counts.get(verdict, 0)) for verdict in ("holds", "fails", "unknown"))
    says = f"of {len(claims)} claims {holds} hold, {fails} fail{_of_ours(claims)} and {unknown} unknown"
    return Headline(says, {"claims_hold": holds, "claims_fail": fails, "claims_unknown": unknown})


def _of_ours(claims: pd.DataFrame) -> str:
    """That a failing claim was never made: it is one that a reader could take from the tables."""
    failing = claims[claims.verdict == "fails"].note
    ours = int(failing.str.contains("our check").sum())
    if not ours:
        return ""
    return f" ({'' if ours == len(failing) else f'{ours} '}not claimed by the source)"


def simulated(errors: pd.DataFrame, check: pd.DataFrame | None = None) -> Headline:
    """02: how far the simulated points lie from those of the table, calibrated points included.

    `check`: numbers of a table to which nothing was fitted, with their `error_pct`, where there are any.
    """
    if errors.empty:
        return Headline("no point of the table was simulated")
    worst = float(errors.error_pct.abs().max())
    origins = " and ".join(map(origin_in_words, errors.origin_of_table.unique()))
    points = f"points ({origins})"
    if origins == "published":
        points = "published points, calibrated ones included"
    says = f"simulated: up to {worst:.1f}% off at {len(errors)} {points}"
    numbers = {"largest_error_pct": worst, "points": float(len(errors))}
    if check is not None:
        own = check if "derived_from" not in check else check[check.derived_from == ""]
        unfitted = float(own.error_pct.abs().max())
        says += f"; up to {unfitted:.1f}% off at {len(own)} numbers that were not fitted"
        numbers["largest_unfitted_error_pct"] = unfitted
    return Headline(says, numbers)


PLACES = {
    "virtual": "from the unpatched arm's rates in virtual time",
    "simulated": "by the calibrated model",
}
"""Of what the prediction is, by the origin of the unpatched side."""


def place_of(prediction: Mapping[str, Any], published: str) -> str:
    """The same; `published` where that is the origin, or an old prediction does not say."""
    origin = prediction.get("origin", "published")
    return published if origin == "published" else PLACES.get(origin, "from the unpatched arm alone")


def predicted(prediction: Mapping[str, Any]) -> Headline:
    """03: the patched arm, where the unpatched one is known from."""
    p = prediction["published_machine"]
    if p is None:
        return Headline("no published data predicts the patched arm")
    place = place_of(prediction, "for the published machine")
    says = (
        f"predicted {place}, low to high: {_rate(p['low'])} to {_rate(p['high'])} {p['unit']} "
        f"by {p['arm']} at {p['threads']} threads"
    )
    return Headline(says, {"predicted_low": p["low"], "predicted_high": p["high"]})


def _rate(value: float) -> str:
    """Whole where it is large; a time may be of a second or two."""
    return f"{value:,.0f}" if abs(value) >= LARGE else cell_text(float(value))


LARGE = 1000


def built(kernels: Mapping[str, Mapping[str, Any]]) -> Headline:
    """04: which kernels there are."""
    if not kernels:
        return Headline("the kernels are built on the server, before they are measured")
    releases = ", ".join(sorted({str(kernel["release"]).partition("-")[0] for kernel in kernels.values()}))
    ids = len({kernel["build_id"] for kernel in kernels.values()})
    return Headline(f"{len(kernels)} arms of Linux {releases} with {ids} build-ids", {"arms": len(kernels)})


def measured(rows: pd.DataFrame, where: str) -> Headline:
    """05: how much was measured, and where."""
    points, blocks = len(rows[["cpus", "threads"]].drop_duplicates()), rows[rows.pair == "ab"].block.nunique()
    says = f"measured {where}: {rows.arm.nunique()} arms at {points} points in {blocks} blocks"
    return Headline(says, {"points": points, "blocks": blocks, "rows": len(rows)})


def counted(extra: pd.DataFrame, rows: pd.DataFrame, study: Study, where: str) -> Headline:
    """06: more of the proof's counter before the patch, at the point where it is farthest apart."""
    counter = proof_of(rows, study)
    cpus, threads = most_extra(extra)
    most: Any = extra[(extra.cpus == cpus) & (extra.threads == threads)].iloc[0]
    says = (
        f"counted {where}: {most.extra + 0.0:.3g} [{most.low + 0.0:.3g}, {most.high + 0.0:.3g}] "
        f"({most.level_pct:.0f}%) more {counter} per operation with "
    )
    processes = f"{threads} process{'es' * int(threads > 1)}"
    says += f"{study.unpatched.name} than with {study.patched.name}, {processes} on {cpus} CPUs: "
    says += "significant" if most.significant else "not significant with all points together (Holm, 5%)"
    says += "" if counter == study.counter else f". It proves nothing: the run did not count {study.counter}"
    numbers = {"extra": float(most.extra), "extra_low": float(most.low), "extra_high": float(most.high)}
    return Headline(says, numbers)


def shown_counter(rows: pd.DataFrame, study: Study) -> str:
    """06: which counter it shows, and whether it is the one that proves the effect."""
    shown = proof_of(rows, study)
    if shown == study.counter:
        return f"The counter: {shown}."
    return (
        f"The study's proof is {study.counter}, which this run did not count. Calls of {shown} stand in "
        "its place: they show what else the arms change, and prove nothing."
    )


LEVELS = {"counts": "95% ", "rates": "", "gains": "90% "}
"""Of the predicted intervals; of rates it is the study's own matter."""


def judged(
    found: Fitted | None,
    guests: pd.DataFrame,
    counters: pd.DataFrame,
    rates: pd.DataFrame,
    gains: pd.DataFrame,
) -> Headline:
    """07: how many predictions for the run's own machine hold, and the model that ranks first.

    found: None of rates that are not a benchmark.
    """
    bounds, counts = guests.dropna(subset=["holds"]), counters.dropna(subset=["inside"])
    holds, open_ = (int((bounds.holds == verdict).sum()) for verdict in (YES, CANNOT_BE_TOLD))
    undecided = f", {open_} undecided" if open_ else ""
    says = [f"{holds} of {len(bounds)} predicted bounds hold{undecided}"] * (len(bounds) > 0)
    numbers: dict[str, float] = {"bounds": len(bounds), "bounds_hold": holds, "bounds_not_decided": open_}
    for what, judgements in (("counts", counts), ("rates", rates), ("gains", gains)):
        held, total = int(judgements.inside.astype(bool).sum()), len(judgements)
        if total:
            wide = _how_wide(judgements)
            says += [f"{held} of {total} predicted {what} lie in their {LEVELS[what]}intervals{wide}"]
        numbers |= {what: total, f"{what}_inside": held}
    says = says or ["nothing was predicted that was counted"]
    if found and found.comparison:
        says += [_law(found.comparison, found.column.name)]
    return Headline("; ".join(says), numbers)


def _how_wide(judgements: pd.DataFrame) -> str:
    """What a held interval is worth; empty of counts, whose intervals may begin at none."""
    if not {"predicted_low", "predicted_high"} <= set(judgements) or (judgements.predicted_low <= 0).any():
        return ""
    width = (judgements.predicted_high / judgements.predicted_low).median()
    return f", which are {width:.1f} times wide (high over low, median)"


def _law(compared: Comparison, column: str) -> str:
    """Whether the first model of a comparison describes the rates, by points that it was not fitted to."""
    best = compared.best
    if best.loo_pct is None:
        return f"no law was tested on points of {column} that it was not fitted to"
    if best.misfit:
        return f"no law describes {column}; {best.model} is the least bad"
    by = f" (by {best.loo_pct:.1f}% at points left out)"
    if others := len(compared.not_told_apart) - 1:
        more = f"{others} other law{'s' * (others > 1)}"
        return f"{best.model} misses {column} least{by}, and the data cannot tell it from {more}"
    return f"{best.model} describes {column} best{by}"


def written(text: str, where: str) -> Headline:
    """08: where its numbers were measured, and the size of the part that a commit keeps."""
    lines = text.partition("\n---\n")[0].splitlines()
    widest = max(map(len, lines))
    says = f"written of what was measured {where}: {len(lines)} lines of at most {widest} columns"
    return Headline(says, {"lines": len(lines)})
