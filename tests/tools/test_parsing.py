# SPDX-License-Identifier: MIT
"""`lockscale parse` takes the output of every tool, and its rows are what the tool printed."""

import json
from pathlib import Path

import pytest

from kernel_files import EVENTS, FUNCTION_GRAPH, LOCK_EVENTS, LOCK_STAT
from lockscale.errors import BadInput
from lockscale.tools import perf_record
from lockscale.tools.registry import READERS, parse, parse_file, recognise
from lockscale.tools.seal import UNSEALED, seal

SAMPLES = Path(__file__).parents[1] / "samples"
TOOLS = {
    "ext4_stats": "ext4_stats",
    "fsload": "fsload",
    "ftrace_cost": "ftrace_cost",
    "funccost": "funccost",
    "mdtest": "mdtest",
    "perf_lock": "perf_lock",
    "perf_script": "perf_script",
    "perf_stat": "perf_stat",
}
FILES = [
    path
    for path in sorted(SAMPLES.iterdir())
    if path.name.split("-")[0] in TOOLS and "failed" not in path.name
]

# a kernel's configuration, a boot loader's and the README are no tool's output
FILES_OF_TOOLS = [
    p for p in sorted(SAMPLES.iterdir()) if p.name.split("-")[0] not in ("config", "grub", "README.md")
]


def rows(text):
    return {(r.test, r.metric, r.statistic): (r.value, r.unit) for r in parse(text).rows}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sample_is_recognised(path):
    found = parse_file(path)
    assert found.tool == TOOLS[path.name.split("-")[0]]
    assert found.rows or "perf lock saw no wait" in found.warnings[0]
    assert parse_file(path, found.tool) == found
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        (LOCK_EVENTS, "lock_events"),
        (FUNCTION_GRAPH, "function_graph"),
        (EVENTS, "event_counts"),
        (LOCK_STAT, "lock_stat"),
    ],
)
def test_files_of_the_kernel_are_recognised(text, tool):
    assert recognise(text) == tool
    assert UNSEALED in parse(text).warnings or tool == "lock_stat"
    assert parse(text).rows[0].threads is None
    if tool != "lock_stat":
        assert parse(seal(text)).warnings == ()


def test_waits_for_locks():
    found = rows((SAMPLES / "perf_lock-6.12.95-csv.txt").read_text())
    assert found["spinlock __run_timers+0x1dc", "contentions", "total"] == (27, "events")
    assert found["spinlock __run_timers+0x1dc", "wait", "total"] == (521_541, "ns")
    assert found["spinlock __run_timers+0x1dc", "wait", "mean"] == (19_316, "ns")
    assert found["spinlock __run_timers+0x1dc", "wait", "max"] == (154_759, "ns")
    assert len(found) == 4 * 4


def test_a_name_of_several_rows_is_said():
    warnings = parse((SAMPLES / "perf_lock-6.1.187-caller.txt").read_text()).warnings
    assert "4 rows of spinlock exit_to_user_mode_loop+0x51 are added up" in warnings


def test_lock_classes_with_their_places():
    found = rows(LOCK_STAT)
    assert found["&bgl->locks[i].lock", "contentions", "total"] == (4, "events")
    assert found["&bgl->locks[i].lock", "wait", "mean"] == (0.25, "us")
    assert found["&bgl->locks[i].lock", "hold", "max"] == (2.0, "us")
    assert found["&bgl->locks[i].lock", "acquisition_bounces", "total"] == (7, "events")
    waits = "&bgl->locks[i].lock waits at __ext4_new_inode+0x4a/0x90"
    assert found[waits, "contentions", "total"] == (4, "events")
    assert parse(LOCK_STAT).version == "0.4"


def test_lock_stat_of_a_kernel_that_stopped_debugging_is_an_error():
    warning = "*WARNING* lock debugging disabled!! - possibly due to a lockdep warning\n"
    with pytest.raises(BadInput, match="lock debugging is disabled"):
        parse(LOCK_STAT.replace("0.4\n", f"0.4\n{warning}", 1))


def test_a_failed_perf_lock_contention_b_is_an_error():
    with pytest.raises(BadInput, match="without -b"):
        parse((SAMPLES / "perf_lock-6.1.187-bpf-failed.txt").read_text())


def test_function_costs_are_summed_over_the_processors():
    found = rows((SAMPLES / "ftrace_cost-6.12.117.txt").read_text())
    assert found["_raw_spin_lock", "calls", "total"] == (17_315 + 12_930, "calls")
    assert found["ext4_create", "calls", "total"] == (1276, "calls")
    assert found["jbd2_journal_get_write_access", "time", "total"] == (
        pytest.approx(6736.446 + 2472.136),
        "us",
    )
    published = rows((SAMPLES / "funccost-s1.txt").read_text())
    assert published["_raw_spin_lock", "calls", "total"][1] == "calls"


