# SPDX-License-Identifier: MIT
"""What a profile says of a lock or a caller: each sample once, and never what is of a look-alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools.lock_functions import kind_of, may_be_one_lock, wait_of
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry
from lockscale.tools.registry import profile_of, profiles_of

NAMES = ["foo_lock", "foo_lock_irq", "xfoo_lock", "foo_loc", "foo", "lock", "foo_lock2", "__foo_lock"]
LEAVES = ["native_queued_spin_lock_slowpath", "_raw_spin_lock", "osq_lock", "work"]


def row(share, name, children=None):
    columns = f"{share:6.2f}%" if children is None else f"{children:6.2f}%  {share:6.2f}%"
    return f"   {columns}  app  [kernel.kallsyms]  [k] {name}\n"


@given(st.lists(st.sampled_from(NAMES), unique=True, min_size=1), st.data())
def test_of_names_that_look_alike_each_has_its_own_number(names, data):
    shares = [data.draw(st.integers(1, 900)) / 100 for _ in names]
    profile = profile_of("".join(map(row, shares, names)))
    for name, share in zip(names, shares, strict=True):
        assert profile.match(name).share_pct == pytest.approx(share)
    for name in set(NAMES) - set(names):
        with pytest.raises(BadInput, match=f"{name} is not in the profile"):
            profile.match(name)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
            st.sampled_from(LEAVES),
            st.integers(1, 99),
        ),
        min_size=1,
    )
)
def test_of_whole_stacks_each_sample_counts_once(stacks):
    """Against a count by hand: a name on the stack, and on it also a function that waits for a lock: one that
    it called itself, if it did; of spin locks or of others, whichever is waited for longer."""
    text = "".join(f"app;{';'.join(above)};{leaf} {count}\n" for above, leaf, count in stacks)
    profile, total = profile_of(text), sum(count for _, _, count in stacks)
    for name in {name for above, _, _ in stacks for name in above}:
        on_stack = [(leaf, count) for above, leaf, count in stacks if name in above]
        waits = [(above, leaf, n) for above, leaf, n in stacks if name in above and leaf != "work"]
        taken_here = [(leaf, n) for above, leaf, n in waits if above[-1] == name]
        sleeping = sum(n for leaf, n in taken_here if leaf == "osq_lock")
        spinning = sum(n for leaf, n in taken_here if leaf != "osq_lock")
        waiting = max(sleeping, spinning) if taken_here else sum(n for _, _, n in waits)
        found = profile.match(name)
        assert found.share_pct == pytest.approx(100 * sum(count for _, count in on_stack) / total)
        assert (found.wait_pct or 0) == pytest.approx(100 * waiting / total)
    assert sum(one.wait_pct for one in profile.waits) == pytest.approx(
        100 * sum(count for _, leaf, count in stacks if leaf != "work") / total
    )


def test_a_wait_within_a_call_tree_counts_once():
    text = row(40.0, "native_queued_spin_lock_slowpath", 40.0) + row(5.0, "_raw_spin_lock", 45.0)
    text += row(1.0, "foo_lock", 50.0)
    profile = profile_of(text)
    assert profile.match("_raw_spin_lock").wait_pct == 45
    assert profile.match("native_queued_spin_lock_slowpath").wait_pct == 40
    assert profile.match("foo_lock").share_pct == 50
    assert profile.match("foo_lock").wait_pct is None  # nothing says what it waits for


def test_what_gcc_appends_is_no_other_name():
    profile = profile_of(row(4.0, "foo.isra.0") + row(2.0, "foo.constprop.1") + row(1.0, "foo_isra"))
    assert profile.match("foo").share_pct == 6
    assert profile.match("foo.isra.0").share_pct == 6


def test_idle_cpus_are_said():
    profile = profile_of(row(30.0, "foo") + row(27.0, "intel_idle") + row(1.0, "idle_foo"))
    assert profile.idle_pct == 27
    assert profile_of(row(30.0, "foo")).idle_pct is None
    for name in ("acpi_processor_ffh_cstate_enter", "psci_cpu_suspend_enter", "snooze_loop", "tdx_safe_halt"):
        assert profile_of(row(30.0, "foo") + row(40.0, name)).idle_pct == 40, "AMD, arm64, POWER, TDX"


def test_a_caller_of_a_caller_is_asked_for_with_an_arrow():
    profile = profile_of("app;a;foo;_raw_spin_lock 30\napp;b;foo;_raw_spin_lock 50\napp;b;work 20\n")
    assert profile.match("foo").wait_pct == 80
    assert profile.match("foo < b").wait_pct == 50
    with pytest.raises(BadInput, match="foo < c is not in the profile"):
        profile.match("foo < c")


LOCK_STAT = (
    "lock_stat version 0.4\n" + "-" * 20 + "\n"
    "  class name con-bounces contentions waittime-min waittime-max waittime-total waittime-avg "
    "acq-bounces acquisitions holdtime-min holdtime-max holdtime-total holdtime-avg\n" + "-" * 20 + "\n\n"
)


def test_a_function_that_waits_for_a_lock_class_is_told_which_one_to_name():
    profile = profile_of(
        LOCK_STAT + "  &sbi->s_orphan_lock:  1 2 0.10 3.00 4.00 2.00  5 60 0.10 7.00 80.00 1.33\n"
        "  -------------------\n  &sbi->s_orphan_lock  2 [<000000001f0e2a1b>] ext4_orphan_add+0x52/0x290\n"
        "  -------------------\n  &sbi->s_orphan_lock  2 [<000000001f0e2a1b>] ext4_orphan_del+0x61/0x1f0\n"
        + "." * 20
        + "\n\n"
    )
    waits = r"ext4_orphan_add is not in the profile .* as a lock, but waits for &sbi->s_orphan_lock: name it"
    with pytest.raises(BadInput, match=waits):
        profile.match("ext4_orphan_add")
    with pytest.raises(BadInput, match=r"not in the profile \(lock_stat, 1 entry\): did you mean"):
        profile.match("ext4_orphan_del")  # it held the lock


def test_a_lock_class_is_matched_by_its_member_but_not_by_what_holds_it():
    text = (
        LOCK_STAT + "  &(&bdi->wb_lock)->rlock:  1 2 0.10 3.00 4.00 2.00  5 60 0.10 7.00 80.00 1.33\n"
        "  &bdi->wb_lock_irq#2:  1 3 0.10 3.00 6.00 2.00  5 60 0.10 7.00 80.00 1.33\n"
        "  &mm->mmap_lock-R:  1 4 0.10 3.00 8.00 2.00  5 60 0.10 7.00 80.00 1.33\n"
    )
    profile = profile_of(text)
    assert (profile.match("wb_lock").contentions, profile.match("wb_lock").wait_ns) == (2, 4000)
    assert profile.match("wb_lock_irq").contentions == 3
    assert profile.match("mmap_lock").kinds == ("read",)
    for name in ("bdi", "rlock", "lock", "mm"):
        with pytest.raises(BadInput, match=f"{name} is not in the profile"):
            profile.match(name)


def test_locks_of_a_like_member_are_not_taken_together():
    row = "1 2 0.10 3.00 4.00 2.00  5 60 0.10 7.00 80.00 1.33\n"
    names = ("&ep->lock", "&zone->lock", "sb_writers", "sb_writers#3", "&t->dir_key#4", "&t->dir_key#4/1")
    profile = profile_of(LOCK_STAT + "".join(f"  {name}: {row}" for name in names))
    with pytest.raises(BadInput, match="lock is in the names of 2 locks of the profile: name one of &e"):
        profile.match("lock")
    assert profile.match("zone->lock").contentions == profile.match("&ep->lock").contentions == 2
    assert [one.name for one in profile.match("sb_writers").entries] == ["sb_writers"]
    assert profile.match("dir_key").contentions == 4  # a subclass is the same lock, taken inside another


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("native_queued_spin_lock_slowpath", "spin"),
        ("_raw_spin_lock_irqsave", "spin"),
        ("queued_read_lock_slowpath", "rwlock:R"),
        ("_raw_write_lock_bh", "rwlock:W"),
        ("rwsem_down_write_slowpath", "rwsem:W"),
        ("down_read_killable", "rwsem:R"),
        ("__mutex_lock.constprop.0", "mutex"),
        ("percpu_down_write", "percpu-rwsem:W"),
        ("___pthread_mutex_lock", "futex"),
        ("_raw_spin_unlock", None),
        ("mutex_unlock", None),
        ("my_mutex_lock", None),
        ("shutdown", None),
    ],
)
def test_which_functions_wait_for_which_lock(function, kind):
    assert kind_of(function) == kind


SLEEPS = ("schedule", "futex_wait_queue", "__futex_wait", "futex_wait", "do_futex")
SPINS = ("native_queued_spin_lock_slowpath", "_raw_spin_lock")


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        (SLEEPS, "futex"),
        ((*SPINS, "futex_wait_setup", "futex_wait", "do_futex"), "spin"),
        ((*SPINS, "futex_wake", "do_futex"), "spin"),
        ((*SPINS, "futex_wait_setup", "futex_wait", "__lll_lock_wait", "f"), "futex"),
        ((*SPINS, "mutex_spin_on_owner", "f"), "mutex"),
    ],
)
def test_who_spins_in_futex_wait_spins_for_its_hash_bucket(stack, kind):
    """As futex_wake() does; who sleeps there, or waits in a user's mutex, waits for the futex."""
    assert wait_of(stack) == kind


