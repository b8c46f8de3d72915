# SPDX-License-Identifier: MIT
"""How often trace events happened, counted in the kernel by histogram triggers.

No perf is needed, and the trace buffer stays empty. Each event is counted in a histogram with the
CPU as its key: so few entries fill no map, as process ids could, and each is written by one CPU
(but the kernel's sum of all hits is one word that all CPUs share, so such a load gives no rate).
Read in the kernel: kernel/trace/trace_events_hist.c (hist_trigger_show, event_hist_trigger_parse)
and trace_events_trigger.c. Needs CONFIG_HIST_TRIGGERS.
"""

import re
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import NOT_STATED, Parsed, event_rows
from lockscale.tools.seal import unsealed

TOOL = "event_counts"
EVENTS = "/sys/kernel/tracing/events"
# Only events that can have a histogram, on a kernel that has histograms, have this file.
AVAILABLE = ("sh", "-c", f"printf '%s\\n' {EVENTS}/*/*/hist")

_KEY = "hist:keys=common_cpu"
# Linux 7.3 prints the name of this key twice (hist_field_print() lacks an else).
_SHOWN = f"{_KEY}(common_cpu)?"  # as grep -E takes it
_READ = f"""cd {EVENTS} || exit
for e; do grep -Eq "^{_SHOWN}:" "$e/trigger" || {{ echo "$e is not being counted" >&2; exit 1; }}; done
for e; do echo {_KEY}:pause >> "$e/trigger" || exit; done
for e; do echo "event $e" && cat "$e/hist" || exit; done"""

_TRIGGER = rf"{_KEY}(?:common_cpu)?:vals=hitcount:sort=hitcount:size=\d+"
_HEAD = rf"# event histogram\n#\n# trigger info: {_TRIGGER} \[(\w+)\]\n#\n\n"
_ENTRY = r"\{ common_cpu: +(\d{1,5}) \} hitcount: +(\d{1,20})\n"
_TOTALS = r"\nTotals:\n    Hits: (\d{1,20})\n    Entries: (\d{1,10})\n    Dropped: (\d{1,20})\n"
_HISTOGRAM = re.compile(f"{_HEAD}((?:{_ENTRY})*){_TOTALS}", re.ASCII)


def check(listing: str, events: Sequence[str]) -> None:
    """BadInput unless the kernel, whose list AVAILABLE printed, can count each `system:name`."""
    known = set(re.findall(rf"^{EVENTS}/([^/*]+/[^/*]+)/hist$", listing, re.MULTILINE))
    if not known:
        raise BadInput("the kernel has no histogram triggers: mount tracefs and set CONFIG_HIST_TRIGGERS")
    missing = [event for event in events if _path(event) not in known]
    if missing:
        raise BadInput(f"the kernel has no event {', '.join(missing)}: boot an observe build")


def start(events: Sequence[str]) -> list[tuple[str, str]]:
    """(file, value) to write: each event `system:name` is counted from zero.

    Opening the file for writing removes the event's earlier histograms (O_TRUNC, hist_unreg_all).
    """
    return [(f"{EVENTS}/{_path(event)}/trigger", f"{_KEY}\n") for event in _some(events)]


def read(events: Sequence[str]) -> list[str]:
    """The command that pauses the counting and prints what parse() reads; it fails before start()."""
    return ["sh", "-c", _READ, "sh", *(_path(event) for event in _some(events))]


def stop(events: Sequence[str]) -> list[tuple[str, str]]:
    """(file, value) that removes the histograms with their counts: read() first."""
    return [(f"{EVENTS}/{_path(event)}/trigger", f"!{_KEY}\n") for event in _some(events)]


def recognise(text: str) -> bool:
    """Whether it begins as what read() prints."""
    return re.match(r"event \w+/\w+\n# event histogram\n", text, re.ASCII) is not None


def parse(text: str, events: Sequence[str]) -> dict[str, int]:
    """Counts of `events` from what read(events) prints; BadInput when they are not all of them.

    The entries of a histogram are held against its totals. Dropped events are in no entry, and a
    histogram that is not paused still changes: both are refused.
    """
    found = re.split(r"^event (.*)\n", text, flags=re.MULTILINE)
    if found[0] or found[1::2] != [_path(event) for event in _some(events)]:
        raise BadInput(f"event counts: the output is not of {', '.join(events)}: count them again")
    return {event: _hits(event, one) for event, one in zip(events, found[2::2], strict=True)}


def _hits(event: str, text: str) -> int:
    match = _HISTOGRAM.fullmatch(text)
    if match is None:
        raise BadInput(f"event counts: the histogram of {event} is cut, or of another kind: count again")
    if match[1] != "paused":
        raise BadInput(
            f"event counts: {event} was read while it was being counted: read it with the "
            f"command that read() returns"
        )
    entries = re.findall(_ENTRY, match[2], re.ASCII)
    hits, rows, dropped = int(match[5]), int(match[6]), int(match[7])
    if dropped:
        raise BadInput(
            f"event counts: {dropped} events of {event} were dropped, their CPUs are unknown: count again"
        )
    if len({int(cpu) for cpu, _ in entries}) != rows or len(entries) != rows:
        raise BadInput(
            f"event counts: {event} does not have the {rows} entries that its totals state: count again"
        )
    if sum(int(count) for _, count in entries) != hits:
        raise BadInput(f"event counts: the entries of {event} do not add up to its {hits} hits: count again")
    return hits


def _some(events: Sequence[str]) -> Sequence[str]:
    if not events or len(set(events)) < len(events):
        raise BadInput("event counts: name at least one event, and each once, such as block:block_rq_issue")
    return events


def _path(event: str) -> str:
    """`system/name`; the name must be one, because the value of a trigger's file is a command."""
    if not re.fullmatch(r"\w+:\w+", event, re.ASCII):
        raise BadInput(f"{event!r} is not a trace event: write system:name, such as block:block_rq_issue")
    return event.replace(":", "/")


def rows(text: str) -> Parsed:
    """A row for each event."""
    body, warnings = unsealed(text)
    events = [name.replace("/", ":", 1) for name in re.findall(r"^event (.*)$", body, re.MULTILINE)]
    counts = event_rows(parse(body, events).items())
    return Parsed(TOOL, NOT_STATED, counts, tuple(warnings))
