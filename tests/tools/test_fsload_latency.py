# SPDX-License-Identifier: MIT
"""fsload's latencies: the percentiles that numpy finds in the same samples, within the stated error."""

import ctypes
import json
import os
import subprocess

import numpy as np
import pytest
from fsload_process import run
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.paths import FSLOAD
from lockscale.tools import fsload
from lockscale.tools.fsload import BINS_PER_OCTAVE, RELATIVE_ERROR
from lockscale.tools.registry import parse

PERCENTILES = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9}
CALLABLE = """
#include "histogram.h"
#include <string.h>
static struct histogram all;
void counted(const int64_t *latencies, long count)
{
	memset(&all, 0, sizeof(all));
	for (long i = 0; i < count; i++)
		count_latency(&all, latencies[i]);
}
int64_t percentile(int permille) { return percentile_ns(&all, permille); }
int64_t maximum(void) { return all.max_ns; }
uint64_t in_bin(int bin) { return all.counts[bin]; }
int bins(void) { return BINS; }
"""


@pytest.fixture(scope="module")
def histogram(tmp_path_factory):
    """lib/fsload/histogram.c, to be called from here."""
    folder = tmp_path_factory.mktemp("histogram")
    (folder / "callable.c").write_text(CALLABLE)
    sources = [folder / "callable.c", FSLOAD / "histogram.c"]
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", f"-I{FSLOAD}", "-o", folder / "it.so", *sources], check=True
    )
    library = ctypes.CDLL(str(folder / "it.so"))
    for name in ("percentile", "maximum", "bin_low_ns"):
        getattr(library, name).restype = ctypes.c_int64
    library.in_bin.restype = ctypes.c_uint64
    return library


def nearest_rank(samples, percent):
    return int(np.percentile(np.array(samples, dtype=np.int64), percent, method="inverted_cdf"))


def line_of(histogram, samples):
    """What fsload prints of `samples`, from its own histogram."""
    histogram.counted((ctypes.c_int64 * len(samples))(*samples), len(samples))
    bins = [
        [histogram.bin_low_ns(b), histogram.in_bin(b)] for b in range(histogram.bins()) if histogram.in_bin(b)
    ]
    found = {name: histogram.percentile(round(10 * percent)) for name, percent in PERCENTILES.items()}
    printed = {f"{name}_ns": value for name, value in {**found, "max": histogram.maximum()}.items()}
    return {"count": len(samples), "bins": bins, **printed}


LATENCIES = st.one_of(
    st.integers(0, 300), st.integers(0, 1 << 41), st.integers(0, 41).map(lambda log2: 1 << log2),
    st.integers(1, 41).map(lambda log2: (1 << log2) - 1),
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(LATENCIES, min_size=1, max_size=300))
def test_percentiles_are_those_of_numpy_within_the_stated_error(histogram, samples):
    line = line_of(histogram, samples)
    samples = [min(sample, (1 << 41) - 1) for sample in samples]
    for name, percent in PERCENTILES.items():
        assert line[f"{name}_ns"] == pytest.approx(nearest_rank(samples, percent), rel=RELATIVE_ERROR)
    assert line["max_ns"] in (max(samples), 1 << 41)


def test_bins_follow_each_other_and_are_at_most_a_64th_wide(histogram):
    lows = np.array([histogram.bin_low_ns(b) for b in range(histogram.bins())])
    widths = np.diff(lows)
    assert (lows[0], lows[-1] + widths[-1]) == (0, 1 << 41)
    assert (widths[: 2 * BINS_PER_OCTAVE] == 1).all()
    assert (widths[2 * BINS_PER_OCTAVE :] * BINS_PER_OCTAVE <= lows[2 * BINS_PER_OCTAVE : -1]).all()
    assert (widths > 0).all()


def test_a_latency_counts_from_the_low_end_of_its_bin_to_below_the_next(histogram):
    lows = [histogram.bin_low_ns(b) for b in range(histogram.bins())]
    edges = [*lows, *(low - 1 for low in lows[1:])]
    line_of(histogram, edges)
    counts = [histogram.in_bin(b) for b in range(histogram.bins())]
    assert counts == np.histogram(edges, [*lows, 1 << 41])[0].tolist()


def with_a_clock_of_known_latencies(executable, spy, folder, workers, items):
    """Runs rename_own_dir with --latency while time passes only in rename(); the conftest says how much."""
    argv = fsload.command(
        executable, str(folder), processes=workers, items=items, test="rename_own_dir", latency=True
    )
    status, out, err = run(argv, env={**os.environ, "LD_PRELOAD": str(spy), "FAKE_CLOCK": "1"})
    assert (status, err) == (0, "")
    return out, [1 + (7919 * k % 5003) ** 2 for k in range(items)] * workers


def test_a_run_reports_the_latencies_of_its_calls(executable, spy, tmp_path):
    out, samples = with_a_clock_of_known_latencies(executable, spy, tmp_path, 2, 3000)
    rows = parse(out).rows
    found = {row.statistic: row.value for row in rows if row.metric == "latency"}
    assert {(row.test, row.threads, row.unit) for row in rows if row.metric == "latency"} == {
        ("rename", 2, "ns")
    }
    assert found.pop("total_max") == max(samples)
    for name, percent in PERCENTILES.items():
        assert found.pop(f"total_{name}") == pytest.approx(nearest_rank(samples, percent), rel=RELATIVE_ERROR)
    assert not found
    rates = {row.statistic: row.value for row in rows if row.metric == "rate"}
    assert rates["rank0"] == pytest.approx(3000e9 / sum(samples[:3000]))


def test_without_latency_the_clock_is_read_only_around_a_phase(executable, tmp_path):
    argv = fsload.command(executable, str(tmp_path), processes=1, items=50, test="open_close")
    _, out, _ = run(argv)
    first = json.loads(out.splitlines()[0])
    assert first["clock"] == "CLOCK_MONOTONIC" and first["clock_pair_ns"] > 0
    assert not {"latency_overhead_ns", "bins_per_octave"} & set(first) and "p50" not in out


def test_a_run_with_latency_says_what_that_costs_an_item(executable, tmp_path):
    argv = fsload.command(executable, str(tmp_path), processes=1, items=50, test="open_close", latency=True)
    first = json.loads(run(argv)[1].splitlines()[0])
    assert first["latency_overhead_ns"] > 0 and first["bins_per_octave"] == BINS_PER_OCTAVE


def test_each_phase_has_its_own_latencies(executable, tmp_path):
    argv = fsload.command(executable, str(tmp_path), threads=2, items=30, latency=True)
    _, out, _ = run(argv)
    lines = [line for line in map(json.loads, out.splitlines()) if line.get("latency") is True]
    assert [(line["phase"], line["count"]) for line in lines] == [("create", 60), ("remove", 60)]
