# SPDX-License-Identifier: MIT
"""ftrace's function profiler, against the kernel's own formatting written again from its source."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import ftrace_cost

HEADER = (
    "  Function                               Hit    Time            Avg             s^2\n"
    "  --------                               ---    ----            ---             ---\n"
)


def kernel_duration(ns):
    """trace_print_graph_duration() of kernel/trace/trace_functions_graph.c."""
    text = str(ns // 1000)
    if len(text) < 7:
        room = min(5, 8 - len(text)) - 1
        text += "." + f"{ns % 1000:03d}"[:room]
    return text + " us " + " " * (8 - len(text))


def kernel_line(name, hits, time_ns, average_ns):
    """function_stat_show() of kernel/trace/ftrace.c."""
    durations = "    ".join(kernel_duration(ns) for ns in (time_ns, average_ns, 0))
    return f"  {name[:30]:<30}  {hits:>10}    {durations}\n"


def kernel_file(rows):
    """One CPU's file for (name, hits, time in ns)."""
    return HEADER + "".join(kernel_line(name, hits, ns, ns // hits) for name, hits, ns in rows)


names = st.from_regex(r"\A[a-z_][a-z0-9_.]{0,39}\Z")
rows = st.tuples(names, st.integers(1, 10**9), st.integers(0, 10**15))
files = st.lists(st.lists(rows, max_size=5, unique_by=lambda row: row[0][:30]), max_size=4)


@pytest.mark.parametrize(
    ("ns", "printed"),
    [
        (0, "0.000 us    "),
        (1_186_720, "1186.720 us "),
        (12_345_678, "12345.67 us "),
        (123_456_789, "123456.7 us "),
        (1_234_567_890, "1234567 us  "),
        (1_707_443_399_000, "1707443399 us "),
    ],
)
def test_durations_are_cut_to_seven_digits(ns, printed):
    assert kernel_duration(ns) == printed
    (cost,) = ftrace_cost.parse([kernel_file([("f", 1, ns)])])
    assert cost.total_us == float(printed.split()[0])


def test_sums_over_cpus_by_hand():
    one = kernel_file([("ext4_create", 3, 9_000), ("_raw_spin_lock", 10, 1_000)])
    two = kernel_file([("_raw_spin_lock", 30, 19_000)])
    costs = ftrace_cost.parse([one, two, HEADER])
    assert [(c.function, c.total_us, c.count, c.avg_us) for c in costs] == [
        ("_raw_spin_lock", 20.0, 40, 0.5),
        ("ext4_create", 9.0, 3, 3.0),
    ]


@pytest.mark.slow
@settings(deadline=None)
@given(files)
def test_counts_are_exact_and_times_within_a_printed_digit_per_cpu(cpus):
    costs = {c.function: c for c in ftrace_cost.parse([kernel_file(cpu) for cpu in cpus])}
    flat = [(name[:30], hits, ns) for cpu in cpus for name, hits, ns in cpu]
    assert set(costs) == {name for name, _, _ in flat}
    for name, cost in costs.items():
        mine = [(hits, ns) for other, hits, ns in flat if other == name]
        total_ns = sum(ns for _, ns in mine)
        assert cost.count == sum(hits for hits, _ in mine)
        assert total_ns - 1000 * len(mine) < cost.total_us * 1000 * (1 + 1e-12)
        assert cost.total_us * 1000 <= total_ns * (1 + 1e-12)
        assert cost.avg_us * cost.count == pytest.approx(cost.total_us)


def test_a_name_that_two_functions_share_is_marked():
    shared = "jbd2_journal_get_write_access_really_a", "jbd2_journal_get_write_access_really_b"
    text = kernel_file([(shared[0], 1, 1000), (shared[1], 2, 3000), ("ext4_create", 1, 1000)])
    cut, plain = ftrace_cost.parse([text])
    assert (cut.function, cut.count) == (shared[0][:30], 3)
    assert (cut.ambiguous, plain.ambiguous) == (True, False)


def test_cut_at_every_byte():
    text = kernel_file([("ext4_create", 12, 9_123_456), ("_raw_spin_lock", 10, 12_345_678_901)])
    whole = ftrace_cost.parse([text])
    lines = {len(HEADER): [], len(HEADER) + len(text.split("\n")[2]) + 1: 1}
    for end in range(len(text)):
        if end in lines:  # a file of fewer functions: nothing in it tells
            assert set(ftrace_cost.parse([text[:end]])) < set(whole)
        else:
            with pytest.raises(BadInput):
                ftrace_cost.parse([text[:end]])


@given(st.integers(1, 10**6), st.integers(1000, 10**9), st.integers(2, 9))
def test_a_time_that_is_not_count_times_average_is_refused(hits, average_ns, factor):
    good = kernel_line("f", hits, hits * average_ns, average_ns)
    assert ftrace_cost.parse([HEADER + good])[0].count == hits
    bad = kernel_line("f", hits, hits * average_ns * factor, average_ns)
    with pytest.raises(BadInput, match="time is not count x average"):
        ftrace_cost.parse([HEADER + bad])


@pytest.mark.parametrize("wrong", ["nan us", "-1.000 us", "1.000 ms", "1,000 us", "inf us", "*"])
def test_a_time_that_is_no_number_of_microseconds_is_refused(wrong):
    text = kernel_file([("f", 1, 1000)])
    with pytest.raises(BadInput, match="does not belong to its table"):
        ftrace_cost.parse([text.replace("1.000 us", wrong, 1)])


@given(st.text())
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        ftrace_cost.parse([text])


def test_a_kernel_without_the_graph_tracer_is_named():
    with pytest.raises(BadInput, match="CONFIG_FUNCTION_GRAPH_TRACER"):
        ftrace_cost.parse(["  Function                               Hit\n  --------      ---\n"])


def test_it_is_turned_off_and_on_again_because_that_empties_the_counters():
    writes = ftrace_cost.start(["ext4*", "_raw_spin_lock"])
    assert [(path.rpartition("/")[2], value) for path, value in writes] == [
        ("function_profile_enabled", "0\n"),
        ("set_ftrace_filter", "ext4*\n_raw_spin_lock\n"),
        ("function_profile_enabled", "1\n"),
    ]
    assert ftrace_cost.STOP[0][1] == "0\n"


@pytest.mark.parametrize("patterns", [[], ["a b"], ["*:mod:ext4\nx"], ["!ext4*"], ["f:traceoff"]])
def test_a_pattern_that_would_be_a_command_is_refused(patterns):
    with pytest.raises(BadInput):
        ftrace_cost.start(patterns)
