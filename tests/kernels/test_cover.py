# SPDX-License-Identifier: MIT
"""An arm's cover.md in a mail: markdown becomes plain text, in lines as short as a list wants."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale import paths
from lockscale.kernels.cover import as_mail
from lockscale.kernels.mail import COLUMNS

COVERS = sorted(paths.KERNEL_PATCHES.glob("*/*/cover.md"))
WORD = st.text("abcdefgh0123456789._()", min_size=1, max_size=20)


def test_a_mail_has_no_comment_no_heading_of_the_arm_no_link_and_no_bold():
    said = as_mail(
        "<!-- a comment -->\n# s / arm\n\n**Ours**, on top of\n[b](../b/cover.md).\n\n## Counts\n\nNone.\n"
    )
    assert said == "Ours, on top of b.\n\nCounts:\n\nNone.\n"


def test_what_points_to_a_file_beside_the_cover_is_left_out():
    cover = "# s / arm\n\n- Base: Linux 6.12.y (see\n  ../../base.toml).\n"
    assert as_mail(cover) == "- Base: Linux 6.12.y.\n"


def test_an_item_of_a_list_hangs_below_its_first_word():
    said = as_mail(f"- {'word ' * 20}\n  more\n  - inner {'word ' * 20}\n10. last\n").splitlines()
    assert said[0].startswith("- word") and said[1].startswith("  word")
    assert said[2].startswith("  - inner word") and said[3].startswith("    word")
    assert said[-1] == "10. last"


def test_a_table_has_aligned_columns_and_no_rule():
    said = as_mail("| | fold |\n|---|---|\n| skipped groups | 0.049 |\n| waits |\n")
    assert said == "                fold\nskipped groups  0.049\nwaits\n"


@pytest.mark.parametrize("cover", COVERS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_a_cover_of_ours_fits_into_a_mail_but_for_its_tables(cover):
    lines = as_mail(cover.read_text()).splitlines()
    tables = [line for line in lines if re.search(r"\S {2,}\S", line)]
    assert [line for line in lines if len(line) > COLUMNS and line not in tables] == []
    assert not any("<!--" in line or line.startswith("#") for line in lines)


@given(st.lists(st.lists(WORD, min_size=1, max_size=40).map(" ".join), min_size=1, max_size=6))
def test_no_word_is_lost_or_cut(paragraphs: list[str]):
    assert as_mail("\n\n".join(paragraphs)).split() == "\n\n".join(paragraphs).split()
