# SPDX-License-Identifier: MIT
"""The changelog as a cover letter and as a ticket: the same numbers, in the form each place takes."""

import re
import shlex
import subprocess
from email import message_from_string
from pathlib import Path

import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.kernels.mail import read_mail
from lockscale.kernels.series import read_series
from lockscale.show.changelog import Paragraph, as_form, as_text, changelog_blocks, cover, ticket
from lockscale.show.prediction import predict
from lockscale.study.file import load_study

STUDY = load_study("inode-claim")
COUNTER = f"{STUDY.counter} calls per create"
TABLE = "cpus procs  steal-retry\n   4     8       8.0400 *  -2.39%*"
BLOCKS = [Paragraph("Calls of f_g() per create (*: significant at 5%):"), Paragraph(TABLE, fixed=True)]


def test_a_ticket_is_markdown_whose_tables_keep_their_columns():
    text = ticket(STUDY, BLOCKS)
    assert text.startswith(f"### {STUDY.question}\n\n")
    assert f"```\n{TABLE}\n```\n" in text
    assert r"per create (\*: significant" in text, "a bare star would begin italics"


def test_a_cover_letter_is_the_mail_zero_of_the_series_with_the_same_text():
    mails = [read_mail(patch) for patch in read_series("inode-claim", "steal-retry").patches]
    letter = message_from_string(cover(STUDY, BLOCKS, mails).partition("\n")[2])
    assert letter["Subject"].startswith(f"[PATCH 0/{len(mails)}] inode-claim:")
    assert as_text(BLOCKS) in letter.get_payload()


@pytest.mark.parametrize("metric", ["creates per second", "creates and closes of some files per second"])
def test_a_cover_letters_subject_ends_at_a_word_within_75_columns(metric: str):
    mails = [read_mail(patch) for patch in read_series("inode-claim", "steal-retry").patches]
    study = STUDY.model_copy(update={"metric": metric})
    subject = message_from_string(cover(study, BLOCKS, mails).partition("\n")[2])["Subject"]
    whole = f"[PATCH 0/{len(mails)}] inode-claim: {metric} with search-locked"
    kept = subject.removesuffix(" ...")
    assert len(subject) <= 75 and (subject == whole or whole.startswith(f"{kept} "))
    assert (subject == whole) == (len(whole) <= 75)


def test_git_reads_the_cover_letters_text_as_it_is(tmp_path: Path):
    mails = [read_mail(patch) for patch in read_series("inode-claim", "steal-retry").patches]
    argv = ["git", "mailinfo", "--encoding=UTF-8", str(tmp_path / "text"), str(tmp_path / "patch")]
    subprocess.run(argv, input=cover(STUDY, BLOCKS, mails), text=True, check=True, capture_output=True)
    assert (tmp_path / "text").read_text().startswith(as_text(BLOCKS))


def test_without_a_patch_there_is_nothing_to_cover():
    with pytest.raises(BadInput, match="no measured arm of inode-claim has a patch"):
        as_form("cover", STUDY, BLOCKS, [])


def frames(origin: str) -> tuple[dict, pd.DataFrame, pd.DataFrame, dict, pd.DataFrame]:
    """One point: 80 000 creates/s before, 810 000 after, as S1 printed them to two digits."""
    point = {"cpus": 48, "threads": 48}
    kernel = {"version": "6.12.1", "spin_lock": "queued", "build_id": "0123456789" * 4}
    made = {"mkfs_line": "mkfs.ext4 /dev/vda", "mount_line": "mount /dev/vda /mnt/test"}
    provenance = {
        "origin": origin,
        "target": {"kind": "qemu" if origin == "qemu" else "ssh", "name": "rack-7"},
        "host": {"cpus": 48, "cpu_model": "A processor"},
        "kernels": {arm.name: kernel for arm in STUDY.arms},
        "as_found": {"ab1": {"tool": "fsload", "tool_version": "0.1.0", "file_system": made}},
    }
    extra = {"extra": 43.0, "low": 42.0, "high": 44.0, "spread": 0.1, "repeats": 3, "above": True}
    extra |= {"steal-retry": 50.8, "search-locked": 7.9, "significant": True, "level_pct": 95.0}
    rates = [
        {**point, "arm": arm.name, "value": value, "statistic": "total"}
        for arm, value in zip(STUDY.arms, (80_000.0, 810_000.0), strict=True)
    ]
    compared = [
        {**point, "arm": "search-locked", "unpatched": 80_000.0, "value": 810_000.0, "significant": True}
    ]
    cost = {"function": ["ext4_create"], "total_us": [2400.0], "count": [2], "avg_us": [1200.0]}
    after = {**cost, "total_us": [120.0], "avg_us": [60.0]}
    costs = {"steal-retry": pd.DataFrame(cost), "search-locked": pd.DataFrame(after)}
    return provenance, pd.DataFrame([{**point, **extra}]), pd.DataFrame(rates), costs, pd.DataFrame(compared)


def text(origin: str) -> str:
    provenance, extra, rates, costs, compared = frames(origin)
    return as_text(
        changelog_blocks(STUDY, provenance, extra, rates, costs, predict(STUDY), COUNTER, compared)
    )


def test_rates_of_hardware_are_percentages_with_stars():
    assert "  48    48         80000 (  0.00%)           810000 * 912.50%*" in text("hardware")


def test_rates_of_a_guest_are_no_percentages():
    assert "912.50%" not in text("qemu") and "not a benchmark" in text("qemu")


def test_function_cost_stands_before_and_after():
    """1200 us to 60 us is -95%; no star, as a profile has no repeats to test."""
    assert f"{'ext4_create':<30} {'1200.00':>10} {'60.00':>10} ( -95.00%)" in text("qemu")


def test_build_ids_are_in_brackets_since_checkpatch_takes_bare_ones_for_commits():
    assert f"[{'0123456789' * 4}]" in text("qemu")


def test_the_command_that_measures_again_is_there_without_the_name_of_a_server():
    assert "again:  lockscale study run inode-claim --target TARGET\n" in text("hardware")
    provenance, extra, rates, costs, compared = frames("qemu")
    study = load_study("inode-claim", {"iterations": 7})
    said = as_text(
        changelog_blocks(study, provenance, extra, rates, costs, predict(study), COUNTER, compared)
    )
    again = shlex.split(re.findall(r"again: (.*?)\n\n", said, re.DOTALL)[0])
    assert again == ["lockscale", "study", "run", "inode-claim", "--target", "rack-7", "-p", "iterations=7"]
