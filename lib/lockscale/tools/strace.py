# SPDX-License-Identifier: MIT
"""strace: the system calls of a load, counted with `strace -c` where two loads differ."""

from lockscale.tools.target_tools import TargetTool, on_path, printed

ON_TARGET = TargetTool(
    name="strace",
    ask=on_path("strace", "strace", "--version"),
    version=printed(r"strace -- version (\S+)"),
    without="loads are measured; their system calls are counted with perf trace",
    get="apt-get install strace",
)
