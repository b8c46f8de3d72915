# SPDX-License-Identifier: MIT
"""The outcome of `patches check` for a person: lines for a terminal, a table for kernel-patches/README.md."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_text
from lockscale.kernels.base import base, bases
from lockscale.prove.check import RUN, CheckedArm
from lockscale.prove.counters import CounterEntry
from lockscale.prove.series_checks import CheckResult

BEGIN, END = "<!-- table: patches check -->", "<!-- end of table -->"
MARK = "<!-- table: "


def as_text(found: Sequence[CheckedArm]) -> str:
    """One line a check, one a comparison of counters."""
    lines = []
    for one in found:
        name = f"{one.study}/{one.arm}"
        lines += [f"{_mark(c.ok)} {name} {key}: {c.detail}{_took(c)}" for key, c in one.checks.items()]
        lines += [f"{_mark(not c.fails)} {name} {_comparison(c)}" for c in one.counters]
    return "\n".join(lines)


def _took(check: CheckResult) -> str:
    return f", compiled once in {check.seconds:.1f} s" if check.seconds else ""


def _mark(ok: bool) -> str:
    return "ok " if ok else "NO "


def _comparison(entry: CounterEntry) -> str:
    return (
        f"{entry.name}{f' ({entry.variant})' if entry.variant else ''}, {entry.unit}: {_mean(entry.arm)}, "
        f"{entry.base_name} {_mean(entry.base)}, difference [{_mean(entry.low)}, {_mean(entry.high)}] "
        f"({entry.level_pct:.1f}%, {entry.iterations} iterations, {entry.origin}); expected {entry.expected}"
        f"{_why_not(entry)}{_busy(entry)}"
    )


def _busy(entry: CounterEntry) -> str:
    return f" ({entry.busy_boots} boots beside other work)" if entry.busy_boots else ""


def _why_not(entry: CounterEntry) -> str:
    if entry.reversed:
        return " (reversed)"
    return f" (not shown: {entry.reason})" if entry.reason and not entry.ok else ""


def _mean(value: float) -> str:
    return f"{value:.4g}"


def begin_of(line: str) -> str:
    """The mark at which the table of a base begins; the first base's has no line."""
    return BEGIN if line == bases()[0].line else BEGIN.replace(" -->", f" --base {line} -->")


@dataclass(frozen=True)
class _Readme:
    """kernel-patches/README.md: this base's table, `old`, and what is around it with the marks."""

    path: Path
    before: str
    old: str
    after: str


def _readme() -> _Readme:
    """Raises BadInput without the marks of this base."""
    path, begin = paths.KERNEL_PATCHES / "README.md", begin_of(base().line)
    before, mark, rest = path.read_text().partition(begin)
    old, end, after = rest.partition(END)
    if not (mark and end) or begin in rest or MARK in old:
        raise BadInput(f"{path} lacks the lines {begin!r} and {END!r}: put them where the table should go")
    return _Readme(path, before + mark, old, end + after)


def refuse_other_boots(iterations: int, *, whole: bool) -> None:
    """Raises BadInput before the first boot where write_readme() would refuse so many boots of each arm.

    whole: of all studies, so that no row of the old table stays.
    """
    boots = re.search(r" (\d+) boots of each arm", _readme().old)
    if boots and int(boots[1]) != iterations and not whole:
        raise BadInput(
            f"the table in kernel-patches/README.md is of {boots[1]} boots of each arm: give "
            f"--iterations {boots[1]}, or check all arms"
        )


def write_readme(found: Sequence[CheckedArm], *, whole: bool = True) -> None:
    """Put both tables between the marks of this base in kernel-patches/README.md.

    Unless `found` is of all studies the rows of the others stay. Raises BadInput where they were counted in
    another way.
    """
    readme, new = _readme(), _tables(found)
    old = readme.old
    if not whole and old.strip():
        new = _with_other_studies(new.split("\n\n"), old.strip().split("\n\n"), {one.study for one in found})
    write_text(readme.path, f"{readme.before}\n\n{new}\n\n{readme.after}")


