# SPDX-License-Identifier: MIT
"""Call graphs below the rows of perf report, from their lines to who called whom.

A graph is drawn callee first (the row's function, below it who called it) or caller first; nothing in the
text says which. Lines hang on each other by their columns alone: where a column fits nowhere a line was
lost, and the graph ends there with a warning.

In the text form each level is eleven columns deeper, however many digits the share has, and names without a
share go on in the column of the level. In the browser's form (hists.c: LEVEL_OFFSET_STEP) it is three.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lockscale.tools.lock_functions import function_of, kind_of, wait_below
from lockscale.tools.profile_entry import Counts, Entry

STEP = 3
TEXT_STEP = 11
_OUTERMOST = re.compile(
    r"entry_SYSCALL_64\w*|do_syscall_64|x64_sys_call|ret_from_fork\w*|kthread|main|_?_?libc_start\w+|_start"
    r"|start_thread|secondary_startup_64\w*|asm_sysvec_\w+|el0t?_\w+|__GI___clone\w*|clone3?|system_call\w*"
)
_ADDRESS = re.compile(r"0x|0+$")
MOST_LINES = 5  # that one sentence names
_ROUNDING = 0.006  # of each share, printed to a hundredth

Direction = Literal["callee first", "caller first"]


@dataclass
class Branch:
    """Names in a column, with one share; `children` hang on the last of them."""

    column: int  # what children's marks, or names that go on, stand in
    line: int
    share_pct: float | None
    names: list[str]
    children: list["Branch"] = field(default_factory=list)
    goes_on: int | None = None  # in the browser's form: the column of further names


class Mark(NamedTuple):
    """A line of a graph: where its mark is, where its name is, the share if it has one."""

    line: int
    mark: int
    column: int
    share_pct: float | None
    name: str
    ends: bool = False  # no branch of the same level is below it, as its mark says


@dataclass
class Graph:
    """A row and what is below it. function: empty where a mail left the row out."""

    line: int
    function: str = ""
    process: str | None = None
    children_pct: float | None = None
    self_pct: float | None = None
    roots: list[Branch] = field(default_factory=list)
    broken_at: int | None = None
    is_text: bool = False
    margin: int | None = None  # the column of the roots
    ended: bool = False  # no root may follow
    _open: list[Branch] = field(default_factory=list)

    @property
    def share_pct(self) -> float | None:
        return self.self_pct if self.children_pct is None else self.children_pct

    def add_text(self, one: Mark) -> None:
        """A line of the text form, `|--10.00%--func`, `---func` or a name that goes on."""
        self.is_text = True
        is_branch = one.mark < one.column
        while self._open and self._open[-1].column != (one.mark if is_branch else one.column):
            self._open.pop()
        if is_branch:
            self.margin = one.mark if self.margin is None else self.margin
            inner = one.mark + TEXT_STEP if one.share_pct is not None else one.column
            at_root = one.mark == self.margin
            self._hang(one._replace(column=inner), at_root=at_root and not self.ended)
            self.ended = self.ended or (at_root and one.ends)
        elif self._open:
            self._open[-1].names.append(one.name)
        else:
            self.broken_at = one.line

    def add_browsers(self, one: Mark) -> None:
        """A line of the browser's form, `- 10.00% func`; a name without a share goes on."""
        if one.share_pct is None and self.roots:
            while self._open and one.mark not in (self._open[-1].goes_on, self._open[-1].column + STEP):
                self._open.pop()
            if not self._open or (self._open[-1].children):
                self.broken_at = one.line
                return
            self._open[-1].goes_on = one.mark
            self._open[-1].names.append(one.name)
            return
        while self._open and (self._open[-1].goes_on or self._open[-1].column) + STEP != one.mark:
            self._open.pop()
        self.margin = one.mark if self.margin is None else self.margin
        self._hang(one, at_root=one.mark == self.margin)

    def add_folded(self, line: int, share_pct: float, names: Sequence[str]) -> None:
        """A line of `-g folded`."""
        self.roots.append(Branch(-1, line, share_pct, list(names)))

    def _hang(self, one: Mark, at_root: bool) -> None:
        branch = Branch(one.column, one.line, one.share_pct, [one.name])
        if self._open:
            self._open[-1].children.append(branch)
        elif at_root:
            self.roots.append(branch)
        else:
            self.broken_at = one.line
            return
        self._open.append(branch)


def _families(graph: Graph) -> Iterator[tuple[float, list[Branch]]]:
    """(share, those among which it is divided) for the row and every branch."""
    stack: list[tuple[float | None, list[Branch]]] = [(graph.share_pct, graph.roots)]
    while stack:
        share, branches = stack.pop()
        if share is not None and any(one.share_pct is not None for one in branches):
            yield share, branches
        stack += [(share if one.share_pct is None else one.share_pct, one.children) for one in branches]


def _overflows(share: float, branches: Sequence[Branch]) -> bool:
    return sum(one.share_pct or 0.0 for one in branches) > share + _ROUNDING * (len(branches) + 1)


def _is_relative(graphs: Sequence[Graph]) -> bool:
    """Whether shares are of the parent's share (`-g fractal`, the form of perf before 4.4)."""
    families = [(share, branches) for graph in graphs for share, branches in _families(graph) if share < 99.9]
    over = sum(_overflows(share, branches) for share, branches in families)
    fit = all(sum(one.share_pct or 0.0 for one in branches) < 100.5 for _, branches in families)
    return fit and over > len(families) / 2


def _make_absolute(share: float | None, branches: Sequence[Branch]) -> None:
    for one in branches:
        if one.share_pct is not None and share is not None:
            one.share_pct *= share / 100
        _make_absolute(share if one.share_pct is None else one.share_pct, one.children)


