# SPDX-License-Identifier: MIT
"""bcc's and bpftrace's outputs: bpftrace 0.17.0's are real, those named by-hand follow bcc's sources."""

import re
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import parse, profile_of, profiles_of
from lockscale.tools.seal import UNSEALED

SAMPLES = Path(__file__).parents[1] / "samples"


def sample(name):
    return (SAMPLES / f"{name}.txt").read_text()


def test_time_off_the_cpu_is_of_the_lock_that_was_waited_for():
    profile = profile_of(sample("stack_counts_offcputime-by-hand"))
    assert profile.of == "off-CPU time"
    (wait,) = profile.waits
    assert (wait.name, wait.wait_pct, wait.wait_ns, wait.kinds) == ("lock_two", 25, 2_500_000, ("rwsem:W",))
    assert profile.match("vfs_read").wait_pct is None
    assert profile.match("rename").share_pct == 25


def test_time_without_a_kernel_stack_stays_in_the_total():
    """bcc prints `[Missed Kernel Stack]` where its table of stacks was full."""
    text = sample("stack_counts_offcputime-by-hand")
    missed = (
        f"{text}    [Missed Kernel Stack]\n    __write\n    -                worker (4097)\n        10000\n\n"
    )
    profile = profile_of(missed)
    assert [one.wait_pct for one in profile.waits] == [12.5]
    assert profile.match("[Missed Kernel Stack]").share_pct == 50
    assert any("10000 of 20000 us have no kernel stack" in one for one in profile.warnings)
    bare = profile_of(missed.replace("    [Missed Kernel Stack]\n    __write\n", ""))
    assert bare.waits[0].wait_pct == 12.5, "libbpf-tools print that line to standard error"


def test_waits_without_a_stack_are_of_no_lock():
    text = sample("stack_counts-bpftrace-0.17.0")
    found = profile_of("@[\n]: 5\n" + text)
    assert [one.path for one in found.entries] == [one.path for one in profile_of(text).entries]
    assert (found.of, found.lost_line) == ("lock waits", 2)
    assert any("line 2: 5 of" in one and "have no kernel stack" in one for one in found.warnings)


@pytest.mark.parametrize(
    "name",
    [
        "rocksdb::Put(rocksdb::Slice const&, int)",
        "operator new(unsigned long)",
        "(anonymous namespace)::write(int) const",
        "void run<int>(int)",
        "std::function<void ()>::operator()() const",
    ],
)
def test_a_demangled_name_has_spaces(name):
    profile = profile_of(sample("stack_counts_offcputime-by-hand").replace("    rename\n", f"    {name}\n"))
    assert [one.wait_pct for one in profile.waits] == [25] and not profile.lost_line
    assert profile.waits[0].waits[0].callers[-1] == name


def test_what_follows_a_line_that_is_none_of_a_stack_is_no_stack():
    text = sample("stack_counts_offcputime-by-hand").replace("    lock_two\n", "and so on\n")
    profile = profile_of(text)
    assert profile.lost_line == 9 and [one.share_pct for one in profile.entries] == [100]
    assert any(
        "line 9: the stack above is left out, this is no line of it: and so" in one
        for one in profile.warnings
    )


def test_offcputime_of_libbpf_tools_has_no_head():
    text = sample("stack_counts_offcputime-by-hand")
    profile = profile_of(text.partition("\n\n")[2])
    assert profile.of == "off-CPU time" and profile.warnings == (UNSEALED,)
    assert [(one.name, one.wait_pct) for one in profile.waits] == [("lock_two", 25)]
    assert len(profiles_of(text.partition("\n\n")[2] + text)) == 2
    verbose = re.sub(r"^    (\w+)$", r"    #0  0xffffffff81e2f3a5 \1+0x1", text, flags=re.MULTILINE)
    assert profile_of(verbose).entries == profile_of(text).entries
    assert any(
        "microseconds off the CPU are assumed" in one
        for one in profile_of("@[\n    schedule+9\n]: 5\n").warnings
    )