def _with_other_studies(new: Sequence[str], old: Sequence[str], studies: Collection[str]) -> str:
    """The tables with the rows of `studies` from `new`, those of the others from `old`, by study."""
    told = [[part for part in parts if not part.startswith("|")] for parts in (new, old)]
    heads = [[part.splitlines()[0] for part in parts if part.startswith("|")] for parts in (new, old)]
    if told[0] != told[1] or heads[0] != heads[1]:
        raise BadInput(
            f"the table in kernel-patches/README.md was made in another way "
            f"({' '.join(told[1]) or 'without counts'}): check this study in the same way, or all arms"
        )
    return "\n\n".join(
        fresh if not fresh.startswith("|") else _rows_of_both(fresh.splitlines(), stale.splitlines(), studies)
        for fresh, stale in zip(new, old, strict=True)
    )


def _rows_of_both(new: Sequence[str], old: Sequence[str], studies: Collection[str]) -> str:
    kept = [line for line in old[2:] if _study_of(line) not in studies]
    return "\n".join([*new[:2], *sorted([*kept, *new[2:]], key=_study_of)])


def _study_of(line: str) -> str:
    """A row begins with STUDY/ARM, or with STUDY: and a counter."""
    return re.split("[/:]", line.removeprefix("| "), maxsplit=1)[0]


def kept_counts(line: str) -> Path:
    """The folder of the counts behind the table of a base; `patches check --resume` continues it."""
    return paths.COUNTED / f"{RUN}-{line}"


def _tables(found: Sequence[CheckedArm]) -> str:
    names = list(dict.fromkeys(name for one in found for name in one.checks))
    head = ["arm", *names]
    rows = [[f"{one.study}/{one.arm}", *(_cell(one, name) for name in names)] for one in found]
    counters = [row for one in found for row in counter_rows(one.study, one.counters)]
    titles = ["counter", "unit", "expected", "arm", "against", "difference", "holds"]
    tables = [_markdown(head, rows), _how_counted(found), _markdown(titles, counters)]
    return "\n\n".join(part for part in tables if part)


def counter_rows(study: str, entries: Sequence[CounterEntry]) -> list[list[str]]:
    """A row each expectation: of the two entries, that of the arm which it begins with."""
    return [
        [
            f"{study}: {entry.name}{f' ({entry.variant})' if entry.variant else ''}",
            entry.unit,
            entry.expected,
            f"{entry.arm_name} {_mean(entry.arm)}",
            f"{entry.base_name} {_mean(entry.base)}",
            f"[{_mean(entry.low)}, {_mean(entry.high)}]",
            _holds(entry),
        ]
        for entry in entries
        if entry.expected.startswith(f"{entry.arm_name} ")
    ]


def _holds(entry: CounterEntry) -> str:
    if entry.fails:
        return f"**no**{_why_not(entry)}{_busy(entry)}"
    return ("yes" if entry.ok else f"not shown: {entry.reason}") + _busy(entry)


def _how_counted(found: Sequence[CheckedArm]) -> str:
    """What the rows of counters have in common; where they differ, each value."""
    all_entries = [entry for one in found for entry in one.counters]
    if not all_entries:
        return ""

    def each(name: str, form: str = "") -> str:
        return " or ".join(format(value, form) for value in sorted({getattr(e, name) for e in all_entries}))

    return (
        f"Counted in {each('origin').upper()}, never a rate: {each('iterations')} boots of each arm, "
        f"{each('threads')} processes. The difference is the arm's mean minus that of the arm it is compared "
        f"with, with its {each('level_pct', '.1f')}% interval."
    )


def _cell(one: CheckedArm, name: str) -> str:
    check = one.checks.get(name)
    if check is None:
        return "-"
    if name == "counts" and check.ok:
        return _counted(one)
    return ("yes" if check.ok else "**no**") + (f", {check.seconds:.0f} s" if check.seconds else "")


def _counted(one: CheckedArm) -> str:
    """Whether what is expected of its counters was counted: of none that fails, how many did not show."""
    if any(entry.fails for entry in one.counters):
        return "**no**"
    missed = sum(not entry.ok for entry in one.counters)
    return f"{missed} of {len(one.counters)} not shown" if missed else "yes"


def row(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(map(row, lines))
