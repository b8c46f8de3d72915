# SPDX-License-Identifier: MIT
"""Each column of perf report is what its head says: no sample counts twice, no other number is a share."""

import re
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import parse, profile_of

SAMPLES = Path(__file__).parents[1] / "samples"
GRAPH = (SAMPLES / "perf_report-6.1.187-graph.txt").read_text()
HEAD = "# Overhead  {}  Symbol\n"
ROW = "    40.00%  {}  [k] osq_lock\n"


def report(columns, *cells):
    """Rows of one function and one share that differ by what stands between the share and the symbol."""
    return HEAD.format(columns) + "".join(ROW.format(one) for one in cells)


def with_column(text, name, cells, after="Command"):
    """A report with a further column before that of the process."""
    text = re.sub(rf"^(# Children +Self +)(?={after})", rf"\g<1>{name}  ", text, flags=re.MULTILINE)
    numbers = iter(cells)
    return re.sub(
        r"^( +[\d.]+% +[\d.]+%  )(?=\S)",
        lambda row: f"{row[1]}{next(numbers):>12}  ",
        text,
        flags=re.MULTILINE,
    )


@pytest.mark.parametrize("columns", [("Samples",), ("Period",), ("Samples", "Period")])
@pytest.mark.parametrize("has_head", [True, False])
def test_a_count_of_samples_is_no_process(columns, has_head):
    """As perf report -n and --show-total-period print it: rows of one process share their samples."""
    plain, counted = GRAPH, GRAPH
    for name in columns:
        counted = with_column(counted, name, range(100_000))
    if not has_head:
        plain, counted = (re.sub(r"^#.*\n", "", one, flags=re.MULTILINE) for one in (plain, counted))
    assert counted != plain
    assert profile_of(counted).entries == profile_of(plain).entries
    assert profile_of(counted).warnings == profile_of(plain).warnings


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        ("Command", ("fio", "dd")),
        ("    Pid:Command", ("   1234:fio", "   1235:fio")),
        ("    Tid:Command", ("   1234:fio", "   1235:fio")),
        ("CPU", ("000", "001")),
        ("Parent symbol", ("[other]      ", "ext4_create  ")),
        ("CPU  Command  Shared Object    ", ("000  fio  [kernel.kallsyms]", "001  fio  [kernel.kallsyms]")),
        ("Samples  Command  Shared Object", ("9  fio  [kernel.kallsyms]", "9  dd  [kernel.kallsyms]")),
    ],
)
def test_rows_of_one_function_that_differ_in_a_column_are_no_copies(columns, cells):
    found = profile_of(report(columns, *cells))
    assert found.match("osq_lock").share_pct == 80
    assert not [one for one in found.warnings if "appears" in one]
    twice = profile_of(report(columns, cells[0], cells[0]))
    assert [one for one in twice.warnings if "osq_lock appears 2 times with 40.0%" in one]


def test_counts_before_the_share_are_no_share():
    """As perf report -F sample,overhead,sym prints it."""
    text = "#      Samples  Overhead  Symbol\n           266     7.34%  [k] osq_lock\n"
    assert [(one.name, one.share_pct, one.process) for one in profile_of(text).entries] == [
        ("osq_lock", 7.34, None)
    ]


def test_a_process_behind_the_symbol_is_the_rows():
    text = "# Overhead  Symbol        Command\n    40.00%  [k] osq_lock  fio\n    20.00%  [k] osq_lock  dd\n"
    assert [one.process for one in profile_of(text).entries] == ["fio", "dd"]


def test_columns_that_a_mailer_moved_together_are_still_columns():
    text = "# Overhead Samples Command Shared Object Symbol\n 40.00% 12 fio libc.so.6 [.] read\n"
    assert [one.process for one in profile_of(text).entries] == ["fio"]
    cut = "# Overhead  Command  Tid:Command  Symbol\n 40.00%  fio  [k] f\n 20.00%  fio  7:fio  [k] f\n"
    assert profile_of(cut).match("f").share_pct == 20
    assert "line 2 is left out, it does not have the columns of its table: " in " ".join(
        profile_of(cut).warnings
    )


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("# Overhead   Latency  Command  Shared Object  Symbol", "the column Latency is not supported"),
        ("# Overhead       usr       sys  Command  Symbol", "Overhead  usr  sys are not .* --showcpuutil"),
        ("# Overhead  Command / Shared Object / Symbol", "report without --hierarchy$"),
        ("# Overhead,Command        ,Shared Object    ,Symbol", "by ',': report without --field-separator$"),
        ("# Children;    Self;Command  ;Symbol", "report without --field-separator$"),
        ("# Overhead  Source Symbol  Target Symbol", "the column Source Symbol is not known: report with"),
        ("# Command  Overhead  Symbol", "first columns are not Overhead, or Children and Self: report with"),
        ("# Children   Samples      Self  Symbol", "first columns are not Overhead, or Children and Self"),
        ("#     Self  Children  Symbol", "first columns are not Overhead, or Children and Self"),
        ("# Children  Command  Symbol", "first columns are not Overhead, or Children and Self"),
        ("# Overhead  Symbol  Self", "first columns are not Overhead, or Children and Self"),
    ],
)
def test_a_head_whose_columns_are_not_supported_is_refused_with_the_reason(head, says):
    with pytest.raises(BadInput, match=says):
        parse(f"{head}\n    40.00%    10.00%  fio  [kernel.kallsyms]  [k] osq_lock\n")


def test_rows_of_a_group_of_events_are_refused_as_such():
    row = "    5.73%   0.00%  fio  [kernel.kallsyms]  [k] osq_lock\n"
    head = "#         Overhead  Command  Shared Object  Symbol\n"
    with pytest.raises(
        BadInput, match="a percentage for each of cycles:P, instructions:P: report with --no-"
    ):
        parse(f"# Samples: 9K of events 'cycles:P, instructions:P'\n{head}{row}")
    with pytest.raises(BadInput, match=r"line 2 .* does not have the columns of its table: 5\.73"):
        parse(head + row)
    of_one = f"# Samples: 9K of events 'cycles:P'\n{head}{ROW.format('fio  [kernel.kallsyms]')}"
    assert (profile_of(of_one).title, profile_of(of_one).samples) == ("cycles:P", 9000)


def test_a_report_without_rows_is_one_of_perf():
    with pytest.raises(BadInput, match="perf report: no row"):
        parse("# Overhead  Command  Shared Object  Symbol\n# ........  .......  .............  ......\n#\n")
