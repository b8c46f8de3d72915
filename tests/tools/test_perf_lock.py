# SPDX-License-Identifier: MIT
"""perf lock's tables, aligned and separated, of two versions; and a failure that looks like none."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import perf_lock
from lockscale.tools.perf_lock_columns import LockWaits, columns_of
from lockscale.tools.registry import profile_of, profiles_of
from lockscale.tools.seal import UNSEALED, seal

SAMPLES = Path(__file__).parents[1] / "samples"
HEAD = " contended   total wait     max wait     avg wait         type   caller\n\n"


def sample(name):
    return (SAMPLES / f"perf_lock-{name}.txt").read_text()


def waits(name):
    return {one.name: one for one in perf_lock.parse(sample(name)).waits}


def test_waits_by_caller_by_hand():
    found = perf_lock.parse(sample("6.12.95-caller"))
    assert (found.by, len(found.waits), found.warnings) == ("caller", 6, (UNSEALED,))
    assert found.waits[0] == LockWaits(
        "rwsem:W do_sys_openat2+0x6e", 11, 11, 190_240_000, 17_290_000, 40_590_000, None
    )
    assert found.waits[3] == LockWaits("spinlock __run_timers+0x1dc", 27, 27, 521_540, 19_320, 154_760, None)


def test_separated_waits_are_exact_nanoseconds():
    exact, printed = waits("6.12.95-csv"), waits("6.12.95-caller")
    assert exact["rwsem:W do_sys_openat2+0x6e"].total_ns == 190_236_273
    assert exact["spinlock __run_timers+0x1dc"].mean_ns == 19_316
    assert len(exact) == 4
    for name, one in exact.items():
        assert one.contentions == printed[name].contentions
        for mine, other in zip(
            (one.total_ns, one.mean_ns, one.max_ns),
            (printed[name].total_ns, printed[name].mean_ns, printed[name].max_ns),
            strict=True,
        ):
            assert mine == pytest.approx(other, rel=1e-3)


def test_what_perf_says_around_the_table_is_passed_over():
    assert waits("6.12.95-csv-verbose").keys() == {
        "rwsem:W do_sys_openat2+0x6e",
        "rwsem:W entry_SYSCALL_64_after_hwframe+0x76",
    }
    verbose = waits("6.1.187-verbose")
    assert verbose["rwsem:W do_filp_open+0xc3"] == LockWaits(
        "rwsem:W do_filp_open+0xc3", 33, 33, 83_180_000, 2_520_000, 17_420_000, 3_130
    )
    assert len(verbose) == 2


def test_the_shortest_wait_is_there_when_it_was_asked_for():
    assert waits("6.12.95-minimum")["rwsem:W do_sys_openat2+0x6e"].min_ns == 10_100


def test_waits_by_thread_and_by_address():
    assert waits("6.12.95-thread")["mdtest 18861"].mean_ns == 979_630
    assert waits("6.1.187-thread")["qemu-system-x86 18068"].contentions == 10
    assert waits("6.12.95-address")["ffff888627c2ba80 (spinlock)"].contentions == 160


def test_rows_of_one_name_are_added():
    spin = waits("6.1.187-caller")["spinlock exit_to_user_mode_loop+0x51"]
    assert (spin.rows, spin.contentions) == (4, 40 + 36 + 14 + 1)
    assert spin.total_ns == 582_580 + 532_520 + 244_610 + 70_260
    assert spin.mean_ns == pytest.approx(spin.total_ns / 91)
    assert spin.max_ns == 70_260


def test_the_report_by_lock_has_acquisitions():
    report = waits("6.1.187-report")
    assert report["wake_up_q+0x33"] == LockWaits(
        "wake_up_q+0x33", 74, 74, 1_100_000, 14_850, 54_740, 2_090, acquired=74
    )
    assert "exit_to_user_mod..." in report
    nameless = waits("6.12.95-report")["(no name)"]
    assert (nameless.rows, nameless.acquired) == (17, 377)


@pytest.mark.parametrize("name", ["6.1.187-report", "6.12.95-report", "6.12.95-address"])
def test_spaces_at_the_ends_of_lines_may_be_taken_away(name):
    trimmed = "\n".join(line.rstrip() for line in sample(name).split("\n"))
    assert perf_lock.parse(trimmed).waits == perf_lock.parse(sample(name)).waits


def test_a_report_whose_lines_are_cut_is_refused():
    """`9.45 ms` less its last letter is no number of minutes."""
    text = sample("6.1.187-report")
    for fewer in range(2, 6):
        with pytest.raises(BadInput):
            perf_lock.parse(
                "\n".join(line[:-fewer] if line[:1] == " " else line for line in text.split("\n"))
            )


@pytest.mark.parametrize("name", ["swapper", "kworker/u8:1-ev", ":19012"])
def test_a_report_whose_rows_are_threads_is_told(name):
    """perf lock report -t has the head of one without."""
    text = sample("6.1.187-report")
    assert perf_lock.parse(text).warnings == (UNSEALED,)
    threads = text.replace("      wake_up_q+0x33", f"{name:>20}")
    assert any(
        f"{name} is a thread" in one and "without -t" in one for one in perf_lock.parse(threads).warnings
    )


def test_a_sealed_report_is_whole():
    found = perf_lock.parse(sample("6.1.187-sealed"))
    assert found.warnings == ()
    assert (sum(one.rows for one in found.waits), len(found.waits)) == (28, 18)


@pytest.mark.parametrize(
    "text",
    [
        sample("6.1.187-bpf-failed"),
        "libbpf: failed to find valid kernel BTF\nFailed to load lock-contention BPF skeleton\n"
        "lock contention BPF setup failed\n",
        "lock contention BPF setup failed\n" + HEAD,
        "",
        seal(""),
    ],
)
def test_a_failed_contention_b_is_an_error(text):
    with pytest.raises(BadInput, match="without -b"):
        perf_lock.parse(text)


@pytest.mark.parametrize("said", ["unknown switch `Y'", "unknown option `lock-filter=x'"])
def test_an_option_that_this_perf_does_not_know_is_told_as_perf_tells_it(said):
    text = f"  Error: {said}\n\n Usage: perf lock contention [<options>]\n\n    -a, --all-cpus\n"
    with pytest.raises(BadInput, match=rf"Error: {re.escape(said)}\): this perf does not know the option"):
        profile_of(text)


@pytest.mark.parametrize(
    "head",
    [
        "   total wait     max wait         type   caller",
        "                Name   total wait   acquired ",
        "# output: total wait, max wait, type, caller",
    ],
)
def test_a_table_without_its_contentions_needs_another_option(head):
    with pytest.raises(
        BadInput, match="line 1: perf lock's table has no column contended: add contended to its"
    ):
        profile_of(f"{head}\n\n    190.24 ms     40.59 ms      rwsem:W   do_sys_openat2+0x6e\n")


def test_the_report_of_perf_before_5_18_is_in_nanoseconds():
    """print_result() of tools/perf/builtin-lock.c of Linux 5.10."""
    head = f"{'Name':>20}   acquired  contended "
    head += "".join(f"{name + ' wait (ns)':>15} " for name in ("avg", "total", "max", "min")) + "\n\n"
    row = f"{'&mm->mmap_lock':>20} {204:10} {10:10} {1200:15} {12000:15} {5000:15} {100:15} \n"
    end = "\n=== output for debug===\n\nbad: 3, total: 224\nbad rate: 1.34 %\n"
    found = perf_lock.parse(head + row + end)
    assert found.waits == (LockWaits("&mm->mmap_lock", 10, 10, 12_000, 1200, 5000, 100, acquired=204),)
    assert any("3 of 224 events" in one for one in found.warnings)
    with pytest.raises(BadInput, match="does not belong to its table"):
        perf_lock.parse(head + row.replace("          12000", "       12.00 us"))


def test_no_contention_is_no_row_and_a_warning():
    assert perf_lock.parse(seal(HEAD)).warnings == (
        "perf lock saw no waits: was the load running, and on these CPUs?",
    )


def test_two_equal_rows_are_one_repeated_unless_the_text_is_sealed():
    row = "         2      1.54 us       771 ns       770 ns     spinlock   schedule+0x23\n"
    with pytest.raises(BadInput, match="a row twice, in lines 3 and 4"):
        perf_lock.parse(HEAD + row + row)
    (added,) = perf_lock.parse(seal(HEAD + row + row)).waits
    assert (added.rows, added.contentions, added.total_ns, added.max_ns) == (2, 4, 3080, 771)


ONE_WAIT = "         1     32.88 us     32.88 us     32.88 us     spinlock   schedule+0x23\n"
STACK = "                        0xffffffff821fb643  schedule+0x23\n                        0x1da{} \n"


def test_equal_rows_of_one_contention_are_of_two_stacks():
    """Times are printed in three digits, and perf lock contention has a row for each stack."""
    found = perf_lock.parse(HEAD + ONE_WAIT * 3)
    assert [(one.rows, one.contentions, one.total_ns) for one in found.waits] == [(3, 3, 98_640)]
    assert any("line 4 equals a row above, as 2 of one contention do" in one for one in found.warnings)
    two = perf_lock.parse(HEAD + ONE_WAIT + STACK.format(1) + ONE_WAIT + STACK.format(2))
    assert two.waits == perf_lock.parse(HEAD + ONE_WAIT * 2).waits
    with pytest.raises(BadInput, match="a row twice, in lines 3 and 6"):
        perf_lock.parse(HEAD + (ONE_WAIT + STACK.format(1)) * 2)


def test_rows_that_perf_prints_once_for_each_lock_or_thread_are_no_two():
    thread = "         1     32.88 us     32.88 us     32.88 us          123   fio\n"
    for head, row in (
        (HEAD.replace("type   caller", " pid   comm"), thread),
        (
            "# output: contended, total wait, max wait, avg wait, type, caller\n",
            "1, 9, 9, 9, spinlock, f+0x2\n",
        ),
    ):
        with pytest.raises(BadInput, match="a row twice"):
            perf_lock.parse(head + row * 2)


def test_waits_that_perf_could_not_follow_are_said():
    text = sample("6.1.187-verbose").replace("bad: 0, total: 2", "bad: 3, total: 20")
    assert (
        "perf lock could not match 3 of 20 events: their waits are missing" in perf_lock.parse(text).warnings
    )
    text = sample("6.12.95-csv-verbose").replace("bad=0,", "bad=2,", 1)
    assert any("2 of 180" in warning for warning in perf_lock.parse(text).warnings)


def test_what_perf_lost_is_said_and_is_no_title():
    """Tables go to standard error, as this does."""
    text = (SAMPLES / "perf_lock-6.12.95-caller.txt").read_text()
    lost = f"Warning:\nProcessed 9000 events and lost 12 chunks!\n\nCheck IO/CPU overload!\n\n{text}"
    (table,) = perf_lock.tables(lost)
    assert "perf lost 12 chunks of what it recorded: shares and sums may be far off" in table.warnings
    assert (table.title, table.waits) == (perf_lock.tables(text)[0].title, perf_lock.tables(text)[0].waits)


def printed_time(ns):
    """lock_stat_key_print_time() of tools/perf/builtin-lock.c, width 12."""
    for base, unit in ((3.6e12, "h "), (6e10, "m "), (1e9, "s "), (1e6, "ms"), (1e3, "us")):
        if ns >= base:
            return f"{ns / base:9.2f} {unit}"
    return f"{ns:9d} ns"


@given(st.lists(st.integers(1, 10**13), min_size=1, max_size=20), st.integers(0, 5))
def test_any_waits_come_back(each, pending):
    total, mean = sum(each), sum(each) // len(each)
    contended = len(each) + pending  # as many had not ended when the recording did
    numbers = (total, max(each), mean)
    aligned = (
        f"{contended:10d} "
        + "".join(f"{printed_time(ns)} " for ns in numbers)
        + "    spinlock   schedule+0x23\n"
    )
    (one,) = perf_lock.parse(seal(HEAD + aligned)).waits
    for got, ns in zip((one.total_ns, one.max_ns, one.mean_ns), numbers, strict=True):
        assert got == pytest.approx(ns, rel=0.006, abs=0.5)
    separated = f"# output: contended, total wait, max wait, avg wait, type, caller\n{contended}, "
    separated += ", ".join(map(str, numbers)) + ", spinlock, schedule+0x23\n"
    (one,) = perf_lock.parse(seal(separated)).waits
    assert (one.contentions, one.total_ns, one.max_ns, one.mean_ns) == (contended, *numbers)


def test_a_table_ends_where_perf_report_begins():
    row = "         2    100.00 us     90.00 us     50.00 us     spinlock   schedule+0x23\n"
    report = "# To display the perf.data header info, please use --header/--header-only options.\n#\n"
    (one,) = perf_lock.parse(HEAD + row + report).waits
    assert one.contentions == 2


def test_the_mean_of_added_rows_is_over_the_waits_that_ended():
    row = "         {}    {}.00 us     90.00 us     50.00 us     spinlock   schedule+0x23\n"
    (added,) = perf_lock.parse(seal(HEAD + row.format(5, 150) + row.format(2, 100))).waits
    assert (added.contentions, added.ended, added.total_ns, added.mean_ns) == (7, 5, 250_000, 50_000)


@pytest.mark.parametrize(
    "row",
    [
        "        10       nan us     20.00 us     10.00 us     spinlock   f+0x1\n",
        "       -10    100.00 us     20.00 us     10.00 us     spinlock   f+0x1\n",
        "        10      1.00 ms     20.00 us     10.00 us     spinlock   f+0x1\n",
        "        10    100.00 us      5.00 us     10.00 us     spinlock   f+0x1\n",
        "        10    100,00 us     20,00 us     10,00 us     spinlock   f+0x1\n",
        "        10    100.00 us     20.00 us     10.00 us\n",
    ],
)
def test_a_row_of_another_form_is_refused(row):
    with pytest.raises(BadInput):
        perf_lock.parse(seal(HEAD + row))


@pytest.mark.parametrize(
    "line", [" contended   total wait   max wait   type   what", "Name   total wait", "contended", ""]
)
def test_other_heads_are_none(line):
    assert columns_of(line) is None


def test_commands():
    on_load = perf_lock.on_load(sample("6.1.187-bpf-failed"), 4, [])
    data = "/run/lockscale-profile.data"
    assert " ".join(on_load.around(["fsload", "create"])) == (
        f"perf lock record -q -a -N -o {data} -- fsload create"
    )
    assert " ".join(on_load.read).endswith(f" env LC_ALL=C perf lock contention -i {data}")
    newer = perf_lock.on_load("    -x, --field-separator <separator>\n", 4, [])
    assert newer.read[-2:] == ["-x", ","]


CALLERS = (SAMPLES / "perf_lock-6.12.95-caller.txt").read_text()


@pytest.mark.parametrize("cut", ["do_sys_openat2+", "do_sys_openat2+0", "do_sys_openat2+0x"])
def test_a_name_that_is_cut_is_left_out(cut):
    found = perf_lock.parse(CALLERS.replace("do_sys_openat2+0x6e", cut))
    assert {one.name for one in perf_lock.parse(CALLERS).waits} - {one.name for one in found.waits} == {
        "rwsem:W do_sys_openat2+0x6e"
    }
    assert "may be cut" in found.warnings[1] and cut in found.warnings[1]


def test_a_terminals_copy_loses_the_names_that_end_at_its_edge():
    found = perf_lock.parse("\n".join(line[:80] for line in CALLERS.split("\n")))
    assert {one.name for one in found.waits} == {"spinlock rcu_core+0x31f"}
    addresses = (SAMPLES / "perf_lock-6.12.95-address.txt").read_text()
    found = perf_lock.parse(addresses.replace("(spinlock)", "(spinloc"))
    assert {one.contentions for one in found.waits} == {10, 1}


MAIL = f"""Hi all,

