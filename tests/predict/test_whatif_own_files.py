# SPDX-License-Identifier: MIT
"""A user's own profile, rates and model, for any lock in any subsystem."""

import csv
import re
from pathlib import Path

import pytest

from command import Lockscale
from lockscale import paths
from lockscale.errors import BadInput
from lockscale.predict.answer import Answer, Predicted
from lockscale.predict.user_files import ask_files
from lockscale.progress import FILE_VARIABLE
from lockscale.sim import Result, simulate

SAMPLES = Path(__file__).parent.parent / "samples"
S1_RATES = "threads,value\n48,79033\n48,81463\n48,79875\n"
ACCESS = "jbd2_journal_get_write_access"

COUNTER = '''
"""percpu_counter_add_batch(): every add under the lock, or every 32nd."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model


@model(unit="adds/s")
def counter(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, Note("time from one add to the next", "assumed")] = 2.0,
    hold_ns: Annotated[float, Note("mean hold of the lock", "assumed")] = 200.0,
    batched: Annotated[bool, Note("fold every 32nd add", "lib/percpu_counter.c")] = False,
) -> None:
    """A counter of free blocks."""
    fbc = m.queued_lock("fbc->lock", hold=exponential(ns(hold_ns)))
    add = m.path("percpu_counter_add_batch")
    add.spend(exponential(us(elsewhere_us)), "the rest of the operation")
    with add.sometimes(1 / 32 if batched else 1):
        add.lock(fbc)
        add.unlock(fbc)
'''
HIDDEN = {"elsewhere_us": 3.3, "hold_ns": 310.0}


def lock_stat(run: Result, lock: str) -> str:
    """One class as seq_lock_time() of kernel/locking/lockdep_proc.c prints it; times in us."""
    use = run.locks[lock]
    assert use.wait_ns_mean is not None and use.hold_ns_mean is not None
    wait_us = use.wait_ns_mean * use.acquisitions / 1e3
    hold_us = use.hold_ns_mean * use.acquisitions / 1e3
    rule = "-" * 221
    titles = "con-bounces contentions waittime-min waittime-max waittime-total waittime-avg acq-bounces "
    titles += "acquisitions holdtime-min holdtime-max holdtime-total holdtime-avg"
    numbers = [0, use.handovers, 0, wait_us, wait_us, wait_us / use.handovers]
    numbers += [0, use.acquisitions, 0, hold_us, hold_us, hold_us / use.acquisitions]
    cells = [str(n) if k % 6 < 2 else f"{n:.2f}" for k, n in enumerate(numbers)]
    head = f"{'class name':>40} " + " ".join(f"{t:>14}" for t in titles.split())
    row = f"{'&' + lock:>40}:" + f"{cells[0]:>14} " + " ".join(f"{c:>14}" for c in cells[1:])
    return f"lock_stat version 0.4\n{rule}\n{head}\n{rule}\n\n{row}\n"


