# SPDX-License-Identifier: MIT
"""Changelog text: 75 columns of ASCII that git am takes unchanged inside a commit message."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.mail import cover_letter
from lockscale.measure.compare_arms import (
    compared_rates,
    extra_calls,
    function_costs,
    proof_of,
    rates,
    unit_of,
)
from lockscale.measure.provenance import run_command
from lockscale.measure.rows import is_benchmark, origin_in_words, rate_note, where_measured
from lockscale.show.story import Story
from lockscale.study.file import Study
from lockscale.tools.ftrace_cost import FunctionCost
from lockscale.tools.ftrace_cost import table as cost_table

COLUMNS = 75
"""scripts/checkpatch.pl: "Prefer a maximum 75 chars per line"."""
CUT = ("---", "diff", "Index:", "From ", "-- >8", "-- 8<", ">8", "8<")
"""Starts of lines at which git mailsplit or mailinfo takes the message to end, or a mail to begin."""
HEADER = re.compile(r">?From |\[?(From|Date|Subject):", re.IGNORECASE)
"""The first line of a body, where mailinfo takes it for a header of the mail."""


def held(text: str) -> str:
    """The same text, refused if a mail or git am would not carry it unchanged.

    git strips blanks at the end of lines and of the text, and all blank lines but one (git stripspace).
    Raises RunFailed with the number of the line.
    """
    lines = text.splitlines()
    if not text.endswith("\n") or not lines or not lines[0] or not lines[-1]:
        raise RunFailed("the changelog would not pass git am unchanged: it begins or ends in a blank line")
    for number, line in enumerate(lines, start=1):
        bad = len(line) > COLUMNS or not line.isascii() or not line.isprintable() or line != line.rstrip()
        twice = not line and not lines[number - 2]
        if bad or twice or line.startswith(CUT) or (number == 1 and HEADER.match(line)):
            raise RunFailed(f"changelog line {number} would not pass git am unchanged: {line!r}")
    return text


NO_BENCHMARK = (
    ", not a benchmark: a queue of waiters stalls whenever the host stops one of them, so not even the "
    "direction means anything"
)


class Paragraph(NamedTuple):
    """A paragraph of the text; one that is `fixed` keeps its columns and lines wherever it stands."""

    text: str
    fixed: bool = False


def _table(head: str, lines: Sequence[str]) -> list[Paragraph]:
    return [Paragraph(head), Paragraph("\n".join(lines), fixed=True)]


def as_text(blocks: list[Paragraph]) -> str:
    """The blocks as a commit message takes them, a blank line between them."""
    parts = [one.text if one.fixed else "\n".join(_wrap(one.text)) for one in blocks]
    return held("\n\n".join(parts) + "\n")


def story_blocks(story: Story) -> list[Paragraph]:
    """A measured story in words; function costs are those of the point with the most extra calls."""
    rows, study = story.rows, story.study
    extra, counter = extra_calls(rows, study), proof_of(rows, study)
    most = extra.iloc[extra.extra.argmax()]
    arms = [study.unpatched.name, study.patched.name]
    costs = {arm: function_costs(rows, arm, int(most.cpus), int(most.threads)) for arm in arms}
    return changelog_blocks(
        study, story.provenance, extra, rates(rows), costs, story.read_prediction(),
        f"{counter}: {unit_of(study, counter)}", compared_rates(rows, study),
    )  # fmt: skip


def changelog_blocks(
    study: Study,
    provenance: dict[str, Any],
    extra: pd.DataFrame,
    rates: pd.DataFrame,
    costs: dict[str, pd.DataFrame],
    prediction: dict[str, Any],
    counter: str,
    compared: pd.DataFrame | None = None,
) -> list[Paragraph]:
    """What was measured, on what, with which commands, and how sure it is.

    `compared`: the arms' rates with what is significant (`compared_rates`); they stand as percentages where
    rates are a benchmark. `counter`: what `extra` counts, with its unit. `costs`: of each arm, at the point
    with the most extra calls.
    """
    most = extra.iloc[extra.extra.argmax()]
    point = f"{where_measured(provenance)}, {most.cpus} CPUs, {most.threads} processes"
    return [
        *_preamble(study, provenance, extra),
        *_calls(study, extra, counter),
        *_extra(study, extra),
        *_rates(study, rates, provenance, compared),
        *_costs(study, costs, point),
        *_predicted(prediction),
    ]


def _preamble(study: Study, provenance: dict[str, Any], extra: pd.DataFrame) -> list[Paragraph]:
    kernels = provenance["kernels"]

    def of_all(field: str) -> str:
        return ", ".join(sorted({kernel[field] for kernel in kernels.values()}))

    found = next(iter(provenance["as_found"].values()))
    made = found["file_system"]
    host = provenance["host"]
    proof = ": counters are the proof, rates are not a benchmark"
    worth = "" if is_benchmark(provenance["origin"]) else proof
    lines = [
        *_wrap(f"Kernel: {of_all('version')}, {of_all('spin_lock')} spin locks, with their build-ids:"),
        # in brackets, or checkpatch takes it for a commit that is not described
        *(f"  {arm:<15} [{kernel['build_id']}]" for arm, kernel in kernels.items()),
        *_wrap(f"mkfs:   {made['mkfs_line']}"),
        *_wrap(f"mount:  {made['mount_line']}"),
        *_wrap(f"load:   {found['tool']} {found['tool_version']} {study.workload}, own directories, "
               f"{_operations(study)}"),
        *_wrap(f"again:  {_command(study, provenance)}"),
    ]  # fmt: skip
    return [
        Paragraph(f"Study {study.name}: {study.question}"),
        Paragraph(
            f"MEASURED {_where(provenance)}, on {host['cpus']} host CPUs "
            f"({host['cpu_model']}){worth}. "
            f"Averages of {extra.repeats.min()} interleaved boots an arm; those of counts take in the two of "
            "the A/A pair."
        ),
        *_machine_in_virtual_time(provenance),
        Paragraph("\n".join(lines), fixed=True),
    ]


def _operations(study: Study) -> str:
    asked = study.parameters
    counts = {asked.operations(guest, n) for guest in asked.guests for n in guest.processes}
    loads = max((loads for guest in asked.guests for loads in guest.loads_at.values()), default=1)
    each = f"load, up to {loads} loads a point" if loads > 1 else "point"
    return f"{' or '.join(map(str, sorted(counts)))} operations a {each}"


def _machine_in_virtual_time(provenance: dict[str, Any]) -> list[Paragraph]:
    """What a rate in virtual time is made of, and what it leaves out; nothing of another origin."""
    if provenance["origin"] != "virtual":
        return []
    target = provenance["target"]
    prices = ", ".join(f"{n.replace('_', ' ')} {price['ns']:g}" for n, price in target["prices"].items())
    cpus = max(guest["cpus"] for guest in provenance["study"]["parameters"]["guests"])
    return [
        Paragraph(
            f"Virtual time: a real kernel on {cpus} CPUs, {target['cpus_per_socket']} a socket; prices in "
            f"ns: {prices}; a disk in memory, {target['disk']['completion_ns']} a request. Left out: "
            "capacity misses, memory bandwidth, SMT, out-of-order overlap, changes of frequency."
        )
    ]


def _command(study: Study, provenance: dict[str, Any]) -> str:
    """What repeats it here; the name of somebody's own target says nothing to others."""
    target = provenance["target"]
    name = "TARGET" if target["kind"] == "ssh" else target["name"]
    return run_command(study.name, study.model_dump(mode="json")["parameters"], name)


