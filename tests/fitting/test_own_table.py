# SPDX-License-Identifier: MIT
"""A table of the user's own is read right, or refused in one sentence with file, row and column."""

import os
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
from lockscale.fitting.rate_unit import rate_unit
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
    "profiled left out": (
        "threads,value,profiled\n1,90,yes\n1,100,no\n2,190,False\n4,350,0\n8,500,\n",
        [100, 190, 350, 500],
    ),
    "trailing comma": ("threads,value,\n1,100,\n2,190,\n4,350,\n8,500,\n", [100, 190, 350, 500]),
    "trailing commas in rows": ("threads,value\n1,100,\n2,190,\n4,350,\n8,500,\n", [100, 190, 350, 500]),
    "index": (",threads,value\n0,1,100\n1,2,190\n5,4,350\n7,8,500\n", [100, 190, 350, 500]),
    "index of pandas": (
        "Unnamed: 0,threads,value\n0,1,100\n1,2,190\n2,4,350\n3,8,500\n",
        [100, 190, 350, 500],
    ),
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
    "profiled or not": ("threads,value,profiled\n1,100,maybe\n", "row 2, column profiled is 'maybe'"),
    "no arm": ("threads,value,arm\n1,100,a\n2,190, \n", "row 3, column arm is '': other rows name"),
    "open quote": ('threads,value\n1,100\n\n4,"350\n8,500\n', "row 4 has a quote that nothing closes"),
    "open quote in the header": ('threads,"value\n1,100\n', "row 1 is no header"),
    "column without a name": ("threads,value,\n1,100,\n2,190,x\n", "row 1 has no name for column 3"),
    "names before the rows": (",threads,value\na,1,100\nb,2,190\n", "row 1 has no name for column 1"),
    "long line": ("threads,value\n1," + 10**5 * "ab" + "\n", "row 2, column value is 'abab"),
    "long header": (10**4 * "ab" + ",c\n1,2\n", "names no column threads .it has abab"),
    "long unit": ("threads,value,unit\n1,100," + 10**5 * "x" + "\n", "row 2, column unit: 'xxx"),
    "nothing but NUL": (4000 * b"\0", "but a binary one"),
    "all profiled": ("threads,value,profiled\n1,100,True\n", "has no rows"),
    "unclear rate of a metric": ("threads,value,unit,metric\n1,100,kwidgets/s,w\n", "row 2, column unit"),
    "times only": ("threads,value,unit,metric\n1,100,us,hold\n", "has no rates"),
    "counters only": ("threads,value,unit,metric\n1,100,calls,spins\n", "has no rates"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_refused_in_one_sentence(name: str, tmp_path: Path):
    text, part = REFUSED[name]
    path = write(tmp_path, text)
    with pytest.raises(BadInput, match=part) as refused:
        read_columns(path)
    said = str(refused.value)
    assert said.startswith(str(path)) and said.isprintable() and re.search("[:;] [a-z]", said)
    assert len(said.removeprefix(str(path))) < 500


@pytest.mark.parametrize("name", ["data.txt", "UPPER.CSV", "noext"])
def test_a_file_that_is_there_needs_no_suffix(name: str, inside: Path):
    write(inside, "threads,value\n" + ROWS, name)
    assert read_column(name).rates_per_s.tolist() == [100, 190, 350, 500]
    assert read_column("s4_creat_clo", "orphan-mutex throughput").origin == "published"


def test_a_pipe_is_read_once(tmp_path: Path):
    read, write_end = os.pipe()
    os.write(write_end, ("threads,value\n" + ROWS).encode())
    os.close(write_end)
    assert read_column(f"/dev/fd/{read}").rates_per_s.tolist() == [100, 190, 350, 500]
    os.close(read)


FRAME = pd.DataFrame({"threads": [1, 2, 4], "value": [100.0, 190, 350]})
NO_TABLES = {
    "pair": (([1, 2, 4], [100, 190, 350]), "the table is tuple"),
    "dict": ({"threads": [1]}, "the table is dict"),
    "array": (np.ones((3, 2)), "the table is ndarray"),
    "nothing": (None, "the table is NoneType"),
    "number": (7, "the table is int"),
    "series": (FRAME.value, "the table is Series"),
    "levels": (pd.concat([FRAME], axis=1, keys=["a"]), "columns of several levels"),
    "twice": (pd.concat([FRAME, FRAME], axis=1), "column 'threads' twice"),
    "complex": (FRAME.assign(value=[1j, 2, 3]), "row 1, column value is '1j'"),
    "one complex": (FRAME.assign(value=pd.Series([1, 1j, 3], dtype=object)), "row 2, column value"),
    "bool": (FRAME.assign(threads=[True, False, True]), "row 1, column threads is 'True'"),
    "one bool": (FRAME.assign(value=pd.Series([1, True, 3], dtype=object)), "row 2, column value is 'True'"),
    "dates": (FRAME.assign(value=pd.to_datetime(["2026-01-01"] * 3)), "column value is '2026-01-01"),
    "huge": (FRAME.assign(value=pd.Series([1, 10**400, 3], dtype=object)), "row 2, column value is '1000"),
    "lists": (FRAME.assign(value=[[1], {}, None]), "row 1, column value|row 3, column value"),
    "no rows": (FRAME.iloc[:0], "has no rows"),
    "no columns": (pd.DataFrame(), "no column threads"),
    "index": (FRAME.set_index("threads"), "no column threads"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_refused_in_one_sentence(name: str):
    table, says = NO_TABLES[name]
    with pytest.raises(BadInput, match=says) as refused:
        compare(table)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 500


@pytest.mark.parametrize("kind", ["int32", "Int64", "float32", "str", "object", "category"])
def test_numbers_of_any_kind_in_a_data_frame_are_numbers(kind: str):
    found = read_column(FRAME.astype({"value": int}).astype(kind))
    assert found.rates_per_s.tolist() == [100, 190, 350]


@pytest.mark.parametrize("where", ["none.txt", "NONE.CSV", "folder/none"])
def test_a_name_that_can_only_be_a_file_is_looked_for_as_one(where: str, inside: Path):
    with pytest.raises(BadInput, match="No such file or directory; give the path of a CSV file"):
        read_columns(where)


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
