# SPDX-License-Identifier: MIT
"""mds-survey (lustre-iokit): find it, run it on an MDS, read its summary or its .detail file.

It prints no version and not what it was asked to do: command() prints the command line above its output.
"""

from collections.abc import Sequence
from itertools import pairwise

from lockscale.errors import BadInput
from lockscale.target_tools import Part, TargetTool, on_path, printed
from lockscale.workloads import mds_survey_detail as detail
from lockscale.workloads import mds_survey_summary as summary
from lockscale.workloads.command_line import shown
from lockscale.workloads.rows import NOT_STATED, Parsed

TOOL = "mds-survey"
TESTS = summary.TESTS
ON_TARGET = TargetTool(
    name=TOOL,
    ask=on_path(TOOL, "lctl", "--version"),
    version=printed(r"lctl (\S+)"),
    without="creates and removes are measured with mdtest or fsload, through the file system and no MDS",
    get="install lustre-iokit on a Lustre MDS",
    parts=[Part("lctl", on_path("lctl"), "mds-survey ends at once")],
)


def command(
    threads: Sequence[int], files: int, dirs: int, *, tests: Sequence[str] = ("create", "destroy")
) -> list[str]:
    """argv of a survey, as root on the MDS: `files` in all, in `dirs` directories, by each of `threads`.

    mds-survey doubles the threads and leaves out numbers below `dirs`; its first test has to be create
    and its last destroy. It leaves .summary, .detail and others under /tmp.
    """
    if not threads or any(after != 2 * before for before, after in pairwise(threads)):
        raise BadInput("mds-survey doubles its threads: ask for numbers such as 4, 8, 16")
    if not 1 <= dirs <= threads[0] or files < threads[-1]:
        raise BadInput("mds-survey needs a thread for each directory and a file for each thread")
    if len(tests) < 2 or (tests[0], tests[-1]) != ("create", "destroy") or not set(tests) <= set(TESTS):
        raise BadInput(f"mds-survey begins with create and ends with destroy: choose from {', '.join(TESTS)}")
    told = {"thrlo": threads[0], "thrhi": threads[-1], "file_count": files, "dir_count": dirs}
    words = [f"{name}={value}" for name, value in told.items()]
    return shown(["env", *words, f"tests_str={' '.join(tests)}", "mds-survey"])


def recognise(text: str) -> bool:
    """Whether there is a line of results of the summary, or the heads of the .detail file."""
    return summary.recognise(text) or detail.recognise(text)


def parse(text: str) -> Parsed:
    """Rates in ops/s over the whole of a test, and of its slowest and fastest second.

    Of one MDT `total`, `total_interval_min`, `total_interval_max`; of several, in the summary
    `per_mdt_mean`, `mdt_interval_min`, `mdt_interval_max`, in .detail `mdt0`, `mdt0_interval_min`, ...
    `threads` works on each MDT at once.
    """
    rows, warnings = detail.read(text) if detail.recognise(text) else summary.read(text)
    if not rows:
        why = warnings[0] if warnings else "it has no line of results"
        raise BadInput(f"nothing could be read from mds-survey's output: {why}")
    return Parsed(TOOL, NOT_STATED, tuple(rows), tuple(warnings))
