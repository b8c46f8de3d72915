# SPDX-License-Identifier: MIT
"""fsload's lines with one thing changed: a number that cannot be is refused, and half a phase is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockscale.errors import BadInput
from lockscale.tools.fsload import MAX_WORKERS
from lockscale.tools.registry import parse

LINES = (Path(__file__).parents[1] / "samples/fsload-0.1.0.jsonl").read_text().splitlines()
HEADER, FIRST, LAST, SUMMARY = 0, 1, 3, 4  # of the phase `create`; `remove` follows
Line = dict[str, Any]


def changed(at: int, change: Callable[[Line], object]) -> str:
    said = json.loads(LINES[at])
    change(said)
    return "\n".join([*LINES[:at], json.dumps(said, separators=(",", ":")), *LINES[at + 1 :]]) + "\n"


def without(at: int) -> str:
    return "\n".join(LINES[:at] + LINES[at + 1 :]) + "\n"


REFUSED = {
    "a count too small": (SUMMARY, {"count": 299}, "counts of create do not add up"),
    "a count too large": (SUMMARY, {"count": 301}, "counts of create do not add up"),
    "one process did less": (FIRST, {"count": 99}, "counts of create do not add up"),
    "one process did more": (FIRST, {"count": 101}, "counts of create do not add up"),
    "no time at all": (FIRST, {"start_ns": 5, "end_ns": 5}, "ended before it started"),
    "a time backwards": (FIRST, {"start_ns": 6, "end_ns": 5}, "ended before it started"),
    "more than 63 bits": (SUMMARY, {"count": 1 << 63}, "a line where count is missing or invalid"),
    "less than nothing": (FIRST, {"start_ns": -1}, "a line where start_ns is missing"),
    "a rate that is a text": (SUMMARY, {"rate_per_s": "1"}, "a line where rate_per_s is missing"),
    "no process": (HEADER, {"processes": 0}, "cannot have run 0 processes"),
    "more processes than there can be": (HEADER, {"processes": MAX_WORKERS + 1}, "cannot have run 4097"),
    "a phase of another test": (SUMMARY, {"phase": "truncate"}, "belongs to no phase"),
    "a version of tomorrow": (HEADER, {"version": "9.0"}, "fsload 9.0 is not known"),
    "a process twice": (FIRST, {"process": 1}, "has a repeated or unexpected line"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_number_that_cannot_be_is_refused(what: str):
    at, change, why = REFUSED[what]
    with pytest.raises(BadInput, match=why):
        parse(changed(at, lambda said: said.update(change)))


@pytest.mark.parametrize("at", [FIRST, FIRST + 1, LAST, SUMMARY])
def test_a_phase_without_one_of_its_lines_is_left_out_by_name(at: int):
    parsed = parse(without(at))
    assert {row.test for row in parsed.rows} == {"remove"}
    assert parsed.warnings == ("phase create is incomplete and is left out",)


def test_a_process_that_is_not_of_this_run_makes_no_whole_phase():
    parsed = parse(changed(FIRST, lambda said: said.update(process=7)))
    assert {row.test for row in parsed.rows} == {"remove"}


@pytest.mark.parametrize("at", [1, 4, 7])
def test_only_a_last_line_may_be_torn(at: int):
    torn = [*LINES[:at], LINES[at][:30], *LINES[at + 1 :]]
    with pytest.raises(BadInput, match=f"line {at + 1} of fsload's output is not JSON"):
        parse("\n".join(torn) + "\n")
    assert (
        parse("\n".join([*LINES[:8], LINES[8][:30]])).warnings[0].startswith("the output ends in the middle")
    )
