# SPDX-License-Identifier: MIT
"""Tables of kernel changelogs enter by the door of the tools, and are the numbers of data/published.

changelog-stress-orphan.txt: Jan Kara, 20210816092309.26842-5-jack@suse.cz. changelog-fallocate2-v1.txt:
Baokun Li's cover letter `ext4: better scalability for ext4 block allocation`, first version, 2025.
changelog-two-machines-by-hand.txt: two blocks in the form of such a cover letter, with made-up numbers.
"""

import re
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tables import published
from lockscale.tools import changelog_table
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
ORPHAN, COLUMNS, BLOCKS = (
    (SAMPLES / f"changelog-{name}.txt").read_text()
    for name in ("stress-orphan", "fallocate2-v1", "two-machines-by-hand")
)


def by_arm(text, unit):
    return {(row.arm, row.threads): row.value for row in parse(text).rows if row.unit == unit}


def test_the_published_stress_orphan_times_come_back():
    table = published("s4_stress_orphan")
    expected = {(row.arm_published, row.threads): row.value for row in table.itertuples()}
    assert by_arm(ORPHAN, "not stated") == expected and len(expected) == 24
    row = parse(ORPHAN).rows[0]
    assert (row.test, row.metric, row.statistic) == ("stress-orphan", "time", "mean_of_5")


@pytest.mark.parametrize(("unit", "count"), [("ops/s", 21), ("%", 14)])
def test_the_published_fallocate2_table_comes_back(unit, count):
    table = published("s3_fallocate2")
    table = table[table.unit == unit]
    expected = {(row.arm_published, row.threads): row.value for row in table.itertuples()}
    assert by_arm(COLUMNS, unit) == expected and len(expected) == count
    assert {row.statistic for row in parse(COLUMNS).rows if row.unit == "ops/s"} == {"per_container"}
    assert {row.test for row in parse(COLUMNS).rows} == {"fallocate2"}


def test_blocks_for_two_processors_by_hand():
    found = {(row.test, row.threads, row.arm, row.unit): row.value for row in parse(BLOCKS).rows}
    one, two = "mb_optimize_scan=1 on Arm One 64", "mb_optimize_scan=1 on x86 Two 48 * 2"
    assert found[one, 64, "base", "ops/s"] == 24000
    assert (found[one, 64, "patched", "ops/s"], found[one, 64, "patched", "%"]) == (30240, 26.0)
    assert (found[two, 96, "patched", "ops/s"], found[two, 1, "patched", "%"]) == (42560, -2.0)


def test_a_change_with_the_wrong_sign_is_found():
    """200000 -> 201000 is +0.5%; the table prints -0.5%, as published ones have done."""
    parsed = parse(BLOCKS)
    left_out = ("mb_optimize_scan=0 on Arm One 64", 1)
    assert left_out not in {(row.test, row.threads) for row in parsed.rows} and len(parsed.rows) == 21
    assert parsed.warnings[0] == "line 8, P1: the change does not fit or is missing"
    mended = parse(BLOCKS.replace("(-0.5%)", "(+0.5%)"))
    assert left_out in {(row.test, row.threads) for row in mended.rows} and len(mended.rows) == 24


def test_without_its_prose_a_table_has_no_unit():
    bare = COLUMNS[COLUMNS.index("|---") :]
    rows = parse(bare).rows
    assert {(row.test, row.statistic) for row in rows if row.unit == "not stated"} == {
        ("not stated", "not stated")
    }
    assert [row.value for row in rows] == [row.value for row in parse(COLUMNS).rows]


def test_a_value_that_its_change_does_not_follow_from_is_left_out():
    parsed = parse(COLUMNS.replace("119542", "119582"))
    assert ("linear", 4) not in {(row.arm, row.threads) for row in parsed.rows}
    assert ("mb_optimize_scan", 4) in {(row.arm, row.threads) for row in parsed.rows}
    parsed = parse(COLUMNS.replace("33865", "33965"))
    assert 4 not in {row.threads for row in parsed.rows}, "which of the numbers is wrong cannot be known"


def test_a_block_without_its_heading_belongs_to_no_processor():
    for pattern in (r"\|Memory: 768GB.*\n", r"\|480GB SSD \(1GB.*\n"):
        parsed = parse(re.sub(pattern, "", BLOCKS))
        assert {row.threads for row in parsed.rows} == {64, 1}
        assert not any("x86 Two" in row.test for row in parsed.rows)
    with pytest.raises(BadInput, match="no `CPU:` line above it"):
        parse(re.sub(r"\|CPU: x86 Two.*\n", "", BLOCKS))
    joined = parse(BLOCKS.replace("\n\n|CPU: x86 Two", "\n|CPU: x86 Two"))
    assert joined.rows == parse(BLOCKS).rows


def test_two_tables_of_one_load_are_refused():
    with pytest.raises(BadInput, match="one table at a time"):
        parse(ORPHAN + "\n" + ORPHAN[ORPHAN.index("Threads") :])
    with pytest.raises(BadInput, match="it has no line of results"):
        changelog_table.parse("1 2 3\n")


def test_a_whole_patch_mail_has_tables_of_two_kinds():
    """Its two tables are recognised as two tools', so --tool has to say which is meant."""
    mail = f"{ORPHAN}\n{(SAMPLES / 'mmtests-creat_clo.txt').read_text()}"
    with pytest.raises(BadInput, match="--tool"):
        parse(mail)
    assert len(parse(mail, "changelog-table").rows) == 24 and len(parse(mail, "mmtests").rows) == 48


@pytest.mark.parametrize(
    "names", ["Orphan locked\tOrphan lockless\tNo orphan", "     Orphan locked   Orphan lockless No orphan"]
)
def test_a_name_that_does_not_begin_below_its_heading_is_refused(names):
    head = "        Orphan locked   Orphan lockless No orphan"
    assert head in ORPHAN
    with pytest.raises(BadInput, match="below its heading"):
        parse(ORPHAN.replace(head, names))


def test_values_without_a_change_beside_them_are_left_out():
    base = COLUMNS[: COLUMNS.index("| linear")]
    with pytest.raises(BadInput, match="no other row is compared with it"):
        parse(base)
