# SPDX-License-Identifier: MIT
"""Histogram triggers, against the kernel's own formatting written again from its source."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damaged_output import lost_or_repeated
from lockscale.errors import BadInput
from lockscale.tools import event_counts

LOST, RETRY = "ext4:ext4_lost_inode_bit", "ext4:ext4_orphan_slot_retry"
TRIGGER = "hist:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048 "


def kernel_hist(counts, *, state="paused", dropped=0, trigger=TRIGGER):
    """hist_trigger_show() of kernel/trace/trace_events_hist.c for {cpu: hitcount}."""
    text = f"# event histogram\n#\n# trigger info: {trigger}[{state}]\n#\n\n"
    for cpu, count in sorted(counts.items(), key=lambda entry: entry[1]):
        text += "{ " + f"common_cpu: {cpu:10d} " + "}" + f" hitcount: {count:10d}\n"
    totals = f"\nTotals:\n    Hits: {sum(counts.values())}\n    Entries: {len(counts)}\n"
    return f"{text}{totals}    Dropped: {dropped}\n"


def as_read(hists):
    """What the command of read() prints for {event: text of its hist file}."""
    return "".join(f"event {event.replace(':', '/')}\n{text}" for event, text in hists.items())


HISTS = {LOST: kernel_hist({0: 3, 1: 1_118, 3: 12_345_678_901}), RETRY: kernel_hist({})}
TEXT = as_read(HISTS)
COUNTS = {LOST: 12_345_680_022, RETRY: 0}
per_cpu = st.dictionaries(st.integers(0, 8191), st.integers(1, 2**62), max_size=6)


def test_counts_by_hand():
    assert event_counts.parse(TEXT, [LOST, RETRY]) == COUNTS
    assert "{ common_cpu:          1 } hitcount:       1118\n" in TEXT


def test_a_kernel_that_prints_the_key_s_name_twice_is_read_as_well():
    """hist_field_print() of Linux 7.3: the name of common_cpu, and then that of its field."""
    trigger = TRIGGER.replace("common_cpu", "common_cpucommon_cpu")
    assert event_counts.parse(as_read({LOST: kernel_hist({2: 7}, trigger=trigger)}), [LOST]) == {LOST: 7}


@given(st.lists(per_cpu, min_size=1, max_size=4))
def test_any_counts_come_back(histograms):
    cpus = {f"ext4:event_{n}": counts for n, counts in enumerate(histograms)}
    text = as_read({event: kernel_hist(counts) for event, counts in cpus.items()})
    expected = {event: sum(counts.values()) for event, counts in cpus.items()}
    assert event_counts.parse(text, list(cpus)) == expected


def test_cut_anywhere_it_is_refused():
    for end in range(len(TEXT)):
        with pytest.raises(BadInput):
            event_counts.parse(TEXT[:end], [LOST, RETRY])


@settings(max_examples=300)
@given(lost_or_repeated(TEXT))
def test_lines_lost_or_repeated_change_no_count(text):
    try:
        assert event_counts.parse(text, [LOST, RETRY]) == COUNTS
    except BadInput as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("wrong", ["nan", "inf", "*", "-", "", "-1", "1,118", "1e3", "9" * 400, "٣"])
def test_a_number_that_is_no_count_is_refused(wrong):
    for right in ("1118", "12345680022", "Entries: 3", "Dropped: 0"):
        name, _, number = right.rpartition(" ")
        with pytest.raises(BadInput):
            event_counts.parse(TEXT.replace(right, f"{name} {wrong}" if name else wrong), [LOST, RETRY])
        assert number in TEXT


def test_dropped_events_are_refused_because_no_entry_has_them():
    text = as_read({LOST: kernel_hist({0: 5}, dropped=7)})
    with pytest.raises(BadInput, match="7 events of ext4:ext4_lost_inode_bit were dropped"):
        event_counts.parse(text, [LOST])


def test_a_histogram_that_still_counts_or_counts_something_else_is_refused():
    with pytest.raises(BadInput, match="while it was being counted"):
        event_counts.parse(as_read({LOST: kernel_hist({0: 5}, state="active")}), [LOST])
    by_pid = kernel_hist({0: 5}, trigger="hist:keys=common_pid:vals=hitcount:sort=hitcount:size=2048 ")
    filtered = kernel_hist({0: 5}, trigger=f"{TRIGGER}if dev > 7 ")
    for hist in (by_pid, filtered, kernel_hist({0: 5}) + "\n\n" + kernel_hist({0: 5}), ""):
        with pytest.raises(BadInput, match="another kind"):
            event_counts.parse(as_read({LOST: hist}), [LOST])


@given(st.text())
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        event_counts.parse(text, [LOST])


def test_counts_of_other_events_are_refused():
    for events in ([LOST], [RETRY, LOST], [LOST, RETRY, "ext4:x"]):
        with pytest.raises(BadInput, match="count them again"):
            event_counts.parse(TEXT, events)


def test_an_event_is_counted_from_zero_and_removed():
    file = "/sys/kernel/tracing/events/ext4/ext4_lost_inode_bit/trigger"
    assert event_counts.start([LOST]) == [(file, "hist:keys=common_cpu\n")]
    assert event_counts.stop([LOST]) == [(file, "!hist:keys=common_cpu\n")]


@pytest.mark.parametrize("wrong", ["", "ext4", "ext4:", "ext4:a b", "ext4:*", "../x:y", "ext4:a\n", "a:b:c"])
def test_a_name_that_is_no_event_is_refused(wrong):
    for call in (event_counts.start, event_counts.read, event_counts.stop):
        with pytest.raises(BadInput, match="write system:name"):
            call([wrong])


@pytest.mark.parametrize("events", [[], [LOST, LOST]])
def test_no_event_or_one_twice_is_refused(events):
    for call in (event_counts.start, event_counts.read, event_counts.stop):
        with pytest.raises(BadInput, match="each once"):
            call(events)


def test_an_event_or_an_option_that_the_kernel_lacks_is_named():
    listing = f"{event_counts.EVENTS}/ext4/ext4_lost_inode_bit/hist\n"
    event_counts.check(listing, [LOST])
    with pytest.raises(BadInput, match="no event ext4:ext4_orphan_slot_retry"):
        event_counts.check(listing, [LOST, RETRY])
    with pytest.raises(BadInput, match="CONFIG_HIST_TRIGGERS"):
        event_counts.check(f"{event_counts.EVENTS}/*/*/hist\n", [LOST])


@pytest.fixture
def tracefs(tmp_path):
    """Plain files in place of the kernel's: what is written to a trigger stays in it."""
    for event, hist in HISTS.items():
        folder = tmp_path / event.replace(":", "/")
        folder.mkdir(parents=True)
        (folder / "hist").write_text(hist)
        (folder / "trigger").write_text(f"{TRIGGER}[active]\n")
    return tmp_path


