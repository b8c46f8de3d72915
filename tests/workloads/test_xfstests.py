# SPDX-License-Identifier: MIT
"""What check prints is taken when it is whole, and an arm is compared with the base test by test.

The texts are ours, in the form in which check (2025) prints; no run of xfstests is in them.
"""

import subprocess
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.workloads import xfstests
from lockscale.workloads.xfstests_compare import OneSided, compare
from lockscale.workloads.xfstests_lines import CheckRun, TestResult, parse, parse_log, recognise
from lockscale.workloads.xfstests_xml import parse_xml

KERNEL = "6.12.117-lockscale-0a1b2c3d"
HEADING = f"""\
FSTYP         -- ext4
PLATFORM      -- Linux/x86_64 guest {KERNEL} #1 SMP Thu Jan  1 00:00:00 UTC 1970
MKFS_OPTIONS  -- -O orphan_file /dev/vdc
MOUNT_OPTIONS -- -o acl,user_xattr /dev/vdc /mnt/scratch

"""
TESTS = """\
generic/001 5s ...  6s
generic/002        0s
generic/003       [not run] this test requires a valid $LOGWRITES_DEV
generic/004 2s ... - output mismatch (see /results/generic/004.out.bad)
    --- tests/generic/004.out\t2025-01-01 00:00:00.000000000 +0000
    +++ /results/generic/004.out.bad\t2025-01-01 00:00:00.000000000 +0000
    @@ -1,2 +1,3 @@
     QA output created by 004
    +generic/005 3s ...  3s
    ...
    (Run 'diff -u /x/tests/generic/004.out /results/generic/004.out.bad'  to see the entire diff)

HINT: You _MAY_ be missing a fix
generic/005 3s ... _check_dmesg: something found in dmesg (see /results/generic/005.dmesg)

ext4/006 1s ... [failed, exit status 1]- output mismatch (see /results/ext4/006.out.bad)
    --- tests/ext4/006.out
ext4/007          [expunged]
ext4/1008-orphans 1s ...
_check_generic_filesystem: filesystem on /dev/vdc is inconsistent
"""
SUMMARY = """\
Ran: generic/001 generic/002 generic/003 generic/004 generic/005 ext4/006 ext4/1008-orphans
Not run: generic/003
Failures: generic/004 generic/005 ext4/006 ext4/1008-orphans
Failed 4 of 7 tests
Xunit report: /results/result.xml

"""
WHOLE = HEADING + TESTS + SUMMARY


def run_of(**statuses: str) -> CheckRun:
    """A run with a test generic/NNN for each keyword gNNN."""
    return CheckRun(KERNEL, tuple(TestResult(f"generic/{n[1:]}", s) for n, s in statuses.items()))


def printed(results: list[TestResult]) -> str:
    """What check prints for these results, none of which it ran before."""
    lines = []
    for r in results:
        said = {"pass": f"{r.seconds}s", "notrun": f"[not run] {r.reason}", "fail": r.reason}
        lines.append(f"{r.test:<12}       " + said.get(r.status, "[expunged]"))
    ran = [r.test for r in results if r.status != "expunged"]
    notrun, failed = ([r.test for r in results if r.status == s] for s in ("notrun", "fail"))
    lines.append(f"Ran: {' '.join(ran)}")
    lines += [f"Not run: {' '.join(notrun)}"] if notrun else []
    lines += [f"Failures: {' '.join(failed)}", f"Failed {len(failed)} of {len(ran)} tests"] if failed else []
    lines += [] if failed else [f"Passed all {len(ran)} tests"]
    return HEADING + "".join(f"{line}\n" for line in lines) + "\n"


@st.composite
def some_results(draw) -> list[TestResult]:
    names = draw(st.lists(st.sampled_from([f"generic/{n:03}" for n in range(60)]), min_size=1, unique=True))
    made = []
    for name in names:
        status = draw(st.sampled_from(["pass", "pass", "fail", "notrun", "expunged"]))
        reason = {"fail": "- output mismatch (see x)", "notrun": "no disk", "expunged": "[expunged]"}
        seconds = draw(st.integers(0, 10**5)) if status == "pass" else None
        made.append(TestResult(name, status, seconds, reason.get(status, "")))
    if all(r.status == "expunged" for r in made):
        made[0] = TestResult(names[0], "pass", 1)
    return made


# --- What check prints ---------------------------------------------------------------------------------


