# SPDX-License-Identifier: MIT
"""fio: find it, read its JSON (--output-format=json or json+).

Its file engines time an open with O_CREAT, a stat or an unlink of each file; no data is written. fio
takes times in whole milliseconds, so a rate from a short run is coarse.

With group_reporting an entry adds up the jobs of its group: rate = operations of all / the longest job's
time (sum_thread_stats() in stat.c); without it an entry is one process. What was asked for stands in
"global options" and "job options". fio 2 gave latencies in other units and is refused.
"""

import re
from dataclasses import dataclass
from typing import Any, TypeVar

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import Parsed, ParsedRow, parsed, rate_row, strict_json, whole
from lockscale.tools.target_tools import Part, TargetTool, on_path, printed

TOOL = "fio"
VERSION = re.compile(r"fio-(3\.[0-9]{1,3}(?:\.[0-9]{1,3})?(?:-[0-9]{1,5}-g[0-9a-f]{4,40})?(?:-dirty)?)")
ENGINES = {
    "filecreate": "create", "filestat": "stat", "filedelete": "remove",
    "dircreate": "dir_create", "dirstat": "dir_stat", "dirdelete": "dir_remove",
}  # fmt: skip
DIRECTIONS = ("read", "write", "trim")
PERCENTILES = {"50.000000": "p50", "99.000000": "p99"}

Value = dict[str, Any]
T = TypeVar("T")


class _Damaged(Exception):
    """Numbers of a job that are missing or strange; the message says which."""


@dataclass(frozen=True)
class _Entry:
    """One entry of "jobs" and its options; `threads` is None where it may stand for any number."""

    value: Value
    options: dict[str, str]
    whose: str
    threads: int | None

    @property
    def phase(self) -> str | None:
        """What a file engine does; None for an engine that moves data."""
        return ENGINES.get(self.options.get("ioengine", ""))


def recognise(text: str) -> bool:
    """Whether there is the version, as fio's JSON writes it."""
    return re.search(r'^ *"fio version" : "', text, re.MULTILINE) is not None


def parse(text: str) -> Parsed:
    """Rates in ops/s and completion latencies in ns (mean, max, p50, p99) of each phase or direction.

    `total` with group_reporting, else `rank<k>`. A file engine's test is create, stat or remove;
    another's is the job's name with read, write or trim.
    """
    value, notes = _json(text)
    said = value.get("fio version")
    if not isinstance(said, str):
        raise BadInput("this is not fio's JSON: it has no fio version")
    version = VERSION.fullmatch(said)
    if version is None:
        raise BadInput(f"{said[:40]!r} is not known: this reads fio 3")
    rows: list[ParsedRow] = []
    warnings: list[str] = []
    for number, job in enumerate(_jobs(value), 1):
        try:
            entry = _entry(value, job)
            found = [row for name in DIRECTIONS for row in _rows(entry, name)]
            if {_key(row) for row in found} & {_key(row) for row in rows}:
                raise _Damaged("an earlier job has the same name and position")
            rows += found
        except _Damaged as error:
            warnings.append(f"job {number} is left out: {error}")
    return parsed(TOOL, rows, [*warnings, *notes], version[1])


def _key(row: ParsedRow) -> tuple[str, str, str]:
    return row.test, row.metric, row.statistic


def _json(text: str) -> tuple[Value, list[str]]:
    """fio's one JSON object; it may print notes above it, in the same file."""
    lines = f"\n{text}\n"
    start, end = lines.find("\n{\n"), lines.rfind("\n}\n") + len("\n}\n")
    try:
        value = strict_json(lines[max(start, 0) : end])
    except (ValueError, RecursionError):
        raise BadInput(
            "this is not fio's JSON, or not all of it: run fio with --output-format=json"
        ) from None
    if not isinstance(value, dict):
        raise BadInput("fio's JSON is not an object: run fio with --output-format=json")
    noted = (lines[: max(start, 0)] + lines[end:]).strip()
    return value, ["fio printed messages around its JSON: read them"] if noted else []


def _jobs(value: Value) -> list[Value]:
    jobs = value.get("jobs")
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise BadInput("fio's JSON has no list of jobs: run it with --output-format=json")
    return jobs


