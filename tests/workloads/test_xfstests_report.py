# SPDX-License-Identifier: MIT
"""The xunit report of check is taken when it is whole."""

from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xfstests_output import KERNEL, some_results

from lockscale.errors import BadInput
from lockscale.workloads.xfstests_lines import CheckRun, TestResult
from lockscale.workloads.xfstests_xml import parse_xml


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
