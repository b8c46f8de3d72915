# SPDX-License-Identifier: MIT
"""fsload, our own load generator (lib/fsload): build it, run it, read its JSON lines."""

from pathlib import Path

from lockscale.errors import BadInput
from lockscale.paths import FSLOAD
from lockscale.workloads import c_program
from lockscale.workloads.fsload_lines import PHASES, TOOL, parse, recognise

__all__ = ["PHASES", "TOOL", "build", "command", "parse", "recognise"]


def build(out_dir: Path) -> Path:
    """The compiled fsload under `out_dir`; see c_program.build."""
    return c_program.build(TOOL, FSLOAD, out_dir)


def command(
    executable: Path,
    directory: str,
    *,
    processes: int,
    items: int,
    phase: str = "both",
    test: str = "create_unlink",
) -> list[str]:
    """argv of `test`: `items` operations by each of `processes`, in directories under `directory`.

    `phase` is one of `PHASES[test]`, or `both` for all of them; create leaves the files that a later
    remove takes away. BadInput for a test or a phase that fsload does not have.
    """
    if test not in PHASES:
        raise BadInput(f"fsload has no test {test}: use one of {', '.join(PHASES)}")
    if phase not in (*PHASES[test], "both"):
        raise BadInput(f"{test} of fsload has no phase {phase}: use {', '.join(PHASES[test])} or both")
    return [
        str(executable), test, "--dir", directory, "--processes", str(processes),
        "--items", str(items), "--phase", phase,
    ]  # fmt: skip
