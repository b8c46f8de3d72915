# SPDX-License-Identifier: MIT
"""data/published against sums made outside this project, its data package, and damaged copies."""

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.tables import describe, function_cost, list_tables, published

# Sums of the source documents' own columns, taken with grep, awk and bc from their text.
ROWS = {
    "s1_rates": 12, "s1_function_cost": 8, "s2_mds_survey": 6, "s2_function_cost_without": 22,
    "s2_function_cost_with": 17, "s2_five_runs": 20, "s3_fallocate2": 35, "s4_stress_orphan": 24,
    "s4_creat_clo": 64,
}  # fmt: skip
FUNCTION_COST_SUMS = {  # total_us, count, avg_us
    "s1_function_cost": (3_439_830_299, 266_958_334, 1450.02),
    "s2_function_cost_without": (1_764_462_094, 368_124_657, 457.27),
    "s2_function_cost_with": (5_225_497_992, 405_969_891, 1350.09),
}
LONG_SUMS = {  # (arm, metric) -> sum of value over iterations, threads and statistics
    "s1_rates": {
        ("steal-retry", "create_rate"): 240_371,
        ("steal-retry", "removal_rate"): 863_403,
        ("search-locked", "create_rate"): 2_437_439,
        ("search-locked", "removal_rate"): 902_075,
    },
    "s2_mds_survey": {
        ("slow-retry", "create_rate"): 302_336.85,
        ("fast-retry", "create_rate"): 107_683.08,
    },
    "s2_five_runs": {
        ("slow-retry", "create_rate"): 681_584,
        ("slow-retry", "destroy_rate"): 1_181_135,
        ("timed-backoff", "create_rate"): 996_497,
        ("timed-backoff", "destroy_rate"): 1_263_552,
    },
    "s3_fallocate2": {
        ("wait-group", "fallocate_rate"): 438_484,
        ("inode-goal-scan0", "fallocate_rate"): 738_551,
        ("inode-goal-scan1", "fallocate_rate"): 647_576,
        ("inode-goal-scan0", "fallocate_rate_change"): 2269.1,
        ("inode-goal-scan1", "fallocate_rate_change"): 1096.24,
    },
    "s4_stress_orphan": {
        ("orphan-locked", "time"): 242.4374,
        ("orphan-lockless", "time"): 152.7436,
        ("orphan-off", "time"): 147.7802,
    },
    "s4_creat_clo": {
        ("orphan-mutex", "throughput"): 424_758.56,
        ("orphan-lockless", "throughput"): 922_868.93,
        ("orphan-mutex", "throughput_change"): 0.0,
        ("orphan-lockless", "throughput_change"): 2506.25,
    },
}


def test_every_csv_is_a_table_and_has_its_rows():
    assert {name: len(published(name)) for name in list_tables()} == ROWS
    assert {path.stem for path in paths.PUBLISHED.glob("*.csv")} == set(ROWS)


@pytest.mark.parametrize("name", FUNCTION_COST_SUMS)
def test_function_costs_sum_to_the_published_columns(name):
    costs = function_cost(name)
    assert list(costs.columns) == ["function", "total_us", "count", "avg_us"]
    found = tuple(costs[column].sum() for column in costs.columns[1:])
    assert found == pytest.approx(FUNCTION_COST_SUMS[name], rel=1e-12)


@pytest.mark.parametrize("name", LONG_SUMS)
def test_rates_and_times_sum_to_the_published_columns(name):
    sums = published(name).groupby(["arm", "metric"])["value"].sum().to_dict()
    assert sums == pytest.approx(LONG_SUMS[name], rel=1e-12)


@pytest.mark.parametrize("name", LONG_SUMS)
def test_value_is_the_printed_number(name):
    frame = published(name)
    plain = frame["printed"].str.replace(",", "").str.removesuffix("%")
    assert (plain.astype(float) == frame["value"]).all()
    csv_text = (paths.PUBLISHED / f"{name}.csv").read_text()
    assert all(f",{text}," in csv_text for text in plain)  # digits kept, as in 1.331800


def test_mds_survey_rate_lies_between_its_min_and_max():
    rates = published("s2_mds_survey").pivot(index="arm", columns="statistic", values="value")
    assert (rates["min"] < rates["overall"]).all()
    assert (rates["overall"] < rates["max"]).all()


def test_vanilla_is_never_starred_and_one_patched_point_is_not():
    changes = published("s4_creat_clo").query("statistic == 'vs_vanilla'")
    plain = changes[~changes["starred"].astype(bool)]
    assert set(plain.query("arm == 'orphan-mutex'")["threads"]) == set(range(1, 32, 2))
    assert list(plain.query("arm == 'orphan-lockless'")["threads"]) == [3]


@pytest.mark.slow
def test_frictionless_finds_the_data_package_valid():
    import frictionless  # takes seconds, which the inner loop would pay while it collects

    report = frictionless.validate(str(paths.DATA / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])
    assert {task.name: task.stats["rows"] for task in report.tasks} == ROWS


def test_machine_is_told_only_where_it_is_published():
    told = {name for name in list_tables() if describe(name)["machine"]}
    assert told == {"s1_rates", "s3_fallocate2", "s4_stress_orphan"}
    assert {name for name in list_tables() if describe(name)["kernel"]} == {"s1_rates"}
    assert not any("8160" in str(describe(name)["machine"]) for name in list_tables())
    assert all(describe(name)["source"] and describe(name)["stated"] for name in list_tables())


def test_unknown_table_names_its_neighbours():
    with pytest.raises(BadInput, match="s1_rates"):
        published("s1_rate")
    with pytest.raises(BadInput, match="s4_creat_clo"):
        describe("zzz")


def test_rates_are_no_function_costs():
    with pytest.raises(BadInput, match="s1_function_cost"):
        function_cost("s1_rates")


def test_changed_digit_is_refused(damage):
    damage("s1_rates", "79033", "79034", rehash=False)
    with pytest.raises(BadInput, match="sha256"):
        published("s1_rates")
    assert len(published("s2_five_runs")) == 20


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("arm,", "branch,", "rows of"),
        ("14705.88,14705.88", "fast,14705.88", "not of type number"),
        (",1,,throughput", ",1.5,,throughput", "not of type integer"),
        ("0.00%,false", "0.00%,perhaps", "not of type boolean"),
        ("orphan-mutex", "", "empty cell"),
        ("0.00%,false\n", "0.00%,false\n\n,,\n", "rows of"),
        ("Vanilla", "Vanilla,Vanilla", "more or fewer"),
        ("Vanilla", '"Vanilla', "not CSV"),
    ],
)
def test_table_outside_its_schema_is_refused(damage, old, new, reason):
    damage("s4_creat_clo", old, new)
    with pytest.raises(BadInput, match=reason):
        published("s4_creat_clo")


def test_missing_file_and_broken_package_are_refused(copied_data):
    (copied_data / "published" / "s1_rates.csv").unlink()
    with pytest.raises(BadInput, match=r"s1_rates\.csv.*restore"):
        published("s1_rates")
    (copied_data / "datapackage.json").write_text('{"resources": 3}')
    with pytest.raises(BadInput, match=r"datapackage\.json"):
        list_tables()