def test_folded_time_off_the_cpu_is_told_by_where_the_stacks_end():
    text = "app;main;foo;mutex_lock;schedule;finish_task_switch.isra.0 30\napp;main;schedule 10\n"
    profile = profile_of(text)
    assert (profile.of, profile.match("foo").wait_pct, profile.match("foo").wait_ns) == (
        "off-CPU time",
        75,
        30_000,
    )


def test_stacks_that_all_wait_are_counts_of_calls_and_say_no_share_of_the_time():
    """Of the tracepoint contention_begin, or of a probe of what waits."""
    profile = profile_of(sample("stack_counts-bpftrace-0.17.0"))
    counts = [
        int(line.removeprefix("]: "))
        for line in sample("stack_counts-bpftrace-0.17.0").splitlines()
        if "]: " in line
    ]
    assert profile.of == "lock waits" and sum(one.contentions or 0 for one in profile.entries) == sum(counts)
    assert profile.match("do_unlinkat").wait_ns is None and profile.match("do_unlinkat").share_pct is None
    assert any("taken for calls" in one for one in profile.warnings)
    assert profile.waits[0].contentions >= max(counts), "stacks of one function are one wait"
    assert sum(one.contentions or 0 for one in profile.waits) == sum(counts)


TRACED = """@wait_us[
    __traceiter_contention_begin+1
    native_queued_spin_lock_slowpath+1
    _raw_spin_lock+1
    __ext4_new_inode+1
    ext4_create+2
]: 3000000
@wait_us[
    __traceiter_contention_begin+1
    native_queued_spin_lock_slowpath+1
    _raw_spin_lock+1
    d_alloc_parallel+1
    lookup_open+2
]: 2500000
@wait_us[
    bpf_prog_6deef7357e7b4530+1
    bpf_trace_run2+1
    __bpf_trace_contention_begin+1
    __traceiter_contention_begin+1
    native_queued_spin_lock_slowpath+1
    _raw_spin_lock+1
    __ext4_new_inode+1
    ext4_mkdir+2
]: 7
"""


def test_the_frames_of_a_tracepoint_are_no_lock_and_stacks_of_one_function_are_one_wait():
    """Two locks whose waits are counted at one tracepoint; one of them is taken for a create and a mkdir."""
    profile = profile_of(TRACED)
    assert {one.name for one in profile.entries} == {"native_queued_spin_lock_slowpath"}
    waits = {one.name: one.wait_ns for one in profile.waits}
    assert waits == {"__ext4_new_inode": 3_000_007_000.0, "d_alloc_parallel": 2.5e9}
    assert profile.match("__ext4_new_inode").wait_ns == waits["__ext4_new_inode"]


def test_a_map_that_is_called_by_a_unit_has_sums_of_time():
    """bpftrace's `@wait_us[kstack] = sum(...)`: of waits alone, or of all that sleeps."""
    text = sample("stack_counts-bpftrace-0.17.0").replace("@[", "@wait_us[")
    waits, calls = profile_of(text), profile_of(text.replace("@wait_us[", "@["))
    ns = {one.path: one.wait_ns for one in waits.entries}
    assert waits.of == "lock waits" and not any("taken for calls" in one for one in waits.warnings)
    assert ns == {one.path: 1000 * one.contentions for one in calls.entries}
    at_work = "@wait_us[\n    schedule+6\n    ext4_write_begin+12\n]: 90\n"
    assert profile_of(text + at_work).of == "off-CPU time"
    with pytest.raises(BadInput, match="has the maps @wait_us and @calls: give one of them"):
        profile_of(text + at_work.replace("@wait_us", "@calls"))


PRINT = "@wait_ns[\n    mutex_lock+9\n    foo+1\n]: {}\n@wait_ns[\n    down_write+9\n    bar+1\n]: {}\n"


@pytest.mark.parametrize("name", ["avg_ns", "max_wait_us", "wait_min_ms"])
def test_a_map_of_means_or_longest_waits_has_no_sums(name):
    with pytest.raises(BadInput, match=rf"^line 2: the map @{name} is not of sums, by its name"):
        profiles_of(f"@{name}[\n    __mutex_lock+12\n    ext4_orphan_add+12\n]: 1234\n")