@pytest.fixture
def counter_files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Profile, rates and model of a kernel with hidden parameters."""
    model = tmp_path / "counter.py"
    model.write_text(COUNTER)
    runs = {n: simulate(model, n, HIDDEN, seed=9, operations=20_000) for n in (1, 8, 32)}
    rates, profile = tmp_path / "rates.csv", tmp_path / "lock_stat.txt"
    rates.write_text("threads,value\n" + "".join(f"{n},{run.rate_per_s}\n" for n, run in runs.items()))
    profile.write_text(lock_stat(runs[32], "fbc->lock"))
    return profile, rates, model


@pytest.fixture
def s1_rates(tmp_path: Path) -> Path:
    path = tmp_path / "rates.csv"
    path.write_text(S1_RATES)
    return path


def at(answer: Answer, arm: str, threads: int) -> Predicted:
    (found,) = [p for p in answer.predictions if (p.arm, p.threads) == (arm, threads)]
    return found


def test_a_lock_of_another_subsystem_from_its_lock_stat(counter_files: tuple[Path, Path, Path]):
    profile, rates, model = counter_files
    typed = ",".join(line.replace(",", ":") for line in rates.read_text().split()[1:])
    answer = ask_files(profile, typed, model)
    for n in (1, 8, 32):
        truth = simulate(model, n, {**HIDDEN, "batched": True}, seed=5, operations=20_000).rate_per_s
        said = at(answer, "batched", n)
        assert said.low < truth < said.high < 1.35 * said.low
    found = {one.name: one for one in answer.parameters}
    assert found["hold_ns"].status == found["elsewhere_us"].status == "identified"
    assert found["hold_ns"].low < 310 < found["hold_ns"].high
    assert [idea.worth for idea in answer.ideas] == ["yes"]
    waits = {one.place: one.threads for one in answer.waits}
    assert waits["wait for fbc->lock"] == pytest.approx(32 - 1 - 3.3 / 0.31, abs=1.5)
    naive = at(answer, "batched", 32).naive_value
    assert naive == pytest.approx(1e9 / 310 * 32 / (1 + 3.3 / 0.31), rel=0.15)


def test_a_time_that_is_held_is_not_fitted(counter_files: tuple[Path, Path, Path]):
    profile, rates, model = counter_files
    answer = ask_files(profile, rates, model, held={"elsewhere_us": 3.3})
    assert [one.name for one in answer.parameters] == ["hold_ns"]
    assert (answer.origin, answer.waits_origin) == ("not stated", "the profile")


@pytest.mark.slow
def test_s1s_files_give_its_published_gain(s1_rates: Path):
    """The same base that whatif inode-claim reads, by the simulator in place of the storm's law."""
    answer = ask_files(SAMPLES / "funccost-s1.txt", s1_rates, "inode_claim", given={ACCESS: 8.03})
    said = at(answer, "search_locked", 48)
    assert said.low < 812_480 < said.high
    assert said.naive_value == pytest.approx(80_124 / (1 - 1317641501 / 1707443399), rel=1e-3)
    assert said.naive_value < said.low
    assert {one.place for one in answer.waits} >= {"_raw_spin_lock", "jbd2__journal_start"}


@pytest.mark.slow
def test_without_the_calls_of_a_lone_create_the_gain_is_open(s1_rates: Path):
    closed = ask_files(SAMPLES / "funccost-s1.txt", s1_rates, "inode_claim", given={ACCESS: 8.03})
    answer = ask_files(SAMPLES / "funccost-s1.txt", s1_rates, "inode_claim")
    said, narrow = at(answer, "search_locked", 48), at(closed, "search_locked", 48)
    assert said.high / said.low > 2 * narrow.high / narrow.low
    (missing,) = [one for one in answer.open if one.option == ACCESS]
    assert "one thread" in missing.measurement


def test_a_profile_of_other_locks_is_said_to_be_of_no_use(s1_rates: Path):
    profile = SAMPLES / "perf_lock-6.12.95-caller.txt"
    answer = ask_files(profile, s1_rates, "machine_repairman")
    assert [one.parameter for one in answer.open if "no function or lock" in one.why] == ["the profile"]
    found = {one.name: one.status for one in answer.parameters}
    assert found == {"service_us": "identified", "think_us": "open"}  # one rate of a full queue: 1 / service
    assert answer.predictions == [] and any("no switch" in one.why for one in answer.open)


@pytest.mark.slow
def test_a_switch_that_the_base_has_thrown_is_no_patch(tmp_path: Path):
    """group_goals takes one of its arms at a time."""
    rates = tmp_path / "rates.csv"
    rates.write_text("threads,value\n2,240000\n")
    profile = SAMPLES / "perf_lock-6.12.95-caller.txt"
    answer = ask_files(profile, rates, "group_goals", held={"trylock": True})
    assert {p.arm for p in answer.predictions} == {"arbitrary", "flex_groups"}


