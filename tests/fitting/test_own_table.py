# SPDX-License-Identifier: MIT
"""A table of the user's own is read right, or refused in one sentence with file, row and column."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.fitting import compare, fit
from lockscale.fitting.rate_unit import per_s
from lockscale.fitting.read import read_column, read_columns

ROWS = "1,100\n2,190\n4,350\n8,500\n"


def write(folder: Path, text: str | bytes, name: str = "my.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


READ = {
    "plain": ("threads,value\n" + ROWS, [100, 190, 350, 500]),
    "order of rows and columns": ("value,threads\n500,8\n100,1\n350,4\n190,2\n", [500, 100, 350, 190]),
    "windows": ("\ufeffthreads,value\r\n" + ROWS.replace("\n", "\r\n"), [100, 190, 350, 500]),
    "blank lines": ("threads,value\n1,100\n\n2,190\n4,350\n8,500\n\n\n", [100, 190, 350, 500]),
    "spaces": ("threads, value\n1, 100\n2 ,190\n4,350 \n8,500", [100, 190, 350, 500]),
    "quotes and exponents": ('"threads","value"\n1,"1e2"\n2,1.9E2\n4.0,350.\n8,+500\n', [100, 190, 350, 500]),
    "kilo": (
        "threads,value,unit\n1,.1,kops/s\n2,.19,kops/s\n4,.35,kops/s\n8,.5,kops/s\n",
        [100, 190, 350, 500],
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_good_file_is_read(name: str, tmp_path: Path):
    text, values = READ[name]
    column = read_column(write(tmp_path, text))
    assert column.rates_per_s == pytest.approx(values)
    assert sorted(column.threads) == [1, 2, 4, 8]


REFUSED = {
    "no header": (ROWS, "row 1 names no column threads"),
    "other names": ("n,ops\n" + ROWS, "row 1 names no column threads"),
    "no value": ("threads,rate\n" + ROWS, "row 1 names no column value"),
    "unknown column": ("threads,value,fs\n1,100,ext4\n", "'fs' that is not known"),
    "twice": ("threads,value,value\n1,2,3\n", "names column 'value' twice"),
    "only a header": ("threads,value\n", "has no rows"),
    "empty": ("", "row 1 is empty"),
    "semicolons": ("threads;value\n1;100\n", "semicolons"),
    "tabs": ("threads\tvalue\n1\t100\n", "tabs"),
    "text": ("threads,value\n1,100\n2,fast\n", "row 3, column value is 'fast'"),
    "thousands": ('threads,value\n1,100\n2,"1,900"\n', "row 3, column value is '1,900'"),
    "comma in a number": ("threads,value\n1,100\n2,1,9\n", "row 3 has more cells"),
    "many commas": ("threads,value\n1,100\n2,1,9,0,0\n", "line 3"),
    "empty cell": ("threads,value\n1,100\n2,\n", "row 3, column value is ''"),
    "short row": ("threads,value\n1,100\n2\n", "row 3, column value is ''"),
    "zero": ("threads,value\n1,100\n2,0\n", "row 3, column value is '0'"),
    "negative": ("threads,value\n1,100\n2,-5\n", "row 3, column value is '-5'"),
    "nan": ("threads,value\n1,100\n2,nan\n", "row 3, column value is 'nan'"),
    "infinite": ("threads,value\n1,inf\n2,10\n", "row 2, column value is 'inf'"),
    "half a thread": ("threads,value\n1,100\n1.5,120\n", "row 3, column threads is '1.5'"),
    "no threads": ("threads,value\n0,100\n", "row 2, column threads is '0'"),
    "swapped": ("threads,value\n295287,1\n141330,2\n", "row 2, column threads is '295287'"),
    "after blank lines": ("threads,value\n1,100\n\n\n2,oops\n", "row 5, column value is 'oops'"),
    "no runs": ("threads,value,runs\n1,100,0\n", "row 2, column runs is '0'"),
    "seconds": ("threads,value,unit\n1,100,s\n", "row 2, column unit: 's' is a time"),
    "per cent": ("threads,value,unit\n1,100,%\n", "'%' is a share"),
    "unit": ("threads,value,unit\n1,100,ops/s\n2,100,files\n", "row 3, column unit: 'files' is no rate"),
    "no unit": ("threads,value,unit\n1,100,\n", "row 2, column unit: '' is no rate"),
    "not text": (b"threads,value\n1,\xff\xfe\n", "no CSV file"),
    "binary": (bytes(range(256)), "no CSV file|names no column"),
    "all profiled": ("threads,value,profiled\n1,100,True\n", "has no rows"),
    "counters only": ("threads,value,unit,metric\n1,100,calls,spins\n", "has no rates"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_refused_in_one_sentence(name: str, tmp_path: Path):
    text, part = REFUSED[name]
    path = write(tmp_path, text)
    with pytest.raises(BadInput, match=part) as refused:
        read_columns(path)
    said = str(refused.value)
    assert said.startswith(str(path)) and "\n" not in said and re.search("[:;] [a-z]", said)


@pytest.mark.parametrize("where", ["none.csv", ".", "folder/none.csv"])
def test_a_path_that_is_no_file_is_one_sentence(where: str, inside: Path):
    with pytest.raises(BadInput, match=re.escape(where)):
        read_columns(Path(where))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzzed")


@settings(max_examples=150)
@given(
    st.one_of(
        st.text(max_size=80),
        st.text("threadsvalue,\n 0123456789.-eE\"'", max_size=80),
        st.lists(st.lists(st.text('0123456789.-naif ,"\n', max_size=5), max_size=4), max_size=5).map(
            lambda rows: "threads,value\n" + "\n".join(map(",".join, rows))
        ),
    )
)
def test_any_text_is_read_or_refused(folder: Path, text: str):
    """Warnings are errors here: none of pandas leaks either."""
    path = write(folder, text)
    try:
        columns = read_columns(path)
    except BadInput as refused:
        assert str(refused).startswith(str(path)) and "\n" not in str(refused)
        return
    for column in columns:
        assert np.all(column.rates_per_s > 0) and np.all(column.threads >= 1)


def test_a_row_of_five_runs_weighs_five(tmp_path: Path):
    means = write(tmp_path, "threads,value,runs\n1,100,5\n2,190,5\n4,350,1\n8,500,5\n")
    alone = write(tmp_path, "threads,value\n" + "1,100\n2,190\n8,500\n" * 5 + "4,350\n", "alone.csv")
    weighted, repeated = (fit(path, "usl").params for path in (means, alone))
    assert weighted == pytest.approx(repeated, rel=1e-5)


def test_arms_are_curves_of_their_own_and_repeats_are_not(tmp_path: Path):
    path = write(
        tmp_path, "arm,iteration,threads,value\n" + "a,1,1,10\na,2,1,11\na,1,2,20\nb,1,1,12\nb,1,2,13\n"
    )
    a, b = read_columns(path)
    assert (a.name, b.name) == ("a", "b") and list(a.rates_per_s) == [10, 11, 20]
    with pytest.raises(BadInput, match="choose of 'a', 'b'"):
        read_column(path)
    assert read_column(path, "b").rates_per_s.tolist() == [12, 13]


def test_our_own_long_form_gives_its_rates_and_nothing_profiled():
    rows = sorted(paths.MEASURED.glob("inode-claim-2*/rows.csv"))[-1]
    frame = pd.read_csv(rows)
    wanted = frame[(frame.metric == "rate") & ~frame.profiled & (frame.statistic == "total")]
    columns = read_columns(rows)
    assert {column.origin for column in columns} == {"qemu"}
    totals = [column for column in columns if "total" in column.name and "create" in column.name]
    assert {len(column.threads) for column in totals} == set(
        wanted[wanted.test == "create"].groupby(["arm", "cpus"]).size()
    )


def test_a_data_frame_is_a_table_too():
    frame = pd.DataFrame({"threads": [1, 2, 4, 8], "value": [100.0, 190, 350, 500]}, index=[7, 7, 7, 7])
    assert fit(frame, "amdahl").params == pytest.approx(fit(frame.astype(str), "amdahl").params)
    with pytest.raises(BadInput, match="the data frame row 2, column value is -1"):
        compare(frame.assign(value=[1, -1, 2, 3]))
    with pytest.raises(BadInput, match="row 1, column threads"):
        compare(frame.assign(threads=[[1], [2], {}, 3]))


@pytest.mark.slow
def test_a_million_rows_are_read_and_fitted(tmp_path: Path):
    rng = np.random.default_rng(0)
    threads = rng.choice([1, 2, 4, 8, 16, 32, 64], 1000)
    values = 1000 * threads / (1 + 0.05 * (threads - 1)) * np.exp(rng.normal(0, 0.02, 1000))
    rows = "".join(f"{n},{value:.1f}\n" for n, value in zip(threads, values, strict=True))
    path = write(tmp_path, "threads,value\n" + 1000 * rows)
    assert fit(path, "amdahl").params == pytest.approx({"lambda_per_s": 1000, "sigma": 0.05}, rel=0.01)


def test_ranges_leave_out_thread_counts(tmp_path: Path):
    path = write(tmp_path, "threads,value\n" + ROWS)
    assert read_column(path, n_min=2, n_max=4).threads.tolist() == [2, 4]
    with pytest.raises(BadInput, match="no thread counts from 9"):
        read_column(path, n_min=9)
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(BadInput, match="n_max is"):
            read_column(path, n_max=wrong)


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("ops/s", 1), ("creates/s", 1), ("1/s", 1), ("kops/s", 1e3), ("Mops/s", 1e6), ("IOPS", 1),
     ("kIOPS", 1e3), ("ops/ms", 1e3), ("ops/min", 1 / 60), ("files/us", 1e6), ("op/sec", 1)],
)  # fmt: skip
def test_units_of_rate(unit: str, factor: float):
    assert per_s(unit) == pytest.approx(factor)


@pytest.mark.parametrize(
    "unit", ["s", "ms", "%", "", "ops", "ops/", "ops/day", "s/op/s", "MB", "ops per second"]
)
def test_what_is_no_unit_of_rate(unit: str):
    with pytest.raises(ValueError, match="write"):
        per_s(unit)
