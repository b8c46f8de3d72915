# SPDX-License-Identifier: MIT
"""Reads results/result.xml, which xfstests' check writes with -R xunit."""

import re
from xml.etree import ElementTree

from lockscale.errors import BadInput
from lockscale.workloads.xfstests_lines import NAME, CheckRun, TestResult


def parse_xml(text: str) -> CheckRun:
    """The run of one section. check rewrites the file after every test, without a time until it is done."""
    suite = _suite(text)
    if not suite.get("time"):
        raise BadInput("this xunit report of xfstests is of a run that did not end: run it again")
    results = [_result(case) for case in suite.iter("testcase")]
    if len({result.test for result in results}) < len(results) or not results:
        raise BadInput("xfstests' xunit report has a test twice, or none: give the report of one run")
    for what, status in (("tests", None), ("failures", "fail"), ("skipped", "notrun")):
        counted = sum(status in (None, result.status) for result in results)
        if suite.get(what) != str(counted):
            raise BadInput(
                f"xfstests' xunit report is damaged: it says {what}={suite.get(what)}, not {counted}"
            )
    kernel = suite.find("./properties/property[@name='KERNEL']")
    return CheckRun("" if kernel is None else kernel.get("value", ""), tuple(results))


def _suite(text: str) -> ElementTree.Element:
    """The one <testsuite>; a report that defines entities is not check's, and not expanded."""
    try:
        if "<!DOCTYPE" in text.partition("<testsuite")[0]:
            raise ValueError("it has a document type")
        suite = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise BadInput(f"xfstests' xunit report is not whole XML: {error}") from None
    if suite.tag != "testsuite" or suite.get("name") != "xfstests":
        raise BadInput("this is not xfstests' xunit report: it is no <testsuite> of that name")
    return suite


def _result(case: ElementTree.Element) -> TestResult:
    name, seconds = case.get("name", ""), case.get("time", "")
    failure, skipped = case.find("failure"), case.find("skipped")
    if not re.fullmatch(NAME, name) or not re.fullmatch(r"[0-9]{1,9}", seconds):
        raise BadInput(f"xfstests' xunit report has a test without name or time ({name[:40]!r})")
    if failure is not None:
        return TestResult(name, "fail", int(seconds), failure.get("message", ""))
    if skipped is not None:
        return TestResult(name, "notrun", int(seconds), skipped.get("message", "").strip())
    return TestResult(name, "pass", int(seconds))
