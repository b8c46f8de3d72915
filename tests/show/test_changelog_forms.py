# SPDX-License-Identifier: MIT
"""The changelog as a cover letter and as a ticket: the same numbers, in the form each place takes."""

import re
import shlex
import subprocess
from email import message_from_string
from pathlib import Path

import pandas as pd
import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.diffstat import diffstat
from lockscale.kernels.mail import read_mail, subject_of
from lockscale.show.changelog import cover, in_form, letter, ticket
from lockscale.show.commit_text import Letter, Paragraph, as_text, below_of, message_of
from lockscale.show.exports import export
from lockscale.show.prediction import predict
from lockscale.show.protocol import Measurement, percent
from lockscale.show.story import open_story
from lockscale.study.arms_of_a_text import SUBMITTED as SUBMITTED_ROLES
from lockscale.study.arms_of_a_text import base_of, between, patches_between, submitted
from lockscale.study.file import list_studies, load_study
from small_study import study_of

STUDY = load_study("inode-claim")
SUBMITTED = submitted(load_study("group-trylock"))
TABLE = "cpus procs  steal-retry\n   4     8       8.0400 *  -2.39%*"
LETTER = Letter(
    [Paragraph("Calls of f_g() per create (*: significant at 5%):"), Paragraph(TABLE, fixed=True)],
    [Paragraph("Measured here.")],
)


def test_a_ticket_is_markdown_whose_tables_keep_their_columns():
    text = ticket(STUDY, LETTER)
    assert text.startswith(f"### {STUDY.question}\n\n")
    assert f"```\n{TABLE}\n```\n" in text
    assert r"per create (\*: significant" in text, "a bare star would begin italics"
    assert text.endswith("#### How it was measured\n\nMeasured here.\n")


def test_a_cover_letter_is_the_mail_zero_of_the_series_with_the_same_text():
    mails = [read_mail(patch) for patch in SUBMITTED.series_of("goal-spread").patches]
    found = message_from_string(cover(SUBMITTED, LETTER).partition("\n")[2])
    assert found["Subject"] == f"[RFC PATCH 0/{len(mails)}] {subject_of(mails[-1])}", (
        "its cover holds it back"
    )
    assert message_of(LETTER) in found.get_payload() and below_of(LETTER) in found.get_payload()
    listed = "\n".join(["lockscale authors (3):", *(f"  {subject_of(mail)}" for mail in mails)])
    assert f"{listed}\n\n{diffstat(mails)}\n" in found.get_payload()


def test_a_letter_of_a_series_that_is_held_back_says_why_first():
    """As the cover of the arm does; of one that is ready nothing is said, and its subject is a patch's."""
    found = message_from_string(cover(SUBMITTED, LETTER).partition("\n")[2])
    assert found.get_payload().lstrip().startswith("Not to be sent yet: goal-fold is its successor")
    ready = submitted(load_study("goal-fold"))
    said = message_from_string(cover(ready, LETTER).partition("\n")[2])
    assert said["Subject"].startswith("[PATCH 0/1] ext4: ") and "Not to be sent" not in said.get_payload()


def test_git_reads_the_cover_letters_text_as_it_is(tmp_path: Path):
    argv = ["git", "mailinfo", "--encoding=UTF-8", str(tmp_path / "text"), str(tmp_path / "patch")]
    subprocess.run(argv, input=cover(SUBMITTED, LETTER), text=True, check=True, capture_output=True)
    assert message_of(LETTER) in (tmp_path / "text").read_text()


def test_a_cover_letter_compares_our_patches_with_the_base_they_apply_to():
    """Not with the unpatched arm, whose patch takes upstream's fix out."""
    assert [(arm.name, arm.role) for arm in SUBMITTED.arms] == [
        ("trylock", "unpatched"), ("goal-spread", "patched")
    ]  # fmt: skip
    run = max(path.name for path in paths.MEASURED.glob("group-trylock-2*"))
    said = in_form("cover", open_story("group-trylock", run))
    head = said.partition("How it was measured:")[0]
    assert re.search(r"^procs +trylock +goal-spread +change$", head, re.MULTILINE)
    assert "wait for the lock of a busy block group" not in said and "one goal per CPU" in said


def test_a_cover_letter_tells_the_problem_of_the_kernel_that_its_series_applies_to():
    """A quarter of the rate with two containers is S3's kernel without the trylock, which the base has."""
    run = max(path.name for path in paths.MEASURED.glob("group-trylock-2*"))
    story = open_story("group-trylock", run)
    told = in_form("cover", story)
    head = " ".join(told.partition("How it was measured:")[0].split())
    assert story.study.problem not in head and "(published, 2025)" not in head
    assert "although a search skips a block group whose lock is held" in head
    assert "Published values are from" not in told, "it names none"
    study = " ".join(in_form("changelog", story).split())
    assert study.startswith(story.study.problem), "the study's own text is of its unpatched arm"