def test_each_kind_of_line_by_hand():
    run = parse(WHOLE)
    assert recognise(WHOLE) and run.kernel == KERNEL
    told = {r.test: (r.status, r.seconds, r.reason) for r in run.results}
    assert told == {
        "generic/001": ("pass", 6, ""),
        "generic/002": ("pass", 0, ""),
        "generic/003": ("notrun", None, "this test requires a valid $LOGWRITES_DEV"),
        "generic/004": ("fail", None, "- output mismatch (see /results/generic/004.out.bad)"),
        "generic/005": (
            "fail",
            None,
            "_check_dmesg: something found in dmesg (see /results/generic/005.dmesg)",
        ),
        "ext4/006": (
            "fail",
            None,
            "[failed, exit status 1]- output mismatch (see /results/ext4/006.out.bad)",
        ),
        "ext4/007": ("expunged", None, "[expunged]"),
        "ext4/1008-orphans": (
            "fail",
            None,
            "_check_generic_filesystem: filesystem on /dev/vdc is inconsistent",
        ),
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
    for reads in (parse, parse_log, parse_xml):
        with pytest.raises(BadInput):
            reads(text)


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


def test_the_log_of_many_runs_gives_the_last_one():
    block = "\nKernel version: {}\nSat Nov 21 09:00:00 UTC 2026\n"
    old = block.format("6.12.0") + "Ran: generic/001\nPassed all 1 tests\n"
    run = parse_log(old + block.format(KERNEL) + SUMMARY.replace("Xunit report: /results/result.xml\n", ""))
    assert run.kernel == KERNEL
    assert [(r.test, r.status) for r in run.results] == [
        (r.test, r.status) for r in parse(WHOLE).results if r.status != "expunged"
    ]
    with pytest.raises(BadInput, match="ends before its summary"):
        parse_log(old + block.format(KERNEL) + "Ran: generic/001\n")


# --- The xunit report -------------------------------------------------------------------------------------


def xunit(results: list[TestResult], time: str = "77") -> str:
    cases = []
    for r in results:
        inside = {
            "fail": f'\t\t<failure message={quoteattr(r.reason)} type="TestFail" />\n'
            '\t\t<system-out>\n<![CDATA[\n<!DOCTYPE a> & "b"\n]]>\n\t\t</system-out>\n',
            "notrun": f"\t\t<skipped message={quoteattr(r.reason)} />\n",
        }
        head = f'\t<testcase classname="xfstests.global" name="{r.test}" time="{r.seconds}">\n'
        cases.append(f"{head}{inside.get(r.status, '')}\t</testcase>\n")
    failed, skipped = (sum(r.status == s for r in results) for s in ("fail", "notrun"))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite\n name="xfstests"\n'
        f' failures="{failed}" skipped="{skipped}" tests="{len(results)}" time="{time}"\n hostname="guest">\n'
        f'\t<properties>\n\t<property name="KERNEL" value="{KERNEL}"/>\n\t</properties>\n'
        f"{''.join(cases)}</testsuite>\n"
    )


def with_times(results: list[TestResult]) -> list[TestResult]:
    return [TestResult(r.test, r.status, r.seconds or 0, r.reason) for r in results if r.status != "expunged"]


@given(some_results())
def test_the_report_is_read_back(results):
    results = with_times(results)
    assert parse_xml(xunit(results)) == CheckRun(KERNEL, tuple(results))


@given(some_results(), st.data())
def test_a_report_that_was_cut_is_refused(results, data):
    text = xunit(with_times(results)).rstrip("\n")
    with pytest.raises(BadInput) as refused:
        parse_xml(text[: data.draw(st.integers(0, len(text) - 1))])
    assert "\n" not in str(refused.value)


def test_the_report_that_check_keeps_while_it_runs_is_not_taken():
    with pytest.raises(BadInput, match="of a run that did not end"):
        parse_xml(xunit([TestResult("generic/001", "pass", 6)], time=""))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('failures="1"', 'failures="0"', "says failures=0, not 1"),
        ('tests="2"', 'tests="3"', "says tests=3, not 2"),
        ("generic/002", "generic/001", "has a test twice"),
        ('name="generic/002"', 'name="&lt;b&gt;"', "without name or time"),
        ('name="xfstests"', 'name="other"', "is not xfstests' xunit report"),
        ("<testsuite\n", '<!DOCTYPE a [<!ENTITY x "y">]>\n<testsuite\n', "has a document type"),
    ],
)
def test_a_damaged_report_is_refused(old, new, said):
    text = xunit([TestResult("generic/001", "pass", 6), TestResult("generic/002", "fail", 1, "x")])
    assert old in text
    with pytest.raises(BadInput, match=said):
        parse_xml(text.replace(old, new))


