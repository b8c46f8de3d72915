# SPDX-License-Identifier: MIT
"""Reports of the kernel test robot (0day, lkp): a table that compares two commits, and what was run.

As lkp-tests prints it (sbin/compare): each row is a number of the base, its change, the same number of the
patched commit, and the number's name; a change with `%` is relative, one without is a difference. Of a
perf-profile row `calltrace.cycles-pp.a.b.c` is the share of the samples in which `a` was called by `b`, and
that by `c`; `children` and `self` are of one function. Lines that a mailer broke are put together again.

A row whose change is not that of its two numbers is left out with a warning: so no number is of another row.
A mail has a table for each set of parameters, each a Report.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockscale.errors import BadInput, printable
from lockscale.tools.lock_functions import wait_below
from lockscale.tools.lock_profile import LOCK_WAITS, READ_OR_WRITE, SAMPLES, LockProfile
from lockscale.tools.mail_text import TextLine, lines_of, whole_lines
from lockscale.tools.parsed_rows import NOT_STATED, Parsed, ParsedRow, change_fits, with_step
from lockscale.tools.profile_entry import Entry

TOOL = "robot_mail"

_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_SPREAD = r"(?: *(?:±|\+-|\+/-|Â±|\?|\ufffd) *(\d+)%)?"
_NUMBERS = rf" *({_NUMBER}){_SPREAD} +([+-]{_NUMBER}%?) +({_NUMBER}){_SPREAD}"
_ROW = re.compile(rf"{_NUMBERS} +([A-Za-z][\w-]*(?:\.\S+)+)", re.ASCII)
_BEGUN = re.compile(rf" *{_NUMBER}{_SPREAD}(?: +[+-]{_NUMBER}%?(?: +{_NUMBER}{_SPREAD})?)?", re.ASCII)
_NUMBERS_ALONE = re.compile(_NUMBERS, re.ASCII)
_COLUMNS = re.compile(r" *%stddev +%change +%stddev")
_MORE_COLUMNS = re.compile(r" *%stddev(?: +%change +%stddev){2,}")
_COMMIT = re.compile(r" +([0-9a-f]{7,40}|v\d\S*)(?: +\(.*)?", re.ASCII)
_HEADLINE = re.compile(
    r"noticed an?\s+-?(\d+(?:\.\d+)?)%\s+(improvement|regression)\s+(?:of|in)\s+([\w./-]*\w)"
)
_ROUNDED = 0.02  # of a change in percent: a headline's has one digit behind the point, the table's few in all
TIMES = {"time", "latency", "lat", "clat", "slat", "seconds", "ns", "us", "ms", "buildtime"}
_MACHINE = re.compile(r"(?:on test machine|test machine): *(.*)")
_TESTCASE = re.compile(r"(?:in testcase|testcase): *(.*)")
_PARAMETER = re.compile(r" +([a-z][\w-]*): +(\S.*)")
_KEYS = re.compile(r"([a-z_]\w*(?:/[\w-]+)+):")
_PROFILE = re.compile(r"perf-profile\.(calltrace|children|self)\.[\w-]+\.(\S+)")
_LOCK_STAT = re.compile(r"lock_stat\.(.+)\.(\S+)")
_PART = re.compile(r"(?:isra|constprop|part|llvm|lto_priv|cold|\d+)")
_MOST_LINES = 3


@dataclass(frozen=True)
class Metric:
    """One row: base and patched as printed, and the standard deviations over runs, in percent of them."""

    name: str
    line: int
    base: float
    patched: float
    base_sd_pct: float | None = None
    patched_sd_pct: float | None = None


def is_time(metric: str) -> bool:
    """Whether less of it is faster: `fsmark.time.elapsed_time`, not `stress-ng.timer.ops_per_sec`."""
    words = set(re.split(r"[._]", re.split(r"[._]per_", metric)[0]))
    return bool(words & TIMES) and not words & {"ops", "iops", "throughput"}


_OF_THREADS = re.compile(r"\.(\d{1,5})\.(?:processes|threads)$")  # will-it-scale.104.processes


@dataclass(frozen=True)
class Report:
    """One table. headline: the metric in the mail's first sentence; parameters: as the mail lists them.

    higher_is_better: whether more of that metric is faster, as the sentence says of one of its tables.
    """

    line: int
    commits: tuple[str, str]
    metrics: Mapping[str, Metric]
    headline: str = ""
    testcase: str = ""
    machine: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    higher_is_better: bool = True

    @property
    def of_headline(self) -> Metric | None:
        """Its row; the mail's first sentence may leave the test's name out."""
        said = self.headline
        found = [one for name, one in self.metrics.items() if said and f".{name}".endswith(f".{said}")]
        return self.metrics.get(said) or (found[0] if len(found) == 1 else None)

    @property
    def is_regression(self) -> bool:
        """Whether the metric of the headline became worse."""
        of = self.of_headline
        return of is not None and of.patched != of.base and (of.patched < of.base) == self.higher_is_better

    @property
    def cpus(self) -> int | None:
        """Of `64 threads 2 sockets ...`."""
        found = re.match(r"(\d{1,5}) threads", self.machine)
        return int(found[1]) if found else None

    @property
    def threads(self) -> int | None:
        """How many the load ran: nr_threads, nr_task or the like, a number or percent of the CPUs."""
        names = ("nr_threads", "nr_task", "nr_tasks", "nr_processes", "nr_job", "threads", "load")
        said = next((self.parameters[name] for name in names if name in self.parameters), "")
        if found := re.fullmatch(r"(\d{1,5})(%?)(?:cpu|t)?", said):
            if not found[2]:
                return int(found[1])
            if self.cpus:
                return max(1, self.cpus * int(found[1]) // 100)
        in_names = [found[1] for name in self.metrics if (found := _OF_THREADS.search(name))]
        return int(in_names[0]) if len(set(in_names)) == 1 else None

    @property
    def title(self) -> str:
        """Testcase and parameters that tell the table from others."""
        telling = ("test", "nr_threads", "nr_task")
        said = [f"{key}={self.parameters[key]}" for key in telling if key in self.parameters]
        return " ".join([self.testcase, *said]).strip() or self.headline

    def profile(self, *, patched: bool = False) -> LockProfile:
        """The perf-profile and lock_stat rows of the base, or of the patched commit."""
        entries, waits = [], []
        for metric in self.metrics.values():
            value = metric.patched if patched else metric.base
            if found := _PROFILE.fullmatch(metric.name):
                name, *callers = _functions(found[2])
                counts = "self" if found[1] == "self" else "children"
                above = tuple(callers) if found[1] == "calltrace" else None
                kind = wait_below(name, above or ())
                entries.append(Entry(name, metric.line, above, kind, None, counts, value))  # type: ignore[arg-type]
            elif metric.name.startswith("lock_stat."):
                waits.append((metric, value))
        if not (entries or waits):
            raise BadInput(f"the robot's table of line {self.line} has no perf-profile and no lock_stat rows")
        of = SAMPLES if entries else LOCK_WAITS
        rows = tuple(entries) or _lock_waits(waits)
        of_table = (rows, self.title, self.line, None, self.warnings)
        return LockProfile(
            TOOL, of, *of_table, threads=self.threads, commit=self.commits[patched], of_locks=of == LOCK_WAITS
        )


def _functions(dotted: str) -> list[str]:
    """`a.isra.0.b` is `a.isra.0`, `b`."""
    names: list[str] = []
    for part in dotted.split("."):
        if names and _PART.fullmatch(part):
            names[-1] += f".{part}"
        else:
            names.append(part)
    return names


_SIDES = {"R": "read", "W": "write"}
# lkp's names of lock_stat's columns: times in us
_LOCK_COLUMNS = {
    "contentions": ("contentions", 1),
    "waittime-total": ("wait_ns", 1000),
    "waittime-avg": ("mean_ns", 1000),
    "waittime-max": ("max_ns", 1000),
    "acquisitions": ("acquisitions", 1),
    "holdtime-total": ("hold_ns", 1000),
}


def _lock_waits(rows: Sequence[tuple[Metric, float]]) -> tuple[Entry, ...]:
    """An Entry for each lock, and for its readers and its writers where lock_stat has a row of each."""
    by_lock: dict[str, dict[str, float]] = {}
    lines: dict[str, int] = {}
    for metric, value in rows:
        found = _LOCK_STAT.fullmatch(metric.name)
        if found and found[2] in _LOCK_COLUMNS:
            name, scale = _LOCK_COLUMNS[found[2]]
            by_lock.setdefault(found[1], {})[name] = value * scale
            lines.setdefault(found[1], metric.line)
    entries: list[Entry] = []
    for printed, of in by_lock.items():
        lock, _, side = READ_OR_WRITE.sub(r"\0\1", printed).partition("\0")
        entries.append(Entry(lock, lines[printed], kind=_SIDES.get(side), **of))  # type: ignore[arg-type]
    return tuple(entries)


def recognise(text: str) -> bool:
    """Whether a table that compares two commits is in the text."""
    return any(_COLUMNS.match(one.text) for one in lines_of(text))


def parse(text: str) -> list[Report]:
    """Each table in the mail; BadInput where there is none, or one of more than two commits."""
    lines, cut = whole_lines(text)
    heads = [at for at, one in enumerate(lines) if _COLUMNS.match(one.text)]
    if not heads:
        raise BadInput("this is not a report of the test robot: there is no line `%stddev %change %stddev`")
    for at in heads:
        if _MORE_COLUMNS.match(lines[at].text):
            raise BadInput(
                f"line {lines[at].number}: the table has more than two commits: keep only the first and "
                f"one other"
            )
    ends = [*heads[1:], len(lines)]
    plain = "\n".join(one.text for one in lines)
    headline = _HEADLINE.search(plain)
    said = headline[3].rstrip(".") if headline else ""
    before = 0
    found = []
    for head, end in zip(heads, ends, strict=True):
        about = _about(lines[before:head])
        metrics, warnings = _metrics(lines[head + 1 : end])
        if not metrics:
            raise BadInput(f"line {lines[head].number}: the robot's table has no complete row")
        of_table = (metrics, said, *about[1:], (*cut, *warnings))
        found.append(Report(lines[head].number, about[0], *of_table))
        before = head
    higher = _higher_is_better(found, headline)
    return [replace(one, higher_is_better=higher) for one in found]


def _higher_is_better(reports: Sequence[Report], headline: re.Match[str] | None) -> bool:
    """As the headline calls the change of its number in the table that has it; else by the metric's name."""
    for of in (one.of_headline for one in reports if headline):
        pct = 100 * (of.patched / of.base - 1) if of and of.base else 0.0
        if headline and pct and abs(abs(pct) - float(headline[1])) <= 0.1 + _ROUNDED * abs(pct):
            return (pct > 0) == (headline[2] == "improvement")
    return not is_time(reports[0].headline)


