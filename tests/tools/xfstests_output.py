# SPDX-License-Identifier: MIT
"""What check (2025) prints, in our own texts; no run of xfstests is in them."""

from hypothesis import strategies as st

from lockscale.tools.xfstests import TestResult

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

"""
WHOLE = HEADING + TESTS + SUMMARY


def printed(results: list[TestResult]) -> str:
    """What check prints for these results, none of which it ran before."""
    lines = []
    for r in results:
        said = {"pass": "6s", "notrun": f"[not run] {r.reason}", "fail": r.reason}
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
        made.append(TestResult(name, status, reason.get(status, "")))
    if all(r.status == "expunged" for r in made):
        made[0] = TestResult(names[0], "pass")
    return made
