# SPDX-License-Identifier: MIT
"""The lines of mdtest's output, before anybody says what they mean."""

import math
import re
import shlex
from dataclasses import dataclass, field
from itertools import pairwise

from lockscale.errors import BadInput

BANNER = re.compile(r"^mdtest-(\S+) was launched with (\d+) total task\(s\) on \d+ node\(s\)", re.M)
_COMMAND = "Command line used: "
_TASKS = re.compile(r"(\d+) tasks, (\d+) (?:files?|directories|files/directories)")
_ITERATION = re.compile(r"V-1: (?:Rank +0 Line +\d+ )?main: \* iteration (\d+) \*")
_NUMBER = r" +(\d{1,15}\.\d{3})"
_NAME = r"(File|Directory) (creation|stat|read|rename|removal) *:?"
_RESULT = re.compile(
    rf"V-1: (?:Rank +0 Line +\d+ )? +{_NAME}{_NUMBER} sec,{_NUMBER} ops/sec",
)
_SUMMARY = re.compile(r"SUMMARY (rate|time)(?: \(in [^)]*\))?: \(of (\d+) iterations\)")
_SUMMARY_ROW = re.compile(rf" +{_NAME}{_NUMBER * 4}")
_LOOKS_LIKE_ROW = re.compile(r"(V-1: .*)? {2,}(File|Directory) [a-z]+\b.*\d|.*ops/sec")
_TREE = re.compile(r".*Tree (creation|removal)\b")
_PHASES = {"creation": "create", "removal": "remove"}
_FLAGS = {"C": "creation", "T": "stat", "E": "read", "r": "removal"}


@dataclass(frozen=True)
class Result:
    """One result line: its number, the test, the numbers on it, and its iteration if it has one."""

    line: int
    test: str
    values: tuple[float, ...]
    iteration: int | None = None


@dataclass
class Run:
    """What one run was asked to do, and its result lines."""

    version: str
    tasks: int
    tests: frozenset[str] = frozenset()
    repeats: int = 1
    verbose: bool = False
    items_total: int = 0
    iterations: list[Result] = field(default_factory=list)
    summary: list[Result] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read(text: str) -> Run:
    """The lines of one run; BadInput for none, for two, or for a run over several task counts."""
    banners = list(BANNER.finditer(text))
    if len(banners) != 1:
        raise BadInput(f"mdtest's banner is in the output {len(banners)} times: give one whole run")
    run = Run(banners[0][1], _whole(banners[0][2]))
    lines = [line.rstrip() for line in text.split("\n")]
    _read_command(run, lines)
    _read_tasks(run, lines)
    _read_results(run, lines)
    if not any(line.startswith("-- finished at ") for line in lines):
        run.warnings.append("the output ends before mdtest finished")
    return run


def _whole(digits: str) -> int:
    if len(digits) > 15:
        raise BadInput("mdtest's output is damaged: a count has more than 15 digits")
    return int(digits)


def _read_command(run: Run, lines: list[str]) -> None:
    """The phases asked for, -i and -v, from the command line that mdtest repeats."""
    used = [line[len(_COMMAND) :] for line in lines if line.startswith(_COMMAND)]
    try:
        argv = shlex.split(used[0]) if len(used) == 1 else []
    except ValueError:
        argv = []
    if not argv:
        raise BadInput("mdtest's output does not repeat its command line: give the whole output")
    letters = set("".join(word[1:] for word in argv if re.fullmatch("-[A-Za-z]+", word)))
    for word, value in pairwise(argv):
        if word == "-i":
            run.repeats = _whole(value) if re.fullmatch(r"[1-9]\d*", value) else 0
    if not run.repeats:
        raise BadInput("mdtest's command line has no number after -i: its output is damaged")
    names = [name for letter, name in _FLAGS.items() if letter in letters] or [*_FLAGS.values()]
    both = {"D", "F"} <= letters
    kinds = [k for k, other in (("File", "D"), ("Directory", "F")) if both or other not in letters]
    asked = {_test(kind, name) for kind in kinds for name in names}
    run.tests = frozenset(asked - {"dir_read"})  # mdtest has no such phase
    run.verbose = "v" in letters


