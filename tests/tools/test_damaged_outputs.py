# SPDX-License-Identifier: MIT
"""Damaged output of every tool: the same numbers, fewer with a warning, or one sentence."""

import re
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damaged_output import Output, Profile, changed, interleaved, lost_or_repeated
from kernel_files import EVENTS, FC_INFO, FUNCTION_GRAPH, JBD2, LOCK_EVENTS, LOCK_STAT
from lockscale.errors import BadInput
from lockscale.tools.registry import READERS, parse
from lockscale.tools.seal import unseal

SAMPLES = Path(__file__).parents[1] / "samples"
pytestmark = pytest.mark.slow
LOADS = {
    "will-it-scale": ["will-it-scale-fallocate2.csv", "will-it-scale-run.txt"],
    "mds-survey": [
        "mds-survey-1.summary", "mds-survey-2.summary", "mds-survey-asked.summary",
        "mds-survey-lu-9796-slow.summary", "mds-survey-1.detail", "mds-survey-2.detail",
    ],
    "reaim": ["reaim-multiuser.txt", "reaim-singleuser.txt"],
    "fio": ["fio-3.33-files.json", "fio-3.42-create.json", "fio-3.42-randrw.json"],
    "mmtests": ["mmtests-creat_clo.txt", "mmtests-netperf-by-hand.txt", "mmtests-kernbench-by-hand.txt"],
    "changelog-table": [
        "changelog-stress-orphan.txt", "changelog-fallocate2-v1.txt", "changelog-two-machines-by-hand.txt",
    ],
    "mdtest": sorted(path.name for path in SAMPLES.glob("mdtest-*")),
    "fsload": sorted(path.name for path in SAMPLES.glob("fsload-*")),
}  # fmt: skip
# Lines that may be lost, after which the rows say less and are right all the same.
PROSE = {
    "changelog-stress-orphan.txt": ["SAS.*\n", "stress-orphan.*\n"],
    "changelog-fallocate2-v1.txt": ["Test:.*\n", "Observation:.*\n"],
    "changelog-two-machines-by-hand.txt": ["Test:.*\n", "Observation:.*\n"],
    "mmtests-creat_clo.txt": ["For reaim.*\n"],
    "will-it-scale-run.txt": [r"\$.*\n"],
}
# Tables that people put into mails: no two programs write them to one file.
WRITTEN = ("changelog-table", "mmtests")
PROFILERS = ("ext4_stats", "ftrace_cost", "perf_lock", "perf_script", "perf_stat")
# a row of one contention that was copied is one of another stack: perf lock's are added, with a warning
SUMS = (
    *("6.1.187-caller", "6.1.187-sealed", "6.12.95-caller", "6.12.95-minimum"),
    *("report", "perf_script", "ftrace_cost", "ext4_stats"),
)
# tables of shares and waits of which each row stands for itself, and those whose lines are added or,
# where a row is lost, stand for it
ROWS = (
    "klockstat-by-hand",
    "perf_report-6.1.187-callee",
    "perf_top-by-hand",
    "robot_mail-by-hand",
)
ADDED = (
    "bpf_histogram-bpftrace-0.17.0",
    "bpf_histogram_funclatency-by-hand",
    "folded-6.1.187-small",
    "perf_report_browser-by-hand",
    "stack_counts-bpftrace-0.17.0",
    "stack_counts_offcputime-by-hand",
)


def load_text(name):
    """A sample; of will-it-scale one of the six runs, of mds-survey also one with its command line."""
    if name == "will-it-scale-run.txt":
        return (SAMPLES / "will-it-scale-fallocate2.txt").read_text().split("$ ")[5].join(["$ ", ""])
    if name == "mds-survey-asked.summary":
        asked = "thrlo=4 thrhi=16 file_count=30000 dir_count=4 tests_str='create destroy' mds-survey"
        return f"$ env {asked}\n{(SAMPLES / 'mds-survey-2.summary').read_text()}"
    return (SAMPLES / name).read_text()


def load_output(tool, name):
    text = load_text(name)
    patterns = PROSE.get(name, [])
    some = [chosen for n in range(1, len(patterns) + 1) for chosen in combinations(patterns, n)]
    others = [re.sub("|".join(chosen), "", text) for chosen in some]
    return Output(text, *others, *without_an_iteration(text), tool=tool)


