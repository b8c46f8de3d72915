# SPDX-License-Identifier: MIT
"""The create load of one point: mdtest where the target has it, else fsload, in the same phases."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.targets.machine import Machine
from lockscale.workloads import fsload, mdtest
from lockscale.workloads.rows import Parsed


@dataclass(frozen=True)
class Load:
    """A tool as the runner uses it: a command for (processes, items, phase) and its reader."""

    tool: str
    command: Callable[[int, int, str], list[str]]
    parse: Callable[[str], Parsed]


def choose_load(
    machine: Machine, asked: str, folder: str, program: str | None = None, *, latency: bool = False
) -> Load:
    """The load generator for a study that asks for `auto`, `fsload` or `mdtest`; files in `folder`.

    program: fsload's path on the machine, by default where a guest sees this machine's own. latency:
    fsload times every operation; mdtest does not.
    """
    has_mdtest = machine.run(["sh", "-c", "command -v mdtest && command -v mpirun"]).status == 0
    if asked == "mdtest" and not has_mdtest:
        raise BadInput("the target has no mdtest with mpirun: install IOR >= 3.3, or -p tool=fsload")
    if asked != "fsload" and has_mdtest:
        return Load(
            mdtest.TOOL,
            lambda n, items, phase: mdtest.command(n, items, folder, phase=phase, as_root=True),
            mdtest.parse,
        )
    binary = Path(program) if program else fsload.build(paths.CACHE / "bin")
    return Load(
        fsload.TOOL,
        lambda n, items, phase: fsload.command(
            binary, folder, processes=n, items=items, phase=phase, latency=latency
        ),
        fsload.parse,
    )
