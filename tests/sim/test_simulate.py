# SPDX-License-Identifier: MIT
"""The public call: reproducible bits, labelled results, one sentence for bad input."""

import json
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.sim import list_models, load_model, simulate
from lockscale.sim.builder import Builder
from lockscale.sim.delays import us
from lockscale.sim.model import model, read_parameters

BITS = "from lockscale.sim import simulate; print(simulate('inode_claim', 12, seed=9).rates_per_s)"


@pytest.mark.slow
def test_same_seed_same_bits_in_this_and_in_a_new_process() -> None:
    first, second = (simulate("inode_claim", 12, seed=9) for _ in range(2))
    assert first == second
    new = subprocess.run([sys.executable, "-c", BITS], capture_output=True, text=True, check=True)
    assert new.stdout.strip() == str(first.rates_per_s)


def test_seeds_and_replications_differ() -> None:
    rates = (*simulate("inode_claim", 12, seed=1).rates_per_s,)
    rates += simulate("inode_claim", 12, seed=2).rates_per_s
    assert len(set(rates)) == 10


def test_result_is_one_point_of_the_sim_json() -> None:
    point = json.loads(json.dumps(simulate("inode_claim", 48, operations=1_000).to_json()))
    assert point.keys() >= {"threads", "metric", "unit", "value", "low", "high"}
    assert point["threads"] == 48 and point["unit"] == "creates/s"
    assert point["low"] < point["value"] < point["high"]
    lock = point["locks"]["group lock"]
    assert lock["hold_ns_mean"] == pytest.approx(285.3, rel=1e-3)
    assert lock["acquisitions"] == pytest.approx(5_000 * point["attempts_per_op"], abs=5 * 48)


def test_one_long_replication_has_an_interval_by_batch_means() -> None:
    """It covers the exact rate of M/M/1//1, and is about as wide as that of 20 replications."""
    alone = simulate("machine_repairman", 1, replications=1, operations=100_000)
    many = simulate("machine_repairman", 1, replications=20, operations=5_000)
    assert alone.interval == "batch means" and many.interval == "replications"
    assert alone.low is not None and alone.high is not None
    assert many.low is not None and many.high is not None
    assert alone.low < 1e6 / 11 < alone.high
    assert 0.4 < (alone.high - alone.low) / (many.high - many.low) < 2.5


@model(unit="operations/s")
def steady(m: Builder) -> None:
    """Each operation takes 1 us."""
    m.path("path").spend(us(1))


@pytest.mark.parametrize("operations", [20, 30, 39, 1001])
def test_operations_that_all_take_as_long_have_an_interval_of_no_width(operations: int) -> None:
    """Also where they are no multiple of the 20 batches, so that some have one operation more."""
    run = simulate(steady, 1, replications=1, operations=operations)
    assert (run.low, run.high) == pytest.approx((1e6, 1e6), rel=1e-12)


def test_a_replication_too_short_for_batches_has_no_interval() -> None:
    run = simulate("inode_claim", 2, replications=1, operations=10)
    assert run.low is None and run.high is None


def test_replications_on_one_and_on_many_threads_give_the_same_bits() -> None:
    one, four = (simulate("inode_claim", 12, workers=n) for n in (1, 4))
    assert one == four


def test_interval_is_students_t() -> None:
    from scipy.stats import ttest_1samp

    run = simulate("machine_repairman", 3, operations=500)
    expected = ttest_1samp(run.rates_per_s, 0).confidence_interval(0.95)
    assert (run.low, run.high) == pytest.approx((expected.low, expected.high))


def test_an_interval_of_a_rate_ends_at_0() -> None:
    """Student's t over two rates of one operation each reaches far below."""
    run = simulate("machine_repairman", 1, operations=1, replications=2)
    assert run.low == 0 and run.high is not None
    below = run.rate_per_s - (run.high - run.rate_per_s)
    assert below < 0 < min(run.rates_per_s)


def test_numpys_numbers_are_as_good_as_pythons() -> None:
    given = {"hold_ns": np.float64(300), "access_ns": np.int64(200), "search_locked": np.bool_(True)}
    small = {"seed": np.uint8(3), "operations": np.int32(500), "replications": np.int16(2)}
    small |= {"warm_up": np.int64(125), "workers": np.int8(2)}
    run = simulate("inode_claim", np.int64(4), given, **small)  # type: ignore[arg-type]
    plain = {"hold_ns": 300.0, "access_ns": 200, "search_locked": True}
    assert run == simulate("inode_claim", 4, plain, seed=3, operations=500, replications=2)
    assert json.loads(json.dumps(run.parameters)) == run.parameters and type(run.threads) is int


