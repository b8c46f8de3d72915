# SPDX-License-Identifier: MIT
"""The example of CONTRIBUTING.md works as it stands, and the files that it names are there."""

import re
import subprocess
from types import ModuleType

import pytest
from hypothesis import given, settings

from damaged_output import Output, Profile, changed, interleaved, lost_or_repeated
from lockscale import paths
from lockscale.errors import BadInput
from lockscale.tools import registry

TEXT = (paths.ROOT / "CONTRIBUTING.md").read_text()
CODE = dict(re.findall(r"```python\n# (\S+)\n(.*?)```\n", TEXT, re.DOTALL))
OUTPUT = "touchmany 1.2\n4 processes x 500 files in 1250000000 ns: 1600.0 files/s\n"
OTHER = "touchmany 1.2\n8 processes x 500 files in 2000000000 ns: 2000.0 files/s\n"


def run(path, **names):
    """The example's file as a module; names: what it would import."""
    module = ModuleType(path)
    vars(module).update(names)
    exec(compile(CODE[path], path, "exec"), vars(module))
    return module


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    """The modules of both examples, listed as the last example lists them."""
    names = ("touchmany", "context_switches")
    modules = {name: run(f"lib/lockscale/tools/{name}.py") for name in names}
    listed = run("lib/lockscale/tools/registry.py", tool_of=registry.tool_of, **modules)
    for tool in listed.TOOLS:
        monkeypatch.setitem(registry.READERS, tool.name, tool.reader)
    return modules


@pytest.fixture
def touchmany(tools):
    return tools["touchmany"]


@pytest.fixture
def context_switches(tools):
    return tools["context_switches"]


def test_every_file_that_it_names_is_there():
    prose = re.sub(r"```python.*?```", "", TEXT, flags=re.DOTALL)
    named = re.findall(r"`((?:lib|tests)/[\w/.]+)`", prose)
    assert len(named) >= 10
    assert [path for path in named if not (paths.ROOT / path).exists()] == []


def test_the_load_generator_is_recognised_and_read(touchmany):
    parsed = registry.parse(OUTPUT)
    (row,) = parsed.rows
    assert (parsed.tool, parsed.version, parsed.warnings) == ("touchmany", "1.2", ())
    assert (row.test, row.threads, row.unit, row.value, row.statistic) == (
        "create", 4, "ops/s", 4 * 500 / 1.25, "total",
    )  # fmt: skip
    assert touchmany.command("/mnt", processes=4, items=500)[-1] == "/mnt"
    assert touchmany.ON_TARGET.version("touchmany 1.2\n") == "1.2"


def test_damage_to_its_output_never_gives_another_number(touchmany):
    output = Output(OUTPUT)
    output.truncated_everywhere()
    settings(max_examples=150)(given(lost_or_repeated(OUTPUT))(output.check))()
    output.allow(OTHER)
    settings(max_examples=150)(given(interleaved(OUTPUT, OTHER))(output.check_mixed))()


def test_a_version_that_nobody_looked_up_is_refused(touchmany):
    with pytest.raises(BadInput, match=r"run of touchmany 1\.2"):
        registry.parse(OUTPUT.replace("1.2", "2.0"), "touchmany")


def test_the_profiler_reads_what_the_kernel_counts(context_switches):
    done = subprocess.run(context_switches.READ, capture_output=True, text=True, check=True)
    parsed = registry.parse(done.stdout)
    assert parsed.warnings == () and parsed.rows[0].value > 0
    assert parsed.rows[0].metric == "context_switches"


def test_damage_to_the_profile_shows(context_switches):
    profile = Profile("ctxt 8214411\n")
    profile.truncated_everywhere()
    settings(max_examples=150)(given(lost_or_repeated(profile.text))(profile.check))()
    settings(max_examples=150)(given(changed(profile.sealed))(profile.check_sealed))()
