# SPDX-License-Identifier: MIT
"""A table file of the user's own is read right: its forms, its rows, its curves."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.fitting import fit
from lockscale.fitting.user_table import read_column, read_columns
from lockscale.measure.run_folder import curated_run
from own_csv import ROWS, write

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


@pytest.mark.parametrize("name", ["data.txt", "UPPER.CSV", "noext"])
def test_a_file_that_is_there_needs_no_suffix(name: str, inside: Path):
    write(inside, "threads,value\n" + ROWS, name)
    assert read_column(name).rates_per_s.tolist() == [100, 190, 350, 500]
    assert read_column("s4_creat_clo", "orphan-mutex throughput").origin == "published"


def test_columns_without_a_name_are_left_out_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One by one, 900 of them took a quarter of a minute."""
    drop, calls = pd.DataFrame.drop, []
    monkeypatch.setattr(pd.DataFrame, "drop", lambda *args, **named: calls.append(1) or drop(*args, **named))
    (tmp_path / "wide.csv").write_text("threads,value" + 900 * "," + "\n1,100" + 900 * "," + "\n2,190\n")
    (column,) = read_columns(tmp_path / "wide.csv")
    assert column.threads.tolist() == [1, 2] and len(calls) == 1


def test_a_pipe_is_read_once(tmp_path: Path):
    read, write_end = os.pipe()
    os.write(write_end, ("threads,value\n" + ROWS).encode())
    os.close(write_end)
    assert read_column(f"/dev/fd/{read}").rates_per_s.tolist() == [100, 190, 350, 500]
    os.close(read)


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
    with pytest.raises(BadInput, match="choose one of 'a', 'b'"):
        read_column(path)
    assert read_column(path, "b").rates_per_s.tolist() == [12, 13]


def test_our_own_long_form_gives_its_rates_and_nothing_profiled():
    rows = curated_run("inode-claim").rows
    frame = pd.read_csv(rows)
    wanted = frame[(frame.metric == "rate") & ~frame.profiled & (frame.statistic == "total")]
    columns = read_columns(rows)
    assert {column.origin for column in columns} == {"qemu"}
    totals = [column for column in columns if "total" in column.name and "create" in column.name]
    assert {len(column.threads) for column in totals} == set(
        wanted[wanted.test == "create"].groupby(["arm", "cpus"]).size()
    )


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
