# SPDX-License-Identifier: MIT
"""`lockscale whatif` of any lock and `lockscale casebook`, typed as people type them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from command import Lockscale
from lockscale.predict.user_rates import read_rates

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


def test_as_many_rates_are_typed_as_somebody_has(lockscale: Lockscale) -> None:
    rates = ",".join(f"{n}:{1000 * n / (1 + 0.02 * n):.0f}" for n in range(1, 200))
    assert lockscale("whatif", "-r", rates, "--patch", "lockless LOCK").status == 0


def test_a_share_is_given_with_or_without_its_sign(lockscale: Lockscale) -> None:
    with_it, without = (
        lockscale("whatif", "--share", pct, "--threads", "8", "--json") for pct in ("60%", "60")
    )
    assert with_it.value == without.value


def test_rows_that_cannot_be_read_are_named_where_no_lock_is_left(
    lockscale: Lockscale, tmp_path: Path
) -> None:
    """Decimal commas, as perf prints them in some languages."""
    report = tmp_path / "report.txt"
    report.write_text(
        "# Children      Self  Command  Shared Object      Symbol\n"
        "    60.00%    60.00%  mdtest   [kernel.kallsyms]  [k] ext4_create\n"
        "    41,22%    41,22%  mdtest   [kernel.kallsyms]  [k] native_queued_spin_lock_slowpath\n"
    )
    said = lockscale("whatif", "--profile", str(report), "--threads", "8")
    assert said.status == 2 and "no function that waits for a lock is in this profile (line 3 is " in said.err


def test_the_threads_of_a_robots_mail_are_those_that_it_says(lockscale: Lockscale) -> None:
    """nr_threads=50% of 64 CPUs."""
    found = lockscale("whatif", "--profile", MAIL, "--json").value
    assert {one["threads"] for one in found["candidates"]} == {32}


def test_a_mails_metric_may_have_a_slash(lockscale: Lockscale, tmp_path: Path) -> None:
    text = Path(MAIL).read_text()
    name = "stress-ng.example.ops_per_sec"
    assert name in text
    mail = tmp_path / "mail.txt"
    mail.write_text(text.replace(name, "fxmark.example.works/sec"))
    said = lockscale("casebook", "add", str(mail), "--id", "slash").out
    assert yaml.safe_load(said)[0]["unit"] == "fxmark.example.works/sec"


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


def test_a_case_says_which_commit_and_mail_it_is_of(lockscale: Lockscale, tmp_path: Path) -> None:
    """The table has ten digits of the commit, the mail all of them."""
    body = Path(MAIL).read_text()
    short = lockscale("casebook", "add", MAIL, "--id", "a", "--json").value["source"]["commit"]
    whole = short[:10] + "f" * (40 - len(short[:10]))
    mail = tmp_path / "mail.eml"
    head = "Date: Tue, 12 Nov 2024 21:01:33 +0800\nMessage-ID: <20241112.x@example.org>\n\n"
    mail.write_text(f'{head}{body}\ncommit: {whole} ("a")\n')
    source = lockscale("casebook", "add", str(mail), "--id", "a", "--json").value["source"]
    assert (source["date"], source["message-id"]) == ("2024-11-12", "20241112.x@example.org")
    assert source["commit"].startswith(short[:10]) and len(source["commit"]) == 40


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


HARDLY_WAITED_FOR = """\
 contended   total wait     max wait     avg wait         type   caller

       100      1.00 ms    100.00 us     10.00 us     spinlock   xlog_grant_head_check+0x10
"""
FLAT = """\
# Overhead  Command  Shared Object      Symbol
# ........  .......  .................  ....
    58.01%  fio      [kernel.kallsyms]  [k] native_queued_spin_lock_slowpath
     3.05%  fio      [kernel.kallsyms]  [k] copy_user_enhanced_fast_string