@pytest.mark.parametrize("name", list_models())
def test_a_calibration_counts_the_free_parameters_and_says_from_what(name: str) -> None:
    model = load_model(name)
    if not model.calibration:
        return
    said = re.match(
        r"calibrated: (\d+) free parameters \((.*?)\) from .*(\bS\d|\bnotebooks/studies/\S+\.csv$)",
        model.calibration,
    )
    assert said, model.calibration
    names = said[2].split(", ")
    assert len(set(names)) == int(said[1]) and set(names) <= {p.name for p in model.parameters if p.unit}


def test_only_the_calibrated_numbers_are_labelled_calibrated() -> None:
    assert "calibrated" in simulate("inode_claim", 2, {"search_locked": True}).calibration
    assert simulate("inode_claim", 2, {"hold_ns": 300}).calibration == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hold_us": 1.0}, r"no parameter 'hold_us': did you mean hold_ns\?"),
        ({"hold_ns": "long"}, "'hold_ns' is 'long': give a number in ns"),
        ({"hold_ns": True}, "give a number in ns"),
        ({"hold_ns": None}, "give a number in ns"),
        ({"hold_ns": -1}, "give 0 or more ns"),
        ({"hold_ns": float("nan")}, "give 0 or more ns"),
        ({"elsewhere_us": float("inf")}, "give 0 or more us"),
        ({"elsewhere_us": 1e300}, "0 to 10 seconds"),
        ({"elsewhere_us": 10**400}, "give 0 or more us"),
        ({"search_locked": 1}, "give true or false"),
        ({"search_locked": np.float64(1)}, "give true or false"),
        ({"hold_ns": np.bool_(True)}, "give a number in ns"),
        ({"hold_ns": np.float64("nan")}, "give 0 or more ns"),
        ({"hold_ns": np.array([1.0, 2.0])}, "give a number in ns"),
    ],
)
def test_bad_parameters_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        simulate("inode_claim", 2, given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"threads": 0}, "threads is 0: give a whole number from 1 to 4096"),
        ({"threads": 10**6}, "threads is 1000000"),
        ({"threads": 2.5}, "threads is 2.5"),
        ({"threads": True}, "threads is True"),
        ({"replications": 0}, "replications is 0"),
        ({"operations": 0}, "operations is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**63}, "seed is"),
        ({"seed": np.float64(1)}, "seed is 1.0"),
        ({"threads": np.int64(0)}, "threads is 0"),
        ({"threads": np.bool_(True)}, "threads is True"),
        ({"warm_up": -1}, "warm_up is -1: give a whole number from 0"),
        ({"warm_up": 2.5}, "warm_up is 2.5"),
        ({"workers": -1}, "workers is -1: give a whole number from 1"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": "x"}, "workers is 'x'"),
    ],
)
def test_bad_numbers_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        simulate("inode_claim", **{"threads": 2, **given})


def test_unknown_model_names_its_neighbour() -> None:
    with pytest.raises(BadInput, match=r"no model 'inode_clam', .*: did you mean inode_claim\?"):
        load_model("inode_clam")


def test_every_model_says_unit_and_source_of_each_parameter() -> None:
    for name in list_models():
        model = load_model(name)
        assert model.name == name and model.summary
        for p in model.parameters:
            assert p.meaning and p.source
            assert p.unit or isinstance(p.default, bool)


def test_parameters_as_text() -> None:
    texts = ["elsewhere_us=59.1", "search_locked=TRUE", "hold_ns = 288.5"]
    assert read_parameters(texts) == {
        "elsewhere_us": 59.1,
        "search_locked": True,
        "hold_ns": 288.5,
    }


@pytest.mark.parametrize("text", ["hold_ns", "=3", "hold_ns=", "hold_ns=59.1us", "hold_ns=yes"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="parameter"):
        read_parameters([text])


def test_a_parameter_given_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="given twice"):
        read_parameters(["hold_ns=1", "hold_ns=2"])