@pytest.mark.parametrize(
    ("profile", "rates", "model", "said"),
    [
        ("fsload-0.2.0.jsonl", S1_RATES, "inode_claim", "neither function costs nor lock statistics"),
        ("funccost-s1.txt", "threads,value,arm\n4,5,a\n4,5,b\n", "inode_claim", "2 curves"),
        ("funccost-s1.txt", S1_RATES, "inode_claims", "did you mean inode_claim"),
        ("funccost-s1.txt", "threads,value\n0,5\n", "inode_claim", "whole numbers"),
    ],
)
def test_files_that_cannot_be_used_are_one_sentence(
    profile: str, rates: str, model: str, said: str, tmp_path: Path
):
    path = tmp_path / "rates.csv"
    path.write_text(rates)
    with pytest.raises(BadInput, match=said):
        ask_files(SAMPLES / profile, path, model)


@pytest.mark.slow
def test_a_profile_that_the_fit_does_not_use_is_said_so_at_the_top(s1_rates: Path):
    costs = SAMPLES / "funccost-s1.txt"
    without = ask_files(costs, s1_rates, "inode_claim")
    assert "not used in the fit" in without.used[0]
    assert [one.option for one in without.open if one.option] == [ACCESS]
    assert not any("has the name of a step" in one.why for one in without.open)
    given = ask_files(costs, s1_rates, "inode_claim", given={ACCESS: 8.03})
    assert f"in the fit: calls of {ACCESS}" in given.used[0]
    assert all(
        any("assume that the model is exact" in note for note in one.notes) for one in (without, given)
    )


@pytest.mark.slow
@pytest.mark.parametrize("rate", [2_000, 400_000])
def test_a_profile_of_another_run_is_no_word_on_who_waits(rate: int, tmp_path: Path):
    """S1's create takes 1186 us: at these rates 2.4 and 474 threads, not 48."""
    rates = tmp_path / "rates.csv"
    rates.write_text(f"threads,value\n48,{rate}\n")
    costs = SAMPLES / "funccost-s1.txt"
    answer = ask_files(costs, rates, "inode_claim")
    assert answer.waits == [] and all(p.naive_value is None for p in answer.predictions)
    (why,) = [one.why for one in answer.open if one.parameter == "who waits"]
    assert f"means {rate * 1185.72 / 1e6:.1f} threads, not 48" in why
    assert {one.worth for one in answer.ideas} == {"not known"}
    with pytest.raises(BadInput, match="not from the same run"):
        ask_files(costs, rates, "inode_claim", given={ACCESS: 8.03})


def test_a_profile_without_the_operation_itself_is_refused(s1_rates: Path, tmp_path: Path):
    profile = tmp_path / "costs.txt"
    lines = (SAMPLES / "funccost-s1.txt").read_text().splitlines(keepends=True)
    profile.write_text("".join(line for line in lines if "ext4_create " not in line))
    with pytest.raises(BadInput, match=r"costs\.txt: .*_raw_spin_lock, which is not an operation"):
        ask_files(profile, s1_rates, "inode_claim")


def test_a_refused_profile_is_named(s1_rates: Path, tmp_path: Path):
    profile = tmp_path / "empty.txt"
    profile.write_text("")
    with pytest.raises(BadInput, match=r"empty\.txt: "):
        ask_files(str(profile), s1_rates, "inode_claim")
    with pytest.raises(BadInput, match=r"absent\.txt: No such file or directory: give the path"):
        ask_files("absent.txt", s1_rates, "inode_claim")


