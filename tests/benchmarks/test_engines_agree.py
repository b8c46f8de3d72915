# SPDX-License-Identifier: MIT
"""SimPy, Ciw and the engine run the same closed network: exact theory is between them."""

import functools
import json
import math
import sys
from dataclasses import replace
from typing import Any

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.comparison import KNEE, THREADS, RateEstimate, agrees, errors_apart, estimate, repairman_rows
from benchmarks.engines import (
    Engine,
    RepairmanCase,
    engines,
    run_ciw,
    run_lockscale,
    run_simpy,
    transitions_per_repair,
)
from benchmarks.floor import MODELS as MODELS_IN_C
from benchmarks.rows import Amount, BenchRow, start_process
from lockscale.errors import BadInput, RunFailed
from lockscale.queueing import MODELS
from lockscale.sim import load_model
from lockscale.sim.replicate import replicate

# Each run is made once: what a fault in one engine does to the others' runs is nothing.
ENGINES: dict[str, Engine] = {
    "lockscale": functools.cache(run_lockscale),
    "simpy": functools.cache(run_simpy),
    "ciw": functools.cache(run_ciw),
}
SHORT = {"lockscale": 1e6, "simpy": 8e3, "ciw": 4e3}
LOOPS = ("own loop", "general loop", "c -O3", "simpy")
TEN_REPLICATIONS = Amount(rounds=1, replications=10, counted_us=SHORT, knee_share=0.5)


def erlang_rate_per_s(case: RepairmanCase) -> float:
    """The finite-source queue as Erlang's loss system: X = (1 - B(N, Z/s)) / s (Kleinrock 1975, 3.8)."""
    load, blocked = case.think_us / case.service_us, 1.0
    for n in range(1, case.threads + 1):
        blocked = load * blocked / (n + load * blocked)
    return 1e6 * (1 - blocked) / case.service_us


def compare(engines: dict[str, Engine]) -> dict[str, BenchRow]:
    rows = repairman_rows(engines, TEN_REPLICATIONS, lambda what: None)
    return {row.engine: row for row in rows}


@pytest.fixture(scope="module")
def rows() -> dict[str, BenchRow]:
    return compare(ENGINES)


@pytest.mark.slow
def test_every_engine_agrees_with_the_others_and_with_erlang(rows: dict[str, BenchRow]) -> None:
    for row in rows.values():
        assert row.agrees is True
        for point, threads in zip(row.agreement, (THREADS, KNEE), strict=True):
            exact = erlang_rate_per_s(RepairmanCase(threads, 1.0))
            assert point["threads"] == threads
            assert point["exact_per_s"] == pytest.approx(exact, rel=1e-12)
            assert abs(point["rate_per_s"] - exact) <= 3 * point["standard_error_per_s"]


@pytest.mark.slow
def test_the_standard_errors_are_small_enough_to_find_a_fault(rows: dict[str, BenchRow]) -> None:
    largest = {"lockscale": 0.001, "simpy": 0.01, "ciw": 0.015}
    for engine, row in rows.items():
        for point in row.agreement:
            assert 0 < point["standard_error_per_s"] / point["exact_per_s"] < largest[engine]


def slower(run: Engine, **factors: float) -> Engine:
    """The engine with wrong times."""

    def wrong(case: RepairmanCase, seed: int) -> Any:
        times = {name: factor * getattr(case, name) for name, factor in factors.items()}
        return run(replace(case, **times), seed)

    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "factors"),
    [
        ("lockscale", {"service_us": 1.01}),
        ("simpy", {"service_us": 1.05}),
        ("ciw", {"service_us": 1.07}),
    ],
)
def test_a_wrong_time_in_one_engine_is_found(engine: str, factors: dict[str, float]) -> None:
    found = compare({**ENGINES, engine: slower(ENGINES[engine], **factors)})
    assert found[engine].agrees is False
    off = {name: max(p["errors_from_exact"] for p in row.agreement) for name, row in found.items()}
    assert off[engine] == max(off.values()) > 3


@pytest.mark.slow
def test_a_wrong_think_time_shows_only_at_the_knee() -> None:
    found = compare({**ENGINES, "lockscale": slower(ENGINES["lockscale"], think_us=1.05)})
    saturated, knee = found["lockscale"].agreement
    assert (saturated["agrees"], knee["agrees"]) == (True, False)


