# SPDX-License-Identifier: MIT
"""No reader of a profile ever gives a changed number as a good one: every sample, damaged in every way."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damaged_profile import DAMAGE, Sample, damaged
from kernel_files import EVENTS, FC_INFO, FUNCTION_GRAPH, JBD2, LOCK_EVENTS, LOCK_STAT
from lockscale.errors import BadInput
from lockscale.tools.parsing import READERS, parse
from lockscale.tools.seal import unseal

SAMPLES = Path(__file__).parents[1] / "samples"
pytestmark = pytest.mark.slow
SAMPLED = ("ext4_stats", "ftrace_cost", "funccost", "perf_lock", "perf_script", "perf_stat")
SUMS = ("6.1.187-caller", "6.1.187-sealed", "report", "perf_script", "ftrace_cost", "ext4_stats")


def samples(tool):
    texts = {path.stem: path.read_text() for path in sorted(SAMPLES.glob(f"{tool}-*.txt"))}
    return [
        Sample(unseal(text)[0], sums=any(name in stem for name in SUMS))
        for stem, text in texts.items()
        if "failed" not in stem
    ]


BY_TOOL = {
    **{
        tool: samples(tool) for tool in ("ext4_stats", "ftrace_cost", "perf_lock", "perf_script", "perf_stat")
    },
    "ext4_stats, whole files": [Sample(JBD2), Sample(FC_INFO)],
    "function_graph": [Sample(FUNCTION_GRAPH, sums=True)],
    "lock_events": [Sample(LOCK_EVENTS)],
    "lock_stat": [Sample(LOCK_STAT)],
    "event_counts": [Sample(EVENTS)],
}
IDS = [(tool, number) for tool, listed in BY_TOOL.items() for number in range(len(listed))]


@pytest.mark.parametrize(("tool", "number"), IDS)
def test_cut_at_every_byte(tool, number):
    sample = BY_TOOL[tool][number]
    for end in range(len(sample.text)):
        sample.check(sample.text[:end])
    sealed = sample.sealed
    for end in range(len(sealed) - 90, len(sealed)):
        sample.check_sealed(sealed[:end])


def check_damage(tool, examples):
    """Each example without the seal and with it."""

    @settings(max_examples=examples // 2)
    @given(st.sampled_from(BY_TOOL[tool]), DAMAGE)
    def check(sample, damage):
        sample.check(damaged(sample.text, damage))
        sample.check_sealed(damaged(sample.sealed, damage))

    check()


@pytest.mark.parametrize("tool", BY_TOOL)
def test_a_line_or_a_number_changed(tool):
    check_damage(tool, 1000)


@pytest.mark.long
@pytest.mark.parametrize("tool", BY_TOOL)
def test_a_line_or_a_number_changed_10_000_times(tool):
    check_damage(tool, 10_000)


@settings(max_examples=100)
@given(st.text(), st.sampled_from(sorted(READERS)))
def test_other_text_is_refused_by_every_reader(text, tool):
    with pytest.raises(BadInput):
        parse(text, tool)
