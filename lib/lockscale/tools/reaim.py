# SPDX-License-Identifier: MIT
"""reaim (AIM7 and AIM9 in one): find it, read its standard output.

Multi-user: N children do equal jobs at once; single-user (-o): one test after the other, for a period.
reaim calls itself 0.1.0 in its log file only.
"""

import re
from itertools import pairwise

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import (
    LOST_LINES,
    Parsed,
    ParsedRow,
    after_prompt,
    lost_lines,
    parsed,
    rate_row,
    whole,
)
from lockscale.tools.target_tools import TargetTool, on_path

TOOL = "reaim"
ON_TARGET = TargetTool(
    name=TOOL,
    ask=on_path(TOOL),
    version=None,
    without="creat_clo is measured with fsload",
    get="build areaim and put its reaim on PATH",
)
_MULTI = re.compile(r"^Num +Parent +Child +Child +Jobs per +Jobs/min/ +Std_dev +Std_dev +JTI$", re.MULTILINE)
_SINGLE = re.compile(r"^Number +Name +Time\(sec\) +Count +Rate\(loops/s\) +Rate \(ops/sec\)$", re.MULTILINE)
_N = r"([0-9]{1,12}\.[0-9]{2})"
_USERS = re.compile(rf"([0-9]{{1,6}}) +{_N} +{_N} +{_N} +{_N} +{_N} +{_N} +{_N} +(-?[0-9]{{1,3}})")
_MOST = re.compile(rf"Max Jobs per Minute {_N}")
_TEST = re.compile(
    rf"([0-9]{{1,4}}) +([a-z]\w*) +{_N} +([0-9]{{1,12}}) +{_N} +(?:<Uncalibrated>|{_N}) \S.*/second"
)
_OTHER = re.compile(
    r"Forked +Time |Loop number |Job (?:rate|drop) |Current std |Crossover |Max sustained |"
    r"Projected |Actual |Difference: "
)


def recognise(text: str) -> bool:
    """Whether there is the heading of a multi-user or of a single-user run."""
    return any(heading.search(_stripped(text)) for heading in (_MULTI, _SINGLE))


def parse(text: str) -> Parsed:
    """Multi-user: jobs/min of all children and seconds. Single-user: operations and loops a second.

    Of a multi-user run the rows are of test `multiuser` (its output names no test) with statistic
    `total`: the rate, the parent's time, and the CPU time of all children in user mode and the kernel.
    """
    lines = _stripped(text).split("\n")
    headings = [k for k, line in enumerate(lines) if _MULTI.match(line) or _SINGLE.match(line)]
    if len(headings) != 1:
        raise BadInput(f"reaim's heading is in the output {len(headings)} times: give one whole run")
    read = _multi if _MULTI.match(lines[headings[0]]) else _single
    return parsed(TOOL, *read(lines, headings[0] + 1))


def _stripped(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n"))


def _multi(lines: list[str], first: int) -> tuple[list[ParsedRow], list[str]]:
    found: dict[int, list[ParsedRow]] = {}
    warnings: list[str] = []
    most = ""
    for number, line in enumerate(lines[first:], first + 1):
        if match := _USERS.fullmatch(line):
            users = int(match[1])
            if users in found:
                raise BadInput(f"line {number} of reaim's output repeats {users} users: give one whole run")
            found[users] = _users(users, match)
        elif match := _MOST.fullmatch(line):
            most = match[1]
        elif line and not _OTHER.match(line):
            warnings.append(f"line {number} is not understood and is left out")
    rates = [of[0].value for of in found.values()]
    if not most:
        warnings.append("the output ends before reaim finished")
    elif max(rates, default=0.0) != float(most):
        warnings.append(f"the highest rate, {most} jobs per minute, is in none of the lines that were read")
    warnings += lost_lines(_asked(lines[:first]), found, "users")
    return [row for of in found.values() for row in of], warnings


def _users(users: int, match: re.Match[str]) -> list[ParsedRow]:
    seconds, system, user, rate = (float(match[k]) for k in range(2, 6))
    times = [("time", seconds), ("system_cpu_time", system), ("user_cpu_time", user)]
    return [
        ParsedRow("multiuser", users, 1, "rate", "jobs/min", rate, "total"),
        *(ParsedRow("multiuser", users, 1, name, "s", value, "total") for name, value in times),
    ]


def _asked(above: list[str]) -> list[int] | None:
    """The numbers of users that the command line asks for; None where it does not say, or adapts them."""
    argv = next((argv for line in above if (argv := after_prompt(line))), [])
    options = dict(pairwise(argv))
    first, last, step = (whole(options.get(name), 10**5) for name in ("-s", "-e", "-i"))
    if not first or not last or not step or "-t" not in argv:
        return None
    return [*range(first, last, step), last]


def _single(lines: list[str], first: int) -> tuple[list[ParsedRow], list[str]]:
    found: dict[str, list[ParsedRow]] = {}
    warnings: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines[first:], first + 1):
        if match := _TEST.fullmatch(line):
            if match[2] in found:
                raise BadInput(f"line {number} of reaim's output repeats {match[2]}: give one whole run")
            numbers.append(int(match[1]))
            found[match[2]] = _test(match)
        elif line and not _OTHER.match(line):
            warnings.append(f"line {number} is not understood and is left out")
    if sorted(numbers) != [*range(1, len(numbers) + 1)]:
        warnings.append("the numbers of the tests are not consecutive: some tests are missing")
    if not any(line.startswith("Actual Completion time:") for line in lines):
        warnings.append("the output ends before reaim finished")
    return [row for of in found.values() for row in of], [*warnings, LOST_LINES]


def _test(match: re.Match[str]) -> list[ParsedRow]:
    name, loops, operations = match[2], float(match[5]), match[6]
    rows = [ParsedRow(name, 1, 1, "loop_rate", "loops/s", loops, "total")]
    if operations is None:  # <Uncalibrated>
        return rows
    return [rate_row(name, 1, 1, float(operations), "total"), *rows]
