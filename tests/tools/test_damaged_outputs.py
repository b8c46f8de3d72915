# SPDX-License-Identifier: MIT
"""Damaged output of a load generator or a published table: fewer rows and a warning, or one sentence."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damaged_output import Survives, damaged
from lockscale.errors import BadInput
from lockscale.tools.workloads import READERS

SAMPLES = Path(__file__).parents[1] / "samples"
pytestmark = pytest.mark.slow
TOOLS = {
    "will-it-scale": ["will-it-scale-fallocate2.csv", "will-it-scale-run.txt"],
    "mds-survey": [
        "mds-survey-1.summary", "mds-survey-2.summary", "mds-survey-asked.summary",
        "mds-survey-lu-9796-slow.summary", "mds-survey-1.detail", "mds-survey-2.detail",
    ],
    "reaim": ["reaim-multiuser.txt", "reaim-singleuser.txt"],
    "fio": ["fio-3.33-files.json", "fio-3.42-create.json", "fio-3.42-randrw.json"],
    "mmtests": ["mmtests-creat_clo.txt", "mmtests-netperf.txt", "mmtests-kernbench.txt"],
    "changelog-table": [
        "changelog-stress-orphan.txt", "changelog-fallocate2-v1.txt", "changelog-fallocate2-v3.txt",
    ],
}  # fmt: skip
NAMES = [name for names in TOOLS.values() for name in names]
# What is a name and no number: of a kernel, a processor, a load.
NAMED = {
    "mmtests-kernbench.txt": r"resetpcpu.*",
    "changelog-fallocate2-v3.txt": r"CPU: [^|]*|fallocate2",
    "changelog-fallocate2-v1.txt": "fallocate2",
}
# Lines that may be lost, after which the rows say less and are right all the same.
PROSE = {
    "changelog-stress-orphan.txt": ["SAS.*\n", "stress-orphan.*\n"],
    "changelog-fallocate2-v1.txt": ["Test:.*\n", "Observation:.*\n"],
    "changelog-fallocate2-v3.txt": ["Test:.*\n", "Observation:.*\n"],
    "mmtests-creat_clo.txt": ["For reaim.*\n"],
    "will-it-scale-run.txt": [r"\$.*\n"],
}


def tool_of(name):
    (tool,) = (tool for tool, names in TOOLS.items() if name in names)
    return tool


def sample(name):
    """A sample; of will-it-scale one of the six runs, of mds-survey also one with its command line."""
    if name == "will-it-scale-run.txt":
        return (SAMPLES / "will-it-scale-fallocate2.txt").read_text().split("$ ")[5].join(["$ ", ""])
    if name == "mds-survey-asked.summary":
        asked = "thrlo=4 thrhi=16 file_count=30000 dir_count=4 tests_str='create destroy' mds-survey"
        return f"$ env {asked}\n{(SAMPLES / 'mds-survey-2.summary').read_text()}"
    return (SAMPLES / name).read_text()


def survives(name):
    text = sample(name)
    unsaid = [re.sub(pattern, "", text) for pattern in PROSE.get(name, [])]
    if name == "will-it-scale-run.txt":
        unsaid.append(text.replace("fallocate2", "other"))
    return Survives(text, *unsaid, tool=tool_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_cut_at_every_byte(name):
    survives(name).truncated_everywhere()


@pytest.mark.parametrize("inputs", [1000, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("tool", TOOLS)
def test_one_line_or_number_changed(tool, inputs):
    for name in TOOLS[tool]:
        given_damage = given(damaged(sample(name), NAMED.get(name, "")))
        settings(max_examples=-(-inputs // len(TOOLS[tool])))(given_damage(survives(name).check))()


@pytest.mark.parametrize("tool", TOOLS)
@given(text=st.text())
def test_other_text_is_refused(tool, text):
    with pytest.raises(BadInput):
        READERS[tool][1](text)


@pytest.mark.parametrize("name", NAMES)
def test_each_sample_is_of_one_tool(name):
    found = [tool for tool, (recognises, _) in READERS.items() if recognises(sample(name))]
    assert found == [tool_of(name)]