"""


def test_timed_waits_that_are_next_to_nothing_are_believed_beside_rates(lockscale: Lockscale, tmp_path: Path):
    """1 ms of 640 thread-seconds: whatever makes the curve bend, it is not this lock."""
    (tmp_path / "waits.txt").write_text(HARDLY_WAITED_FOR)
    profile = ["--profile", str(tmp_path / "waits.txt"), "--seconds", "10"]
    said = lockscale("whatif", *profile, "-r", "1:35k,64:140k", "--json").value
    assert "Something else limits the rates" in said["against_itself"]
    assert all(one["promise"] < 1.001 and one["worth"] != "yes" for one in said["candidates"])


def test_a_promise_is_of_a_measured_share_and_advice_says_what_a_share_is_worth(lockscale: Lockscale):
    rates = ["whatif", "-r", "1:35k,64:140k", "--patch", "split LOCK 4", "--json"]
    by_rates, by_share = lockscale(*rates).value, lockscale(*rates, "--share", "40").value
    assert by_rates["candidates"][0]["promise"] is None and by_share["candidates"][0]["promise"] > 1
    assert by_rates["advice"]["to"] < by_rates["advice"]["width"]
    assert "share of the time" in by_rates["advice"]["measurement"]


def test_a_flat_profile_says_that_it_cannot_tell_which_lock_it_is(lockscale: Lockscale, tmp_path: Path):
    (tmp_path / "flat.txt").write_text(FLAT)
    said = lockscale("whatif", "--profile", str(tmp_path / "flat.txt"), "--threads", "64").out
    assert "cannot tell which one it is: record it with -g" in said


def test_a_rate_without_its_suffix_is_asked_about(lockscale: Lockscale):
    assert "is a suffix such as k missing?" in lockscale("whatif", "-r", "1:35k,64:140").out
    assert "suffix" not in lockscale("whatif", "-r", "1:35k,64:14k").out


def test_a_profile_in_a_mail_with_a_table_is_read_as_the_tool_that_is_named(
    lockscale: Lockscale, tmp_path: Path
):
    mail = tmp_path / "mail.txt"
    mail.write_text((SAMPLES / "changelog-fallocate2-v1.txt").read_text() + "\n" + Path(REPORT).read_text())
    asked = ["--threads", "8", "--json"]
    refused = lockscale("whatif", "--profile", str(mail), *asked)
    assert refused.status == 2 and "contains output of changelog-table, perf_report" in refused.err
    assert "choose one with --tool" in refused.err
    named, alone = (
        lockscale("whatif", "--profile", *file, *asked).value["candidates"]
        for file in ([str(mail), "--tool", "perf_report"], [REPORT])
    )
    assert [(one["patch"], one["value"]) for one in named] == [(one["patch"], one["value"]) for one in alone]


def test_the_tool_is_also_named_for_a_model(lockscale: Lockscale, tmp_path: Path):
    (tmp_path / "rates.csv").write_text("threads,value\n1,35000\n4,80000\n")
    model = ["--rates", str(tmp_path / "rates.csv"), "--model", "machine_repairman"]
    said = lockscale("whatif", "--profile", REPORT, "--tool", "fio", *model)
    assert said.status == 2 and f"{REPORT}: this is not fio's JSON" in said.err


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
        (["whatif", "-r", "1:5,4:9", "--tool", "perf_lock"], "are about a profile: give --profile FILE too"),
        (["whatif", "-r", "1:5,4:9", "--table", "2"], "are about a profile: give --profile FILE too"),
        (
            ["whatif", "--profile", REPORT, "--tool", "fio"],
            "fio does not say who waits for a lock",
        ),
        (["whatif", "inode-claim", "--tool", "perf_lock"], "takes either a study's name, or --profile"),
        (["whatif", "inode-claim", "--letter"], "do not work with STUDY or --model"),
        (["whatif", "-r", "1:35k", "-r", "64:140k"], "is given 2 times: give all rates at once"),
        (["whatif", "-r", "1:5,4:9", "--threads", "1"], "--threads 1: one thread alone never waits"),
        (["whatif", "-r", "1:5,4:9", "--letter"], "--letter is about one patch: give one --patch"),
        (["whatif", "-r", "1:5,4:9", "--patch", "layout L"], "write unshare FUNCTION"),
        (["whatif", "--profile", REPORT, "--tool", "perf-reprot"], "did you mean perf_report?"),
        (["parse", "README.md"], "README.md: "),
        (["whatif", "--share", "60", "--patch", "shrink L 0.5"], "is 0.5 percent or a number?"),
        (["casebook", "show", "nothing"], "no case 'nothing'"),
        (["casebook", "score", "--figure", "score.jpeg"], "a figure is written as"),
        (["casebook", "add", REPORT, "--id", "x"], "this is not a report of the test robot"),
        (["casebook", "add", MAIL, "--id", "sp\u00e4t"], "write it in letters, digits, . _ - only"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(lockscale: Lockscale, arguments: list[str], says: str) -> None:
    found = lockscale(*arguments)
    assert found.status == 2
    assert says in found.err
    assert "Traceback" not in found.err


def test_the_middle_of_two_cases_lies_between_them_and_points_that_look_alike_are_told(
    lockscale: Lockscale, tmp_path: Path
) -> None:
    entry: dict[str, Any] = {
        "id": "one", "family": "one", "subsystem": "vfs", "kind": "split", "change": "x", "workload": "y",
        "unit": "ops/s", "higher_is_better": True, "source": {"author": "me"},
        "points": [{"threads": 64, "base": 9000, "patched": 21000}],
    }  # fmt: skip
    other = entry | {"id": "other", "family": "other", "kind": "shrink"}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"cases": [entry, other]}))
    score = lockscale("casebook", "score", str(tmp_path / "c.yaml"), "--json").value
    widths = [row["median_width"] for row in score["by_kind"].values()]
    assert score["median_width"] == pytest.approx(sum(widths) / 2) and widths[0] != widths[1]
    entry["points"] *= 2
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"cases": [entry]}))
    said = lockscale("casebook", "list", str(tmp_path / "c.yaml"))
    assert "note: one has several points of 64 threads with one label" in said.err


def test_a_case_that_nobody_has_measured_is_predicted_and_named_as_not_scored(
    lockscale: Lockscale, tmp_path: Path
) -> None:
    entry = {
        "id": "mine", "subsystem": "ext4", "kind": "lockless", "change": "x",
        "workload": "y", "unit": "ops/s",
        "higher_is_better": True, "source": {"author": "me"},
        "points": [{"threads": 1, "base": 10}, {"threads": 8, "base": 20}],
    }  # fmt: skip
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"cases": [entry]}))
    assert (
        "Not scored, as `base` or `patched` is missing: mine;"
        in lockscale("casebook", "score", str(tmp_path / "c.yaml")).out
    )


def test_repeats_that_are_not_of_one_load_are_told(lockscale: Lockscale, tmp_path: Path):
    rates = tmp_path / "rates.csv"
    rates.write_text("threads,value\n1,35000\n1,36000\n64,140000\n64,35000\n")
    said = "warning: repeats with 64 threads are 4.0 times apart (35000 to 140000)"
    assert said in lockscale("whatif", "-r", str(rates)).out
    rates.write_text("threads,value\n1,35000\n1,36000\n64,140000\n64,120000\n")
    assert "times apart" not in lockscale("whatif", "-r", str(rates)).out


def test_a_repeat_counts_as_often_as_its_runs_say(tmp_path: Path):
    rates = tmp_path / "rates.csv"
    rates.write_text("threads,value,runs\n4,300,9\n4,200,1\n")
    assert read_rates(str(rates))[0][4] == pytest.approx(300**0.9 * 200**0.1)


def test_a_check_of_two_rates_is_made_where_the_model_cannot_have_them(lockscale: Lockscale):
    assert "two always fit the model" in lockscale("whatif", "-r", "1:35k,64:140k").out
    said = lockscale("whatif", "-r", "1:35k,64:20k").out  # with a lock more threads do no less
    assert "two always fit" not in said and "fitted to these rates, is 32% off" in said


@pytest.mark.parametrize(("rates", "bounded"), [("1:35k,64:140k", True), ("2:10k,64:140k", False)])
def test_rates_bound_a_gain_where_that_of_one_thread_is_known(
    lockscale: Lockscale, rates: str, bounded: bool
):
    assert ("bounded by the rates" in lockscale("whatif", "-r", rates).out) == bounded


WAITS = """ contended   total wait     max wait     avg wait         type   caller

    400000     260.00 s      9.10 ms    650.00 us        mutex   xfs_buf_lock+0x10
       400      30.00 s    900.10 ms     75.00 ms      rwsem:W   __btrfs_tree_lock+0x1f
       400      20.00 s    900.10 ms     50.00 ms     rwlock:W   __btrfs_tree_lock+0x2f
