# SPDX-License-Identifier: MIT
"""The function graph, against the kernel's own formatting written again from its source."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import function_graph
from lockscale.tools.seal import UNSEALED, seal

HEADER = """# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
"""
BY_HAND = """ 0)               |  ext4_create() {
 0)   0.321 us    |    ext4_inode_journal_mode();
 ------------------------------------------
 0)  fsload-31    =>  fsload-32
 ------------------------------------------

 1) ! 123.456 us  |  ext4_unlink();
 0)               |  /* ext4_lost_inode_bit: dev 254,0 */
 0) + 12.345 us   |    ext4_add_nondir();
 0)   ==========> |
 0)   0.500 us    |    ext4_inode_journal_mode();
 0) # 2345.678 us |  } /* ext4_create */
 1) $ 1234567 us  |  vfs_fsync [ext4]();
 1)               |  ext4_create() {
"""


def mark(ns):
    """trace_find_mark() of kernel/trace/trace_output.c."""
    for limit, sign in ((10**9, "$"), (10**8, "@"), (10**7, "*"), (10**6, "#"), (10**5, "!"), (10**4, "+")):
        if ns > limit:
            return sign
    return " "


def duration(ns):
    """print_graph_duration() of kernel/trace/trace_functions_graph.c."""
    text = str(ns // 1000)
    if len(text) < 7:
        text += f".{ns % 1000:03d}"[: min(5, 8 - len(text))]
    return f"{mark(ns)} {text} us {' ' * (8 - len(text))}|  "


def kernel_trace(calls, depth=0, cpu=0, *, tail):
    """Calls as (name, own ns, calls within): the text, and the times of each function."""
    text, times, total = "", {}, 0
    for name, own, within in calls:
        inner, found, inner_ns = kernel_trace(within, depth + 1, cpu, tail=tail)
        ns = own + inner_ns
        indent = "  " * depth
        if within:
            end = f"}} /* {name} */" if tail else "}"
            text += f" {cpu})               |  {indent}{name}() {{\n{inner}"
            text += f" {cpu}) {duration(ns)}{indent}{end}\n"
        else:
            text += f" {cpu}) {duration(ns)}{indent}{name}();\n"
        for one, listed in found.items():
            times.setdefault(one, []).extend(listed)
        times.setdefault(name, []).append(ns)
        total += ns
    return text, times, total


names = st.sampled_from(["ext4_create", "jbd2_journal_get_write_access", "_raw_spin_lock"])
own = st.one_of(st.integers(0, 10**5), st.integers(0, 2 * 10**9))
calls = st.recursive(
    st.tuples(names, own, st.just(())),
    lambda inner: st.tuples(names, own, st.lists(inner, max_size=3)),
    max_leaves=8,
)


def times(text):
    """Of each function its numbers, by metric and statistic."""
    found = defaultdict(dict)
    for row in function_graph.parse(text).rows:
        found[row.test][row.metric, row.statistic] = row.value
    return found


def marked(numbers):
    return {metric: n for (metric, _), n in numbers.items() if metric.startswith("calls_marked_")}


def test_times_by_hand():
    found = times(HEADER + BY_HAND)
    assert [*found] == [
        "vfs_fsync [ext4]",
        "ext4_create",
        "ext4_unlink",
        "ext4_add_nondir",
        "ext4_inode_journal_mode",
    ]
    inner = found["ext4_inode_journal_mode"]
    assert inner == {
        ("calls", "total"): 2, ("time", "total"): 0.821, ("time", "mean"): 0.4105, ("time", "max"): 0.5,
        ("time", "min"): 0.321,
    }  # fmt: skip
    create = found["ext4_create"]
    assert (create["calls", "total"], create["time", "total"]) == (1, 2345.678)  # the last had not ended
    assert marked(create) == {"calls_marked_1000us": 1}
    assert found["vfs_fsync [ext4]"]["time", "total"] == 1_234_567


@settings(max_examples=60)
@given(st.lists(calls, min_size=1, max_size=4), st.booleans())
def test_every_call_is_there_with_its_callees(forest, tail):
    text, wanted, _ = kernel_trace(forest, tail=tail)
    found = times(seal(HEADER + text))
    assert found.keys() == wanted.keys()
    for name, ns in wanted.items():
        assert found[name]["calls", "total"] == len(ns)
        for statistic, exact in (("total", sum(ns)), ("max", max(ns)), ("min", min(ns))):
            assert exact - 1000 * len(ns) <= 1000 * found[name]["time", statistic] <= exact + 1e-3
        assert sum(marked(found[name]).values()) == sum(mark(one) != " " for one in ns)


def test_lost_events_are_said():
    text = HEADER + "CPU:1 [LOST 36 EVENTS]\n" + BY_HAND
    assert any("events were lost" in warning for warning in function_graph.parse(seal(text)).warnings)
    assert function_graph.parse(HEADER + BY_HAND).warnings == (UNSEALED,)


@pytest.mark.parametrize(
    "line",
    [
        " 0)   0.321 ms    |  f();\n",
        " 0)   0,321 us    |  f();\n",
        " 0)   nan us      |  f();\n",
        " 0)   0.321 us    |  f() {\n",
        " 0)   0.321 us    |  }\n",  # nothing had begun
        " 0)               |  f();\n",
        " 3.000001 |   0)   0.321 us    |  f();\n",
    ],
)
def test_a_line_that_cannot_be_is_refused(line):
    with pytest.raises(BadInput, match="has an unexpected line"):
        function_graph.parse(HEADER + line)


@pytest.mark.parametrize(
    "text", ["", HEADER, HEADER + " 0)               |  f() {\n", "# tracer: nop\n#\n", BY_HAND]
)
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        function_graph.parse(text)
