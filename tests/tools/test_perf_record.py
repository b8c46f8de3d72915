# SPDX-License-Identifier: MIT
"""perf script's text folded: the same stacks, however large the file and wherever a chunk ends."""

import io
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import perf_record
from lockscale.tools.perf_record import Folded
from lockscale.tools.registry import profiles_of, recognise
from lockscale.tools.seal import UNSEALED, seal

SAMPLES = Path(__file__).parents[1] / "samples"
KERNEL = (SAMPLES / "perf_script-6.1.187-kernel.txt").read_text()
PLAIN = (SAMPLES / "perf_script-6.1.187.txt").read_text()
OPEN = "entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_openat do_sys_openat2 do_filp_open path_openat"


def stack(*names):
    return tuple(name for part in names for name in part.split())


def test_kernel_stacks_by_hand():
    found = perf_record.parse(KERNEL)
    assert (found.event, found.samples, found.warnings) == ("cpu-clock", 10, (UNSEALED,))
    assert found.stacks[("python3",)] == 3  # in user space, whose stack is not recorded
    inode = "__ext4_new_inode __ext4_mark_inode_dirty ext4_reserve_inode_write ext4_get_inode_loc"
    assert found.stacks[stack("python3", OPEN, "ext4_create", inode, "__ext4_get_inode_loc memset_orig")] == 1
    assert perf_record.parse(seal(KERNEL)) == Folded("cpu-clock", found.stacks)


def test_offsets_and_files_of_the_default_form_are_left_out():
    found = perf_record.parse(PLAIN)
    find = "ext4_create __ext4_new_inode find_inode_bit recently_deleted"
    assert found.stacks == {
        ("python3", "[unknown]", "[unknown]"): 1,
        ("python3", "[unknown]", "[unknown]", "[unknown]"): 1,
        stack("python3 [unknown] __GI___libc_open", OPEN, find, "find_get_block_common"): 1,
        stack("python3 [unknown] __GI___libc_open", OPEN, find, "__brelse"): 1,
    }


@pytest.mark.parametrize(
    ("line", "function"),
    [
        ("ffffffff810001 _raw_spin_lock+0x1f ([kernel.kallsyms])", "_raw_spin_lock"),
        ("ffffffff810001 folio_put", "folio_put"),
        ("7f00 std::vector<int, std::allocator<int> >::f(int)+0x2 (/usr/lib/a b.so)", None),
        ("7f00 (anonymous namespace)::f+0x10 (/opt/x (deleted))", "(anonymous namespace)::f"),
        ("7f00 f (inlined)", "f"),
        ("7f00 [unknown] ([unknown])", "[unknown]"),
        ("7f00 a;b+0x1 (/x)", "a:b"),
        ("ffffffffc0 ext4_create+0x1 ([ext4])", "ext4_create"),
        ("ffffffff810001 _raw_spin_lock+0x1 ([kernel.vmlinux].init.text)", "_raw_spin_lock"),
        ("ffffffff810001 _raw_spin_lock ([kernel.vmlinux].init.text)", "_raw_spin_lock"),
        ("ffffffff810001 _raw_spin_lock+0x2 (vmlinux)", "_raw_spin_lock"),
        ("ffffffff810001 _raw_spin_lock (vmlinux)", "_raw_spin_lock"),
        ("ffffffffc0 bpf_prog_6d_foo+0x9 (bpf_prog_6d_foo)", "bpf_prog_6d_foo"),
        ("7f00 main+0x9 (a program (deleted))", "main"),
        ("7f00 f(void (*)(int))", "f(void (*)(int))"),
        ("7f00 f(void (*)(int))+0x1 (lib.so)", "f(void (*)(int))"),
    ],
)
def test_names_of_functions(line, function):
    found = perf_record.parse(f"a 1 1.000000: cycles: \n\t{line}\n\n")
    wanted = function or "std::vector<int, std::allocator<int> >::f(int)"
    assert found.stacks == {("a", wanted): 1}


@pytest.mark.parametrize(
    "head",
    [
        "a 1 2.000001: cycles: ",
        "a     7/9       [003]  2.000001:     250000 cycles:u: ",
        "Web Content  12 2.000001: lock:contention_begin: 0xffff8881 (flags=SPIN)",
        "kworker/0:1-ev 12 2.000001: cpu-clock:k: ",
        ":-1    -1 2.000001000:      1 cpu-clock: ",
    ],
)
def test_first_lines_of_every_form(head):
    found = perf_record.parse(f"{head}\n\tff f\n\n")
    name = head.split(" 12 ")[0].strip() if " 12 " in head else head.split()[0]
    assert found.stacks == {(name, "f"): 1}
    assert found.event == head.split(": ")[1].split()[-1].rstrip(":") or "contention" in head


