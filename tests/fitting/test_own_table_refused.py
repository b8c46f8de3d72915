# SPDX-License-Identifier: MIT
"""A table file that cannot be used is refused in one sentence with file, row and column."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.fitting.user_table import read_columns
from own_csv import ROWS, write

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
    "blanks": ("threads value\n1 100\n", "row 1 has blanks between the names: write commas"),
    "a comment first": (
        "# run of today\nthreads,value\n1,100\n",
        "row 1 is a comment: begin with the header",
    ),
    "two units in one curve": (
        "threads,value,unit\n1,100,creates/s\n2,190,creates/s\n4,300,ops/s\n",
        "row 4, column unit is 'ops/s': rows before it are in creates/s, so give the whole curve in one unit",
    ),
    "a row without a unit": (
        "threads,value,unit,metric\n1,100,ops/s,rate\n2,190,,rate\n4,300,ops/s,rate\n",
        "row 3, column unit is '': rows before it are in ops/s, so give the whole curve in one unit",
    ),
    "a unit in the last row only": (
        "threads,value,unit,metric\n1,100,,rate\n1,110,ops/s,rate\n",
        "row 3, column unit is 'ops/s': rows before it have none, so give",
    ),
    "a point in an unknown unit": (
        "threads,value,unit,metric\n1,100,ops/s,rate\n2,190,operations,rate\n4,300,ops/s,rate\n",
        "row 3, column unit is 'operations': rows before it are in ops/s, so give the whole curve",
    ),
    "text": ("threads,value\n1,100\n2,fast\n", "row 3, column value is 'fast'"),
    "thousands": ('threads,value\n1,100\n2,"1,900"\n', "row 3, column value is '1,900'"),
    "comma in a number": ("threads,value\n1,100\n2,1,9\n", "row 3 has more cells"),
    "many commas": ("threads,value\n1,100\n2,1,9,0,0\n", "row 3 has more cells"),
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
    "half a run": ("threads,value,runs\n1,100,2.5\n", "it is how many runs a row is the mean of, a whole"),
    "seconds": ("threads,value,unit\n1,100,s\n", "row 2, column unit: 's' is a time"),
    "per cent": ("threads,value,unit\n1,100,%\n", "'%' is a share"),
    "unit": (
        "threads,value,unit\n1,100,ops/s\n2,100,files\n",
        "row 3, column unit: 'files' is not a known unit",
    ),
    "no unit": ("threads,value,unit\n1,100,\n", "row 2, column unit: '' is not a known unit"),
    "not text": (b"threads,value\n1,\xff\xfe\n", "not a CSV file"),
    "binary": (bytes(range(256)), "not a CSV file|not CSV|names no column"),
    "profiled or not": ("threads,value,profiled\n1,100,maybe\n", "row 2, column profiled is 'maybe'"),
    "no arm": ("threads,value,arm\n1,100,a\n2,190, \n", "row 3, column arm is '': other rows name"),
    "open quote": ('threads,value\n1,100\n\n4,"350\n8,500\n', "row 4 has an unclosed quote"),
    "open quote in the header": ('threads,"value\n1,100\n', "row 1 has an unclosed quote"),
    "column without a name": ("threads,value,\n1,100,\n2,190,x\n", "row 1 has no name for column 3"),
    "names before the rows": (",threads,value\na,1,100\nb,2,190\n", "row 1 has no name for column 1"),
    "long line": ("threads,value\n1," + 10**5 * "ab" + "\n", "row 2, column value is 'abab"),
    "long header": (10**4 * "ab" + ",c\n1,2\n", "names no column threads .it has abab"),
    "many columns": (",".join(f"c{n}" for n in range(20_000)) + "\n1,2\n", "has 20000 names, and at most"),
    "control": ("arm,threads,value\na,1,100\nb\x1b[31m,1,90\n", r"row 3, column arm is 'b\\x1b\[31m': leave"),
    "direction": ("test,threads,value\n\u202ea,1,100\n", r"row 2, column test is '\\u202ea': leave out"),
    "two lines": ('arm,threads,value\n"a\nb",1,100\n', r"row 2, column arm is 'a\\nb': leave out control"),
    "long unit": ("threads,value,unit\n1,100," + 10**5 * "x" + "\n", "row 2, column unit: 'xxx"),
    "nothing but NUL": (4000 * b"\0", "is a binary file"),
    "of one container": (
        "threads,value,unit,statistic\n2,990,ops/s,mean_per_container\n",
        "row 2, column statistic is 'mean_per_container': give the rate of all together",
    ),
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


@pytest.mark.parametrize("where", ["none.txt", "NONE.CSV", "folder/none"])
def test_a_name_that_can_only_be_a_file_is_looked_for_as_one(where: str, inside: Path):
    with pytest.raises(BadInput, match="No such file or directory; give the path of a CSV file"):
        read_columns(where)


def test_a_file_without_end_is_read_no_further_than_a_table_can_go():
    with pytest.raises(BadInput, match=r"^/dev/zero has more than 64 MiB: keep a row for each rate$"):
        read_columns("/dev/zero")


@pytest.mark.parametrize("where", ["none.csv", ".", "folder/none.csv"])
def test_a_path_that_is_no_file_is_one_sentence(where: str, inside: Path):
    with pytest.raises(BadInput, match=re.escape(where)):
        read_columns(Path(where))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzzed")


def table_of(rows: Sequence[Sequence[str]]) -> str:
    return "threads,value\n" + "\n".join(map(",".join, rows))


ODD_CELLS = st.text('0123456789.-naif ,"\n', max_size=5)
# most are numbers of threads and rates, so that some tables are read
NEARLY_NUMBERS = st.one_of(*6 * [st.integers(1, 99).map(str)], st.text("0123456789.eE+- ", max_size=4))


@settings(max_examples=150)
@given(
    st.one_of(
        st.text(max_size=80),
        st.text("threadsvalue,\n 0123456789.-eE\"'", max_size=80),
        st.lists(st.lists(ODD_CELLS, max_size=4), max_size=5).map(table_of),
        st.lists(st.tuples(NEARLY_NUMBERS, NEARLY_NUMBERS), min_size=1, max_size=5).map(table_of),
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
    assert columns
    for column in columns:
        assert len(column.threads) == len(column.rates_per_s) > 0
        assert np.all(column.rates_per_s > 0) and np.all(column.threads >= 1)
