# SPDX-License-Identifier: MIT
"""Shares of samples as perf report and perf top print them, or as a mail quotes them.

Read in perf's source: ui/stdio/hist.c (hist_entry__fprintf, callchain__fprintf_graph), ui/browsers/hists.c
(hist_browser__show_callchain_list), util/sort.c. Read are the text of --stdio and a copy of the terminal's
browser (`-`, `+` before a row), with columns Overhead or Children and Self (see perf_report_columns), call
graphs `--N.NN%--func` and `- N.NN% func`, in either order: caller first or callee first.

A text has no sum to check: a lost row is not noticed, a lost line of a call graph is by its indentation.
What stands below a break in a graph is left out, with a warning that names the line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from lockscale.errors import BadInput, printable
from lockscale.tools.call_graph import STEP, Graph, Mark, entries_of
from lockscale.tools.lock_functions import kind_of
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines
from lockscale.tools.perf_report_columns import ReportColumns, columns_of, is_head, without_head
from lockscale.tools.perf_stat import SAID_OF_LOSS, lost_by_perf
from lockscale.tools.profile_entry import Entry, no_time, repeats

TOOL = "perf_report"

_PCT = r"(\d{1,3}\.\d{1,2})%"
_ROW = re.compile(rf" *(?:[-+] )? *(?:\d+ +)*{_PCT}((?: +{_PCT})*) +([^%]*?) *\[[.kguH]\] +(\S.*)", re.ASCII)
_ROW_BEGUN = re.compile(
    rf" *(?:[-+] )? *(?:\d+ +)*{_PCT}(?: +{_PCT})* +(?:[^%\[]*\[?[\w.-]\S*\]?|[^%]*\[[.kguH]\])", re.ASCII
)
_NO_SYMBOL = re.compile(rf" *(?:[-+] )? *(?:\d+ +)*{_PCT}(?: +{_PCT})* +(?:[^%]* )?\[[.kguH]\]", re.ASCII)
_BROKEN_ROW = re.compile(r" *(?:[-+] )?\S*\d\S*% .*\[[.kguH]\] +\S.*", re.ASCII)
_DECIMAL_COMMA = re.compile(r" *(?:[-+] )?\d{1,3},\d\d% .*\[[.kguH]\] +\S.*", re.ASCII)
_ROW_GOES_ON = re.compile(r" *(?:[^%\s]\S* +)?\[[.kguH]\] +\S")  # at its file, or at its symbol
_SAMPLES = re.compile(r" *#? *Samples: *(\d+)([KMG]?)(?: *of events? '([^']*)')?.*")
_DIFF_HEAD = re.compile(r" *#? *Baseline .*\bSymbol\b.*")
_OTHER_HEAD = re.compile(r" *PerfTop: .*|# To display the perf\.data header info.*|# ========")
_NOTHING = re.compile(r" *(?:#.*|[-.]{3}[-. ]*|[ |]*)")
_BRANCH = re.compile(rf"[ |]*?(\||)--(?:{_PCT}--|-) ?(\S.*)", re.ASCII)
_BROWSERS = re.compile(rf" *([-+] +)?(?:{_PCT} +)?(\S.*)", re.ASCII)
_SHARED = re.compile(rf" {{3}} *(?:[-+] +)?{_PCT} +\S.*", re.ASCII)
_FLAT = re.compile(rf" +{_PCT}", re.ASCII)
_COUNTED = re.compile(r"[ |]*--\d+--\S.*", re.ASCII)
_AT_LINE = re.compile(rf"[ |]*(?:--(?:{_PCT}--|-))?\S+ (?:\+\d+|\S+:(?:\d+|\?))(?: \(inlined\))?", re.ASCII)
_BARE = re.compile(rf" *[-+] +{_PCT} +[A-Za-z_]\S*", re.ASCII)
_FOLDED = re.compile(rf"{_PCT} (\S[^;]*(?:;[^;]+)*)", re.ASCII)
_FOLDED_COUNT = re.compile(r"\d+ [^\s;][^;]*(?:;[^;]+)+", re.ASCII)
_NAME = re.compile(
    r"0x[0-9a-f]+|0+|(?!\d)[^\s%|:;,#*-](?:[^\s%|,]*[^\s%|:,;.?!])?(?: \(inlined\))?|\S+[(<].*[>)\w]"
)
_LOST = re.compile(r"^[># ]*Total Lost Samples: *(\d+)", re.MULTILINE | re.ASCII)
_LEAST_MARGIN = 8  # of names in the text form, where a mail moved them to the left
_MULTIPLE = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
# columns behind the symbol: of IPC, a file of the kernel one space behind it, and whatever else
_TAIL = re.compile(r" {2,}.*| +(?:-|\d+\.\d+) .*| \[[\w.-]+\](?: .*)?$")


@dataclass
class _Table:
    """One report as it is read: its rows, each with the call graph below it."""

    line: int
    title: str = ""
    samples: int | None = None
    event: str = ""
    columns: ReportColumns | None = None  # where there is a head
    rows: list[Graph] = field(default_factory=list)
    skipping: bool = False  # the graph of a row that is left out
    in_graph: bool = False  # no empty line since a row or its graph
    warnings: list[str] = field(default_factory=list)
    lost_line: int | None = None

    def lose(self, number: int) -> None:
        """A row that cannot be read; above all others it has the largest share."""
        if not self.rows and self.lost_line is None:
            self.lost_line = number


def recognise(text: str) -> bool:
    """Whether there is a row of perf report or perf top, its head, or a call graph of its browser."""
    lines = lines_of(text)
    rows = (_ROW.fullmatch, _DECIMAL_COMMA.fullmatch, _DIFF_HEAD.fullmatch, is_head)
    return any(is_row(one.text) for one in lines for is_row in rows) or (
        sum(_BARE.fullmatch(one.text) is not None for one in lines) > 1
    )


def profiles(text: str) -> list[LockProfile]:
    """Each report in the text, in its order; BadInput where there is none."""
    lines, warnings = whole_lines(text)
    if diff := next((one.number for one in lines if _DIFF_HEAD.fullmatch(one.text)), None):
        raise BadInput(f"line {diff}: this is perf diff's table: give perf report --stdio of one perf.data")
    warnings = [*warnings, *lost_by_perf(lines)]
    if lost := [one for one in _LOST.findall(text) if int(one)]:
        warnings = [*warnings, f"perf lost {lost[0]} samples: shares may be far off"]
    tables = list(_tables(lines))
    found = [one for table in tables if (one := _profile(table, warnings)).entries]
    if not found:
        if any(_DECIMAL_COMMA.fullmatch(line.text) for line in lines):
            raise BadInput("perf report: its percentages have decimal commas: report with LC_ALL=C")
        left_out = [one for table in tables for one in table.warnings]
        why = left_out[0] if left_out else "no row `N.NN% ... [k] function` found"
        raise BadInput(f"perf report: {why}: give the output of perf report --stdio")
    return found


def _tables(lines: Sequence[TextLine]) -> Iterator[_Table]:
    """The reports in the text: prose, or a new head, between two rows divides them."""
    table = _Table(1)
    for number, line in _unwrapped(lines):
        kind = _kind(line, table)
        if kind in ("head", "prose") and table.rows:
            yield table
            table = _Table(number, table.title if kind == "head" else "")
        if kind == "prose":
            table.title, table.line = line.strip().rstrip(":"), number
        elif kind == "head":
            _read_head(table, line)
        elif kind == "row":
            _read_row(table, number, line)
        elif kind == "broken":
            table.skipping = True
            why = "it has no symbol" if _NO_SYMBOL.fullmatch(line) else "its share is not a number"
            table.warnings.append(f"line {number} is left out, {why}: {printable(line.strip())}")
            table.lose(number)
        elif kind == "graph":
            _read_graph(table, number, line)
        elif table.rows and not line:
            table.rows[-1].ended = table.rows[-1].is_text
        table.in_graph = kind in ("row", "broken", "graph") or (table.in_graph and bool(line))
    if table.rows or table.warnings:
        yield table


def _unwrapped(lines: Sequence[TextLine]) -> Iterator[TextLine]:
    """The lines, a row that a mailer broke before its file or its symbol in one piece."""
    held: TextLine | None = None
    for one in lines:
        line = one
        if held and _goes_on_with(held.text, one.text):
            line = TextLine(held.number, f"{held.text} {one.text.strip()}")
        elif held:
            yield held
        held = line if _ROW_BEGUN.fullmatch(line.text) and not _ROW.fullmatch(line.text) else None
        if not held:
            yield line
    if held:
        yield held


def _goes_on_with(begun: str, line: str) -> bool:
    if _ROW.fullmatch(line):
        return False
    if _NO_SYMBOL.fullmatch(begun):
        return _NAME.fullmatch(_TAIL.sub("", line.strip())) is not None
    return _ROW_GOES_ON.match(line) is not None


def _kind(line: str, table: _Table) -> str:
    if _SAMPLES.fullmatch(line) or is_head(line) or _OTHER_HEAD.fullmatch(line):
        return "head"
    if _NOTHING.fullmatch(line) or SAID_OF_LOSS.fullmatch(line):
        return "nothing"
    if _ROW.fullmatch(line):
        return "row"
    if _BROKEN_ROW.fullmatch(line) or _NO_SYMBOL.fullmatch(line):
        return "broken"
    return "graph" if _is_graph(line, bool(table.rows)) or _goes_on(line, table) else "prose"


def _is_graph(line: str, in_table: bool) -> bool:
    if _BARE.fullmatch(line):
        return True
    if not in_table:
        return False
    text = line.lstrip(" |")
    indented = len(text) < len(line) - STEP
    browsers = _BROWSERS.fullmatch(line)
    shared = browsers is not None and browsers[2] is not None and _NAME.fullmatch(browsers[3]) is not None
    named = browsers is not None and _NAME.fullmatch(browsers[3] if browsers[1] else text) is not None
    folded = _FOLDED.fullmatch(line) or _FOLDED_COUNT.fullmatch(line)
    return bool(_BRANCH.fullmatch(line) or folded or (indented and (shared or named)))


def _goes_on(line: str, table: _Table) -> bool:
    """Whether it stands where the graph above it goes on, whatever it names: C++ puts spaces into names."""
    if not table.in_graph:
        return False
    deep = len(line) - len(line.lstrip(" |")) >= _LEAST_MARGIN
    begun = table.skipping or any(row.roots for row in table.rows[-1:])
    begins = _FLAT.fullmatch(line) or _COUNTED.fullmatch(line)
    return bool((deep and (begun or begins)) or _SHARED.fullmatch(line))


def _read_head(table: _Table, line: str) -> None:
    if found := _SAMPLES.fullmatch(line):
        table.samples = int(found[1]) * _MULTIPLE[found[2]]
        table.event = found[3] or ""
        if ", " in table.event:
            raise BadInput(
                f"perf report: its rows have a percentage for each of {printable(table.event)}: report with "
                "--no-group, or record one event"
            )
    elif is_head(line):
        table.columns = columns_of(line)


def _read_row(table: _Table, number: int, line: str) -> None:
    found = _ROW.fullmatch(line)
    assert found is not None
    columns = table.columns
    shares = [float(one) for one in re.findall(_PCT, line[: found.start(4)])]
    behind = _TAIL.search(found[5])
    of = columns.of_row(found[4], behind[0] if behind else "") if columns else without_head(found[4])
    table.skipping = True
    if of is None or len(shares) not in ((len(columns.shares),) if columns else (1, 2)):
        table.warnings.append(
            f"line {number} is left out, it does not have the columns of its table: {printable(line.strip())}"
        )
    elif shares[0] > 100 or shares[-1] > shares[0]:
        table.warnings.append(
            f"line {number} is left out, {shares[0] if shares[0] > 100 else shares[-1]:g}% is impossible: "
            f"{printable(line.strip())}"
        )
        table.lose(number)
    else:
        table.skipping = False
        children = shares[0] if len(shares) == 2 else None
        name = _clean(found[5][: behind.start()] if behind else found[5])
        table.rows.append(Graph(number, name, of or None, children, shares[-1]))


def _read_graph(table: _Table, number: int, line: str) -> None:
    if table.skipping:
        return
    if not table.rows:
        table.rows.append(Graph(number))
    graph = table.rows[-1]
    if graph.broken_at:
        return
    _refuse_other_graph(number, line)
    if found := _BRANCH.fullmatch(line):
        share = float(found[2]) if found[2] else None
        mark = found.start(1) if found[1] or share is None else found.start(1) - 1
        graph.add_text(Mark(number, mark, found.start(3), share, _clean(found[3]), not found[1]))
    elif found := _FOLDED.fullmatch(line):
        graph.add_folded(number, float(found[1]), [_clean(name) for name in found[2].split(";")])
    elif graph.is_text:
        text = line.lstrip(" |")
        column = len(line) - len(text)
        graph.add_text(Mark(number, column, column, None, _clean(text)))
    else:
        found = _BROWSERS.fullmatch(line)
        assert found is not None
        start = found.start(1) if found[1] else len(line) - len(line.lstrip()) - 2
        share = float(found[2]) if found[2] else None
        graph.add_browsers(Mark(number, start, start, share, _clean(found[3])))


def _refuse_other_graph(number: int, line: str) -> None:
    """Graphs without percentages, and those whose functions are divided by line."""
    graph = f"perf report: line {number}: the call graph"
    if _FLAT.fullmatch(line):
        raise BadInput(f"{graph} is a list of stacks (-g flat): report with -g caller")
    if _COUNTED.fullmatch(line) or _FOLDED_COUNT.fullmatch(line):
        raise BadInput(f"{graph} has no percentages (-g count or period): report with -g caller")
    if _AT_LINE.fullmatch(line):
        raise BadInput(f"{graph} divides functions by address (-g address): report with -g caller")


def _clean(name: str) -> str:
    return name.removesuffix(" (inlined)").strip()


def _profile(table: _Table, sure: Sequence[str]) -> LockProfile:
    found: list[Entry] = []
    for row in table.rows:
        flat = partial(Entry, row.function, row.line, None, kind_of(row.function), row.process)
        if row.children_pct is not None:
            found.append(flat("children", row.children_pct))
        if row.self_pct is not None:
            found.append(flat("self", row.self_pct))
    branches, warnings = entries_of(table.rows)
    found = sorted([*found, *branches], key=lambda one: one.line)
    return LockProfile(
        TOOL,
        "on-CPU samples",
        tuple(found),
        table.title or table.event,
        table.line,
        table.samples,
        (*sure, *table.warnings, *warnings, *repeats(found), *no_time(table.event)),
        lost_line=table.lost_line,
    )