def _test(kind: str, name: str) -> str:
    phase = _PHASES.get(name, name)
    return phase if kind == "File" else f"dir_{phase}"


def _read_tasks(run: Run, lines: list[str]) -> None:
    counts = [match for line in lines if (match := _TASKS.fullmatch(line))]
    if len(counts) != 1 or _whole(counts[0][1]) != run.tasks or not run.tasks:
        raise BadInput("mdtest's output does not hold one task count: give a whole run without -f")
    run.items_total = _whole(counts[0][2])


def _read_results(run: Run, lines: list[str]) -> None:
    iteration, section = 0, ""
    for number, line in enumerate(lines, 1):
        if match := _ITERATION.fullmatch(line):
            iteration = _next_iteration(run, iteration, _whole(match[1]))
        elif match := _SUMMARY.fullmatch(line):
            section = _summary_section(run, match)
        elif match := _RESULT.fullmatch(line):
            _add(run.iterations, number, match, iteration)
        elif section == "rate" and (match := _SUMMARY_ROW.fullmatch(line)):
            _add(run.summary, number, match, None)
        elif section != "time" and _LOOKS_LIKE_ROW.match(line) and not _TREE.match(line):
            run.warnings.append(f"line {number} is not understood and is left out")


def _next_iteration(run: Run, before: int, now: int) -> int:
    if now != before + 1 or now > run.repeats:
        raise BadInput(f"mdtest's iteration {now} follows {before}: its output is damaged")
    return now


def _summary_section(run: Run, match: re.Match[str]) -> str:
    if _whole(match[2]) != run.repeats:
        raise BadInput("mdtest's summary is not over the -i of its command line: give a whole run")
    if match[1] == "time":
        run.warnings.append("the summary of times is left out: its unit differs from its heading")
    return match[1]


def _add(results: list[Result], number: int, match: re.Match[str], iteration: int | None) -> None:
    test = _test(match[1], match[2])
    values = tuple(float(value) for value in match.groups()[2:])
    if iteration == 0 or any((r.test, r.iteration) == (test, iteration) for r in results):
        raise BadInput(f"line {number} of mdtest's output repeats a result or has no iteration")
    results.append(Result(number, test, values, iteration))


def warn_missing(found: int, expected: int, what: str, warnings: list[str]) -> None:
    """Says so when fewer results than expected were kept."""
    if found < expected:
        warnings.append(f"only {found} of {expected} {what} could be read")


def is_summary_of(n: int, most: float, least: float, mean: float, sd: float, *, sample_sd: bool) -> bool:
    """Whether n values with this max, min, mean and standard deviation can exist.

    Each is printed to three decimals. The bounds on the sum of squares: the other n - 2 values all
    equal (least), and Bhatia and Davis's (max - mean)(mean - min) (most); for n <= 3 the two meet.
    A change that moves the implied deviation by less than it is printed to cannot be seen.
    """
    if not least - 0.001 <= mean <= most + 0.001:
        return False
    if n == 1:
        return most == least == mean and sd == 0
    rest = n * mean - most - least
    slack = 0.001 * (n + 2)
    if not (n - 2) * least - slack <= rest <= (n - 2) * most + slack:
        return False
    others = (rest - (n - 2) * mean) ** 2 / (n - 2) if n > 2 else 0.0
    lowest = (most - mean) ** 2 + (mean - least) ** 2 + others
    highest = n * (most - mean) * (mean - least) if n > 3 else lowest
    divisor = n - 1 if sample_sd else n
    low, high = math.sqrt(lowest / divisor), math.sqrt(max(highest, 0.0) / divisor)
    return low - 0.01 <= sd <= high + 0.01
