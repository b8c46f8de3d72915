# SPDX-License-Identifier: MIT
"""A commit message of at most 30 lines, made of each kept run; and what it must not say."""

import csv
import io
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from lockscale import paths
from lockscale.measure.run_folder import curated_run, read_provenance
from lockscale.show.changelog import LINES, ROWS, letter, letter_of, measurement_of
from lockscale.show.commit_text import Letter, as_text, below_of, message_of
from lockscale.show.protocol import Measurement, disk_mib, made_of, percent
from lockscale.show.story import Story, open_story
from lockscale.study.study import Study

RUNS = sorted(path.name for path in paths.MEASURED.iterdir() if path.is_dir())
VIRTUAL = "xfs-create-20261124T232124Z"
QEMU = [run for run in RUNS if read_provenance(paths.MEASURED / run)["origin"] == "qemu"]


def story_of(run: str) -> Story:
    return open_story(run.rpartition("-")[0], run)


def kept(study: str) -> Story:
    """Of its latest run in virtual time."""
    return open_story(study, curated_run(study, rates=True).id)


@pytest.fixture(scope="module")
def letters() -> dict[str, Letter]:
    return {run: letter_of(story_of(run)) for run in RUNS}


def sentences(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("study", ["inode-claim", "group-trylock"])
def test_by_hand_the_load_is_that_of_the_run_that_is_read(
    study: str, letters: dict[str, Letter], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Not that of today's file, whose parameters are those of another target."""
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    story = open_story(study)
    assert as_text(letter_of(story)) == as_text(letters[story.measured.id])


@pytest.mark.parametrize("run", RUNS)
def test_a_message_has_at_most_30_lines_of_75_columns(run: str, letters: dict[str, Letter]):
    lines = message_of(letters[run]).splitlines()
    assert len(lines) <= 30
    assert all(len(line) <= 75 and line.isascii() and "\t" not in line for line in lines)


@pytest.mark.parametrize("run", RUNS)
def test_git_keeps_the_message_and_drops_the_protocol(run: str, letters: dict[str, Letter], tmp_path: Path):
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]

    def call(*argv: str) -> str:
        return subprocess.run([*git, *argv], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    call("init", "-q", "-b", "main")
    for content in ("one\n", "two\n"):
        (tmp_path / "file").write_text(content)
        (tmp_path / ".git/text").write_text(f"ext4: one lock less\n\n{as_text(letters[run])}")
        call("add", "file")
        call("commit", "-q", "--cleanup=verbatim", "-F", ".git/text")
    (tmp_path / ".git/mail").write_text(call("format-patch", "-1", "--stdout"))
    call("reset", "-q", "--hard", "HEAD~1")
    call("am", "-q", ".git/mail")
    said = call("log", "-1", "--format=%B")
    assert said.rstrip("\n") == f"ext4: one lock less\n\n{message_of(letters[run])}".rstrip("\n")
    assert (tmp_path / "file").read_text() == "two\n"


@pytest.mark.parametrize("run", RUNS)
def test_problem_mechanism_and_change_come_before_the_table(run: str, letters: dict[str, Letter]):
    study = story_of(run).study
    said = sentences(message_of(letters[run]))
    places = [said.index(part) for part in (study.problem, study.story, study.patched.change, "procs ")]
    assert places == sorted(places) and places[0] == 0
    assert said.count("procs ") == 1, "one table"


@pytest.mark.parametrize("run", QEMU)
def test_an_emulated_run_has_counts_and_no_rate(run: str, letters: dict[str, Letter]):
    message, protocol = message_of(letters[run]), below_of(letters[run])
    assert "counted in QEMU (tcg), 4 CPUs" in sentences(message) and "%)" not in message
    assert "MEASURED IN QEMU" in protocol and "times are not a benchmark" in sentences(protocol)
    assert "BEFORE" not in protocol, "times of emulated functions are not compared"
    metric = story_of(run).study.metric.lower()
    assert metric not in (message + protocol).lower()


def test_a_run_in_virtual_time_has_rates_and_the_file_of_its_prices(letters: dict[str, Letter]):
    said = sentences(message_of(letters[VIRTUAL]))
    assert "measured in virtual time, 64 CPUs, prices of manycore.yaml" in said
    assert re.search(r"64 143491 329400 \* \+129\.6%\*", said)


def test_what_is_not_significant_is_said(letters: dict[str, Letter]):
    none = [run for run in QEMU if run.startswith("inode-claim")]
    for run in none:
        assert "No change in this table is significant" in message_of(letters[run])
    both = message_of(letters[VIRTUAL])
    assert "in brackets it is not" in both and "(   +0.1%)" in both and "* +202.8%*" in both


def test_two_boots_are_said_to_be_few_and_how_far_two_of_one_kernel_differ_is_told():
    story = open_story("goal-fold", curated_run("goal-fold", rates=True).id)
    said = sentences(message_of(letter_of(story)))
    assert "+297.8%" in said and "No change in this table is significant" not in said
    few = "With 2 boots per arm no change in this table passes a test at 5%"
    assert f"{few} over all arms and points of the run." in said
    sides = {story.study.unpatched.name, story.study.patched.name}
    boots: dict[tuple[str, int], list[float]] = {}
    for row in csv.DictReader(io.StringIO(story.measured.rows.read_text())):
        is_rate = (row["test"], row["metric"], row["statistic"]) == (story.study.operation, "rate", "total")
        if row["arm"] in sides and is_rate and row["pair"] in ("aa", "ab"):
            boots.setdefault((row["arm"], int(row["threads"])), []).append(float(row["value"]))
    most = max(100 * (max(rates) / min(rates) - 1) for rates in boots.values())
    assert f"Boots of one kernel differ by up to {most:.1f}%." in said


def test_below_the_message_stands_which_change_is_least_known_and_what_more_boots_leave_of_it():
    story = open_story("goal-fold", curated_run("goal-fold", rates=True).id)
    below = sentences(below_of(letter_of(story)))
    said = "The least certain change is that of multi-goal-fold at 8 processes: "
    assert f"{said}-6% to +670%" in below
    assert "2 boots per arm). 8 boots would narrow that to about a tenth." in below
    assert "least certain" not in sentences(below_of(letter_of(story_of(VIRTUAL))))


def test_mkfs_is_told_of_each_arm_where_it_differs(letters: dict[str, Letter]):
    said = sentences(below_of(letters[VIRTUAL]))
    assert "agcount=4 /dev/nullb0 (four-groups)" in said and "agcount=32 /dev/nullb0 (many-groups)" in said


def long_one(story: Story) -> tuple[Study, Measurement]:
    """The same of 20 points, and of a study that tells a long story."""
    found, study = measurement_of(story), story.study
    extra = pd.concat([found.extra.assign(threads=found.extra.threads * 10**at) for at in range(5)])
    told = study.model_copy(update={"problem": "It hurts. " * 30, "story": "It waits for a lock. " * 60})
    return told, found._replace(extra=extra.reset_index(drop=True))


def test_a_long_story_and_many_points_are_cut_and_stand_whole_below(letters: dict[str, Letter]):
    study, found = long_one(story_of(QEMU[0]))
    said = letter(study, found)
    message, below = message_of(said), below_of(said)
    assert len(message.splitlines()) <= LINES
    rows = re.findall(r"^ *(\d+) +[\d.]+ +[\d.]+  [*(]", message, re.MULTILINE)
    assert len(rows) == ROWS and {rows[0], rows[-1]} == {"1", "80000"}
    assert f"{ROWS} of 20 points" in sentences(message)
    assert sentences(message + below).count("It waits for a lock.") == 60
    for threads in found.extra.threads:
        assert re.search(rf"^ +4 +{threads} ", below, re.MULTILINE)


def test_an_arm_without_words_has_the_subjects_of_its_patches():
    story = story_of(QEMU[0])
    ours = story.study.arm("goal-spread").model_copy(update={"role": "patched", "change": ""})
    study = story.study.model_copy(update={"arms": [story.study.unpatched, ours]})
    said = sentences(message_of(letter_of(Story(study, story.run, story.by_hand, story.reads))))
    assert "The change: ext4: move the stream goal only when a search moved on; ext4: keep" in said


def test_changes_are_printed_as_the_published_orphan_table_prints_them():
    """Each throughput of S4 against vanilla, with its printed percentage and its star."""
    with (paths.PUBLISHED / "s4_creat_clo.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    rate = {(r["arm"], r["threads"]): float(r["value"]) for r in rows if r["metric"] == "throughput"}
    changes = [r for r in rows if r["metric"] == "throughput_change" and r["arm"] == "orphan-lockless"]
    assert len(changes) == 16
    for row in changes:
        before, after = (rate[arm, row["threads"]] for arm in ("orphan-mutex", "orphan-lockless"))
        starred = row["starred"] == "true"
        cell = percent(before, after, starred)
        assert cell.strip("*()").strip() == row["printed"]
        assert (cell[0], cell[-1]) == (("*", "*") if starred else ("(", ")"))
        assert len(cell) == 10


def test_a_star_stands_on_both_sides_of_a_significant_change():
    assert percent(14705.88, 14354.07, True) == "*  -2.39%*"
    assert percent(27108.43, 28301.89, False) == "(   4.40%)"


def test_the_machine_is_told_by_what_decides_a_result():
    """goal-fold needs its 1024 block groups; of a server's disk nothing is known but what it is."""
    below = sentences(below_of(letter_of(kept("goal-fold"))))
    assert "made: disk 131072 MiB, block groups 1024, inodes per group 8192, journal size 64M" in below
    asked = {"study": {"disk_mib": 16640}}
    assert disk_mib({**asked, "target": {"disk": {"size_mib": 3072}}}) == 16640
    assert disk_mib({**asked, "target": {"disk": {"size_mib": 65536}}}) == 65536
    assert disk_mib({**asked, "target": {"disk": {"by_id": "nvme-1"}}}) is None
    assert made_of({"facts": {"block_groups": 24, "journal_size": None}}) == "block groups 24"


def test_the_other_arms_are_told_beside_the_two():
    """S2's paradox is of an arm that is neither the first nor the last."""
    below = sentences(below_of(letter_of(kept("write-access"))))
    assert re.search(r"The other arms with 48 processes, .* slow-retry: fast-retry 0\.5\d, ", below)


def test_a_count_says_of_which_load_and_kernels_it_is_and_the_pair_only_where_it_was_counted():
    """XFS's counts are of a create and its remove, on observe kernels, in the A/B boots alone."""
    below = sentences(below_of(letter_of(kept("xfs-create"))))
    assert (
        "Counts of whole loads (create and remove), on kernels with the same series and counters: [" in below
    )
    assert "A/A pair" not in below
    assert "A/A pair of search-locked" in sentences(below_of(letter_of(kept("inode-claim"))))
    assert "A/A pair" not in sentences(below_of(letter_of(kept("orphan-file"))))


def test_sources_are_named_where_the_text_says_published():
    named = {name: "Published values are from: " in sentences(below_of(letter_of(kept(name)))) for name in
             ("inode-claim", "write-access", "handle-start")}  # fmt: skip
    assert named == {"inode-claim": True, "write-access": True, "handle-start": False}
