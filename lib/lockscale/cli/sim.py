# SPDX-License-Identifier: MIT
"""`lockscale sim`, with the file that `--trace` asks for."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockscale.cli.completion import models
from lockscale.cli.output import (
    as_json,
    operations,
    parameter,
    replications,
    seed,
    show,
    table,
    thread_counts,
    threads_list,
    together,
    warn,
)
from lockscale.errors import BadInput

if TYPE_CHECKING:
    from lockscale.sim.trace import Trace


FOR_US = 1000.0
trace_options = together(
    click.option(
        "--trace",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write a timeline of who holds, spins and sleeps: .json for Perfetto, or .html.",
    ),
    click.option(
        "--trace-from-us", type=float, help="Start of the trace, in us after the warm-up.  [default: 0]"
    ),
    click.option("--trace-for-us", type=float, help=f"Length of the trace in us.  [default: {FOR_US:g}]"),
)


def _window(
    file: Path | None, from_us: float | None, for_us: float | None, threads: Sequence[int]
) -> tuple[float, float]:
    """Start and length of the trace; BadInput, before anything is simulated, where there can be none."""
    if file is None:
        if from_us is not None or for_us is not None:
            raise BadInput("--trace-from-us and --trace-for-us need --trace FILE")
        return 0.0, 0.0
    from lockscale.files import need_place_for_file
    from lockscale.show.timeline import check_file
    from lockscale.sim.trace import window_ps

    check_file(file)
    need_place_for_file(file)
    if len(threads) != 1:
        raise BadInput(f"--trace shows one run, but --threads has {len(threads)} numbers: give one")
    window = from_us or 0.0, FOR_US if for_us is None else for_us
    window_ps(*window)
    return window


def _traced(
    file: Path, model: str, threads: int, given: Mapping[str, object], window: tuple[float, float],
    seed: int, operations: int,
) -> "Trace":  # fmt: skip
    """The first of the replications; raises BadInput for more than the file's viewer can show."""
    from lockscale.progress import progress
    from lockscale.show.timeline import check_file
    from lockscale.sim.trace import trace

    with progress(f"trace {model}", 1) as shown:
        found = trace(
            model, threads, given, from_us=window[0], for_us=window[1], seed=seed, operations=operations,
            on_size=functools.partial(check_file, file),
        )  # fmt: skip
        shown.update(1, f"{len(found.spans)} spans")
    return found


def _written(file: Path, found: "Trace") -> tuple[dict[str, Any], str]:
    """Write the trace; what --json says of it, and the line for a person."""
    from lockscale.show.timeline import VIEWERS, save_trace
    from lockscale.sim.delays import PS_PER_US

    save_trace(found, file)
    if found.cut:
        warn(found.cut)
    from_us, to_us, spans = found.from_ps / PS_PER_US, found.to_ps / PS_PER_US, len(found.spans)
    value = {"file": str(file), "from_us": from_us, "to_us": to_us, "spans": spans}
    line = f"{file}: {spans} spans, {from_us:g} to {to_us:g} us after the warm-up, simulated"
    return value | {"holds": len(found.holds), "cut": found.cut}, f"{line}; open it in {VIEWERS[file.suffix]}"


@click.command()
@click.argument("model", required=False, shell_complete=models)
@click.option("--list", "listed", is_flag=True, help="List the models.")
@parameter("Set a parameter of the model; the rest are as its file says.")
@threads_list
@replications
@operations
@seed
@trace_options
@as_json
def sim(
    model: str | None,
    listed: bool,
    parameters: tuple[str, ...],
    threads: str,
    replications: int,
    operations: int,
    seed: int,
    trace: Path | None,
    trace_from_us: float | None,
    trace_for_us: float | None,
) -> None:
    """Simulate a model; the output says what it was calibrated to.

    MODEL is a name from --list, or the path of your own .py file.
    """
    if listed or not model:
        from lockscale.sim import list_models

        show(list_models(), "\n".join(list_models()))
        return
    from lockscale.show.simulated import simulate_points
    from lockscale.sim.model import read_parameters

    given, counts = read_parameters(parameters), thread_counts(threads)
    window = _window(trace, trace_from_us, trace_for_us, counts)
    # before the points, which take longer than it takes to see that a trace is too large
    traced = trace and _traced(trace, model, counts[0], given, window, seed, operations)
    value = simulate_points(model, counts, given, replications=replications, operations=operations, seed=seed)
    if few := [n for n in counts if operations < FEW_EACH * n]:
        warn(
            f"--operations {operations} are few for {max(few)} threads, and the rate is mostly that of how "
            f"they begin and end: give {10 * FEW_EACH * max(few)} or more"
        )
    rows = [{k: v for k, v in p.items() if not isinstance(v, dict)} for p in value["points"]]
    parts = [f"{table(rows)}\nsimulated; {value['calibration'] or 'not calibrated'}"]
    if "published" in value:
        parts.append(f"Beside what was published of this arm:\n{table(value['published'])}")
    if "unfitted_check" in value:
        parts.append(f"{UNFITTED}:\n{table(value['unfitted_check'])}")
    if trace and traced:
        value["trace"], line = _written(trace, traced)
        parts.append(line)
    show(value, "\n\n".join(parts))


FEW_EACH = 10
"""Operations of each thread: a window of fewer begins and ends with operations that were under way."""
UNFITTED = (
    "The published function costs, to which nothing was fitted: a run of its own, of the unpatched kernel "
    "with tracing on, at the number of threads of that table, whatever --threads and -p say"
)