@pytest.mark.parametrize(
    ("some", "others", "may"),
    [
        (["mutex or rwsem"], ["rwsem:W"], True),
        (["mutex or rwsem"], ["mutex"], True),
        (["rwsem:R"], ["rwsem:W"], True),
        (["spin"], ["mutex", "rwsem:R"], False),
        (["percpu-rwsem:R"], ["rwsem:R"], False),
    ],
)
def test_which_waits_may_be_for_one_lock(some, others, may):
    assert may_be_one_lock(some, others) == may_be_one_lock(others, some) == may


def test_a_text_without_a_profile_is_refused():
    with pytest.raises(BadInput, match="the output of funccost does not say who waits for a lock"):
        profiles_of("FUNC  TOTAL_TIME(us)  COUNT  AVG(us)\nfoo  100  10  10.0\n", "funccost")


def test_a_function_that_takes_a_spin_lock_and_a_mutex_takes_two_locks() -> None:
    spins = Entry("new_blocks", 3, None, "spin", wait_ns=12e9)
    sleeps = Entry("new_blocks", 4, None, "mutex", wait_ns=9e9)
    seen = LockProfile("perf_lock", "lock waits", (spins, sleeps))
    assert seen.match("new_blocks").waits == (spins,)
    assert seen.match("mutex:new_blocks").waits == (sleeps,)
    assert "(spin, line 3)" in seen.match("new_blocks").said()