@pytest.mark.parametrize(
    "said",
    [
        "stdin:1:20-40: WARNING: Map full; can't update element. Try increasing max_map_keys config",
        "WARNING: Failed to map_update_elem: Argument list too long (-7)",
        "WARNING: 12 stack traces could not be displayed. Consider increasing --stack-storage-size.",
        "Lost 64 events",
    ],
)
def test_what_a_full_map_lost_is_said(said):
    stack = "@wait_ns[\n    __mutex_lock+12\n    ext4_orphan_add+12\n]: 1234\n"
    buckets = "@wait_ns: \n[1K, 2K)              34 |@@@@|\n"
    for text in (stack, buckets):
        warnings = profile_of(f"{said}\n{text}").warnings
        assert any(one.startswith(f"line 1: not all is there: {said[:40]}") for one in warnings)
        assert not any("not all is there" in one for one in profile_of(text).warnings)


def test_the_marks_of_kernel_functions_are_no_part_of_their_names():
    """profile -a writes them."""
    stack = "    osq_lock_[k]\n    __mutex_lock_[k]\n    ext4_orphan_add_[k]\n"
    stack += "    -                app (7)\n        12\n"
    (profile,) = profiles_of(f"Sampling at 49 Hertz of all threads by kernel stack for 10 secs.\n\n{stack}\n")
    assert profile.match("ext4_orphan_add").wait_pct == 100


def test_a_map_that_is_printed_again_counts_once():
    """`interval:s:5 { print(@wait_ns) }` and the print at exit: each has all that the one before had."""
    text = f"10:00:05\n{PRINT.format(1000, 3000)}10:00:10\n{PRINT.format(2100, 6100)}\n\n"
    profile = profile_of(f"{text}{PRINT.format(2200, 6300)}")
    assert {one.name: one.wait_ns for one in profile.entries} == {"mutex_lock": 2200, "down_write": 6300}
    assert any(
        "@wait_ns is printed 3 times: only the last print counts, from line" in one
        for one in profile.warnings
    )
    for cleared in (PRINT.format(2200, 6000), PRINT.format(1, 7000).partition("]: 1\n")[2]):
        with pytest.raises(BadInput, match=r"so it was cleared, or printed in part: give one print"):
            profile_of(text + cleared)
    with pytest.raises(BadInput, match=r"line 10: the map @wait_ns has the stack of line 2 again"):
        profile_of(PRINT.format(1000, 3000) * 2)


def test_counts_of_two_maps_are_not_added():
    one = "@begin[\n    mutex_lock+9\n    foo+1\n]: 1000\n"
    text = f"{one}{one.replace('begin', 'end')}@samples[\n    bar+1\n]: 100\n"
    with pytest.raises(
        BadInput, match="line 6: the text has the maps @begin, @end and @samples: give one of"
    ):
        profile_of(text)


def test_times_that_a_lock_is_held_are_no_waits():
    """Both are in the output of a script that times a lock from its taking on."""
    waits = sample("stack_counts-bpftrace-0.17.0").replace("@[", "@wait_us[")
    both = profile_of(waits + waits.replace("@wait_us", "@hold_us"))
    assert {one.path: one.wait_ns for one in both.entries} == {
        one.path: one.wait_ns for one in profile_of(waits).entries
    }
    assert any("@hold_us is left out, it is of how long a lock is held" in one for one in both.warnings)
    with pytest.raises(BadInput, match=r"@hold_us is left out, .*: give the map of the waits"):
        profile_of(waits.replace("@wait_us", "@hold_us"))