@pytest.mark.slow
def test_a_model_that_does_not_fit_leaves_no_more_open_than_before(tmp_path: Path):
    """S3's base: three more numbers than parameters, missed eight times as far as they scatter."""
    base = [("threads", "value")]
    with (paths.PUBLISHED / "s3_fallocate2.csv").open() as lines:
        for row in csv.DictReader(lines):
            if (row["arm"], row["metric"]) == ("wait-group", "fallocate_rate"):
                base.append((row["threads"], str(int(row["threads"]) * float(row["value"]))))
    rates = tmp_path / "rates.csv"
    rates.write_text("".join(f"{n},{value}\n" for n, value in base))
    answer = ask_files(SAMPLES / "perf_lock-6.12.95-caller.txt", rates, "group_trylock")
    assert any("The model misses them" in note for note in answer.notes)
    assert all(one.worth == "not known" and "times its scatter" in one.why for one in answer.ideas)
    for one in answer.parameters:
        assert one.high <= 10.01 * one.value and one.low >= one.value / 10.01, one
    alone = float(base[1][1])
    for p in answer.predictions:
        assert p.high < 1.2 * p.threads * alone, p


def test_calls_of_a_step_that_the_model_lacks_are_refused(s1_rates: Path):
    with pytest.raises(BadInput, match="no step ext4_create, whose calls"):
        ask_files(SAMPLES / "funccost-s1.txt", s1_rates, "inode_claim", given={"ext4_create": 1.0})


def test_calls_below_nothing_are_refused(s1_rates: Path):
    with pytest.raises(BadInput, match="above 0"):
        ask_files(SAMPLES / "funccost-s1.txt", s1_rates, "inode_claim", given={ACCESS: float("nan")})


def test_more_calls_alone_than_counted_are_refused(s1_rates: Path):
    with pytest.raises(BadInput, match="than one thread alone"):
        ask_files(SAMPLES / "funccost-s1.txt", s1_rates, "inode_claim", given={ACCESS: 60.0})


@pytest.mark.parametrize("again", ["contended_us=2", " contended_us =1"])
def test_a_measurement_that_is_given_twice_is_refused(lockscale: Lockscale, again: str):
    said = lockscale("whatif", "write-access", "--given", "contended_us=1", "--given", again)
    assert said.status == 2 and "'contended_us' twice" in said.err


def test_the_fit_says_how_many_sets_it_tried(
    counter_files: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The same line again and again would say nothing."""
    told = tmp_path / "progress.txt"
    monkeypatch.setenv(FILE_VARIABLE, str(told))
    ask_files(*counter_files)
    lines = [line for line in told.read_text().splitlines() if line.startswith("fit counter")]
    assert lines and all(re.search(r": \d+ sets of parameters simulated", line) for line in lines)


def test_the_command_takes_files(lockscale: Lockscale, counter_files: tuple[Path, Path, Path]):
    profile, rates, model = map(str, counter_files)
    said = lockscale("whatif", "--profile", profile, "--rates", rates, "--model", model, "--json")
    assert said.status == 0
    assert said.value["study"] == "counter" and "lock_stat" in said.value["used"][0]
    assert {p["arm"] for p in said.value["predictions"]} == {"batched"}


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("--model", "inode_claim"),
        ("inode-claim", "--model", "inode_claim"),
        ("inode-claim", "--given", "x"),
        ("nothing",),
    ],
)
def test_half_a_question_is_one_sentence(lockscale: Lockscale, argv: tuple[str, ...]):
    said = lockscale("whatif", *argv)
    assert said.status == 2 and said.out == ""
    assert said.err.count("\n") == 1


def test_the_command_prints_the_promised_keys(lockscale: Lockscale):
    said = lockscale("whatif", "inode-claim", "--json").value
    assert set(said) >= {"study", "used", "parameters", "open", "predictions", "waits", "ideas", "published"}
    keys = {"arm", "threads", "metric", "unit", "value", "low", "high", "naive_value"}
    assert all(keys <= set(one) for one in said["predictions"])
    assert all({"arm", "threads", "value"} <= set(one) for one in said["published"])


@pytest.mark.parametrize("study", ["inode-claim", "write-access", "group-trylock", "orphan-file"])
def test_a_person_reads_what_waits_what_is_open_and_what_to_write(lockscale: Lockscale, study: str):
    said = lockscale("whatif", study).out
    for head in (
        "Who waits for what",
        "Predictions",
        "Not in the data of the unpatched kernel",
        "Worth writing",
        "nothing of it was",
    ):
        assert head in said
