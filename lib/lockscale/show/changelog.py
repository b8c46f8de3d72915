# SPDX-License-Identifier: MIT
"""A study's commit message: problem, mechanism, change, one table, and how it was measured.

At most LINES lines stay in the commit. The whole protocol stands below the line `---`.
"""

from typing import Any

import pandas as pd

from lockscale.measure.compare_arms import (
    aa_apart_pct,
    compared_rates,
    extra_calls,
    function_costs,
    proof_of,
    unit_of,
)
from lockscale.measure.rows import is_benchmark, rate_note, where_measured
from lockscale.show.commit_text import Letter, Paragraph, cut_to, wrapped
from lockscale.show.protocol import Measurement, boots_of, noise_of, protocol_blocks
from lockscale.show.story import Story
from lockscale.study.file import Study
from lockscale.study.sides import change_of

LINES = 30
"""Of a commit message: more are read by nobody."""
ROWS = 8
"""Points in its table; the protocol has them all."""
CHANGE_LINES = 6
ENOUGH_BOOTS = 3
"""With two, Student's test has one degree of freedom, which hardly any noise passes over all rows."""


def measurement_of(story: Story) -> Measurement:
    """Of the story's unpatched and patched arm; rates of an emulated machine are not read at all."""
    rows, study = story.rows, story.study
    extra = extra_calls(rows, study)
    most = extra.iloc[extra.extra.argmax()]
    sides = [study.unpatched.name, study.patched.name]
    costs = {arm: function_costs(rows, arm, int(most.cpus), int(most.threads)) for arm in sides}
    benchmark = is_benchmark(story.provenance["origin"])
    compared = _of_patched(study, compared_rates(rows, study)) if benchmark else None
    counter = _counter(study, proof_of(rows, study))
    apart = aa_apart_pct(rows, study) if benchmark else None
    return Measurement(story.provenance, extra, counter, compared, costs, story.read_prediction(), apart)


def _of_patched(study: Study, compared: pd.DataFrame) -> pd.DataFrame:
    return compared[compared.arm == study.patched.name].reset_index(drop=True)


def _counter(study: Study, counter: str) -> str:
    """For instance "waits for a group lock per allocation"; a function's name has its parentheses."""
    is_function = counter not in {one.name for one in study.counters}
    return f"{counter}{'()' if is_function else ''} {unit_of(study, counter)}"


def letter_of(story: Story) -> Letter:
    return letter(story.study, measurement_of(story))


def letter(study: Study, found: Measurement) -> Letter:
    """The message and the protocol of one comparison."""
    table = _table(study, found)
    measured = _measured(study, found)
    change, _ = cut_to(change_of(study, study.patched), CHANGE_LINES)
    fixed = [Paragraph(measured), Paragraph("\n".join(table), fixed=True), Paragraph(_verdict(found))]
    after = [*([Paragraph(change)] if change else []), *fixed]
    taken = sum(len(wrapped(one.text)) if not one.fixed else len(table) for one in after) + len(after)
    told, rest = cut_to(f"{study.problem} {study.story}", LINES - taken)
    return Letter([Paragraph(told), *after], [*_rest(rest), *protocol_blocks(study, found)])


def _rest(text: str) -> list[Paragraph]:
    return [Paragraph(text)] if text else []


def _measured(study: Study, found: Measurement) -> str:
    """One sentence: what the table is of, on which machine, on which kernel, from how many boots."""
    where, kernels = where_measured(found.provenance), found.provenance["kernels"].values()
    linux = f"Linux {', '.join(sorted({kernel['version'] for kernel in kernels}))}"
    points = _points(found)
    cpus = ", ".join(f"{one:g} CPUs" for one in sorted(points.cpus.unique()))
    boots = f"{boots_of(found)} interleaved boots per arm"
    what = found.counter
    if found.compared is None:
        return f"{_begun(what)}, counted {where}, {cpus}, {linux}, {boots}:"
    what = f"{_begun(study.metric)}{rate_note(found.compared)}"
    machine = f"prices of {found.provenance['target']['name']}.yaml"
    if found.provenance["origin"] != "virtual":
        machine = found.provenance["host"]["cpu_model"]
    return f"{what}, measured {where}, {cpus}, {machine}, {linux}, {boots}:"


def _begun(words: str) -> str:
    """As a sentence begins; the name of a function keeps its letters."""
    return words if "()" in words else words[:1].upper() + words[1:]


def _points(found: Measurement) -> pd.DataFrame:
    """One row a point: cpus, threads, before, after, change as it is printed, significant, boots."""
    sides = ["cpus", "threads", "before", "after", "change", "significant", "boots"]
    if found.compared is None:
        unpatched, patched = found.costs
        table = found.extra.rename(columns={unpatched: "before", patched: "after", "repeats": "boots"})
        return table.assign(change=[f"{-extra:+.4f}" for extra in table.extra])[sides]
    table = found.compared.rename(columns={"unpatched": "before", "value": "after", "blocks": "boots"})
    return table.assign(change=[f"{pct:+.1f}%" for pct in 100 * (table.after / table.before - 1)])[sides]


def _table(study: Study, found: Measurement) -> list[str]:
    points = _points(found)
    with_cpus = points.cpus.nunique() > 1
    head = f"{'procs':>5} {study.unpatched.name:>16} {study.patched.name:>16}      change"
    lines = [f"{' cpus ' if with_cpus else ''}{head}"]
    decimals = 4 if found.compared is None else 0
    row: Any
    for row in _shown(points).itertuples():
        cpus = f"{row.cpus:>5} " if with_cpus else ""
        values = f"{row.before:>16.{decimals}f} {row.after:>16.{decimals}f}"
        lines.append(f"{cpus}{row.threads:>5} {values}  {_marked(row.change, row.significant)}")
    return lines


def _marked(change: str, significant: bool) -> str:
    """`*  -2.39%*` where it is significant, else `(  -2.39%)`, as kernel changelogs print it."""
    return f"*{change:>8}*" if significant else f"({change:>8})"


def _shown(points: pd.DataFrame) -> pd.DataFrame:
    """At most ROWS points: the first, the last and those evenly between, however they came out."""
    count = len(points)
    if count <= ROWS:
        return points
    return points.iloc[sorted({round(at * (count - 1) / (ROWS - 1)) for at in range(ROWS)})]


def _verdict(found: Measurement) -> str:
    """What the marks mean, whether any row is significant, and how far two boots of one kernel differ."""
    points, more = _points(found), noise_of(found.apart_pct)
    if len(points) > ROWS:
        more.append(f"{ROWS} of {len(points)} points; the patch mail has all.")
    return " ".join([_marks(points, boots_of(found)), *more])


def _marks(points: pd.DataFrame, boots: int) -> str:
    if points.significant.any():
        brackets = "" if points.significant.all() else ", in brackets it is not"
        return f"*: the change is significant (5%, over all rows){brackets}."
    if boots < ENOUGH_BOOTS:
        return f"With {boots} boots per arm no change passes a test at 5% over all rows."
    return "No change in this table is significant (5%, over all rows)."