@pytest.mark.parametrize("name", list_studies())
def test_an_arm_on_another_kernel_than_the_studys_says_its_own_problem(name: str):
    study = load_study(name)
    for arm in study.arms:
        if arm.role in SUBMITTED_ROLES and study.series_of(arm.name).patches:
            is_on_another = base_of(study, arm).name != study.unpatched.name
            assert bool(arm.problem and arm.story) == is_on_another, arm.name


def test_an_arm_without_a_problem_of_its_own_has_the_studys():
    study = study_of(problem="All wait.", story="For one lock.")
    before, after = study.arms
    own = after.model_copy(update={"problem": "Some wait."})
    assert [between(study, before, one).problem for one in (after, own)] == ["All wait.", "Some wait."]
    assert between(study, before, own).story == "For one lock."
    assert "problem" not in study.model_dump()["arms"][1], "studies without it are known as before"


@pytest.mark.parametrize("name", list_studies())
def test_no_cover_letter_lists_a_patch_that_takes_a_fix_out(name: str):
    study = load_study(name)
    try:
        ours = submitted(study).patched
    except BadInput as error:
        assert f"no arm of {name} of role patched or proposed has a patch" in str(error)
        assert not any(
            study.series_of(a.name).patches for a in study.arms if a.role in ("patched", "proposed")
        )
        return
    assert study.arm(ours.name).role in ("patched", "proposed")
    for patch in patches_between(study, submitted(study).unpatched, ours):
        assert b"For measurement only" not in patch.read_bytes()


def test_a_series_on_top_of_an_unpatched_arm_with_patches_is_submitted_without_those():
    """goal-fold's unpatched arm has upstream's goals of 6.17, which are nobody's to submit."""
    sides = submitted(load_study("goal-fold"))
    (fold,) = patches_between(sides, sides.unpatched, sides.patched)
    assert len(sides.series_of(sides.patched.name).patches) == 2 and fold.name.startswith("0002-")


def test_what_has_no_cover_letter_leaves_no_half_written_texts(tmp_path: Path):
    with pytest.raises(BadInput, match="there is nothing to submit"):
        export(["inode-claim"], ["changelog", "cover", "ticket"], tmp_path)
    assert not list(tmp_path.iterdir())


def found_in(origin: str) -> Measurement:
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
    compared = {"arm": "search-locked", "unpatched": 80_000.0, "value": 810_000.0, "significant": True}
    compared |= {"statistic": "total", "blocks": 3, "low_pct": 850.0, "high_pct": 980.0}
    cost = {"function": ["ext4_create"], "total_us": [2400.0], "count": [2], "avg_us": [1200.0]}
    after = {**cost, "total_us": [120.0], "avg_us": [60.0]}
    return Measurement(
        provenance,
        pd.DataFrame([{**point, **extra}]),
        f"{STUDY.counter}() calls per create",
        pd.DataFrame([{**point, **compared}]) if origin == "hardware" else None,
        {"steal-retry": pd.DataFrame(cost), "search-locked": pd.DataFrame(after)},
        predict(STUDY),
    )


def text(origin: str) -> str:
    return as_text(letter(STUDY, found_in(origin)))


def test_rates_of_hardware_are_percentages_with_stars():
    message, _, protocol = text("hardware").partition("\n---\n")
    assert re.search(r"^   48 +80000 +810000  \* \+912\.5%\*$", message, re.MULTILINE)
    assert "measured on hardware, 48 CPUs, A processor, Linux 6.12.1, 3 interleaved boots" in " ".join(
        message.split()
    )
    assert "  48    48         80000 (  0.00%)           810000 * 912.50%*" in protocol


def test_of_a_guest_there_are_counts_alone():
    message, _, protocol = text("qemu").partition("\n---\n")
    assert re.search(r"^   48 +50\.8000 +7\.9000  \*-43\.0000\*$", message, re.MULTILINE)
    assert "912.50%" not in protocol and "80000" not in message


def test_function_cost_stands_before_and_after_where_times_mean_something():
    """1200 us to 60 us is -95%; no star, as a profile has no repeats to test."""
    line = f"{'ext4_create':<30} {'1200.00':>10} {'60.00':>10} ( -95.00%)"
    assert line in text("hardware") and line not in text("qemu")


def test_build_ids_are_in_brackets_since_checkpatch_takes_bare_ones_for_commits():
    assert f"[{'0123456789' * 4}]" in text("qemu")