> on the 48-core box, before the patch:
>
{"".join("> " + line + chr(10) for line in sample("6.12.95-caller").splitlines())}>
> and with it:
>
{"".join("> " + line + chr(10) for line in sample("6.12.95-minimum").splitlines())}>
That looks good to me.
"""


def test_tables_in_a_mail_are_found_and_told_by_what_stands_above_them():
    before, after = perf_lock.tables(MAIL)
    assert (before.title, after.title) == ("on the 48-core box, before the patch", "and with it")
    assert before.waits == perf_lock.parse(sample("6.12.95-caller")).waits
    assert perf_lock.parse(MAIL, "and with it").waits == after.waits == perf_lock.parse(MAIL, 2).waits
    assert [len(one.entries) for one in profiles_of(MAIL)] == [6, 3]


def test_a_profile_of_callers_has_kind_and_function():
    found = profile_of(sample("6.12.95-caller")).match("do_sys_openat2")
    assert (found.kinds, found.contentions, found.wait_ns) == (("rwsem:W",), 11, 190_240_000)
    with pytest.raises(BadInput, match=r"do_sys_openat is not in the profile .* did you mean do_sys_openat2"):
        profile_of(sample("6.12.95-caller")).match("do_sys_openat")


def test_a_profile_of_addresses_is_known_by_symbol():
    (pool,) = profile_of(sample("6.12.95-address")).match("ffff888627c2ba80").entries
    assert (pool.kind, pool.contentions) == ("spin", 160)


def test_a_table_of_threads_names_no_lock():
    with pytest.raises(BadInput, match="by thread or cgroup and names no lock"):
        profile_of(sample("6.12.95-thread"))


def test_a_total_of_a_few_of_the_waits_is_asked_about() -> None:
    text = (
        " contended   total wait     max wait     avg wait         type   caller\n\n"
        "     12543 {total}      1.94 ms    184.16 us     spinlock   ext4_orphan_add+0x8f\n"
    )
    right, wrong = (
        perf_lock.parse(text.format(total=total)).warnings for total in ("     2.31 s", "    2.31 ms")
    )
    said = "ext4_orphan_add+0x8f: total wait is that of 12 of its 12543 waits at their mean"
    assert any(said in one for one in wrong) and not any("at their mean" in one for one in right)


def test_rows_of_one_caller_below_two_paths_are_two() -> None:
    """perf lock contention -v groups by stack: who calls the function may be named."""
    text = " contended   total wait     max wait     avg wait         type   caller\n\n"
    for longest_ms, path in enumerate(("path_a", "path_b", "path_b"), 4):
        text += f"    200000     60.00 s       {longest_ms}.21 ms    300.00 us     spinlock   get_it+0x2d\n"
        text += "".join(
            f"                        0xffffffff9c2b1d7d  {one}+0x{line}\n"
            for line, one in enumerate(("_raw_spin_lock", "get_it", path, "top"), 10)
        )
    (seen,) = perf_lock.profiles(text)
    waited_s = {
        name: (seen.match(name).wait_ns or 0) / 1e9 for name in ("get_it", "get_it < path_a", "path_b")
    }
    assert waited_s == {"get_it": 180.0, "get_it < path_a": 60.0, "path_b": 120.0}
    assert [one.rows for one in perf_lock.parse(text).waits] == [3]
