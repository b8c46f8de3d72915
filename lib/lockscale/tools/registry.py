# SPDX-License-Identifier: MIT
"""Every tool that is known, one line each; of the output of any of them the long-form rows, or the profiles.

A text that no reader reads is several outputs in one file, or a form that is not read: the error says which.
"""

import codecs
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from lockscale.errors import BadInput, near, printable
from lockscale.tools import (
    bpf_histogram,
    changelog_table,
    event_counts,
    ext4_stats,
    fio,
    folded,
    fsload,
    ftrace_cost,
    function_graph,
    klockstat,
    lock_events,
    lock_stat,
    mds_survey,
    mdtest,
    mmtests,
    perf_lock,
    perf_record,
    perf_report,
    perf_stat,
    reaim,
    robot_mail,
    stack_counts,
    target_tools,
    will_it_scale,
    xfstests,
)
from lockscale.tools.lock_profile import SLEEP, LockProfile, chosen
from lockscale.tools.mail_text import unquoted
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, ParsedRow, rows_of
from lockscale.tools.profile_entry import Entry
from lockscale.tools.target_tools import LoadProfiler, TargetTool


class Reader(NamedTuple):
    """Whether a text is of the tool, and its rows."""

    recognise: Callable[[str], bool]
    parse: Callable[[str], Parsed]


@dataclass(frozen=True)
class Tool:
    """A tool: how it is read, how a target is asked for it, and how a study profiles with it.

    profiles: each profile in a text, for the predictor.
    on_load: of a profiler that a study may ask for; it gets what `asks` prints on the machine, how many
    CPUs that has, and the functions that the study names.
    """

    name: str
    reader: Reader | None = None
    on_target: Sequence[TargetTool] = ()
    on_load: Callable[[str, int, Sequence[str]], LoadProfiler] | None = None
    asks: Sequence[str] = ()
    profiles: Callable[[str], list[LockProfile]] | None = None


def tool_of(module: Any, *on_target: TargetTool, **more: Any) -> Tool:
    """By the module's TOOL, recognise, rows or else parse, and, where it has them, profiles and on_load.

    One that has neither rows nor parse is read as the one profile in its text.
    """
    more |= {name: getattr(module, name, None) for name in ("profiles", "on_load")}
    reads = getattr(module, "rows", None) or getattr(module, "parse", None)
    reads = reads or (lambda text: rows_of_profile(module.TOOL, module.profiles(text)))
    return Tool(module.TOOL, Reader(module.recognise, reads), on_target, **more)


_PERF = replace(perf_stat.ON_TARGET, parts=(*perf_lock.PARTS, *perf_record.PARTS))
TOOLS = (
    tool_of(mdtest, mdtest.ON_TARGET, mdtest.MPIRUN),
    tool_of(mds_survey, mds_survey.ON_TARGET),
    tool_of(will_it_scale, will_it_scale.ON_TARGET),
    tool_of(reaim, reaim.ON_TARGET),
    tool_of(fio, fio.ON_TARGET),
    tool_of(fsload),  # a target is asked for it by fsload.on_target(), once it is compiled
    tool_of(changelog_table),
    tool_of(mmtests),
    tool_of(perf_stat, _PERF),
    tool_of(perf_lock, asks=perf_lock.CONTENTION_HELP),
    *map(tool_of, (perf_report, folded, stack_counts, klockstat, bpf_histogram, robot_mail)),
    Tool(
        perf_record.SCRIPT,
        Reader(perf_record.recognise, lambda text: perf_record.rows(perf_record.parse(text))),
        profiles=lambda text: [perf_record.profile_of(perf_record.parse(text))],
    ),
    Tool(perf_record.TOOL, on_load=perf_record.on_load, asks=perf_record.COUNTS_CYCLES),
    tool_of(ftrace_cost, ftrace_cost.ON_TARGET),
    Tool(ftrace_cost.TABLE, Reader(ftrace_cost.recognise_table, ftrace_cost.rows_of_table)),
    tool_of(function_graph),
    tool_of(event_counts),
    tool_of(lock_stat, lock_stat.ON_TARGET),
    tool_of(lock_events, lock_events.ON_TARGET),
    tool_of(ext4_stats, ext4_stats.ON_TARGET),
    Tool(xfstests.TOOL, on_target=(xfstests.ON_TARGET,)),
    Tool("strace", on_target=(target_tools.STRACE,)),
)
READERS = {tool.name: tool.reader for tool in TOOLS if tool.reader}
PROFILERS = {tool.name: tool for tool in TOOLS if tool.on_load}
"""What a study may name under `profilers`."""
TARGET_TOOLS = tuple(one for tool in TOOLS for one in tool.on_target)
"""What a target is asked for."""

