# SPDX-License-Identifier: MIT
"""How fast perf script's text becomes folded stacks, and in how much memory."""

import random
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from lockscale.bench import new_process
from lockscale.bench.row import Row
from lockscale.bench.setting import Done, Setting

LIMIT_S, LIMIT_MB = 60.0, 500.0
FUNCTIONS, PATHS = 3000, 20_000
BASE, SPACING = 0xFFFFFFFF81000000, 0x400

FOLD = """
import resource, sys, time
from pathlib import Path
from lockscale.tools.perf_script import fold_file
started_s = time.perf_counter()
folded = fold_file(Path({path!r}))
seconds = time.perf_counter() - started_s
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, folded.samples, len(folded.stacks))
"""


def fold_row(setting: Setting, done: Done) -> Row:
    """Generated text on disk, folded in a new process; the limits are those of 1 GiB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "perf-script.txt"
        _write(path, setting.folded_mib << 20)
        seconds, peak_mib, samples, stacks = new_process.start(FOLD.format(path=str(path))).inside_s
    done("folding of perf script's text")
    gib = setting.folded_mib / 1024
    return Row(
        case="fold_perf_script",
        engine="python",
        seconds=seconds,
        target=f"1 GiB in <= {LIMIT_S:g} s and <= {LIMIT_MB:g} MB",
        met=seconds <= LIMIT_S * gib and peak_mib * 1.048576 <= LIMIT_MB,
        note=f"{setting.folded_mib} MiB, {samples:.0f} samples, {stacks:.0f} different stacks, "
        f"{setting.folded_mib / seconds:.0f} MiB/s, at most {peak_mib * 1.048576:.0f} MB",
    )


def _write(path: Path, size: int) -> None:
    """At least `size` bytes of samples, nearly every stack another: harder than any profile."""
    samples = _samples(random.Random(1))
    with path.open("wb") as stream:
        while stream.tell() < size:
            stream.write(b"".join(islice(samples, 1000)))


def _samples(draw: random.Random) -> Iterator[bytes]:
    paths = [b"".join(_frame(draw) for _ in range(draw.randrange(8, 28))) for _ in range(PATHS)]
    us = 0
    while True:
        us += 2004
        head = b"mdtest %7d %5d.%06d:    2004008 cpu-clock: \n" % (us % 48, us // 1_000_000, us % 1_000_000)
        yield head + _frame(draw) + draw.choice(paths) + b"\n"


def _frame(draw: random.Random) -> bytes:
    function, offset = draw.randrange(FUNCTIONS), draw.randrange(SPACING)
    address = BASE + function * SPACING + offset
    return b"\t%16x kernel_function_number_%d+0x%x ([kernel.kallsyms])\n" % (address, function, offset)