def test_counts_of_events():
    assert rows((SAMPLES / "perf_stat-6.1.187.txt").read_text())["page-faults", "count", "total"] == (
        76,
        "events",
    )
    repeats = rows((SAMPLES / "perf_stat-6.12.95-repeats.txt").read_text())
    assert repeats["task-clock", "time", "mean"] == (0.767636, "ms")
    assert repeats["task-clock", "time", "standard_error_of_mean"] == (3.98, "%")
    assert rows(LOCK_EVENTS)["lock_slowpath", "events", "total"] == (1118, "events")
    assert len(rows(LOCK_EVENTS)) == 3
    assert rows(EVENTS) == {("ext4:ext4_lost_inode_bit", "events", "total"): (40, "events")}


def test_single_calls():
    found = rows(FUNCTION_GRAPH)
    assert found["ext4_unlink", "calls", "total"] == (1, "calls")
    assert found["ext4_create", "time", "max"] == (2345.678, "us")
    assert found["ext4_unlink", "calls_marked_100us", "total"] == (1, "calls")


def test_samples_of_functions():
    found = rows((SAMPLES / "perf_script-6.1.187.txt").read_text())
    assert found["recently_deleted", "samples", "total"] == (2, "samples")
    assert found["recently_deleted", "samples", "itself"] == (0, "samples")
    assert found["__brelse", "samples", "itself"] == (1, "samples")


def test_a_large_file_of_samples_is_not_read_into_memory(tmp_path, monkeypatch):
    path = tmp_path / "perf-script.txt"
    path.write_text((SAMPLES / "perf_script-6.1.187-kernel.txt").read_text() * 300)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("the whole file was read"))
    found = parse_file(path)
    assert found.tool == perf_record.SCRIPT
    assert parse_file(path, perf_record.SCRIPT) == found
    assert max(row.value for row in found.rows) == 7 * 300


def test_an_unknown_tool_and_an_unknown_text_are_refused():
    with pytest.raises(BadInput, match="tool blktrace is not known"):
        parse(LOCK_EVENTS, "blktrace")
    with pytest.raises(BadInput, match=r"begins with 'hello': give everything .* \(--tool help lists them\)"):
        parse("hello\n")
    with pytest.raises(BadInput, match="contains output of ftrace_cost, function_graph: give one at a time"):
        parse((SAMPLES / "ftrace_cost-6.12.117.txt").read_text() + FUNCTION_GRAPH)


@pytest.mark.parametrize("first", ["folded", "report"])
def test_folded_stacks_beside_a_report_are_not_left_out_without_a_word(first: str):
    texts = [
        (SAMPLES / f"{name}.txt").read_text() for name in ("folded-6.1.187-small", "perf_report-6.1.187-flat")
    ]
    with pytest.raises(BadInput, match="contains output of folded, perf_report: give one at a time"):
        parse("".join(texts if first == "folded" else reversed(texts)))


def test_the_command_prints_rows_and_warnings(lockscale):
    path = str(SAMPLES / "perf_lock-6.12.95-csv.txt")
    said = lockscale("parse", path)
    assert said.status == 0 and "rwsem:W do_sys_openat2+0x6e" in said.out
    assert f"warning: {UNSEALED}" in said.err
    value = json.loads(lockscale("parse", path, "--json").out)
    assert (value["tool"], value["version"]) == ("perf_lock", "not stated")
    assert value["rows"][0] == {
        "test": "rwsem:W do_sys_openat2+0x6e",
        "threads": None,
        "iteration": None,
        "metric": "contentions",
        "unit": "events",
        "value": 11,
        "statistic": "total",
    }
    assert lockscale("parse", path, "--tool", "lock_stat").status == 2


def test_every_reader_has_another_name():
    assert len(READERS) >= len(TOOLS) + 4


ONE_TOOL = [path for path in FILES_OF_TOOLS if not path.name.startswith("several")]


@pytest.mark.parametrize("path", ONE_TOOL, ids=lambda path: path.name)
def test_no_output_could_be_of_two_tools(path):
    text = path.read_text()
    assert len([name for name, (recognises, _) in READERS.items() if recognises(text)]) == 1


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("offcputime", "its output is stack_counts, and with -f folded"),
        ("perf top", "its output is perf_report"),
        ("klokstat", "did you mean klockstat"),
    ],
)
def test_a_tool_is_found_by_what_people_call_it(called: str, said: str):
    with pytest.raises(BadInput, match=f"tool {called} is not known: {said}"):
        parse("a;b 3\n", tool=called)
    assert parse("a;b 3\nc 2\n", tool="Folded").tool == "folded"
    with pytest.raises(BadInput, match="perf report"):
        parse("a;b 3\n", tool="perf-report")


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_tool_is_found_by_its_own_name_however_it_is_joined(name: str):
    for spelt in (name, name.upper(), name.replace("_", "-"), name.replace("-", "_"), name.replace("_", " ")):
        try:
            parse("", tool=spelt)
        except BadInput as error:
            assert "is not known" not in str(error)