def _about(lines: Sequence[TextLine]) -> tuple[tuple[str, str], str, str, dict[str, str]]:
    """Commits, testcase, machine and parameters in the lines above a table; what is nearest counts."""
    commits: list[str] = []
    testcase = machine = ""
    parameters: dict[str, str] = {}
    keys: list[str] = []
    in_parameters = in_commits = False
    for _, line in lines:
        text = line.strip()
        if keys and text:
            values = text.split("/")
            if len(values) == len(keys):
                parameters.update(zip(keys, values, strict=True))
                testcase = parameters.get("testcase", testcase)
            keys = []
        elif found := _KEYS.fullmatch(text):
            keys = found[1].split("/")
        elif found := _TESTCASE.fullmatch(text):
            testcase = found[1]
        elif found := _MACHINE.fullmatch(text):
            machine = found[1]
        elif text in ("parameters:", "with following parameters:"):
            in_parameters = True
        elif text == "commit:":
            in_commits, commits = True, []
        elif in_commits and (found := _COMMIT.fullmatch(line if line.startswith(" ") else f" {line}")):
            commits.append(found[1])
        elif in_parameters and (found := _PARAMETER.fullmatch(line)):
            parameters[found[1]] = found[2].strip()
        elif text:
            in_parameters = in_commits = False
    base, patched = commits[-2:] if len(commits) >= 2 else ("base", "patched")
    return (base, patched), testcase, machine, parameters