def _of(value: Value, key: str, kind: type[T]) -> T:
    """The value of a key; a number is finite, not negative, and no larger than fio's own are."""
    found = value.get(key)
    if type(found) is not kind or (isinstance(found, int | float) and not 0 <= found < 1 << 64):
        raise _Damaged(f"{key} is missing or invalid")
    return found


def _options(value: Value, job: Value) -> dict[str, str]:
    shared, own = value.get("global options", {}), job.get("job options", {})
    if not isinstance(shared, dict) or not isinstance(own, dict):
        raise _Damaged("its options are not a JSON object")
    if own.get("name") != job.get("jobname"):  # written first; the engine last
        raise _Damaged("its options have another name or none")
    return {name: str(option) for name, option in {**shared, **own}.items()}


def _entry(value: Value, job: Value) -> _Entry:
    """The entry, with the processes that it stands for checked as far as fio's JSON allows."""
    if _of(job, "error", int):
        raise _Damaged("fio reported an error for it")
    options = _options(value, job)
    processes = whole(options.get("numjobs", "1"), 10**6)
    group = [other for other in _jobs(value) if other.get("groupid") == _of(job, "groupid", int)]
    clones = [other for other in group if other.get("jobname") == _of(job, "jobname", str)]
    if options.get("group_reporting", "0") == "0":
        if len(clones) != processes:
            raise _Damaged(f"there are {len(clones)} entries with its name for numjobs={processes}")
        whose = f"rank{[other is job for other in clones].index(True)}"
        return _Entry(job, options, whose, len(group))
    return _Entry(job, options, "total", processes if options.get("ioengine") in ENGINES else None)


def _rows(entry: _Entry, direction: str) -> list[ParsedRow]:
    counts = _of(entry.value, direction, dict)
    operations = _of(counts, "total_ios", int)
    if not operations:
        return []
    latency = _of(counts, "clat_ns", dict)
    test = entry.phase or f"{_of(entry.value, 'jobname', str)} {direction}"
    kept = _of(latency, "N", int)
    if entry.phase and (operations != _asked(entry) or kept not in (0, operations)):
        raise _Damaged("it does not have one operation and one latency for each requested file")
    return [
        rate_row(test, entry.threads, 1, _of(counts, "iops", float), entry.whose),
        *(
            ParsedRow(test, entry.threads, 1, "completion_latency", "ns", value, f"{entry.whose}_{name}")
            for name, value in _latencies(latency, entry.options).items()
        ),
    ]


def _asked(entry: _Entry) -> int:
    """Files x processes x loops of a file engine."""
    here = (entry.threads or 1) if entry.whose == "total" else 1
    files, loops = (whole(entry.options.get(name, "1")) for name in ("nrfiles", "loops"))
    if not files or not loops:
        raise _Damaged("the number of files or loops in its options is damaged")
    return files * here * loops


def _latencies(clat: Value, options: dict[str, str]) -> dict[str, float]:
    """Mean, max and percentiles in ns, where latencies were kept; a percentile is a bin's, within 1/32."""
    if not clat["N"]:
        return {}
    bins = _of(clat, "percentile", dict) if "percentile" in clat else {}
    wanted = {k: name for k, name in PERCENTILES.items() if k in bins or "percentile_list" not in options}
    found = {name: float(_of(bins, key, int)) for key, name in wanted.items() if bins}
    return {"mean": _of(clat, "mean", float), "max": float(_of(clat, "max", int)), **found}


PHASES = {"create": "filecreate", "stat": "filestat", "remove": "filedelete"}
ON_TARGET = TargetTool(
    name=TOOL,
    ask=on_path(TOOL, TOOL, "--version"),
    version=printed(r"fio-(\S+)"),
    without="creates and removes are measured with mdtest or fsload; stats of files are not measured",
    get="apt-get install fio",
    parts=[
        Part(
            f"the engine {engine}",
            ["sh", "-c", 'fio --enghelp | grep -qw "$1"', "sh", engine],
            f"fio does not measure the {phase} of files",
        )
        for phase, engine in PHASES.items()
    ],
)