def run(argv, tracefs):
    argv = [argument.replace(event_counts.EVENTS, str(tracefs)) for argument in argv]
    return subprocess.run(argv, capture_output=True, text=True)


def test_the_command_pauses_every_event_before_it_reads_one(tracefs):
    done = run(event_counts.read([LOST, RETRY]), tracefs)
    assert (done.returncode, done.stderr) == (0, "")
    assert event_counts.parse(done.stdout, [LOST, RETRY]) == COUNTS
    for trigger in tracefs.glob("*/*/trigger"):
        assert trigger.read_text() == f"{TRIGGER}[active]\nhist:keys=common_cpu:pause\n"


def test_the_command_makes_no_histogram_of_an_event_that_was_not_counted(tracefs):
    """Pausing a histogram that is not there would make an empty one: a count of zero that was none."""
    trigger = tracefs / "ext4" / "ext4_orphan_slot_retry" / "trigger"
    trigger.write_text("# Available triggers:\n# traceon traceoff hist\n")
    done = run(event_counts.read([LOST, RETRY]), tracefs)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "ext4/ext4_orphan_slot_retry is not being counted\n"
    assert "pause" not in trigger.read_text()


def test_the_list_of_events_is_read_from_the_files(tracefs):
    listing = run(event_counts.AVAILABLE, tracefs).stdout
    event_counts.check(listing.replace(str(tracefs), event_counts.EVENTS), [LOST, RETRY])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("hitcount:       1118", "hitcount:       1119", "do not add up to its 12345680022 hits"),
        ("common_cpu:          1 }", "common_cpu:          0 }", "does not have the 3 entries"),
        ("event ext4/ext4_lost", "# words\nevent ext4/ext4_lost", "the output is not of"),
        ("[paused]", "[active]", "was read while it was being counted"),
    ],
)
def test_a_digit_or_a_line_that_changed_is_refused(old, new, why):
    with pytest.raises(BadInput, match=why):
        event_counts.parse(TEXT.replace(old, new, 1), [LOST, RETRY])


def test_events_that_were_dropped_are_on_cpus_that_nobody_knows():
    with pytest.raises(BadInput, match="7 events of ext4:ext4_lost_inode_bit were dropped"):
        event_counts.parse(as_read({LOST: kernel_hist({0: 3}, dropped=7)}), [LOST])
