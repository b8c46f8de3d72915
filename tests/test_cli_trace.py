# SPDX-License-Identifier: MIT
"""`lockscale sim --trace`: a file for a viewer beside what is printed; what is wrong is one sentence."""

import json
from pathlib import Path

import pytest

from command import Lockscale
from lockscale.show import simulated
from lockscale.sim import trace as trace_module

SIM = ("sim", "machine_repairman", "--threads", "4", "--replications", "2")


def test_a_trace_for_perfetto_lies_beside_the_same_points(lockscale: Lockscale, tmp_path: Path):
    file = tmp_path / "trace.json"
    said = lockscale(*SIM, "--trace", str(file), "--json")
    value, plain = json.loads(said.out), json.loads(lockscale(*SIM, "--json").out)
    told = value.pop("trace")
    assert said.status == 0 and value == plain
    assert told["file"] == str(file) and (told["from_us"], told["to_us"], told["cut"]) == (0, 1000, "")
    found = json.loads(file.read_text())
    assert found["otherData"]["threads"] == 4 and found["otherData"]["origin"] == "simulated"
    assert len([e for e in found["traceEvents"] if e["ph"] == "X"]) == told["spans"] + told["holds"]


def test_window_seed_and_parameters_are_those_asked_for(lockscale: Lockscale, tmp_path: Path):
    file = tmp_path / "trace.json"
    window = ("--trace-from-us", "20.5", "--trace-for-us", "30")
    lockscale(*SIM, "-p", "service_us=2", "--seed", "9", "--trace", str(file), *window)
    said = json.loads(file.read_text())["otherData"]
    assert (said["from_us"], said["to_us"], said["seed"]) == (20.5, 50.5, 9)
    assert said["parameters"]["service_us"] == 2


def test_a_timeline_is_a_page_and_a_person_is_told_where_it_is(lockscale: Lockscale, tmp_path: Path):
    file = tmp_path / "trace.html"
    said = lockscale(*SIM, "--trace", str(file))
    assert said.status == 0 and "machine_repairman, 4 threads" in file.read_text()
    last = said.out.splitlines()[-1]
    assert last.startswith(f"{file}: ") and "0 to 1000 us after the warm-up, simulated" in last


def test_a_trace_that_ends_early_is_said_so(
    lockscale: Lockscale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(trace_module, "ROOM", 500)
    file = tmp_path / "trace.json"
    said = lockscale(*SIM, "--trace", str(file), "--json")
    told = json.loads(said.out)["trace"]
    assert said.status == 0 and 0 < told["to_us"] < 1000 and "500 events" in told["cut"]
    assert f"warning: {told['cut']}\n" in said.err
    assert json.loads(file.read_text())["otherData"]["cut"] == told["cut"]


def test_too_large_a_timeline_is_refused_before_spans_and_points_are_made(
    lockscale: Lockscale, inside: Path, monkeypatch: pytest.MonkeyPatch
):
    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("work that the refusal makes useless")

    monkeypatch.setattr(simulated, "simulate", never)
    monkeypatch.setattr(trace_module, "Span", never)
    said = lockscale(*SIM, "--trace", "a.html", "--trace-for-us", "50000")
    assert said.status == 2 and "is too much for a browser" in said.err and not list(inside.iterdir())


def test_operations_too_few_for_a_rate_are_told(lockscale: Lockscale):
    """One operation of 48 threads: the window has the time until the first of them ends."""
    few = lockscale(
        "sim", "machine_repairman", "--threads", "1,48", "--operations", "100", "--replications", "2"
    )
    assert "warning: --operations 100 are few for 48 threads" in few.err and few.status == 0
    assert "give 4800 or more" in few.err
    many = lockscale(
        "sim", "machine_repairman", "--threads", "1", "--operations", "100", "--replications", "2"
    )
    assert "warning" not in many.err


def test_the_trace_is_of_the_run_with_so_many_operations(lockscale: Lockscale, tmp_path: Path):
    """Its warm-up is a quarter of them, so it starts elsewhere in the same random numbers."""
    files = {n: tmp_path / f"{n}.json" for n in ("2000", "20000")}
    for n, file in files.items():
        lockscale(*SIM, "--operations", n, "--trace", str(file), "--trace-for-us", "50")
    plain = tmp_path / "plain.json"
    lockscale(*SIM, "--trace", str(plain), "--trace-for-us", "50")
    assert files["20000"].read_bytes() == plain.read_bytes() != files["2000"].read_bytes()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--trace", "a.txt"], "'a.txt' does not end in .json (for Perfetto) or .html"),
        (["--trace", "a"], "'a' does not end in"),
        (["--trace", "."], "is a directory"),
        (["--trace", "a.json", "--threads", "1,2"], "--trace shows one run, but --threads has 2 numbers"),
        (
            ["--trace", "a.json", "--trace-for-us", "0"],
            "the trace lasts 0.0 us: give 1e-06 (1 ps) to 1e+09 us",
        ),
        (["--trace", "a.json", "--trace-for-us", "1e-9"], "the trace lasts 1e-09 us: give 1e-06 (1 ps) to"),
        (["--trace", "a.json", "--trace-for-us", "nan"], "the trace lasts nan us"),
        (["--trace", "a.json", "--trace-for-us", "x"], "'x' is not a valid float"),
        (["--trace", "a.json", "--trace-from-us", "-1"], "the trace starts -1.0 us after the warm-up"),
        (["--trace-from-us", "1"], "need --trace FILE"),
        (["--trace-for-us", "1"], "need --trace FILE"),
        (["--trace", "/dev/null/a.json"], "/dev/null"),
        (["--trace", "a.html", "--trace-for-us", "50000"], "is too much for a browser"),
        (["--trace", "a.json", "--trace-from-us", "1e9"], "nothing is recorded from 1e+09 us on"),
    ],
)
def test_bad_input_is_one_sentence(lockscale: Lockscale, inside: Path, argv: list[str], message: str):
    said = lockscale(*SIM, *argv)
    sentence = said.err.splitlines()[-1]
    assert said.status == 2 and said.out == "" and message in sentence
    assert sentence.startswith("lockscale: ") and "Traceback" not in said.err
    assert not list(inside.iterdir())
