# SPDX-License-Identifier: MIT
"""fsload, our own load generator (lib/fsload): build it, run it, read its JSON lines."""

from pathlib import Path

from lockscale.errors import BadInput
from lockscale.paths import FSLOAD
from lockscale.target_tools import TargetTool, tried
from lockscale.workloads import c_program
from lockscale.workloads.fsload_lines import PHASES, TOOL, parse, recognise

__all__ = ["PHASES", "TOOL", "build", "command", "on_target", "parse", "recognise"]


def build(out_dir: Path, *, static: bool = False) -> Path:
    """The compiled fsload under `out_dir`; see c_program.build.

    static: it brings its C library along, for a machine that may have an older one.
    """
    return c_program.build(TOOL, FSLOAD, out_dir, ["-static"] if static else [])


def command(
    executable: Path,
    directory: str,
    *,
    processes: int | None = None,
    threads: int | None = None,
    items: int | None = None,
    seconds: float | None = None,
    phase: str = "both",
    test: str = "create_unlink",
    containers: int | None = None,
    pin: bool = False,
    latency: bool = False,
) -> list[str]:
    """argv of `test` by each of `processes` or `threads`, in directories under `directory`.

    Each does `items` operations, or as many as it can in `seconds`; then a later phase does what the
    first did. `phase` is one of `PHASES[test]`, or `both` for all of them; create leaves the files that
    a later remove takes away. `containers` share the workers out, each with a cgroup v2 and a directory
    of its own. `pin` keeps each worker on one CPU. `latency` times every operation, which costs it two
    reads of the clock. BadInput for what fsload does not have.
    """
    if test not in PHASES:
        raise BadInput(f"fsload has no test {test}: use one of {', '.join(PHASES)}")
    if phase not in (*PHASES[test], "both"):
        raise BadInput(f"{test} of fsload has no phase {phase}: use {', '.join(PHASES[test])} or both")
    if (processes is None) == (threads is None) or (items is None) == (seconds is None):
        raise BadInput("fsload takes processes or threads, and items or seconds: give one of each two")
    options = {
        "processes": processes, "threads": threads, "items": items, "seconds": seconds,
        "phase": phase, "containers": containers,
    }  # fmt: skip
    flags = {"pin": pin, "latency": latency}
    return [
        str(executable), test, "--dir", directory,
        *(word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))),
        *(f"--{name}" for name, on in flags.items() if on),
    ]  # fmt: skip


def on_target(executable: Path) -> TargetTool:
    """What to ask a target about the fsload that build() gave."""
    return TargetTool(
        name=TOOL,
        ask=tried(str(executable), command(executable, ".", processes=1, items=1)),
        version=lambda text: parse(text).version,
        without="",
        get=f"let the target see {executable.parent}",
    )