# Lines that may begin an output whose reader looks at the beginning of a text only.
_MAY_BEGIN = re.compile(
    r"^(?:lock_stat version |event \w|==> /|mballoc:|#group: |fc stats:|\d+ transactions \(|stats:|"
    r'[ \t]*\{"tool":| {2}Function +Hit|rank,items,|(?:.*/)?(?:lock|rwsem|pv)_[a-z_0-9]+:\d|'
    r" *\S.{0,60} \d+\.\d{6,9}: )",
    re.MULTILINE,
)
_STACKS = re.compile(r"(?:^[^;\s#%@][^;\n%]*(?:;[^;\n%]+)+ \d+$\n?){2}", re.MULTILINE)
"""Two folded stacks, one below the other."""
_LONGEST_HEAD = 400
_HEAD_BYTES = 1 << 16
_IN_PROSE = {changelog_table.TOOL, mmtests.TOOL}  # read from a mail, whatever is around them
GZIP = b"\x1f\x8b"
MOST_TEXT_BYTES = 128 << 20  # of what is read whole
MOST_BYTES = 16 << 30  # of a pipe, which is copied
LEAST_HASH = 6  # digits that are taken for a commit's
_JSON = "use --output-format=json"
_FORMS = [
    (r"\A\s*\Z", "the text is empty: if the tool prints to standard error, redirect it (2>&1)"),
    (r"\APERFILE", "this is perf.data: give what perf report --stdio or perf script prints of it"),
    (
        r"\0",
        "this is no text, as it contains NUL bytes; if it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8",
    ),
    (r"^ Performance counter stats for ", "this is perf stat's human-readable table: count with -j"),
    (
        r'^(?:\{"interval" :| +\d+\.\d{9}[,; ])',
        "perf stat's interval counts are not supported: count without -I",
    ),
    (
        r'^(?:\{"(?:cpu|thread|core|cluster|cache|die|node|socket)" :|'
        r"(?:CPU\d+|N\d+|S\d+(?:-[A-Z]+\d+)*),[\d<])",
        "perf stat's counts of single CPUs, nodes or threads are not supported: count without -A and --per-*",
    ),
    (
        r"^[\d.]+([^\s\w,.])[A-Za-z/%]*\1[A-Za-z][\w:/-]*\1\d+\1\d+\.\d\d",
        "these are perf stat's counts with a separator other than a comma: count with -x, or -j",
    ),
    (
        r"^ *\S.*: *\d[\d.]*(?: +\d[\d.]*){7,} *$",
        "this has rows as /proc/lock_stat has them, but not with the twelve numbers of version 0.4, or with "
        "other lines beside them: give the whole file with its header, or its rows alone",
    ),
    (r"^@\w*(?:\[.*\])?: \d+$", f"this is a bpftrace map without stacks: print {stack_counts.FORM}"),
    (r"^\d;fio-\d", f"this is fio's terse output: {_JSON}"),
    (r"^(?:fio-\d\.\d+\S*$|\S.*: \(g=\d+\): rw=)", f"this is fio's human-readable output: {_JSON}"),
]