def _where(provenance: dict[str, Any]) -> str:
    """What nobody shall overlook in capitals; how it was accelerated is no shouting."""
    words, bracket, accel = where_measured(provenance).partition(" (")
    return words.upper() + bracket + accel


def _calls(study: Study, extra: pd.DataFrame, counter: str) -> list[Paragraph]:
    unpatched, patched = study.unpatched.name, study.patched.name
    both = extra.rename(columns={unpatched: "before", patched: "after"})
    return _table(f"{counter} (*: significant at 5% over all rows):", _changes(study, both, decimals=4))


def _changes(study: Study, both: pd.DataFrame, decimals: int) -> list[str]:
    """`before` and `after` at each point, the change, and a star where it is significant."""
    lines = [f"cpus procs  {study.unpatched.name:>12}            {study.patched.name:>14}"]
    row: Any
    for row in both.itertuples():
        change = percent(row.before, row.after, row.significant)
        lines.append(
            f"{row.cpus:>4} {row.threads:>5}  {row.before:>12.{decimals}f} (  0.00%)   "
            f"{row.after:>14.{decimals}f} {change}"
        )
    return lines


def percent(before: float, after: float, significant: bool) -> str:
    """A change as kernel changelogs print it: `*  -2.39%*` when significant, else `(  4.40%)`."""
    text = f"{100 * (after / before - 1):.2f}%" if before else "new" if after else "0.00%"
    return f"*{text:>8}*" if significant else f"({text:>8})"


def _extra(study: Study, extra: pd.DataFrame) -> list[Paragraph]:
    lines = ["cpus procs     extra  [     low,     high]    spread  above"]
    lines += [
        f"{row.cpus:>4} {row.threads:>5}  {row.extra:>8.4f}  [{row.low:>8.4f}, {row.high:>8.4f}]  "
        f"{row.spread:>8.4f}  {'yes' if row.above else 'no'}"
        for row in extra.itertuples()
    ]
    head = (
        f"The extra ones under {study.unpatched.name} with their interval ({extra.level_pct.min():.1f}%, by "
        f"ranks, each row alone), and the repeat spread (largest less smallest) of {study.patched.name}:"
    )
    return _table(head, lines)