def _metrics(lines: Sequence[TextLine]) -> tuple[dict[str, Metric], tuple[str, ...]]:
    """Rows by name; one that is broken, or of which the numbers contradict each other, is a warning."""
    found: dict[str, Metric] = {}
    warnings: list[str] = []
    for number, line in _joined(lines):
        row = _ROW.fullmatch(line)
        if row is None:
            if _NUMBERS_ALONE.match(line):
                warnings.append(
                    f"line {number} is left out, it is not a complete row: {printable(line.strip())}"
                )
            continue
        base, base_sd, change, patched, patched_sd, name = row.groups()
        if not _change_fits(base, change, patched):
            warnings.append(f"line {number} is left out, {change} is not the change from {base} to {patched}")
        elif name in found:
            warnings.append(f"line {number} is left out, {printable(name)} appears above")
        else:
            sd = (float(one) if one else None for one in (base_sd, patched_sd))
            found[name] = Metric(name, number, float(base), float(patched), *sd)
    return found, tuple(warnings)


def _joined(lines: Sequence[TextLine]) -> Iterator[TextLine]:
    """The lines; a row that was broken at a space is one again."""
    at = 0
    while at < len(lines):
        number, line = lines[at]
        taken = 1
        if _BEGUN.match(line) and not _ROW.fullmatch(line):
            for count in range(2, _MOST_LINES + 1):
                whole = " ".join(one.text.strip() for one in lines[at : at + count])
                if _ROW.fullmatch(whole):
                    line, taken = whole, count
                    break
        yield TextLine(number, line)
        at += taken


