# SPDX-License-Identifier: MIT
"""A study's commit message: problem, mechanism, change, one table, and how it was measured.

At most LINES lines stay in the commit. The whole protocol stands below the line `---`. The same text stands
before a series, and in an issue tracker.
"""

import re
from dataclasses import replace
from typing import Any

import pandas as pd

from lockscale.kernels.export import why_held_back
from lockscale.kernels.letter import cover_letter
from lockscale.kernels.mail import numbered, read_mail
from lockscale.measure.compare_arms import (
    boots_apart_pct,
    function_costs,
    most_extra,
    profiled_operations,
    proof_of,
    unit_of,
)
from lockscale.measure.count_calls import OBSERVE
from lockscale.measure.rows import rate_note, where_measured
from lockscale.show.commit_text import (
    Letter,
    Paragraph,
    as_text,
    begun,
    below_of,
    cut_to,
    message_of,
    wrapped,
)
from lockscale.show.protocol import (
    Measurement,
    boots_of,
    heads_of,
    marked,
    noise_of,
    protocol_blocks,
    versions_of,
)
from lockscale.show.story import Story
from lockscale.study.arms_of_a_text import change_of, patches_between, subjects_of, submitted
from lockscale.study.file import Study
from lockscale.tools import ftrace_cost

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
    costs = {arm: function_costs(rows, arm, *most_extra(story.extra)) for arm in study.sides}
    compared, apart, others = None, None, None
    if story.is_benchmark:
        compared, apart = story.compared, boots_apart_pct(rows, study, study.sides)
        others = compared[~compared.arm.isin(study.sides)]
        compared = compared[compared.arm == study.patched.name].reset_index(drop=True)
    proof = proof_of(rows, study)
    is_profiled = proof == study.called_function
    counts = rows[rows.tool == (ftrace_cost.TOOL if is_profiled else OBSERVE)]
    twice = counts[(counts.pair == "aa") & (counts.arm == study.patched.name)]
    builds = [] if is_profiled else sorted({*counts[counts.arm.isin(study.sides)].build_id})
    return Measurement(
        story.provenance, story.extra, _counter(study, proof), compared, costs, story.read_prediction(),
        apart,
        in_aa=len(twice) > 0,
        of_the_study=proof == study.counter,
        profiled=profiled_operations(rows, study.patched.name, *most_extra(story.extra)),
        observe=tuple(builds),
        others=others,
    )  # fmt: skip


def _counter(study: Study, counter: str) -> str:
    """For instance "waits for a group lock per allocation"; a function's name has its parentheses."""
    is_function = counter not in {one.name for one in study.counters}
    return f"{counter}{'()' if is_function else ''} {unit_of(study, counter)}"


def letter_of(story: Story) -> Letter:
    return letter(story.as_measured, measurement_of(story))


def letter(study: Study, found: Measurement) -> Letter:
    table = _table(study, found)
    measured = _measured(study, found)
    change, _ = cut_to(change_of(study, study.patched), CHANGE_LINES)
    fixed = [Paragraph(measured), Paragraph("\n".join(table), fixed=True), Paragraph(_verdict(found))]
    after = [*([Paragraph(change)] if change else []), *fixed]
    taken = sum(len(wrapped(one.text)) if not one.fixed else len(table) for one in after) + len(after)
    told, rest = cut_to(f"{study.problem} {study.story}", LINES - taken)
    below = [*([Paragraph(rest)] if rest else []), *protocol_blocks(study, found)]
    return Letter([Paragraph(told), *after], below)


def _measured(study: Study, found: Measurement) -> str:
    """One sentence: what the table is of, on which machine, on which kernel, from how many boots."""
    where, linux = where_measured(found.provenance), versions_of(found.provenance["kernels"])
    points = _points(found)
    cpus = ", ".join(f"{one:g} CPUs" for one in sorted(points.cpus.unique()))
    boots = f"{boots_of(found)} interleaved boots per arm"
    if found.compared is None:
        return f"{begun(found.counter)}, counted {where}, {cpus}, Linux {linux}, {boots}:"
    what = f"{begun(study.metric)}{rate_note(found.compared)}"
    machine = f"prices of {found.provenance['target']['name']}.yaml"
    if found.provenance["origin"] != "virtual":
        machine = found.provenance["host"]["cpu_model"]
    return f"{what}, measured {where}, {cpus}, {machine}, Linux {linux}, {boots}:"