def test_the_command_that_measures_again_is_there_without_the_name_of_a_server():
    assert "rerun:  lockscale study run inode-claim --target TARGET\n" in text("hardware")
    study = load_study("inode-claim", {"iterations": 7})
    said = as_text(letter(study, found_in("qemu")))
    again = shlex.split(re.findall(r"rerun: (.*?)\n\n", said, re.DOTALL)[0])
    assert again == ["lockscale", "study", "run", "inode-claim", "--target", "rack-7", "-p", "iterations=7"]


def test_the_prediction_stands_below_the_line_and_of_the_measured_arm_alone():
    message, _, protocol = text("qemu").partition("\n---\n")
    assert "Predicted" not in message and "search-locked at 48 processes 8." in " ".join(protocol.split())
    other = found_in("qemu")
    elsewhere = {**other.prediction["published_machine"], "arm": "another"}
    said = letter(STUDY, other._replace(prediction={**other.prediction, "published_machine": elsewhere}))
    assert "Predicted" not in as_text(said)


def test_an_interval_that_says_nothing_of_an_arm_is_not_printed_as_if_it_did():
    found = found_in("qemu")
    wide = {**found.prediction["published_machine"], "low": 2660.0, "high": 398295.0}
    said = " ".join(as_text(letter(STUDY, found._replace(prediction={"published_machine": wide}))).split())
    assert (
        "search-locked only within a factor of 150, which says nothing of it" in said and "398295" not in said
    )


def test_a_predicted_time_of_a_second_is_not_rounded_to_it():
    found = found_in("qemu")
    small = {**found.prediction["published_machine"], "low": 0.8412, "high": 2.5, "unit": "s"}
    said = " ".join(as_text(letter(STUDY, found._replace(prediction={"published_machine": small}))).split())
    assert "0.8412 to 2.5 s" in said


def test_a_count_that_does_not_change_has_no_sign():
    found = found_in("qemu")
    message, _, _ = as_text(letter(STUDY, found._replace(extra=found.extra.assign(extra=0.0)))).partition(
        "---"
    )
    assert "0.0000" in message and not re.search(r"[+-]0\.0000", message)
    assert percent(100_000.0, 99_999.9, False) == "(   0.00%)"


def test_underscores_of_names_are_underscores_in_a_ticket():
    """__f() ... lock_* would be set in italics between the two."""
    text = ticket(STUDY, LETTER._replace(message=[Paragraph("__ext4_new_inode() takes lock_* & R&amp;D's")]))
    assert r"\_\_ext4_new_inode() takes lock\_\* \& R\&amp;D's" in text


def test_a_function_with_a_long_name_is_named_without_its_middle():
    """As gcc names a part of one: of 36 letters and more the line was too long for a mail."""
    found, whole = found_in("hardware"), "ext4_convert_unwritten_extents_endio"
    long = f"{whole}.constprop.0"
    costs = {arm: pd.concat([cost, cost.assign(function=long)]) for arm, cost in found.costs.items()}
    text = as_text(letter(STUDY, found._replace(costs=costs)))
    assert text.count("ext4_convert_unwritte...nstprop.0 ") >= 2 and long not in text
    costs = {arm: cost.assign(function=whole, avg_us=1.25) for arm, cost in found.costs.items()}
    assert whole in as_text(letter(STUDY, found._replace(costs=costs))), "there is room"


RATES = ("80000", "810000")


@pytest.mark.parametrize("length", [19, 31, 64])
def test_the_names_of_arms_may_be_as_long_as_a_study_allows(length: int):
    """A run is told after hours of measuring: too late to refuse a name."""
    names = {arm.name: arm.name.ljust(length, "x") for arm in STUDY.arms}
    arms = [arm.model_copy(update={"name": names[arm.name]}) for arm in STUDY.arms]
    study, found = STUDY.model_copy(update={"arms": arms}), found_in("hardware")
    found = found._replace(
        provenance={
            **found.provenance,
            "kernels": {names[a]: k for a, k in found.provenance["kernels"].items()},
        },
        extra=found.extra.rename(columns=names),
        compared=found.compared.replace(names),
        costs={names[arm]: cost for arm, cost in found.costs.items()},
        prediction={"published_machine": None},
    )
    head, row = re.findall(r"^procs.*\n.*$", as_text(letter(study, found)), re.MULTILINE)[0].splitlines()
    above = list(names.values()) if length == 19 else ["unpatched", "patched"]
    assert head.split() == ["procs", *above, "change"]
    ends = [[line.index(f" {one}") + len(one) for one in of] for line, of in ((head, above), (row, RATES))]
    assert ends[0] == ends[1], "names stand above their rates"