def _change_fits(base: str, change: str, patched: str) -> bool:
    """Whether the change can be that of the two numbers, each rounded or cut to its last digit."""
    pct = change.rstrip("%")
    (old, of_old), (new, of_new), (by, of_by) = map(with_step, (base, patched, pct))
    if not change.endswith("%"):
        return abs(old + by - new) <= of_old + of_new + of_by
    if old <= of_old:
        return by > 0 or new <= of_new or abs(by) <= 100
    return change_fits(base, patched, pct)


def profiles(text: str) -> list[LockProfile]:
    """The profile that a next patch starts from, of each table that has one; `also` is the other commit's.

    That is the base's of an improvement, and of a regression that of the commit which made it slower.
    """
    read = ("perf-profile.", "lock_stat.")
    reports = parse(text)
    found = [_both(one) for one in reports if any(name.startswith(read) for name in one.metrics)]
    if not found:
        raise BadInput(
            f"the robot's mail has no perf-profile and no lock_stat rows{_its_rate(reports[0])}; "
            "one rate alone leaves the gain wide open"
        )
    return found


def _its_rate(report: Report) -> str:
    """How to give the rate of its headline; a mail has it at one number of threads."""
    of = report.of_headline
    if of is None or report.threads is None or not report.higher_is_better:
        return ": give its rates by hand, -r THREADS:RATE"
    rate = of.patched if report.is_regression else of.base
    return f": give its rate of {of.name} by hand, -r {report.threads}:{rate:g}"


def _both(report: Report) -> LockProfile:
    base, patched = report.commits
    before, after = report.profile(), report.profile(patched=True)
    if not report.is_regression:
        return replace(before, also=after)
    found = replace(after, also=before)
    said = (
        f"the mail is of a regression, and this is the profile of the commit that made it slower, {patched}: "
        f"--table {base} is the one before it"
    )
    return replace(found, warnings=(*found.warnings, said))


def rows(text: str) -> Parsed:
    """Every row, of both commits; `arm` is the commit, and of several tables with its table's number."""
    reports = parse(text)
    found = []
    for number, report in enumerate(reports, 1):
        arms = [f"{number} {one}" if len(reports) > 1 else one for one in report.commits]
        for metric in report.metrics.values():
            of_profile = metric.name.startswith("perf-profile.")
            what = "share" if of_profile else metric.name.rpartition(".")[2]
            unit = "%" if of_profile else NOT_STATED
            test = (metric.name, report.threads, None)
            sides = ((metric.base, metric.base_sd_pct), (metric.patched, metric.patched_sd_pct))
            for arm, (value, sd_pct) in zip(arms, sides, strict=True):
                found.append(ParsedRow(*test, what, unit, value, NOT_STATED, arm))
                if sd_pct is not None:
                    found.append(ParsedRow(*test, what, "%", sd_pct, "relative_sd", arm))
    warnings = dict.fromkeys(warning for one in reports for warning in one.warnings)
    return Parsed(TOOL, NOT_STATED, tuple(found), tuple(warnings))
