# SPDX-License-Identifier: MIT
"""The audit of all published tables: every claim once, what is unknown and why."""

import json

import pytest

from audit_lines import audited, line
from lockscale.errors import BadInput
from lockscale.show.audit import audit
from lockscale.tables import list_tables


def test_audit_covers_every_table_and_is_plain_json():
    rows = audited()
    assert list(dict.fromkeys(row["table"] for row in rows)) == list_tables()
    keys = {"table", "claim", "printed", "recomputed", "low", "high", "unit", "verdict", "note", "searched"}
    assert all(set(row) == keys for row in json.loads(json.dumps(rows, allow_nan=False)))
    assert {row["verdict"] for row in rows} == {"holds", "fails", "unknown"}
    assert [row for name in list_tables() for row in audited(name)] == rows


def test_no_claim_of_a_table_is_there_twice():
    claims = [(row["table"], row["claim"]) for row in audited()]
    assert len(set(claims)) == len(claims)


def test_what_is_unknown_says_why_and_where_it_was_searched():
    for row in audited():
        straddles = "straddles" in row["note"]
        assert (row["verdict"] == "unknown") == (straddles or row["searched"] is not None)
        assert row["searched"] is None or "the source does not state" in row["note"]


def test_every_interval_encloses_its_number():
    for row in audited():
        assert (row["low"] is None) == (row["high"] is None)
        if row["low"] is not None and row["recomputed"] is not None:
            assert row["low"] <= row["recomputed"] <= row["high"]


def test_audit_of_an_unknown_table_is_refused():
    with pytest.raises(BadInput, match="s2_five_runs"):
        audit("s2_five_run")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("s2_five_runs", "timed sleep"),
        ("s2_five_runs", "sat on"),
        ("s2_mds_survey", "on Lustre"),
        ("s3_fallocate2", "bottleneck is ext4_lock_group()"),
        ("s3_fallocate2", "one container loses"),
        ("s4_stress_orphan", "amount of work"),
        ("s4_creat_clo", "starred"),
        ("s1_function_cost", "second try"),
    ],
)
def test_what_no_source_states_stays_unknown(name, words):
    row = line(name, words)
    assert row["verdict"] == "unknown" and row["searched"]


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("s1_rates", 4),
        ("s1_function_cost", 0),
        ("s2_five_runs", 1),
        ("s3_fallocate2", 2),
        ("s4_creat_clo", 1),
    ],
)
def test_machine_kernel_mkfs_and_command_are_mostly_not_stated(name, stated):
    row = line(name, "states machine")
    assert (row["printed"], row["recomputed"]) == (4, stated)
    assert row["verdict"] == ("holds" if stated == 4 else "unknown")
