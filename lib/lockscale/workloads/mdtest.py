# SPDX-License-Identifier: MIT
"""mdtest (from IOR): find it, run it, read it."""

import os

from lockscale.errors import BadInput
from lockscale.target_tools import TargetTool, on_path, printed, tried
from lockscale.workloads import mdtest_lines, mdtest_ranks
from lockscale.workloads.mdtest_rows import check_version, rows_of
from lockscale.workloads.rows import Parsed

TOOL = "mdtest"


def command(
    processes: int,
    items: int,
    directory: str,
    *,
    phase: str = "both",
    executable: str = "mdtest",
    as_root: bool | None = None,
    preload: str = "",
) -> list[str]:
    """argv of S1's test, one iteration: `items` files a process, each in its own directory.

    `phase` is create, remove or both. `as_root` (default: whether we are) is Open MPI's leave to
    run as root; --oversubscribe is its leave to start more processes than cores. preload: a library
    for the ranks alone.
    """
    flags = {"create": ["-C"], "remove": ["-r"], "both": ["-C", "-r"]}
    if phase not in flags:
        raise BadInput(f"mdtest has no phase {phase}: use create, remove or both")
    root = os.geteuid() == 0 if as_root is None else as_root
    rank = ["env", f"LD_PRELOAD={preload}", executable] if preload else [executable]
    return [
        "mpirun", *(["--allow-run-as-root"] if root else []), "--oversubscribe",
        "-np", str(processes), *rank, "-n", str(items), "-d", directory,
        "-F", *flags[phase], "-u", "-i", "1", "-v",
    ]  # fmt: skip


def recognise(text: str) -> bool:
    """Whether there is mdtest's banner, or the header of its csv of rank details."""
    return mdtest_lines.BANNER.search(text) is not None or mdtest_ranks.recognise(text)


def parse(text: str) -> Parsed:
    """Rates in ops/s and times in s per phase, named by what they mean in the version that ran."""
    if mdtest_ranks.recognise(text):
        return mdtest_ranks.parse(text)
    check_version(mdtest_lines.banner(text)[0])
    run = mdtest_lines.read(text)
    rows = rows_of(run)
    if not rows:
        reason = f": {run.warnings[0]}" if run.warnings else ""
        raise BadInput(f"nothing could be read from mdtest's output{reason}")
    return Parsed(TOOL, run.version, tuple(rows), tuple(run.warnings))


def _version(text: str) -> str:
    """Only a run tells it."""
    version, _ = mdtest_lines.banner(text)
    check_version(version)
    return version


ON_TARGET = TargetTool(
    name=TOOL,
    ask=tried(TOOL, command(1, 1, "t", as_root=True)),
    version=_version,
    without="creates and removes are measured with fsload, and the rows say so",
    get="build IOR >= 3.2, which has mdtest",
)
MPIRUN = TargetTool(
    name="mpirun",
    ask=on_path("mpirun", "mpirun", "--version"),
    version=printed(r"mpirun \(Open MPI\) (\S+)"),
    without="mdtest cannot be started: creates and removes are measured with fsload",
    get="apt-get install openmpi-bin",
)