def test_the_engine_counts_the_events_that_all_engines_are_credited_with() -> None:
    program = load_model("machine_repairman").program({}, THREADS)
    steps = transitions_per_repair(RepairmanCase(THREADS, 1.0))
    counts = replicate(program, seed=1, replication=0, operations=20_000, warm_up=1000)
    unfinished = counts.transitions - steps * 21_000
    assert 0 <= unfinished < steps * THREADS  # cycles under way when the run ended


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_is_repeated_by_its_seed_alone(engine: str) -> None:
    case = RepairmanCase(4, 500.0)
    run = {"lockscale": run_lockscale, "simpy": run_simpy, "ciw": run_ciw}[engine]
    rates = [run(case, seed).rate_per_s for seed in (1, 2, 1)]
    assert rates[0] == rates[2] != rates[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_repairs_count_the_warm_up_too(engine: str) -> None:
    found = ENGINES[engine](RepairmanCase(THREADS, counted_us=1000.0, warm_up_us=9000.0), 1)
    assert found.repairs == pytest.approx(10_000, rel=0.05)


def test_estimate_by_hand() -> None:
    one, other = estimate("one", [1.0, 2.0, 3.0]), RateEstimate("other", 6.0, 1.0)
    assert (one.rate_per_s, one.standard_error_per_s) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert errors_apart(one, other) == pytest.approx(4 / math.sqrt(4 / 3))
    assert not agrees(one, [one, other], 2.0)
    assert agrees(one, [one, replace(other, rate_per_s=5.4)], 2.0)
    assert not agrees(one, [one], 2 + 3.01 / math.sqrt(3))


def test_equal_rates_agree_and_different_ones_do_not_where_nothing_is_random() -> None:
    one = RateEstimate("one", 2.0, 0.0)
    assert errors_apart(one, replace(one, engine="other")) == 0
    assert errors_apart(one, RateEstimate("other", 2.1, 0.0)) == math.inf


@pytest.fixture(scope="module")
def tiny() -> list[dict[str, Any]]:
    counted = {"lockscale": 1e5, "simpy": 2e3, "ciw": 2e3}
    short = Amount(
        rounds=1, replications=2, counted_us=counted, cold_starts=0, compared_columns=1, folded_mib=1,
        moves=2, virtual_operations=0, shorter=20,
    )  # fmt: skip
    return benchmarks.bench(short)


@pytest.mark.slow
def test_json_of_the_benchmark(tiny: list[dict[str, Any]]) -> None:
    read = json.loads(json.dumps(tiny, allow_nan=False))
    assert [(row["case"], row["engine"]) for row in read] == [
        ("machine_repairman_48", "lockscale"),
        ("machine_repairman_48", "simpy"),
        ("machine_repairman_48", "ciw"),
        *((f"{model}_48_loops", engine) for model in MODELS_IN_C for engine in LOOPS),
        ("s1_base_run", "lockscale"),
        ("first_simulation", "cached"),
        ("import", "python"),
        ("fit_7_points", read[14]["engine"]),
        ("every_table_every_model", "fit"),
        ("every_table_every_model", "compare"),
        ("fold_perf_script", "python"),
        ("explorer_recompute", "threads slider"),
        ("explorer_recompute", "hold slider"),
    ]
    assert read[14]["engine"] in MODELS
    keys = {"case", "engine", "events_per_s", "seconds", "ratio_to_simpy", "agrees", "target", "met", "cpus"}
    for row in read:
        assert keys <= row.keys()
        assert row["seconds"] > 0
        assert (row["target"] is None) == (row["met"] is None)
    speed = {row["engine"]: row for row in read[:3]}
    for row in speed.values():
        ratio = row["events_per_s"] / speed["simpy"]["events_per_s"]
        assert row["ratio_to_simpy"] == pytest.approx(ratio)
    assert speed["simpy"]["ratio_to_simpy"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(("agree", "status"), [(True, 0), (False, 1)])
def test_engines_that_disagree_end_the_command_with_1(
    agree: bool,
    status: int,
    tiny: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [{**row, "agrees": agree if row["agreement"] else None, "met": False} for row in tiny]
    monkeypatch.setattr(benchmarks, "bench", lambda: rows)
    main = benchmarks.command.main
    assert main([], standalone_mode=False) == status
    assert "machine_repairman_48" in capsys.readouterr().out
    assert main(["--json"], standalone_mode=False) == status
    assert json.loads(capsys.readouterr().out) == rows


@pytest.mark.parametrize("package", ["simpy", "ciw"])
def test_a_missing_package_is_one_sentence(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BadInput, match=rf"{package}.*lockscale\[bench\]"):
        engines()


def test_a_process_that_fails_is_one_sentence() -> None:
    with pytest.raises(RunFailed, match="status 1: ValueError: no such thing"):
        start_process("raise ValueError('no such thing')")
