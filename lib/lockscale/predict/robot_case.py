# SPDX-License-Identifier: MIT
"""A report of the kernel test robot as a casebook entry, to be looked over and appended to a file."""

import contextlib
import email.policy
import email.utils
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from lockscale.errors import BadInput, printable
from lockscale.predict.casebook import read_case
from lockscale.predict.change_kind import KINDS, kind_of
from lockscale.tools.registry import text_of
from lockscale.tools.robot_mail import Report, parse

MOST_LINES = 12
SMALLEST_PCT = 1.0


def case_of_mail(path: Path, name: str, change: str = "") -> dict[str, object]:
    """One entry; of several tables the first that has the headline's number. Raises BadInput."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise BadInput(f"--id {printable(name)!r}: write it in letters, digits, . _ - only")
    try:
        text = text_of(path)
        reports = parse(text)
    except BadInput as said:
        raise BadInput(f"{path}: {said}") from None
    report = next((one for one in reports if one.of_headline), None)
    if report is None:
        raise BadInput(
            f"{path}: no table has the number in the headline "
            f"({printable(reports[0].headline) or 'none is given'}): write the entry by hand"
        )
    entry = _entry(report, text, name, change)
    read_case(entry, f"{path}: case {printable(name)}")  # what casebook score would refuse is not written
    return entry


def what_is_left_to_write(entry: Mapping[str, object]) -> list[str]:
    """Sentences on what no mail says and a better interval needs; none where all of it is there."""
    left = []
    if _is_slower(entry):
        left.append(
            "the commit made the test slower, and predictions learn from this entry that such a change does: "
            "for the case of a fix, swap base and patched"
        )
    if not entry["kind"]:
        left.append(
            "no kind can be derived from --change: write one into `kind`: "
            + ", ".join(kind.name for kind in KINDS)
        )
    if entry["base_profile"]:
        left.append(
            "the mail does not say what the change removes: write the percentage of the samples into "
            "`removed_share: pct`"
        )
    return left


def _is_slower(entry: Mapping[str, object]) -> bool:
    points = entry["points"]
    assert isinstance(points, list), "as case_of_mail() writes it"
    return any((one["patched"] < one["base"]) == entry["higher_is_better"] for one in points)


def entry_text(entry: Mapping[str, object]) -> str:
    """As YAML, a list of one, to be appended to a file's cases."""
    return yaml.safe_dump([dict(entry)], sort_keys=False, allow_unicode=True, width=100).rstrip()


def _source(report: Report, text: str) -> dict[str, str]:
    """Who says so, and where: the commit as far as the mail spells it, and the mail's date and name."""
    short = report.commits[1]
    whole = re.findall(r"^commit: +([0-9a-f]{12,40})\b", text, re.MULTILINE)
    source = {"author": "kernel test robot", "commit": next((c for c in whole if c.startswith(short)), short)}
    head = email.message_from_string(text.lstrip(), policy=email.policy.compat32)
    with contextlib.suppress(ValueError):
        source["date"] = email.utils.parsedate_to_datetime(str(head["Date"])).date().isoformat()
    if head["Message-ID"]:
        source["message-id"] = printable(str(head["Message-ID"]).strip(" <>"))
    return source


def _entry(report: Report, text: str, name: str, change: str) -> dict[str, object]:
    metric = report.of_headline
    assert metric, "case_of_mail() asks for a table that has it"
    lines = [
        {"what": one.name.removeprefix("perf-profile."), "value": one.base, "unit": "% of samples"}
        for one in report.metrics.values()
        if one.name.startswith("perf-profile.") and one.base >= SMALLEST_PCT
    ]
    lines.sort(key=lambda line: -float(str(line["value"])))
    return {
        "id": name,
        "family": name,
        "kind": kind_of(change) or "",
        "change": change,
        "source": _source(report, text),
        "machine": {"cpus": report.cpus},
        "workload": report.title,
        "unit": metric.name,
        "higher_is_better": report.higher_is_better,
        "points": [{"threads": report.threads, "base": metric.base, "patched": metric.patched}],
        "base_profile": lines[:MOST_LINES],
        "removed_share": {"pct": None},
    }