def test_readers_and_writers_of_one_lock_are_one_lock_unless_one_side_is_asked_for() -> None:
    writes = Entry("&journal->j_state_lock", 16, None, None, wait_ns=1e9)
    reads = Entry("&journal->j_state_lock", 17, None, "read", wait_ns=2e9)
    seen = LockProfile("lock_stat", "lock waits", (writes, reads))
    wanted = {"-R": (reads,), "-W": (writes,), "": (writes, reads)}
    for side, waits in wanted.items():
        for name in ("&journal->j_state_lock", "j_state_lock"):
            assert seen.match(name + side).waits == waits, name + side


def test_a_wait_by_the_name_of_every_lock_is_its_callers() -> None:
    """As the rows of perf lock contention -v with a stack below them."""
    wait = Entry("_raw_spin_lock", 3, ("ext4_mb_load_buddy", "ext4_mb_new_blocks"), "spin", wait_ns=1e9)
    (found,) = LockProfile("perf_lock", "lock waits", (wait,)).waits
    assert found.name == "ext4_mb_load_buddy"


def test_of_samples_too_one_kind_of_a_functions_locks_can_be_asked_for() -> None:
    """xlog_cil_commit() takes xc_push_lock and, to read, xc_ctx_lock: what is printed can be typed."""
    spins = Entry(
        "queued_spin_lock_slowpath", 1, ("_raw_spin_lock", "commit", "create"), "spin", None, "self", 40.0
    )
    reads = Entry(
        "rwsem_down_read_slowpath", 2, ("down_read", "commit", "create"), "rwsem:R", None, "self", 4.0
    )
    below = Entry(
        "rwsem_down_read_slowpath", 3, ("down_read", "other", "commit"), "rwsem:R", None, "self", 9.0
    )
    seen = LockProfile("folded", "on-CPU samples", (spins, reads, below), disjoint=True)
    assert seen.match("commit").waits == seen.match("spin:commit").waits == (spins,)
    assert seen.match("rwsem:commit").waits == (reads,)
    for name in ("mutex:commit", "rwsem:create"):
        with pytest.raises(BadInput, match="is not in the profile"):
            seen.match(name)
    assert "not " in seen.match("commit").said() and "not " not in seen.match("commit").said(whole=True)
