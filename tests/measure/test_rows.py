# SPDX-License-Identifier: MIT
"""The rate of all processes together: mdtest 4 prints another one than mdtest 3 and fsload."""

import gzip
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.compare_arms import rate_repeats, rates
from lockscale.measure.profiling import UNDER_PROFILER, overheads
from lockscale.measure.rows import of_all_processes, rate_note, read_rows
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
FSLOAD_PRINTS, MDTEST_3_2_PRINTS, MDTEST_4_PRINTS = (
    {"total": 900.0, "slowest_rank": 800.0},
    {"total": 900.0, "fastest_rank": 950.0},
    {"slowest_rank": 800.0, "rank0_to_barrier": 210.0},
)


def load(prints, **more):
    """The rows of one load."""
    where = {"tool": "mdtest", "arm": "steal-retry", "cpus": 4, "threads": 8, "pair": "ab", "block": 0}
    where |= {
        "iteration": 1,
        "test": "create",
        "metric": "rate",
        "unit": "ops/s",
        "profiled": False,
        "origin": "qemu",
    }
    return [{**where, "statistic": name, "value": value, **more} for name, value in prints.items()]


def run(prints):
    """Two blocks of two arms; one process is twice as slow."""
    at = product(("steal-retry", "search-locked"), (1, 8), (0, 1))
    return pd.DataFrame([r for arm, n, k in at for r in load(prints, arm=arm, threads=n, block=k)])


@pytest.mark.parametrize(
    ("prints", "statistic", "value", "said"),
    [
        (FSLOAD_PRINTS, "total", 900, ""),
        (MDTEST_3_2_PRINTS, "total", 900, ""),
        (MDTEST_4_PRINTS, "slowest_rank", 800, " (slowest process x processes)"),
    ],
)
def test_a_table_of_rates_says_whose_time_they_are_from(prints, statistic, value, said):
    table = rates(run(prints))
    assert len(table) == 4 and set(table.repeats) == {2}
    assert set(table.statistic) == {statistic} and set(table.value) == {value}
    assert rate_note(table) == said


def test_what_mdtest_4_prints_is_compared():
    text = (SAMPLES / "mdtest-4.1.0-create.txt").read_text()
    parsed = parse(text, "mdtest")
    printed = {row.statistic: row.value for row in parsed.rows if row.metric == "rate"}
    assert "total" not in printed
    (row,) = rates(pd.DataFrame(load(printed))).to_dict("records")
    assert (row["statistic"], row["value"]) == ("slowest_rank", printed["slowest_rank"])


def test_one_load_without_a_total_takes_the_slowest_process_of_all():
    damaged = run(FSLOAD_PRINTS).drop(index=0)
    assert set(rates(damaged).statistic) == {"slowest_rank"}
    assert set(rates(damaged).value) == {800} and set(rates(damaged).repeats) == {2}


def test_a_total_is_not_compared_with_a_slowest_process():
    both = pd.DataFrame(load(MDTEST_3_2_PRINTS) + load(MDTEST_4_PRINTS, arm="search-locked"))
    with pytest.raises(BadInput, match="some loads of create have only total rates and some only slowest"):
        rate_repeats(both)


@pytest.mark.parametrize(
    "change",
    [
        {"statistic": "rank0_to_barrier"},
        {"test": "remove"},
        {"metric": "time"},
        {"pair": "aa"},
    ],
)
def test_no_rate_of_all_processes_is_one_sentence(change):
    with pytest.raises(BadInput, match="no row has the rate of create of all processes together: measure"):
        rates(pd.DataFrame(load({"total": 900.0}, **change)), "create")


def test_rates_under_a_profiler_are_of_the_same_statistic_as_those_without():
    def rows(without, under):
        profiled = {"metric": UNDER_PROFILER, "tool": "perf_lock", "profiled": True}
        boots = [[*load(without, block=k), *load(under, block=k, **profiled)] for k in (0, 1)]
        return pd.DataFrame([*boots[0], *boots[1]])

    (lost,) = overheads(rows(MDTEST_4_PRINTS, {"slowest_rank": 400.0})).to_dict("records")
    assert lost["overhead_pct"] == pytest.approx(50) and lost["statistic"] == "slowest_rank"
    (lost,) = overheads(rows(FSLOAD_PRINTS, {"slowest_rank": 400.0})).to_dict("records")
    assert lost["overhead_pct"] == pytest.approx(50) and lost["statistic"] == "slowest_rank"
    (lost,) = overheads(rows(FSLOAD_PRINTS, {"total": 450.0})).to_dict("records")
    assert lost["overhead_pct"] == pytest.approx(50) and lost["statistic"] == "total"
    with pytest.raises(BadInput, match="only total rates and some only slowest_rank"):
        overheads(rows(MDTEST_4_PRINTS, {"total": 450.0}))


def test_a_measured_run_gives_the_totals_that_the_raw_output_has():
    folder = sorted(paths.MEASURED.glob("inode-claim-2*/rows.csv"))[0].parent
    found = of_all_processes(read_rows(folder / "rows.csv"), "create")
    printed = []
    for path in (folder / "raw").glob("*/rate-*.txt.gz"):
        raw = parse(gzip.decompress(path.read_bytes()).decode())
        printed += [r.value for r in raw.rows if (r.test, r.statistic) == ("create", "total")]
    assert sorted(found.value) == pytest.approx(sorted(printed))
