# SPDX-License-Identifier: MIT
"""The columns of perf report: which the head names, and of which samples a row is.

Read in perf's source: ui/hist.c (the shares), util/sort.c (the sort keys). A row of `--sort comm,sym` is of
one process, one of `--sort cpu,sym` of one CPU: no sample is in two such rows of one function. Columns that
say more of the function, as its file, and those that count, as Samples, divide no samples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput, printable

_SHARES = ("Overhead", "Children", "Self")
_IN_ORDER = (("Overhead",), ("Children", "Self"))
_UTILIZATION = ("sys", "usr", "guest sys", "guest usr")
_LATENCY = ("Latency",)
_COUNTS = ("Samples", "Period")
_OF_SAMPLES = (
    *("Command", "Pid:Command", "Command: Pid", "Tid:Command", "Pid", "Tid", "CPU", "Socket", "Parallelism"),
    *("Parent symbol", "Cgroup", "cgroup id (dev/inode)", "Time", "Transaction", "Weight", "Local Weight"),
)
_OF_FUNCTIONS = ("Shared Object", "Shared", "Object", "Source:Line", "Source File", "Type")
_SYMBOL = "Symbol"
_KNOWN = (*_SHARES, *_UTILIZATION, *_LATENCY, *_COUNTS, *_OF_SAMPLES, *_OF_FUNCTIONS, _SYMBOL)
_COLUMN = re.compile(
    "(?:{}) *(?: |$)".format("|".join(map(re.escape, sorted(_KNOWN, key=len, reverse=True)))).replace(
        r"\ ", " +"
    )
)
_HEAD = re.compile(r"(?=.*\b(?:Overhead|Children|Self)\b)( *#? *)([A-Z]\w*.*\bSymbol\b.*)")
_SEPARATED = re.compile(r"[A-Z]\w+ *([^\w\s:])")
_NESTED = re.compile(r" / .*\bSymbol\b")
_FIELDS = "report with --fields overhead,comm,dso,sym"


@dataclass(frozen=True)
class ReportColumns:
    """Names of columns: the percentages, those between them and the symbol, and those behind it."""

    shares: tuple[str, ...]
    before: tuple[str, ...]
    behind: tuple[str, ...]

    def of_row(self, before: str, behind: str) -> str | None:
        """Of which process, thread, CPU, ... a row's samples are, empty where its columns do not say it;
        None where the row has other columns. Given is what stands before and behind its symbol."""
        cells = _cells(before)
        if len(cells) < len(self.before):  # a mailer left one space between columns
            words = before.split()
            cells = words if len(words) <= len(self.before) else []
        found: list[str] = []
        for names, has in ((self.before, cells), (self.behind, re.split(r" {2,}", behind.strip()))):
            wanted = [at for at, name in enumerate(names) if name in _OF_SAMPLES]
            if wanted and wanted[-1] >= len(has):
                return None
            found += [has[at] for at in wanted]
        return " ".join(found)


def without_head(before: str) -> str:
    """The process of a row of which no head is there: the first of several columns, less those that count."""
    cells = _cells(before)
    while cells and cells[0].isdecimal():
        del cells[0]
    return cells[0] if len(cells) > 1 and not cells[0].startswith("[") else ""


def _cells(text: str) -> list[str]:
    """Columns are two spaces apart, in a mail perhaps one; that of a kernel object begins with a bracket."""
    return re.split(r" {2,}| (?=\[)", text.strip()) if text.strip() else []


def is_head(line: str) -> bool:
    """Whether a line names the columns of a report; prose has no columns."""
    found = _HEAD.fullmatch(line)
    return found is not None and ("#" in found[1] or "  " in found[2] or _names(found[2])[1] == "")


def _names(text: str) -> tuple[list[str], str]:
    """The known columns from the left, and what follows them."""
    found: list[str] = []
    while one := _COLUMN.match(text):
        found.append(re.sub(" +", " ", one[0].strip()))
        text = text[one.end() :].lstrip()
    return found, text


def columns_of(head: str) -> ReportColumns:
    """The columns that a head names; BadInput where the numbers below it would be taken for others."""
    text = head.strip("# ")
    names, unknown = _names(text)
    if separated := _SEPARATED.match(text):
        raise BadInput(
            f"perf report: its columns are separated by {separated[1]!r}: report without --field-separator"
        )
    if _NESTED.search(text):
        raise BadInput("perf report: rows of several levels are not supported: report without --hierarchy")
    if _SYMBOL not in names:
        column = printable(re.split(r" {2,}", unknown)[0])
        raise BadInput(f"perf report: the column {column} is not known: {_FIELDS}")
    at = names.index(_SYMBOL)
    before, behind = names[:at], [*names[at + 1 :], *re.split(r" {2,}", unknown)]
    _refuse_other_shares(before)
    shares = [place for place, name in enumerate(before) if name in _SHARES]
    first, end = (shares[0], shares[-1] + 1) if shares else (0, 0)
    counts_first = set(before[:first]) <= set(_COUNTS)
    if tuple(before[first:end]) not in _IN_ORDER or not counts_first or set(behind) & set(_SHARES):
        raise BadInput(f"perf report: its first columns are not Overhead, or Children and Self: {_FIELDS}")
    return ReportColumns(tuple(before[first:end]), tuple(before[end:]), tuple(behind))


def _refuse_other_shares(names: Sequence[str]) -> None:
    """Of time in the kernel and of latency: they look like those of samples."""
    shown = printable("  ".join(name for name in names if name in (*_SHARES, *_UTILIZATION, *_LATENCY)))
    if set(names) & set(_UTILIZATION):
        raise BadInput(
            f"perf report: the columns {shown} are not supported: report without --showcpuutilization"
        )
    if set(names) & set(_LATENCY):
        raise BadInput(f"perf report: the column Latency is not supported: {_FIELDS}")
