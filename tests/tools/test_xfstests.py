# SPDX-License-Identifier: MIT
"""What check prints is taken when it is whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xfstests_output import HEADING, KERNEL, WHOLE, printed, some_results

from lockscale.errors import BadInput
from lockscale.tools.xfstests import CheckRun, parse


def test_each_kind_of_line_by_hand():
    run = parse(WHOLE)
    assert run.kernel == KERNEL
    told = {r.test: (r.status, r.reason) for r in run.results}
    assert told == {
        "generic/001": ("pass", ""),
        "generic/002": ("pass", ""),
        "generic/003": ("notrun", "this test requires a valid $LOGWRITES_DEV"),
        "generic/004": ("fail", "- output mismatch (see /results/generic/004.out.bad)"),
        "generic/005": (
            "fail",
            "_check_dmesg: something found in dmesg (see /results/generic/005.dmesg)",
        ),
        "ext4/006": ("fail", "[failed, exit status 1]- output mismatch (see /results/ext4/006.out.bad)"),
        "ext4/007": ("expunged", "[expunged]"),
        "ext4/1008-orphans": ("fail", "_check_generic_filesystem: filesystem on /dev/vdc is inconsistent"),
    }


@given(some_results())
def test_what_was_printed_is_read_back(results):
    assert parse(printed(results)) == CheckRun(KERNEL, tuple(results))


@given(some_results(), st.data())
def test_a_run_that_was_cut_has_no_result(results, data):
    text = printed(results).rstrip("\n")
    with pytest.raises(BadInput):
        parse(text[: data.draw(st.integers(0, len(text) - 1))])


@given(some_results(), st.data())
def test_a_line_lost_changes_no_status(results, data):
    lines = printed(results).splitlines(keepends=True)
    del lines[data.draw(st.integers(0, len(lines) - 1))]
    try:
        found = parse("".join(lines))
    except BadInput as error:
        assert "\n" not in str(error)
    else:
        ran = [r for r in results if r.status != "expunged"]
        assert [r for r in found.results if r.status != "expunged"] == ran


@given(st.text())
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        parse(text)


def test_a_kernel_that_died_is_told_by_the_test_that_ran():
    cut = HEADING + "generic/001 5s ...  6s\ngeneric/002 3s ... "
    with pytest.raises(BadInput, match=r"ends before its summary at generic/002$"):
        parse(cut)
    with pytest.raises(BadInput, match=r"was interrupted at ext4/1008-orphans: run it again$"):
        parse(WHOLE.replace("Not run: gen", "Interrupted!\nNot run: gen"))


def test_a_check_that_did_not_start_is_told_by_its_own_words():
    with pytest.raises(
        BadInput, match=r"ends before its summary \(it says: check: QA must be run as root\)$"
    ):
        parse("check: QA must be run as root\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("generic/002        0s\n", "generic/002        0s\ngeneric/002        0s\n", "generic/002 twice"),
        ("Failed 4 of 7", "Failed 3 of 7", "counts do not agree"),
        ("Failed 4 of 7 tests", "Passed all 7 tests", "counts do not agree"),
        ("Not run: generic/003", "Not run: generic/004", "do not agree"),
        ("generic/001 5s ...  6s", "generic/001 5s ... - output mismatch", "lines and its summary"),
        ("ext4/007          [expunged]", "ext4/007          4s", "leaves out ext4/007"),
        ("FSTYP  ", "SECTION       -- ext4\nFSTYP  ", "has sections"),
    ],
)
def test_lines_and_summary_have_to_agree(old, new, said):
    assert old in WHOLE
    with pytest.raises(BadInput, match=said):
        parse(WHOLE.replace(old, new))