def _paths(branches: Sequence[Branch], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Each way from a root to the end of a branch without children."""
    for one in branches:
        path = (*above, *map(function_of, one.names))
        if one.children:
            yield from _paths(one.children, path)
        else:
            yield path


def _direction(graphs: Sequence[Graph]) -> Direction | None:
    """By where the row's function stands, and where functions that nobody calls do; None if they disagree."""
    callee = caller = 0  # votes for whom a graph begins with
    for graph in graphs:
        function = function_of(graph.function)
        leaf = graph.children_pct is None or graph.children_pct == graph.self_pct
        for path in _paths(graph.roots):
            if len(path) < 2:
                continue
            ends = [bool(_OUTERMOST.fullmatch(path[0])), bool(_OUTERMOST.fullmatch(path[-1]))]
            callee += (path[0] == function and leaf) + 2 * (ends == [False, True])
            caller += (path[-1] == function != path[0]) + 2 * (ends == [True, False])
            caller += bool(kind_of(path[-1]) and not kind_of(path[0]))
            callee += bool(kind_of(path[0]) and not kind_of(path[-1]))
    if not (callee or caller):
        return "caller first" if any(one.children_pct is not None for one in graphs) else "callee first"
    if callee > 3 * caller:
        return "callee first"
    return "caller first" if caller > 3 * callee else None


def entries_of(graphs: Sequence[Graph]) -> tuple[list[Entry], list[str]]:
    """An entry for each branch of the graphs of one table, and warnings of what is left out."""
    graphs = [one for one in graphs if one.roots]
    warnings = [
        f"line {one.broken_at}: the call graph of {one.function or 'a row'} lost a line above it: "
        "it is left out from there on"
        for one in graphs
        if one.broken_at
    ]
    if _is_relative(graphs):
        warnings.append(
            "percentages in the call graphs are relative to the line above: they were "
            "converted to percentages of the total"
        )
        for one in graphs:
            _make_absolute(one.share_pct, one.roots)
    direction = _direction(graphs) if graphs else "callee first"
    if direction is None:
        return [], [*warnings, "call graphs are left out: cannot tell whether callers or callees come first"]
    found: list[tuple[str, Entry]] = []
    astray: list[int] = []
    for one in graphs:
        other = _of_other_rows(one, direction)
        over = next((branches for share, branches in _families(one) if _overflows(share, branches)), None)
        if other:
            astray.append(other[0].line)
            one.roots = [root for root in one.roots if root not in other]
        if over:
            warnings.append(
                f"line {over[0].line}: the call graph is left out: its branches add up to more than 100%"
            )
        else:
            found += [(one.function, entry) for entry in _entries(one, direction)]
    if astray:
        lines = ", ".join(map(str, astray[:MOST_LINES])) + ", ..." * (len(astray) > MOST_LINES)
        warnings.append(
            f"line{'s' * (len(astray) > 1)} {lines}: branches that do not end in their row's function are "
            "left out; perf report --percent-limit 0 prints what is missing of them"
        )
    return _each_path_once(found), warnings


def _each_path_once(found: Sequence[tuple[str, Entry]]) -> list[Entry]:
    """Of a path that the graphs of two functions show, the larger share: those are the same samples.

    A whole report has the rows of a path's functions too, which hold both; an excerpt may not. Two rows of
    one function are of different samples, as of two CPUs.
    """
    shown: dict[tuple[str | None, tuple[str, ...]], dict[str, float]] = {}
    for function, one in found:
        if one.counts == "children":
            most = shown.setdefault((one.process, one.path), {})
            most[function] = max(most.get(function, 0.0), one.share_pct or 0.0)
    of = {key: max(most, key=most.__getitem__) for key, most in shown.items()}
    return [
        one for function, one in found if one.counts != "children" or function == of[one.process, one.path]
    ]


def _of_other_rows(graph: Graph, direction: Direction) -> list[Branch]:
    """Roots of a row that was lost; the text form shows where a graph ends, the browser's does not."""
    own = [root for root in graph.roots if _is_of_row(graph.function, root, direction)]
    return [] if graph.is_text and own else [root for root in graph.roots if root not in own]


def _is_of_row(function: str, root: Branch, direction: Direction) -> bool:
    """Whether a graph begins, or drawn caller first ends, at the row's function; addresses tell nothing.

    That of a row is in its file, those of its graph are in memory; perf prints 0 without 0x.
    """
    name, first = function_of(function), function_of(root.names[0])
    if not name or name == first or any(map(_ADDRESS.match, (name, first))):
        return True
    return direction == "caller first" and any(path[-1] == name for path in _paths([root]))


def _entries(graph: Graph, direction: Direction) -> list[Entry]:
    """Each branch; of a row without children, drawn caller first, its ends, each a path to the function."""
    found: list[Entry] = []
    itself = graph.children_pct is None and bool(graph.function)
    counts: Counts = "self" if itself else "children"

    def walk(branches: Sequence[Branch], share: float | None, above: tuple[str, ...]) -> None:
        for one in branches:
            of = share if one.share_pct is None else one.share_pct
            path = (*above, *one.names)
            end = path[0] if direction == "callee first" else path[-1]
            other = itself and function_of(end) != function_of(graph.function)
            if direction == "callee first":
                ends = [path] if len(path) > 1 and not other else []
            elif itself:
                ends = [] if one.children or other else [path[::-1]]
            else:
                ends = [path[:end][::-1] for end in range(len(above) + 1, len(path) + 1)]
            for name, *callers in ends:
                if of is not None and name != "[...]" and (callers or not graph.function):
                    kind = wait_below(name, callers)
                    entry = Entry(name, one.line, tuple(callers), kind, graph.process, counts, of)
                    found.append(entry)
            walk(one.children, of, path)

    walk(graph.roots, graph.share_pct, ())
    return found