def test_a_map_may_have_the_process_in_front_of_its_stack():
    text = "@wait_us[fio, \n    mutex_lock+0\n    xfs_log_force_seq+142\n]: 4812345\n"
    (one,) = profile_of(text).entries
    assert (one.process, one.path, one.wait_ns) == ("fio", ("mutex_lock", "xfs_log_force_seq"), 4812345e3)
    with pytest.raises(
        BadInput, match="whose key is kstack, or comm and kstack, and whose value is of count"
    ):
        profile_of(text.replace("4812345", "count 812, average 5926, total 4812345"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "@wait_ns[4096, fio, \n    mutex_lock+9\n    foo+1\n]: 7\n",
            "line 1: the key of the map @wait_ns has too",
        ),
        ("@wait_ns[mutex_lock]: 70000\n", "this is a bpftrace map without stacks: print a"),
        ("@[\n    mutex_lock+9\n, \n    __open64+50\n]: 7\n", "line 3: the key of the map @ has two stacks"),
        (
            "@wait_ns[\n    foo+1\n]: count 7, average 3, total 21\n",
            "line 3: the value of the map @wait_ns is of stats",
        ),
    ],
)
def test_a_map_of_another_form_is_told_with_the_form_that_is_read(text, why):
    with pytest.raises(
        BadInput, match=rf"{why}.* key is kstack, or comm and kstack, and whose value is of count\(\) or"
    ):
        profile_of(text)


def test_kstack_as_perf_prints_it_is_the_same_stack():
    plain = "@wait_ns[\n    mutex_lock+9\n    foo+1\n]: 7\n"
    perf = re.sub(r"    (\S+)", r"\tffffffff94e0ce38 \1 ([kernel.kallsyms])", plain)
    assert profile_of(perf).entries == profile_of(plain).entries


def test_a_stack_that_is_lost_may_be_the_longest():
    text = sample("stack_counts-bpftrace-0.17.0").replace("@[", "@wait_us[")
    assert profile_of(text).lost_line is None
    assert profile_of(text.replace("@wait_us[\n", "@wait_us[\n\n", 1)).lost_line is not None
    folded = "app;main;foo;mutex_lock 30\napp;main;bar 10\n"
    assert profile_of(folded).lost_line is None and profile_of(f"{folded}app;main;foo\n").lost_line == 3
    with pytest.raises(BadInput, match=r"line 1: 30\.5 is no whole number"):
        profile_of(folded.replace(" 30", " 30.5"))


def test_stacks_some_of_which_work_are_taken_for_samples():
    at_work = "@[\n    memcpy_erms+6\n    ext4_write_begin+12\n]: 90\n"
    profile = profile_of(sample("stack_counts-bpftrace-0.17.0") + at_work)
    assert profile.of == "on-CPU samples" and profile.match("memcpy_erms").share_pct is not None
    assert any("does not say what was counted" in one for one in profile.warnings)


def test_a_histogram_of_a_map_without_a_unit_is_asked_about():
    text = sample("bpf_histogram-bpftrace-0.17.0-stacks")
    assert not any("does not say its unit" in one for one in profile_of(text).warnings)
    unnamed = profile_of(text.replace("@wait_ns[", "@wait["))
    assert any("does not say its unit, ns are assumed" in one for one in unnamed.warnings)


def test_histograms_of_one_key_and_of_two_maps_or_prints_are_asked_about():
    one = "@wait_us[fio]: \n[4, 8)               10 |@@@@|\n"
    with pytest.raises(
        BadInput, match="line 3: the maps @wait_us and @queue_us have a histogram of fio each: give"
    ):
        profile_of(one + one.replace("wait", "queue"))
    with pytest.raises(BadInput, match=r"histograms of fio \(lines 1 and 3\): give one print of one run"):
        profile_of(one * 2)


def test_a_histogram_of_several_bits_does_not_say_where_its_buckets_are():
    with pytest.raises(BadInput, match="the ends of line 2 are one number: print hist"):
        profiles_of("@ns[foo]: \n[1K, 1K)              34 |@@@@|\n[1K, 2K)               3 |@@@@|\n")


@pytest.mark.parametrize("bucket", ["[0, 100)", "(..., 100)", "[200, ...)"])
def test_a_linear_histogram_is_told(bucket):
    with pytest.raises(BadInput, match=r"line 3: this histogram is of lhist\(\): print one of hist\(\)"):
        profile_of(f"@wait_us: \n[4, 8)               10 |@@@@|\n{bucket:15} 10 |@@@@|\n")