def _points(found: Measurement) -> pd.DataFrame:
    """One row a point: cpus, threads, before, after, change as it is printed, significant, boots."""
    sides = ["cpus", "threads", "before", "after", "change", "significant", "boots"]
    if found.compared is None:
        unpatched, patched = found.costs
        table = found.extra.rename(columns={unpatched: "before", patched: "after", "repeats": "boots"})
        return table.assign(
            change=[f"{-extra:+.4f}" if round(extra, 4) else "0.0000" for extra in table.extra]
        )[sides]
    table = found.compared.rename(columns={"unpatched": "before", "value": "after", "blocks": "boots"})
    change_pct = (100 * (table.after / table.before - 1)).round(1)
    return table.assign(change=[f"{pct:+.1f}%" if pct else "0.0%" for pct in change_pct])[sides]


def _table(study: Study, found: Measurement) -> list[str]:
    points = _points(found)
    with_cpus = points.cpus.nunique() > 1
    unpatched, patched = heads_of(study.sides, (16, 16), 50)
    head = f"{'procs':>5} {unpatched} {patched}      change"
    lines = [f"{' cpus ' if with_cpus else ''}{head}"]
    decimals = 4 if found.compared is None else 0
    row: Any
    for row in _shown(points).itertuples():
        cpus = f"{row.cpus:>5} " if with_cpus else ""
        before, after = f"{row.before:.{decimals}f}", f"{row.after:.{decimals}f}"
        values = f"{before:>{len(unpatched)}} {after:>{len(patched)}}"
        lines.append(f"{cpus}{row.threads:>5} {values}  {marked(row.change, row.significant)}")
    return lines


def _shown(points: pd.DataFrame) -> pd.DataFrame:
    """At most ROWS points: the first, the last and those evenly between, however they came out."""
    count = len(points)
    if count <= ROWS:
        return points
    return points.iloc[sorted({round(at * (count - 1) / (ROWS - 1)) for at in range(ROWS)})]


def _verdict(found: Measurement) -> str:
    """What the marks mean, whether any row is significant, and how far two boots of one kernel differ."""
    points, boots = _points(found), boots_of(found)
    if points.significant.any():
        brackets = "" if points.significant.all() else ", in brackets it is not"
        marks = f"*: the change is significant (5%, over all rows){brackets}."
    elif boots < ENOUGH_BOOTS:
        over = "over all arms and points of the run"
        marks = f"With {boots} boots per arm no change in this table passes a test at 5% {over}."
    else:
        marks = "No change in this table is significant (5%, over all rows)."
    left_out = f"{ROWS} of {len(points)} points; the patch mail has all."
    return " ".join([marks, *noise_of(found.apart_pct), *([left_out] if len(points) > ROWS else [])])


FORMS = {"changelog": "changelog.txt", "cover": "cover-letter.patch", "ticket": "ticket.md"}
"""Form -> how the name of its file ends."""
MARKDOWN = re.compile(r"([\\`*<>\[\]#|~&]|(?<![^\W_])_|_(?!\w))")
"""An underscore between letters is one; at a word's end, as in __mutex_lock, it may begin italics."""


def in_form(form: str, story: Story) -> str:
    """The text of a measured study in one of FORMS.

    A cover letter compares the arm whose patches it goes before with the base that they apply to. Raises
    BadInput where no arm has patches to submit.
    """
    if form == "cover":
        sides = submitted(story.study)
        return cover(sides, letter_of(replace(story, study=sides)))
    letter = letter_of(story)
    return ticket(story.study, letter) if form == "ticket" else as_text(letter)


def cover(study: Study, letter: Letter) -> str:
    """[PATCH 0/N] of the patched arm's series; the protocol stands below the list of its patches."""
    mails = [read_mail(patch) for patch in patches_between(study, study.unpatched, study.patched)]
    why = why_held_back(study.series_of(study.patched.name))
    mails = numbered(mails, rfc=bool(why))
    first = [Paragraph(f"Not to be sent yet: {why}")] if why else []
    letter = letter._replace(message=[*first, *letter.message])
    title = subjects_of(study, study.patched.name)[-1]  # of what the arm adds to those before it
    head = cover_letter(title, message_of(letter), mails, rfc=bool(why)).decode()
    return f"{head}\nHow it was measured:\n\n{below_of(letter)}"


def ticket(study: Study, letter: Letter) -> str:
    """Markdown as issue trackers show it: prose as prose, tables in fences, which keep their columns.

    A paragraph is one line however long: trackers wrap it, and some show a line's end as a break.
    """
    parts = [f"### {_escaped(study.question)}", *map(_markdown, letter.message)]
    parts += ["#### How it was measured", *map(_markdown, letter.below)]
    return "\n\n".join(parts) + "\n"


def _markdown(one: Paragraph) -> str:
    return f"```\n{one.text}\n```" if one.fixed else _escaped(one.text)


def _escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", text)