# --- An arm beside the base -------------------------------------------------------------------------------


def test_what_the_patches_broke_and_what_cannot_be_told():
    base = run_of(
        g001="pass", g002="fail", g003="fail", g004="pass", g005="notrun", g006="pass", g007="notrun"
    )
    arm = run_of(g001="pass", g002="fail", g003="pass", g004="fail", g005="fail", g007="notrun", g008="pass")
    found = compare(base, arm)
    assert [r.test for r in found.failures] == ["generic/004", "generic/005"]
    assert found.mended == ("generic/003",)
    assert found.one_sided == (
        OneSided("generic/005", "notrun", "fail"),
        OneSided("generic/006", "pass", None),
        OneSided("generic/008", None, "pass"),
    )
    assert found.in_both == 4 and not found.ok


def test_an_arm_that_fails_as_the_base_does_is_no_worse():
    run = run_of(g001="pass", g002="fail", g003="notrun")
    assert compare(run, run).ok
    assert compare(run, run).detail == "2 tests ran on both"


@given(some_results(), some_results())
def test_a_comparison_turned_round_tells_the_same(one, other):
    a, b = CheckRun(KERNEL, tuple(one)), CheckRun(KERNEL, tuple(other))
    try:
        there, back = compare(a, b), compare(b, a)
    except BadInput:
        return
    assert there.in_both == back.in_both
    assert {s.test for s in there.one_sided} == {s.test for s in back.one_sided}
    in_both = {t.test for t in there.failures} - {s.test for s in there.one_sided}
    assert in_both == set(back.mended)


def test_runs_of_different_groups_are_not_compared():
    with pytest.raises(BadInput, match="have no test in common that ran"):
        compare(run_of(g001="pass"), run_of(g002="pass", g001="notrun"))


# --- Finding and running it -------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that looks like a built xfstests; its check prints where and how it was called."""
    folder = tmp_path / "x f s"
    for name in ("check", "common/rc", "ltp/fsstress"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('#!/bin/sh\npwd; echo "$HOST_OPTIONS"; echo "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def output(argv: list[str], **env: str) -> str:
    return subprocess.run(argv, env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, text=True).stdout


def test_it_is_found_where_the_user_says_and_only_when_built(installed: Path):
    find = xfstests.find_command()
    assert output(find, XFSTESTS=str(installed), HOME="/nonexistent").strip() == str(installed)
    (installed / "ltp/fsstress").unlink()
    assert output(find, XFSTESTS=str(installed), HOME="/nonexistent").strip() != str(installed)
    assert "no built xfstests on server1: build it" in str(xfstests.missing("server1"))


def test_it_runs_in_its_folder_with_our_configuration(installed: Path):
    ran = output(xfstests.command(str(installed), "/run/a b/local.config"))
    assert ran.splitlines() == [str(installed), "/run/a b/local.config", "-g quick -R xunit"]
    with pytest.raises(BadInput, match="is not a group"):
        xfstests.command(str(installed), "x", "quick; rm -rf /")


def test_the_shell_reads_the_configuration_as_it_was_meant(tmp_path: Path):
    text = xfstests.local_config(
        "/dev/disk/by-id/a-part1",
        "/dev/disk/by-id/a-part2",
        "/runs/it's here",
        mkfs=["-O", "^orphan_file", "-J", "size=64"],
        mount=["mb_optimize_scan=0"],
    )
    (tmp_path / "local.config").write_text(text)
    names = "$TEST_DEV $SCRATCH_DEV|$MKFS_OPTIONS|$MOUNT_OPTIONS|$TEST_FS_MOUNT_OPTS|$RESULT_BASE|$FSTYP"
    said = output(["sh", "-c", f'. "$1"; echo "{names}"', "sh", str(tmp_path / "local.config")])
    assert said == (
        "/dev/disk/by-id/a-part1 /dev/disk/by-id/a-part2|-O ^orphan_file -J size=64|-o mb_optimize_scan=0|"
        "-o mb_optimize_scan=0|/runs/it's here|ext4\n"
    )


def test_one_device_for_both_is_refused():
    with pytest.raises(BadInput, match="needs two devices, not /dev/vdb twice"):
        xfstests.local_config("/dev/vdb", "/dev/vdb", "/r", mkfs=[], mount=[])