def recognise(text: str) -> str:
    """The tool that printed `text`; BadInput when none did, or more than one."""
    text = unquoted(text)
    whole = {name for name, reader in READERS.items() if reader.recognise(text)}
    heads = [text[found.start() : found.start() + _LONGEST_HEAD] for found in _MAY_BEGIN.finditer(text)]
    begun = {name for head in heads for name, reader in READERS.items() if reader.recognise(head)}
    begun |= {folded.TOOL} if whole and _STACKS.search(text) else set()
    names = sorted(whole | begun)
    if len(names) > 1:
        choose = ", or choose one with --tool" if len(set(names) - _IN_PROSE) < 2 else ""
        raise BadInput(f"the text contains output of {', '.join(names)}: give one at a time{choose}")
    if not whole:
        form = next((what for form, what in _FORMS if re.search(form, text, re.MULTILINE)), None)
        first = printable(next((line.strip() for line in text.splitlines() if line.strip()), ""))
        hint = "give everything that the tool printed, or name the tool with --tool (--tool help lists them)"
        raise BadInput(form or f"no known tool prints what begins with {first!r}: {hint}")
    return names[0]


def parse(text: str, tool: str | None = None, table: str | int | None = None) -> Parsed:
    """Rows of `text`, printed by `tool` or by whichever tool is recognised; BadInput otherwise.

    table: of several tables of a profiler in the text, the one of this number, from 1, or title.
    """
    text = unquoted(text)
    name = _of_reader(tool, READERS) if tool else recognise(text)
    if table is None:
        return READERS[name].parse(text)
    if name == perf_lock.TOOL:
        return perf_lock.rows(text, table)
    return rows_of_profile(name, profiles_of(text, name), table)


_PRINTS = dict.fromkeys(("offcputime", "profile", "bpftrace"), "stack_counts, and with -f folded")
_PRINTS |= dict.fromkeys(("lockstat", "proc_lock_stat"), "lock_stat") | {"perf_top": "perf_report"}


def _of_reader(tool: str, known: Iterable[str]) -> str:
    """Whose output a tool's is read as: `perf report` is perf_report. BadInput, with a hint, for another."""
    wanted = _spelt(tool)
    found = next((name for name in READERS if _spelt(name) == wanted), None)
    if found:
        return found
    hint = f": its output is {_PRINTS[wanted]}" if wanted in _PRINTS else near(tool, known)
    raise BadInput(f"tool {printable(tool)} is not known{hint}")


def _spelt(tool: str) -> str:
    return re.sub(r"[\s-]+", "_", tool.strip().lower())


def rows_of_profile(tool: str, profiles: Sequence[LockProfile], table: str | int | None = None) -> Parsed:
    """Rows of the one profile, or of the one that `table` names; BadInput that lists them else."""
    one = chosen(profiles, table)
    share_of = "time" if one.of == SLEEP else "samples"
    rows = tuple(row for entry in one.entries for row in _rows(entry, share_of))
    return Parsed(tool, NOT_STATED, rows, one.warnings)


def _rows(entry: Entry, share_of: str) -> list[ParsedRow]:
    name = " < ".join((entry.name, *(entry.callers or ())))
    numbers = [
        (share_of, entry.counts or "", "%", entry.share_pct),
        ("contentions", "total", "events", entry.contentions),
        ("wait", "total", "ns", entry.wait_ns),
        ("wait", "mean", "ns", entry.mean_ns),
        ("wait", "max", "ns", entry.max_ns),
        ("acquisitions", "total", "events", entry.acquisitions),
        ("hold", "total", "ns", entry.hold_ns),
    ]
    return rows_of(
        name, *(Number(of, who, unit, value) for of, who, unit, value in numbers if value is not None)
    )


def profiles_of(text: str, tool: str | None = None) -> list[LockProfile]:
    """Each profile in `text`, in its order; BadInput where its tool does not say who waits."""
    known = {one.name: one.profiles for one in TOOLS if one.profiles}
    text = unquoted(text)
    name = _of_reader(tool, known) if tool else recognise(text)
    if name not in known:
        raise BadInput(
            f"the output of {name} does not say who waits for a lock: give that of {', '.join(known)}; for a "
            "cost per function add --model"
        )
    return known[name](text)


