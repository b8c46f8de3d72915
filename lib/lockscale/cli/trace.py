# SPDX-License-Identifier: MIT
"""`lockscale sim --trace`: its options, and the file they ask for."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from lockscale.errors import BadInput

if TYPE_CHECKING:
    from lockscale.sim.trace import Trace

Command = TypeVar("Command", bound=Callable[..., object])
FOR_US = 1000.0


def trace_options(command: Command) -> Command:
    """--trace, --trace-from-us and --trace-for-us."""
    file = click.Path(dir_okay=False, path_type=Path)
    command = click.option(
        "--trace-for-us", type=float, help=f"How long the trace lasts.  [default: {FOR_US:g}]"
    )(command)
    command = click.option(
        "--trace-from-us", type=float, help="Its start, from the end of the warm-up.  [default: 0]"
    )(command)
    return click.option(
        "--trace", type=file, help="Who holds, spins and sleeps: .json for Perfetto, .html a timeline."
    )(command)


class Wanted(NamedTuple):
    """A trace that is asked for, and can be made as far as one can tell beforehand."""

    file: Path
    from_us: float
    for_us: float

    def run(
        self, model: str, threads: int, given: Mapping[str, object], *, seed: int, operations: int
    ) -> "Trace":
        """Trace the first of the replications; raises BadInput for more than the file's viewer can show."""
        from lockscale.progress import progress
        from lockscale.report.timeline import check_size
        from lockscale.sim.trace import trace

        with progress(f"trace {model}", 1) as shown:
            found = trace(
                model,
                threads,
                given,
                from_us=self.from_us,
                for_us=self.for_us,
                seed=seed,
                operations=operations,
                on_size=functools.partial(check_size, self.file),
            )
            shown.update(1, f"{len(found.spans)} spans")
        return found

    def write(self, found: "Trace") -> dict[str, Any]:
        """Write the file; returns what `lockscale sim --json` says of it."""
        from lockscale.report.timeline import save_trace
        from lockscale.sim.delays import PS_PER_US

        save_trace(found, self.file)
        if found.cut:
            click.echo(f"warning: {found.cut}", err=True)
        return {
            "file": str(self.file),
            "from_us": found.from_ps / PS_PER_US,
            "to_us": found.to_ps / PS_PER_US,
            "spans": len(found.spans),
            "holds": len(found.holds),
            "cut": found.cut,
        }


def trace_wanted(
    file: Path | None, from_us: float | None, for_us: float | None, threads: Sequence[int]
) -> Wanted | None:
    """None without --trace. Raises BadInput before anything is simulated."""
    if file is None:
        if from_us is not None or for_us is not None:
            raise BadInput("--trace-from-us and --trace-for-us say what part to trace: add --trace FILE")
        return None
    from lockscale.files import need_place_for_file
    from lockscale.report.timeline import check_ending
    from lockscale.sim.trace import window_ps

    check_ending(file)
    need_place_for_file(file)
    if len(threads) != 1:
        raise BadInput(f"--trace is of one run, but --threads has {len(threads)} numbers: give one")
    wanted = Wanted(file, from_us or 0.0, FOR_US if for_us is None else for_us)
    window_ps(wanted.from_us, wanted.for_us)
    return wanted


def said_of(trace: Mapping[str, Any]) -> str:
    """The line for a person."""
    how = "ui.perfetto.dev" if trace["file"].endswith(".json") else "a browser"
    return (
        f"{trace['file']}: {trace['spans']} spans, {trace['from_us']:g} to {trace['to_us']:g} us after the "
        f"warm-up, simulated; open it in {how}"
    )
