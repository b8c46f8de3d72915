# SPDX-License-Identifier: MIT
"""`lockscale whatif` of any lock and `lockscale casebook`, typed as people type them."""

from pathlib import Path

import pytest
import yaml

from command import Lockscale

SAMPLES = Path(__file__).parent / "samples"
REPORT = str(SAMPLES / "perf_report-6.1.187-caller.txt")
MAIL = str(SAMPLES / "robot_mail-by-hand.txt")


def test_rates_alone_are_answered(lockscale: Lockscale) -> None:
    found = lockscale("whatif", "-r", "1:35k,4:80k,16:90k", "--json").value
    assert found["origin"] == "predicted"
    assert found["off_by_pct"] < 20
    assert found["candidates"][0]["patch"].startswith(("lockless", "split", "trylock"))
    for one in found["candidates"]:
        assert one["low"] <= one["value"] <= one["high"] <= 16 * 35 / 90 * 1.15 + 1e-6


def test_a_robots_mail_becomes_a_case_that_the_casebook_takes(lockscale: Lockscale, tmp_path: Path) -> None:
    text = lockscale("casebook", "add", MAIL, "--id", "from-mail", "--change", "split lock (per CPU)").out
    (entry,) = yaml.safe_load(text)
    assert entry["kind"] == "split"
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump({"cases": [entry]}))
    score = lockscale("casebook", "score", str(mine), "--json").value
    (case,) = score["cases"]
    assert case["id"] == "from-mail"
    assert case["low"] < case["high"]


def test_a_case_of_a_mail_says_what_no_mail_says(lockscale: Lockscale) -> None:
    done = lockscale("casebook", "add", MAIL, "--id", "x", "--change", "a better heuristic")
    (entry,) = yaml.safe_load(done.out)
    assert entry["kind"] == "" and entry["removed_share"] == {"pct": None}
    assert "no kind can be derived from --change" in done.err and "removed_share: pct" in done.err
    assert "no kind" not in lockscale("casebook", "add", MAIL, "--id", "x", "--change", "split it").err


def test_a_profile_that_came_by_way_of_another_system_is_read_alike(
    lockscale: Lockscale, tmp_path: Path
) -> None:
    """With the mark of UTF-8 and both characters at each line's end."""
    other = tmp_path / "report.txt"
    other.write_bytes(b"\xef\xbb\xbf" + Path(REPORT).read_bytes().replace(b"\n", b"\r\n"))
    asked = ("--threads", "8", "--json")
    here, there = (lockscale("whatif", "--profile", str(file), *asked).value for file in (REPORT, other))
    assert here["candidates"] == there["candidates"]


def test_the_score_has_the_numbers_that_others_rely_on(lockscale: Lockscale) -> None:
    score = lockscale("casebook", "score", "--json").value
    wanted = {"id", "threads", "low", "value", "high", "published", "held", "width", "sign_right"}
    assert wanted <= set(score["cases"][0])
    assert {"held_pct", "median_width", "sign_pct", "wrong_side", "baselines"} <= set(score)
    assert set(score["baselines"]) == {"delete_waits", "history"}


def test_the_figure_is_written_in_the_form_of_its_ending(lockscale: Lockscale, tmp_path: Path) -> None:
    lockscale("casebook", "score", "--figure", str(tmp_path / "score.csv"))
    lines = (tmp_path / "score.csv").read_text().splitlines()
    assert lines[0].startswith("id,label,kind")
    assert len(lines) > 50


def test_a_letter_is_plain_prose_that_says_what_was_not_measured(lockscale: Lockscale) -> None:
    text = lockscale("whatif", "-r", "1:35k,64:140k", "--patch", "split LOCK 4", "--letter").out
    assert "Predicted, not measured" in text
    assert max(map(len, text.splitlines())) <= 72


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["whatif"], "give a profile or rates of the unpatched kernel"),
        (["whatif", "-r", "many"], "neither a file nor of the form"),
        (["whatif", "-r", "1:35k,4:lots"], "'4:lots' is not of the form threads:rate"),
        (["whatif", "-r", "1:0,4:5"], "a rate above zero"),
        (["whatif", "-r", "1:5,4:9", "--patch", "improve it"], "does not begin with a known word"),
        (
            ["whatif", "--profile", REPORT, "--patch", "lockless no_such_lock"],
            "no_such_lock is not in the profile",
        ),
        (["whatif", "-r", "1:5", "--given", "a=1"], "-p and --given need a model or a study"),
        (["whatif", "inode-claim", "--letter"], "do not work with STUDY or --model"),
        (["casebook", "show", "nothing"], "no case 'nothing'"),
        (["casebook", "score", "--figure", "score.jpeg"], "a figure is written as"),
        (["casebook", "add", REPORT, "--id", "x"], "this is not a report of the test robot"),
        (["casebook", "add", MAIL, "--id", "sp\u00e4t"], "id: write it in ASCII"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(lockscale: Lockscale, arguments: list[str], says: str) -> None:
    found = lockscale(*arguments)
    assert found.status == 2
    assert says in found.err
    assert "Traceback" not in found.err