def _rates(
    study: Study, rates: pd.DataFrame, provenance: dict[str, Any], compared: pd.DataFrame | None
) -> list[Paragraph]:
    benchmark = is_benchmark(provenance["origin"])
    metric = study.metric[:1].upper() + study.metric[1:]
    head = f"{metric}{rate_note(rates)} {where_measured(provenance)}{'' if benchmark else NO_BENCHMARK}:"
    unpatched, patched = study.unpatched.name, study.patched.name
    if benchmark and compared is not None:
        both = compared[compared.arm == patched].rename(columns={"unpatched": "before", "value": "after"})
        return _table(head, _changes(study, both, decimals=0))
    wide = rates.pivot_table(index=["cpus", "threads"], columns="arm", values="value").reset_index()
    lines = [f"cpus procs  {unpatched:>12}  {patched:>14}"]
    for row in wide.to_dict("records"):
        lines.append(f"{row['cpus']:>4} {row['threads']:>5}  {row[unpatched]:>12.0f}  {row[patched]:>14.0f}")
    return _table(head, lines)


def _costs(study: Study, costs: dict[str, pd.DataFrame], point: str) -> list[Paragraph]:
    found: list[Paragraph] = []
    for arm, cost in costs.items():
        rows = [
            FunctionCost(r["function"], r["total_us"], int(r["count"]), r["avg_us"])
            for r in cost.to_dict("records")
        ]
        lines = cost_table(rows).rstrip("\n").split("\n")
        found += _table(f"Function cost of {arm} (measured {point}, profiler on):", lines)
    unpatched, patched = study.unpatched.name, study.patched.name
    if {unpatched, patched} <= costs.keys():
        head = f"The same averages before ({unpatched}) and after ({patched}), in microseconds:"
        found += _table(head, _before_after(costs[unpatched], costs[patched]))
    return found


def _before_after(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """One call of each function that both arms have; no stars, as a profile is one sum over all runs."""
    both = before.merge(after, on="function", suffixes=("_before", "_after"))
    lines = [f"{'FUNC':<30} {'BEFORE':>10} {'AFTER':>10}"]
    for row in both.to_dict("records"):
        old, new = row["avg_us_before"], row["avg_us_after"]
        change = percent(old, new, False) if old else ""
        lines.append(f"{row['function']:<30} {old:>10.2f} {new:>10.2f} {change}".rstrip())
    return lines


def _predicted(prediction: dict[str, Any]) -> list[Paragraph]:
    """What was written down before the measurement; nothing where nothing could be predicted."""
    p = prediction["published_machine"]
    if p is None:
        return []
    says = "Predicted for the published machine from its base profile and rate"
    outside = f", and one constant from outside ({p['open'][0]})" if p.get("open") else ""
    if (origin := prediction.get("origin", "published")) != "published":
        says = f"Predicted from the rates of the unpatched arm alone, {origin_in_words(origin)}"
        outside = f", which do not say {p['open'][0].partition(':')[0]}" if p.get("open") else ""
    gain = f"{p['gain_low']:.1f}x to {p['gain_high']:.1f}x, " if "gain_low" in p else ""
    naive = p.get("naive_value")
    return [
        Paragraph(
            f"{says}{outside}: {p['arm']} "
            f"{gain}{p['low']:.0f} to {p['high']:.0f} {p['unit']} at {p['threads']} processes"
            + (f"; deleting the spin time would say {naive:.0f}." if naive is not None else ".")
        )
    ]


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)


FORMS = {"changelog": "changelog.txt", "cover": "cover-letter.patch", "ticket": "ticket.md"}
"""Form -> how the name of its file ends."""
SUBJECT_COLUMNS = 75  # as git and checkpatch like a subject, [PATCH 0/N] included
MARKDOWN = re.compile(r"([\\`*<>\[\]#|])")


def as_form(form: str, study: Study, blocks: list[Paragraph], mails: Sequence[bytes]) -> str:
    """The text in one of FORMS; `mails` are the patches that a cover letter goes before."""
    if form == "changelog":
        return as_text(blocks)
    return ticket(study, blocks) if form == "ticket" else cover(study, blocks, mails)


def cover(study: Study, blocks: list[Paragraph], mails: Sequence[bytes]) -> str:
    """[PATCH 0/N] of a series, its text the changelog's. Raises BadInput where no arm has a patch.

    The subject names the patched arm, and ends at a word within SUBJECT_COLUMNS.
    """
    if not mails:
        raise BadInput(f"no measured arm of {study.name} has a patch: there is nothing to write a cover for")
    title = f"{study.name}: {study.metric} with {study.patched.name}"
    room = SUBJECT_COLUMNS - len(f"[PATCH 0/{len(mails)}] ")
    title = textwrap.shorten(title, room, placeholder=" ...", break_on_hyphens=False)
    return cover_letter(title, as_text(blocks), mails).decode()


def ticket(study: Study, blocks: list[Paragraph]) -> str:
    """Markdown as issue trackers show it: prose as prose, tables in fences, which keep their columns.

    A paragraph is one line however long: trackers wrap it, and some show a line's end as a break.
    """
    parts = [f"### {_escaped(study.question)}"]
    parts += [f"```\n{one.text}\n```" if one.fixed else _escaped(one.text) for one in blocks]
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", text)