def test_the_header_that_perf_script_prints_is_no_sample():
    header = "# ========\n# captured on    : Sun Nov 29\n# cmdline : perf record -a \n# ========\n#\n"
    assert recognise(header + PLAIN) == perf_record.SCRIPT
    assert profiles_of(header + PLAIN) == profiles_of(PLAIN)
    with pytest.raises(BadInput, match="first line of sample 2"):
        perf_record.parse(PLAIN.replace("\n\n", "\n\n# captured on\n"))


def test_lines_that_end_as_in_windows_are_the_same_samples():
    text = "app 7 1.000001: cycles: \n\tffffffff81 osq_lock+0x1 (vmlinux)\n\n"
    assert perf_record.parse(text.replace("\n", "\r\n")) == perf_record.parse(text)


def test_samples_of_a_tracepoint_are_no_time():
    text = "app 7 1.000001: lock:contention_begin: 0xff (flags=SPIN)\n\tffffffff81 osq_lock+0x1 (vmlinux)\n\n"
    said = "samples of lock:contention_begin are no shares of the time: record cycles"
    assert said in perf_record.profile_of(perf_record.parse(text)).warnings


def test_two_events_are_not_added():
    text = "a 1 1.000000: cycles: \n\tff f\n\na 1 1.000001: cpu-clock: \n\tff f\n\n"
    with pytest.raises(BadInput, match="one event at a time"):
        perf_record.parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no sample"),
        ("a 1 1.000000: cycles:  ffffffff81 f+0x1 ([kernel.kallsyms])\n", "no sample"),
        ("a 1 1.000000: cycles:  ff f\na 1 1.000001: cycles:  ff f\n\n", "record with -g"),
        ("hello\n\n", "first line of sample 1"),
        ("x" * 3_000_000, "no empty line"),
    ],
)
def test_other_text_is_one_sentence(text, says):
    with pytest.raises(BadInput, match=says):
        perf_record.parse(text)


def test_a_cut_sample_is_left_out_with_a_warning():
    cut = perf_record.parse(KERNEL[:-20])
    assert cut.samples == perf_record.parse(KERNEL).samples - 1
    assert "the last sample is cut off and left out" in cut.warnings


names = st.sampled_from(["ext4_create", "_raw_spin_lock", "f.isra.0", "a"])
stacks = st.lists(st.tuples(names, st.lists(names, max_size=6)), min_size=1, max_size=20)


@settings(max_examples=60)
@given(stacks, st.sampled_from([7, 64, 1 << 20]), st.booleans())
def test_every_stack_is_counted_wherever_a_chunk_ends(found, chunk, with_offset):
    after = "+0x1f ([kernel.kallsyms])" if with_offset else ""
    text = "".join(
        f"{process} {k} {k}.000001: cycles: \n"
        + "".join(f"\tffffffff81{k:06x} {name}{after}\n" for name in reversed(frames))
        + "\n"
        for k, (process, frames) in enumerate(found)
    )
    was, perf_record._CHUNK_BYTES = perf_record._CHUNK_BYTES, chunk
    try:
        got = perf_record.fold(io.BytesIO(text.encode()))
    except BadInput as error:
        assert "no empty line" in str(error) and chunk < 1000
        return
    finally:
        perf_record._CHUNK_BYTES = was
    expected = Counter((process, *frames) for process, frames in found)
    assert got.stacks == expected
    assert all(got.stacks[stack] == count for stack, count in expected.items())
    assert got.samples == len(found) and ("no such process",) not in got.stacks
    assert perf_record.read_folded(perf_record.write_folded(got)) == Folded("cycles", got.stacks)


def test_memory_goes_with_the_different_stacks(monkeypatch):
    monkeypatch.setattr(perf_record, "_CHUNK_BYTES", 1 << 14)

    def peak_bytes(copies):
        tracemalloc.start()
        try:
            assert perf_record.fold(io.BytesIO(b"".join([KERNEL.encode()] * copies))).samples == 10 * copies
            return tracemalloc.get_traced_memory()[1] - len(KERNEL) * copies
        finally:
            tracemalloc.stop()

    assert peak_bytes(200) < peak_bytes(20) + 100_000


def test_too_many_different_stacks_are_refused(monkeypatch):
    monkeypatch.setattr(perf_record, "_MOST_BYTES", 100_000)
    text = "".join(f"a 1 1.000000: cycles: \n\tff f{k}\n\n" for k in range(1000))
    with pytest.raises(BadInput, match="different stacks are too many"):
        perf_record.parse(text)


def test_lines_that_are_forgotten_are_read_again(monkeypatch):
    whole = perf_record.parse(KERNEL).stacks
    monkeypatch.setattr(perf_record, "_MOST_LINES", 2)
    assert perf_record.parse(KERNEL).stacks == whole
