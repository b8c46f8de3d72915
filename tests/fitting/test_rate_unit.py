# SPDX-License-Identifier: MIT
"""Units of rate: what they are in operations per second, and what is no rate."""

from pathlib import Path

import pytest

from lockscale.fitting.rate_unit import rate_unit
from lockscale.fitting.table_fit import fit_each_column
from lockscale.fitting.user_table import read_column, read_columns
from own_csv import write


@pytest.mark.parametrize(
    ("unit", "factor", "name"),
    [("ops/s", 1, "ops/s"), ("creates/s", 1, "creates/s"), ("1/s", 1, "ops/s"), ("kops/s", 1e3, "ops/s"),
     ("Mops/s", 1e6, "ops/s"), ("IOPS", 1, "ops/s"), ("kIOPS", 1e3, "ops/s"), ("ops/ms", 1e3, "ops/s"),
     ("ops/min", 1 / 60, "ops/s"), ("files/us", 1e6, "files/s"), ("op/sec", 1, "ops/s"),
     ("kcreates/s", 1e3, "creates/s"), ("k ops/s", 1e3, "ops/s"), ("kfiles/s", 1e3, "files/s"),
     ("K/s", 1e3, "ops/s"), ("1000/s", 1e3, "ops/s"), ("thousand ops/s", 1e3, "ops/s"),
     ("Mcreates/s", 1e6, "creates/s"), ("M/s", 1e6, "ops/s"), ("10^6 unlinks/s", 1e6, "unlinks/s"),
     ("1e3 stats/s", 1e3, "stats/s"), ("million tx/s", 1e6, "transactions/s"), ("mkdirs/s", 1, "mkdirs/s"),
     ("GIOPS", 1e9, "ops/s"), ("widgets/s", 1, "widgets/s"), ("MB/s", 1e6, "B/s"), ("MiB/s", 2**20, "B/s"),
     ("requests/s", 1, "requests/s"), ("kreq/s", 1e3, "requests/s"), ("OPS / s", 1, "ops/s")],
)  # fmt: skip
def test_units_of_rate(unit: str, factor: float, name: str):
    found = rate_unit(unit)
    assert (found.per_s, found.name) == (pytest.approx(factor), name)


@pytest.mark.parametrize(
    "unit",
    ["s", "ms", "%", "", "ops", "ops/", "ops/day", "s/op/s", "MB", "ops per second", "%/s", "s/s", "us/s",
     "kwidgets/s", "Mb/s", "m/s", "mops/s", "2 ops/s", "thousandops/s", "req/s/core", "x" * 10**6 + "/s"],
)  # fmt: skip
def test_what_is_no_unit_of_rate(unit: str):
    with pytest.raises(ValueError, match=r"write .*ops/s, creates/s") as refused:
        rate_unit(unit)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("prefixed", ["kcreates/s", "k creates/s", "1000 creates/s", "thousand creates/s"])
def test_a_thousand_creates_a_second_are_a_thousand(prefixed: str, tmp_path: Path):
    path = write(tmp_path, f"threads,value,unit\n1,1,{prefixed}\n2,1900,creates/s\n4,3.5,{prefixed}\n")
    column = read_column(path)
    assert column.rates_per_s == pytest.approx([1000, 1900, 3500]) and column.unit == "creates/s"


@pytest.mark.parametrize("units", [("ops/s", "kops/s"), ("IOPS", "ops/sec"), ("ops/s", "op/min")])
def test_units_of_one_meaning_are_one_curve(units: tuple[str, str], tmp_path: Path):
    rows = "".join(f"{n},1,{unit}\n" for n in (1, 2, 4) for unit in units)
    assert len(read_column(write(tmp_path, "threads,value,unit\n" + rows)).threads) == 6


def test_curves_that_differ_in_their_unit_alone_are_named_by_it(tmp_path: Path):
    path = write(tmp_path, "threads,value,unit\n1,10,creates/s\n1,20,kunlinks/s\n")
    assert [one.name for one in read_columns(path)] == ["creates/s", "unlinks/s"]
    assert read_column(path, "unlinks/s").rates_per_s == pytest.approx([20_000])


@pytest.mark.parametrize(("unit", "said"), [("MB/s", "B/s"), ("kcreates/s", "creates/s"), ("", "1/s")])
def test_a_ceiling_is_in_the_unit_of_its_table(unit: str, said: str, tmp_path: Path):
    head, cell = (",unit", f",{unit}") if unit else ("", "")
    rows = "".join(f"{n},{n / (1 + 0.05 * (n - 1))}{cell}\n" for n in (1, 2, 4, 8, 16, 32))
    (found,), _ = fit_each_column(write(tmp_path, f"threads,value{head}\n{rows}"), "amdahl")
    assert {one.name: one.unit for one in found.landmarks}["ceiling_per_s"] == said
    assert {one.unit for one in found.landmarks} == {"threads", said}
