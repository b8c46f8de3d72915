# SPDX-License-Identifier: MIT
"""Profilers around a load: what is done in which order, and what is read."""

from pathlib import Path

import pytest

from lockscale.errors import RunFailed
from lockscale.machines.machine import Completed, Write
from lockscale.measure.profiling import profile, profilers
from lockscale.tools import perf_lock, perf_record
from lockscale.tools.parsed_rows import Number
from lockscale.tools.seal import seal

SAMPLES = Path(__file__).parents[1] / "samples"
LOAD, REMOVE = ["fsload", "create"], ["fsload", "remove"]


class Answers:
    """A machine that answers each command by the words in it."""

    def __init__(self, *, emulated=False, **answers):
        self.emulated, self.answers, self.done = emulated, answers, []

    def run(self, argv, *, timeout_s=60):
        said = next((text for word, text in self.answers.items() if word in " ".join(argv)), "")
        return Completed(tuple(argv), 1 if said is None else 0, said or "", "")

    def run_all(self, steps, *, timeout_s=60):
        self.done += steps
        return [Completed((), 0, "", "") if isinstance(one, Write) else self.run(one) for one in steps]


def one(machine, name):
    ((_, on_load),) = profilers(machine, [name], 2, ["ext4_*"])
    return profile(machine, 2, on_load, LOAD, [REMOVE], timeout_s=10)


def words(machine):
    return [
        step.path.rpartition("/")[2] if isinstance(step, Write) else " ".join(step) for step in machine.done
    ]


def test_perf_lock_runs_the_load_and_reads_its_waits():
    text = (SAMPLES / "perf_lock-6.1.187-sealed.txt").read_text()
    machine = Answers(**{"contention -i": text, "record": "rate 1\n"})
    found = one(machine, "perf_lock")
    assert found.load == "rate 1\n"
    assert found.raw == text
    done = words(machine)
    assert [part.split()[0] for part in (done[0], done[1])] == ["sync", "perf"]
    assert done[1].endswith("-- fsload create") and done[-2:] == [
        "rm -f /run/lockscale-profile.data",
        "fsload remove",
    ]
    assert "-x" not in done[2]  # this perf has no separated form
    assert found.numbers[0] == Number("contentions", "total", "events", 198)
    assert Number("rwsem:W do_filp_open+0xc3.wait", "total", "ns", 83_180_000) in found.numbers
    assert Number("rwsem:W do_filp_open+0xc3.wait", "max", "ns", 17_420_000) in found.numbers


def test_a_newer_perf_lock_is_asked_for_nanoseconds():
    text = seal((SAMPLES / "perf_lock-6.12.95-csv.txt").read_text())
    machine = Answers(**{"contention -h": "  -x, --field-separator <separator>", "contention -i": text})
    assert (
        Number("spinlock __run_timers+0x1dc.wait", "total", "ns", 521_541)
        in one(machine, "perf_lock").numbers
    )
    assert words(machine)[2].endswith("-x ,")


def test_only_the_longest_waits_are_rows():
    head = "# output: contended, total wait, max wait, avg wait, type, caller\n"
    table = head + "".join(f"1, {k}, {k}, {k}, mutex, f{k}\n" for k in range(1, 101))
    numbers = one(Answers(**{"contention -i": seal(table)}), "perf_lock").numbers
    assert numbers[1] == Number("wait", "total", "ns", 5050)
    assert len(numbers) == 2 + 3 * perf_lock.MOST_LOCKS
    assert numbers[2].metric == "mutex f100.contentions"


def test_perf_record_keeps_folded_stacks():
    text = seal((SAMPLES / "perf_script-6.1.187-kernel.txt").read_text())
    machine = Answers(**{"perf script": text, "perf record": "rate 1\n"})
    found = one(machine, "perf_record")
    assert found.numbers == [Number("samples", "total", "samples", 10)]
    assert perf_record.read_folded(found.raw).samples == 10
    assert "-e cpu-clock" in words(machine)[1]


def test_cycles_are_sampled_where_the_machine_counts_them():
    line = (SAMPLES / "perf_stat-6.12.95.txt").read_text().replace("<not supported>", "8000.000000")
    counted = line.replace('"event-runtime" : 0,', '"event-runtime" : 9000,')
    text = seal((SAMPLES / "perf_script-6.1.187-kernel.txt").read_text())
    machine = Answers(**{"perf stat": counted, "perf script": text})
    one(machine, "perf_record")
    assert "-e cycles" in words(machine)[1]


@pytest.mark.parametrize("emulated", [False, True])
def test_the_function_profiler_is_on_only_during_the_load(emulated):
    text = seal((SAMPLES / "ftrace_cost-6.12.117.txt").read_text())
    machine = Answers(emulated=emulated, function0=text)
    numbers = one(machine, "ftrace_cost").numbers
    assert Number("ext4_create.calls", "total", "calls", 1276) in numbers
    assert [number.metric for number in numbers] == sorted(number.metric for number in numbers)
    done = words(machine)
    at = done.index("fsload create")
    assert "function_profile_enabled" in done[:at] and "function_profile_enabled" in done[at:]
    assert done[-2:] == ["set_ftrace_filter", "fsload remove"]
    assert ("online" in done) == emulated  # parked while kernel text is patched


def test_a_profiler_that_fails_gives_no_numbers():
    with pytest.raises(RunFailed, match="perf"):
        one(Answers(**{"perf lock record": None}), "perf_lock")
