# SPDX-License-Identifier: MIT
"""will-it-scale: find a test case, run it on the file system under test, read what it prints.

Its output names neither a version nor the number of tasks; command() prints the command line above it,
from which the reader takes the tasks and whether they are processes or threads.
"""

import posixpath
import shlex

from lockscale.errors import BadInput
from lockscale.target_tools import Part, TargetTool
from lockscale.workloads.command_line import shown
from lockscale.workloads.rows import NOT_STATED, Parsed
from lockscale.workloads.will_it_scale_csv import HEADER, csv_rows
from lockscale.workloads.will_it_scale_lines import MAX_TASKS, TITLE, run_rows

TOOL = "will-it-scale"
PLACES = ('"$WILL_IT_SCALE"', "/opt/will-it-scale", "/usr/lib/will-it-scale", '"$HOME/will-it-scale"')
# The file tests write to /tmp/willitscale.XXXXXX, whatever /tmp is: it has to be the tested file system.
_IN_PRIVATE_TMP = r"""mount --bind "$1" /tmp || exit 3
found=$(findmnt -n -o FSTYPE --mountpoint /tmp | tail -n 1)
[ "$found" = "$2" ] || { echo "/tmp is ${found:-not mounted}, not $2" >&2; exit 3; }
shift 2; exec "$@" """


def find_command(testcase: str = "fallocate2") -> list[str]:
    """argv that prints the folder of a built will-it-scale on the machine it runs on, or nothing."""
    wanted = shlex.quote(f"{testcase}_processes")
    tries = "; ".join(f"if [ -x {place}/{wanted} ]; then echo {place}; exit; fi" for place in PLACES)
    return ["sh", "-c", tries]


def command(
    executable: str,
    directory: str,
    fs_type: str,
    *,
    tasks: int,
    seconds: int = 5,
    affinity: bool = True,
) -> list[str]:
    """argv of a test case (`.../fallocate2_processes`) with `directory` mounted on /tmp; run it as root.

    The mount is private to the command, and nothing starts unless /tmp is then an `fs_type`. `seconds`
    are measured after 6 of warm-up. Without `affinity` the tasks are not pinned to cores (-n).
    """
    if not 1 <= tasks <= MAX_TASKS or seconds < 1:
        raise BadInput(f"will-it-scale takes 1 to {MAX_TASKS} tasks and at least 1 second")
    if not posixpath.isabs(executable) or posixpath.normpath(executable).startswith("/tmp/"):
        raise BadInput(f"{executable}: give an absolute path outside /tmp, which is mounted over")
    argv = [executable, "-t", str(tasks), "-s", str(seconds), *([] if affinity else ["-n"])]
    return ["unshare", "-m", "sh", "-c", _IN_PRIVATE_TMP, "sh", directory, fs_type, *shown(argv)]


def recognise(text: str) -> bool:
    """Whether there is runtest.py's header or a test case that warms up."""
    return HEADER.search(text) is not None or TITLE.search(text) is not None


def parse(text: str) -> Parsed:
    """Rates in ops/s, of a test case's binary or of runtest.py's CSV.

    Binary: over the measured seconds `total_mean`, `total_min` and `total_max`, and of one task
    `ranks_min` and `ranks_max`; a second's line has no number, so no row is of one second. CSV, which
    does not name its test case: `total_mean` of the processes and of the threads, and how idle the
    machine's CPUs were in %.
    """
    rows, warnings = csv_rows(text) if HEADER.search(text) else run_rows(text)
    if not rows:
        why = warnings[0] if warnings else "it has no test case"
        raise BadInput(f"nothing could be read from will-it-scale's output: {why}")
    return Parsed(TOOL, NOT_STATED, tuple(rows), tuple(warnings))


ON_TARGET = TargetTool(
    name=TOOL,
    ask=find_command(),
    version=None,
    without="fallocate2 is measured with fsload's fallocate2",
    get="build will-it-scale and set WILL_IT_SCALE to its folder",
    parts=[
        Part(
            "unshare and findmnt",
            ["sh", "-c", "command -v unshare && command -v findmnt"],
            "its tests cannot be put on the tested file system",
        )
    ],
    variables=["WILL_IT_SCALE", "HOME"],
)