"""


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--patch", "lockless LOCK"], "LOCK stands for a lock's name: write one of this profile, in which"),
        (["--patch", "lockless no_such_thing"], "threads wait for xfs_buf_lock, __btrfs_tree_lock"),
        (["--patch", "fewer xfs_buf_lock 100%"], "write lockless xfs_buf_lock"),
        (["--profile", "waits.txt"], "--profile is given 2 times: give one of them"),
        (["--seconds", "10ms"], "'10ms' is not a number of seconds, such as 2.5"),
        (["--share", "half"], "'half' is not a number of percent, such as 2.5"),
        (["-r", "1:1,000,64:140,000"], "write 140000 or 140k, not 140,000"),
    ],
)
def test_what_cannot_be_meant_says_what_to_write(
    lockscale: Lockscale, inside: Path, argv: list[str], said: str
):
    (inside / "waits.txt").write_text(WAITS)
    refused = lockscale("whatif", "--profile", "waits.txt", "--threads", "64", "--seconds", "10", *argv)
    assert refused.status == 2 and said in refused.err and refused.out == ""


def test_rates_with_a_space_are_told_apart_from_a_study(lockscale: Lockscale):
    refused = lockscale("whatif", "-r", "1:35", "k,64:140k")
    assert refused.status == 2 and "rates are written without spaces: -r 1:35k,64:140k" in refused.err


@pytest.mark.parametrize("command", ["parse", "whatif"])
def test_the_tools_that_are_read_are_listed_without_a_file(lockscale: Lockscale, command: str):
    said = lockscale(command, "--tool", "help")
    assert said.status == 0 and {"perf_lock", "lock_stat", "mdtest"} <= {*said.out.split()}


def test_of_two_kinds_of_lock_in_a_function_the_other_one_is_named(lockscale: Lockscale, inside: Path):
    (inside / "waits.txt").write_text("^C" + WAITS)  # as a terminal shows the key that ended perf
    said = lockscale(
        "whatif", "--profile", "waits.txt", "--threads", "64", "--seconds", "10",
        "--patch", "split __btrfs_tree_lock 4",
    ).out  # fmt: skip
    assert "- __btrfs_tree_lock (rwsem:W, line 4); not rwlock:__btrfs_tree_lock" in said
    assert "warning: nothing in the text" not in said
    assert said.rstrip().endswith(
        "Nothing in the text shows that it is complete and unchanged: lines may be missing or repeated."
    )


def test_a_line_that_is_none_of_perfs_is_named(lockscale: Lockscale, inside: Path):
    (inside / "waits.txt").write_text(WAITS + "[root@box ~]#\n")
    refused = lockscale("whatif", "--profile", "waits.txt")
    assert "waits.txt: line 6: perf lock: a row does not belong" in refused.err


def test_the_score_replaces_no_table_of_somebodys_own(lockscale: Lockscale, inside: Path):
    mine = inside / "mine.csv"
    mine.write_text("threads,value\n1,100\n")
    refused = lockscale("casebook", "score", "--figure", "mine.csv")
    assert refused.status == 2 and "remove it, or name another file" in refused.err
    assert mine.read_text() == "threads,value\n1,100\n"
    for _ in range(2):
        assert "ours.csv: predicted intervals" in lockscale("casebook", "score", "--figure", "ours.csv").out