def profile_of(text: str, table: str | int | None = None, tool: str | None = None) -> LockProfile:
    """The profile in `text`; where there are several the one of this number, from 1, or title."""
    found = profiles_of(text, tool)
    of_commits = [one for each in found for one in (each, each.also) if one and one.commit]
    if of_commits and (named := _of_commit(found, str(table))):
        return named
    try:
        return chosen(found, table)
    except BadInput as error:
        if not of_commits:
            raise
        commits = ", ".join(dict.fromkeys(one.commit for one in of_commits))
        raise BadInput(f"{error}; or a commit: {commits}") from None


def _of_commit(found: Sequence[LockProfile], asked: str) -> LockProfile | None:
    """By `COMMIT`, or `NUMBER COMMIT` where several tables have it; None where nothing is asked so."""
    number, _, commit = asked.strip().rpartition(" ")
    tables = found[int(number) - 1 : int(number)] if number.isdecimal() and int(number) else found
    named = [
        one
        for table in tables
        for one in (table, table.also)
        if one and one.commit and len(commit) >= LEAST_HASH
        if one.commit.startswith(commit) or commit.startswith(one.commit)
    ]
    if len(named) > 1:
        raise BadInput(
            f'{len(named)} tables are of {printable(commit)}: add the number, --table "1 {printable(commit)}"'
        )
    return named[0] if named else None


def parse_file(path: Path, tool: str | None = None, table: str | int | None = None) -> Parsed:
    """The same of a file, or of standard input for `-`; perf script's may be larger than the memory."""
    with _opened(path) as stream:
        head = stream.read(_HEAD_BYTES).decode(errors="replace")
        stream.seek(0)
        if tool == perf_record.SCRIPT or (tool is table is None and perf_record.recognise(head)):
            return perf_record.rows(perf_record.fold(stream))
        return parse(_decoded(stream), tool, table)


def file_name(path: Path) -> str:
    """What messages call a file that a tool's output is read from, `-` too."""
    return "standard input" if str(path) == "-" else printable(str(path))


def text_of(path: Path) -> str:
    """What a tool printed into a file, without the mark of UTF-8. Raises BadInput for UTF-16."""
    with _opened(path) as stream:
        return _decoded(stream)


def _decoded(stream: BinaryIO) -> str:
    if stream.seek(0, io.SEEK_END) > MOST_TEXT_BYTES:
        raise BadInput(f"this is larger than {MOST_TEXT_BYTES >> 20} MiB: give a report, not raw samples")
    stream.seek(0)
    with io.TextIOWrapper(stream, encoding="utf-8", errors="replace") as text:
        return text.read()


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file from their start, to be read again and again, without the mark of UTF-8."""
    piped = str(path) == "-"
    if not piped and (path.is_char_device() or path.is_block_device()):
        raise BadInput("this is a device: save the tool's output and name that file")
    try:
        source = nullcontext(sys.stdin.buffer) if piped else path.open("rb")
    except OSError as error:
        raise BadInput(f"{error.strerror}: give the path of a text file") from None
    with source as stream, tempfile.TemporaryFile() as copy:
        start = stream.read(len(codecs.BOM_UTF8))
        if start.startswith(GZIP):
            raise BadInput("this is compressed: unpack it with gunzip")
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise BadInput("the text is UTF-16: convert it with iconv -f UTF-16 -t UTF-8")
        if stream.seekable() and not piped and start != codecs.BOM_UTF8:
            stream.seek(0)
            yield stream
        else:
            copy.write(start.removeprefix(codecs.BOM_UTF8))
            while block := stream.read(1 << 20):
                copy.write(block)
                if copy.tell() > MOST_BYTES:  # a pipe may not end
                    raise BadInput(
                        f"this is larger than {MOST_BYTES >> 30} GiB: give a report, or a part of it"
                    )
            copy.seek(0)
            yield copy
