# SPDX-License-Identifier: MIT
"""Curves with too few thread counts, parameters known from elsewhere, and columns that are swapped."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import Lockscale
from lockscale.errors import BadInput
from lockscale.fitting import compare, fit, table_fit
from lockscale.queueing import AMDAHL, USL
from lockscale.queueing.diagnosis import diagnose
from lockscale.queueing.fit import fit_model

THREADS = np.array([1, 2, 4, 8, 16, 32, 64])
NOISE = [1.01, 0.99, 1, 1.02, 0.98, 1.01, 0.99]
LONG = USL(THREADS, lambda_per_s=1e4, sigma=0.05, kappa=0.002) * NOISE
FRAME = pd.DataFrame({"threads": THREADS, "value": LONG})


@pytest.fixture(autouse=True)
def two_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_fit, "MODELS", {"amdahl": AMDAHL, "usl": USL})


def table(folder: Path, *short: tuple[int, float]) -> str:
    rows = "".join(f"{n},{rate:.0f},long\n" for n, rate in zip(THREADS, LONG, strict=True))
    rows += "".join(f"{n},{rate},short\n" for n, rate in short)
    (folder / "my.csv").write_text("threads,value,arm\n" + rows)
    return "my.csv"


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_short_arm_does_not_take_the_others_with_it(command: str, inside: Path, lockscale: Lockscale):
    said = lockscale(command, table(inside, (4, 100)), "--json")
    assert said.status == 0 and {row["column"] for row in said.value} == {"long"}
    (line,) = [line for line in said.err.splitlines() if line.startswith("warning")]
    cure = "measure more, or leave out fewer (--n-min, --n-max)"
    assert line == f"warning: my.csv, short has 1 thread count and every model needs 2 or more: {cure}"


def test_a_named_model_leaves_out_arms_that_it_cannot_be_of(inside: Path, lockscale: Lockscale):
    name = table(inside, (4, 100), (8, 150))
    said = lockscale("fit", name, "--model", "usl", "--json")
    assert [row["column"] for row in said.value] == ["long"]
    assert "my.csv, short has 2 thread counts and model usl has 3 free parameters: measure more" in said.err
    assert "measure more, or fix some with --fixed" in said.err
    both = lockscale("fit", name, "--model", "usl", "--fixed", "kappa=0.002", "--json")
    assert [row["column"] for row in both.value] == ["long", "short"]


def test_an_arm_outside_the_range_does_not_take_the_others_with_it(inside: Path, lockscale: Lockscale):
    name = table(inside, (1, 100), (2, 150))
    said = lockscale("compare", name, "--n-min", "4", "--json")
    assert said.status == 0 and {row["column"] for row in said.value} == {"long"}
    assert "warning: my.csv, short has no thread counts from 4: choose another range\n" in said.err
    assert len(fit(name, "usl", column="long", n_min=4).points) == 5


@pytest.mark.parametrize("command", ["fit one.csv", "compare one.csv"])
def test_a_table_of_one_thread_count_is_named_with_the_remedy(
    command: str, inside: Path, lockscale: Lockscale
):
    (inside / "one.csv").write_text("threads,value\n4,100\n4,110\n")
    said = lockscale(*command.split())
    assert (said.status, said.out) == (2, "")
    assert said.err == (
        "lockscale: one.csv, value has 1 thread count and every model needs 2 or more: measure more, or "
        "leave out fewer (--n-min, --n-max)\n"
    )


def test_a_parameter_known_from_elsewhere_is_held_and_the_rest_is_fitted(inside: Path, lockscale: Lockscale):
    truth = fit_model((THREADS, LONG), USL, fixed={"kappa": 0.001}).params
    assert fit(FRAME, "usl", fixed={"kappa": 0.001}).params == pytest.approx(truth)
    (row,) = lockscale("fit", table(inside), "--model", "usl", "--fixed", "kappa=0.001", "--json").value
    found = {one["name"]: one for one in row["parameters"]}
    assert found["kappa"]["value"] == 0.001 and found["kappa"]["status"] == "fixed"
    assert found["sigma"]["value"] == pytest.approx(truth["sigma"], rel=1e-3)


def test_arms_may_share_a_parameter(inside: Path):
    short = [(n, 0.5 * rate) for n, rate in zip(THREADS, LONG, strict=True)]
    name = table(inside, *short)
    found = fit(name, "usl", share=["sigma", "kappa"])
    assert found.params["lambda_per_s[short]"] == pytest.approx(
        0.5 * found.params["lambda_per_s[long]"], rel=1e-3
    )
    assert {"sigma", "kappa"} < set(found.params)


@pytest.mark.slow
def test_the_command_shares_as_the_library_does(inside: Path, lockscale: Lockscale):
    name = table(inside, *[(n, 0.5 * rate) for n, rate in zip(THREADS, LONG, strict=True)])
    asked = ("fit", name, "--model", "usl", "--share", "sigma", "--share", "kappa")
    (row,) = lockscale(*asked, "--json").value
    found = fit(name, "usl", share=["sigma", "kappa"])
    assert {one["name"]: one["value"] for one in row["parameters"]} == pytest.approx(found.params)
    assert (row["column"], row["points"], row["free_parameters"]) == ("long, short", 14, 4)
    said = lockscale(*asked).out
    knees = [of_arm["value"] for of_arm in row["landmarks"] if of_arm["name"].startswith("knee_threads[")]
    alone = [one.value for one in diagnose(fit(name, "usl", column="long")) if one.name == "knee_threads"]
    assert knees == pytest.approx(2 * alone, rel=0.02)  # it does not depend on lambda
    shown = ("knee[short] ", "lambda_per_s[short]", "my.csv, long", "my.csv, short")
    assert all(text in said for text in shown)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--share sigma", "--share names a parameter of one model: give --model too"),
        ("--model usl --share sigma --fixed sigma=0.1", "sigma is fixed, so all curves have it in common"),
        ("--model usl --share nope", "name parameters of usl in a list: lambda_per_s, sigma, kappa"),
        ("--model usl --share sigma", "share needs several columns, a curve each, and the table has 1"),
    ],
)
def test_what_cannot_be_shared_is_one_sentence(options: str, says: str, inside: Path, lockscale: Lockscale):
    said = lockscale("fit", table(inside), *options.split())
    assert (said.status, said.out) == (2, "") and says in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"fixed": {"sigma": 0.05}}, "name the model too"),
        ({"share": ["sigma"]}, "name the model too"),
        ({"model": "usl", "fixed": {"sigma": -1}}, "give a number at least 0"),
        ({"model": "usl", "fixed": {"nope": 1}}, "no parameter 'nope'"),
        ({"model": "usl", "fixed": 7}, "fixed is 7"),
        ({"model": "usl", "share": ["sigma"]}, "needs several columns"),
        ({"model": "usl", "share": ["sigma"], "column": "value"}, "leave out column"),
        ({"model": 7}, "there is no model 7"),
        ({"model": np.array([1])}, "there is no model"),
        ({"n_min": 1.5}, "n_min is 1.5"),
        ({"n_max": np.bool_(True)}, "n_max is"),
    ],
)
def test_options_that_cannot_be_used_are_one_sentence(options: dict, says: str):
    with pytest.raises(BadInput, match=says) as refused:
        fit(FRAME, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("argv", ["--fixed kappa", "--fixed kappa=x", "--fixed kappa=-1", "--fixed nope=1"])
def test_what_cannot_be_fixed_is_one_sentence(argv: str, inside: Path, lockscale: Lockscale):
    said = lockscale("fit", table(inside), "--model", "usl", *argv.split())
    assert said.status == 2 and said.err.startswith("lockscale: ") and said.err.count("\n") == 1


def test_whole_numbers_of_numpy_are_whole_numbers():
    assert len(fit(FRAME, "usl", n_min=np.int64(2), n_max=np.uint8(32)).points) == 5


RATES = [13100, 24600, 43900, 66800, 79200, 70100, 47500]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [7, 4])  # four: rates that still rise
def test_columns_that_look_swapped_are_fitted_with_a_warning(rows: int, inside: Path, lockscale: Lockscale):
    swapped = pd.DataFrame({"threads": RATES[:rows], "value": THREADS[:rows]})
    with pytest.warns(UserWarning, match="check that the columns are not swapped"):
        fit(swapped, "amdahl")
    with pytest.warns(UserWarning, match="values 1 to"):
        compare(swapped)
    swapped.to_csv("swapped.csv", index=False)
    said = lockscale("fit", "swapped.csv", "--model", "amdahl", "--json")
    assert said.status == 0 and said.err.count("warning: swapped.csv, value: values 1 to") == 1
    for command in (["fit"], ["compare"], ["whatif", "-r"]):  # of all models some take minutes
        refused = lockscale(*command, "swapped.csv")
        assert refused.status == 2 and "check that the columns are not swapped" in refused.err


@pytest.mark.parametrize(
    ("threads", "values"),
    [([8, 16, 32, 64], [1, 2, 3, 5]), ([64, 32, 16, 8], [5, 4, 3, 2]), ([1, 2, 4, 8], [9, 17, 30, 40])],
)
def test_small_rates_are_not_taken_for_thread_counts(threads: list[int], values: list[int]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(pd.DataFrame({"threads": threads, "value": values}), "amdahl").params