def test_a_histogram_of_each_stack():
    text = sample("bpf_histogram-bpftrace-0.17.0-stacks")
    profile = profile_of(text)
    assert len(profile.entries) == text.count("@wait_ns[")
    found = profile.match("rwsem_down_write_slowpath < do_unlinkat")
    assert found.contentions == 5 and found.kinds == ("rwsem:W",)
    assert 1 / 1.42 < found.wait_ns / 166e6 < 1.42


@pytest.mark.parametrize("name", ["hold_ns", "held_us", "holdtime_ns"])
def test_a_histogram_of_how_long_a_lock_is_held_is_no_wait(name):
    waits = sample("bpf_histogram-bpftrace-0.17.0-stacks")
    holds = f"@{name}[\n    _raw_spin_unlock+59\n    foo+9\n]: \n[4K, 8K)             10 |@@@@|\n\n"
    both = profile_of(waits + holds)
    assert both.entries == profile_of(waits).entries
    assert any(f"@{name} is left out, it is of how long a lock is held" in one for one in both.warnings)
    with pytest.raises(BadInput, match=rf"line 4: @{name} is left out, .*: give the map of the waits"):
        profile_of(holds)


def test_a_histogram_with_its_sum_has_the_sum():
    found = profile_of(sample("bpf_histogram_funclatency-by-hand")).match("mutex_lock")
    assert (found.contentions, found.wait_ns, found.mean_ns) == (42, 2520, 60)
    text = sample("bpf_histogram_funclatency-by-hand")
    with pytest.raises(BadInput, match="its buckets have 12 of 42 calls"):
        profile_of(text.replace(next(line for line in text.splitlines() if ": 30 " in line) + "\n", ""))


def test_funclatency_of_libbpf_tools_names_its_function_otherwise():
    bcc = sample("bpf_histogram_funclatency-by-hand")
    buckets = bcc[bcc.index("         0 ->") : bcc.index("\n\navg")].replace("+", "")
    text = (
        "Tracing mutex_lock.  Hit Ctrl-C to exit\n^C\n     nsec                : count    distribution\n"
        f"{buckets}\nExiting trace of mutex_lock\n"
    )
    found = profile_of(text).match("mutex_lock")
    assert (found.contentions, found.kinds) == (42, ("mutex",)) and 1 / 1.42 < found.wait_ns / 2520 < 1.42
    assert profile_of(text.replace("nsec", "usec")).match("mutex_lock").wait_ns == found.wait_ns * 1000


def test_a_bucket_that_is_missing_shows():
    text = sample("bpf_histogram-bpftrace-0.17.0")
    with pytest.raises(BadInput, match="does not follow the bucket above"):
        profile_of(text.replace(next(line for line in text.splitlines() if "[4K, 8K)" in line) + "\n", ""))


def test_a_histogram_that_does_not_say_of_what_its_times_are_is_asked_about():
    """runqlat's and biolatency's look like those of a lock."""
    text = (
        "Tracing run queue latency... Hit Ctrl-C to end.\n^C\n"
        "     usecs               : count     distribution\n"
        "         0 -> 1          : 233      |***********                             |\n"
    )
    said = "line 3: nothing says which times the histogram is of: waits for a lock are assumed"
    assert said in profile_of(text).warnings
    assert said not in profile_of(f"Function = mutex_lock\n{text}").warnings


@pytest.mark.parametrize("unit", ["usecs", "msecs"])
def test_the_unit_is_in_the_head(unit):
    text = sample("bpf_histogram_funclatency-by-hand").replace("nsecs", unit)
    assert profile_of(text).match("mutex_lock").mean_ns == 60 * {"usecs": 1e3, "msecs": 1e6}[unit]


@pytest.mark.parametrize(
    "name", ["klockstat-by-hand", "bpf_histogram-bpftrace-0.17.0", "stack_counts-bpftrace-0.17.0"]
)
def test_rows_of_each(name):
    assert parse(sample(name)).rows