def without_an_iteration(text):
    """mdtest's csv less the lines of one iteration: it does not say how many there were, and warns of it."""
    if not text.startswith("rank,items"):
        return []
    head, total, *lines = text.split("\n")
    ranks = 1 + max(int(line.partition(",")[0]) for line in lines if line)
    starts = range(0, len(lines) - ranks, ranks)
    return ["\n".join([head, total, *lines[:at], *lines[at + ranks :]]) for at in starts]


def profiles(tool):
    paths = [path for path in sorted(SAMPLES.glob(f"{tool}-*.txt")) if "failed" not in path.stem]
    return [Profile(unseal(p.read_text())[0], sums=any(name in p.stem for name in SUMS)) for p in paths]


OUTPUTS = {
    **{tool: [load_output(tool, name) for name in names] for tool, names in LOADS.items()},
    **{tool: profiles(tool) for tool in PROFILERS},
    "ext4_stats, whole files": [Profile(JBD2), Profile(FC_INFO)],
    "function_graph": [Profile(FUNCTION_GRAPH, sums=True)],
    "lock_events": [Profile(LOCK_EVENTS)],
    "lock_stat": [Profile(LOCK_STAT)],
    "event_counts": [Profile(EVENTS)],
    **{one: [Profile((SAMPLES / f"{one}.txt").read_text(), sums=one in ADDED)] for one in (*ROWS, *ADDED)},
}
FEW = 23
"""make test cuts at every so many bytes and at the end of each line, make test-all at every byte."""
EACH = [(tool, number) for tool, outputs in OUTPUTS.items() for number in range(len(outputs))]


@pytest.mark.parametrize("step", [FEW, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(("tool", "number"), EACH)
def test_cut_at_every_byte(tool, number, step):
    OUTPUTS[tool][number].truncated_everywhere(step)


@pytest.mark.parametrize("inputs", [60, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("tool", OUTPUTS)
def test_lines_lost_or_repeated(tool, inputs):
    for output in OUTPUTS[tool]:
        given_damage = given(lost_or_repeated(output.text))
        settings(max_examples=-(-inputs // len(OUTPUTS[tool])), deadline=None)(given_damage(output.check))()


@pytest.mark.parametrize("inputs", [60, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("tool", [tool for tool in OUTPUTS if tool not in WRITTEN])
def test_lines_of_two_outputs_in_one_text(tool, inputs):
    outputs = OUTPUTS[tool]
    for output, other in zip(outputs, [*outputs[1:], outputs[0]], strict=True):
        output.allow(other.text)
        given_damage = given(interleaved(output.text, other.text))
        settings(max_examples=-(-inputs // len(outputs)), deadline=None)(given_damage(output.check_mixed))()


@pytest.mark.parametrize("inputs", [100, pytest.param(2_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "tool", [tool for tool, outputs in OUTPUTS.items() if isinstance(outputs[0], Profile)]
)
def test_any_change_shows_under_a_seal(tool, inputs):
    @settings(max_examples=inputs, deadline=None)
    @given(st.sampled_from(OUTPUTS[tool]), st.data())
    def check(output, data):
        output.check_sealed(data.draw(st.one_of(changed(output.sealed), lost_or_repeated(output.sealed))))

    check()


@settings(max_examples=200)
@given(text=st.text(), tool=st.sampled_from(sorted(READERS)))
def test_other_text_is_refused_by_every_reader(text, tool):
    with pytest.raises(BadInput):
        READERS[tool].parse(text)


OF_PROFILERS = sorted(
    path.name for tool in PROFILERS for path in SAMPLES.glob(f"{tool}-*") if "failed" not in path.name
)


@pytest.mark.parametrize("name", [*OF_PROFILERS, *(name for names in LOADS.values() for name in names)])
def test_an_output_that_a_mail_quotes_whole_is_read_as_it_was(name):
    text = load_text(name)
    quoted = "\n".join(f"> {line}" if line else ">" for line in text.removesuffix("\n").split("\n")) + "\n"
    assert parse(quoted).rows == parse(text).rows


@pytest.mark.parametrize(("tool", "name"), [(tool, name) for tool, names in LOADS.items() for name in names])
def test_each_sample_is_of_one_tool(tool, name):
    assert [known for known, reader in READERS.items() if reader.recognise(load_text(name))] == [tool]
