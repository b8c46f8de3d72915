# SPDX-License-Identifier: MIT
"""`lockscale sweep`: grids, hypercubes, Dask, and a real interrupt from which it goes on."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from command import Lockscale
from lockscale.sim import sweep as sweep_module

# The real command, of which every point takes a quarter of a second longer.
SLOW = """
import signal, sys, time
from lockscale.cli import main
from lockscale.sim import simulate, sweep

# a shell starts what it puts into the background with interrupts ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
calls = []

def slowly(*args, **kwargs):
    calls.append(args)
    time.sleep(0.1 if len(calls) < 3 else 2.0)  # leaves a busy machine time to interrupt
    return simulate(*args, **kwargs)

sweep.simulate = slowly
main(sys.argv[1:])
"""
# The real command for each address in turn, and its exit status.
ADDRESSES = """
import sys
from lockscale.cli import main

for address in sys.argv[1:]:
    try:
        main(["sweep", "machine_repairman", "--dask", address])
    except SystemExit as ended:
        print(ended.code)
"""
GRID = [
    "machine_repairman",
    "--threads",
    "1,2,4",
    "--grid",
    "think_us=5,10,20,40",
    "--grid",
    "service_us=1,2",
]


def test_a_grid_is_swept_in_order_and_labelled(lockscale: Lockscale) -> None:
    said = lockscale("sweep", *GRID, "--replications", "2", "--seed", "4", "--json")
    value = json.loads(said.out)
    assert said.status == 0 and value["complete"] and value["origin"] == "simulated"
    assert (value["model"], value["seed"], value["replications"]) == ("machine_repairman", 4, 2)
    seen = [
        (p["parameters"]["think_us"], p["parameters"]["service_us"], p["threads"]) for p in value["points"]
    ]
    assert seen == [(t, s, n) for t in (5, 10, 20, 40) for s in (1, 2) for n in (1, 2, 4)]
    (one,) = [p for p in value["points"] if p["parameters"] == {"think_us": 10, "service_us": 2}][:1]
    sim = ("sim", "machine_repairman", "--threads", "1", "-p", "service_us=2", "--replications", "2")
    alone = json.loads(lockscale(*sim, "--seed", "4", "--json").out)["points"][0]
    assert one.items() >= alone.items()


def test_operations_decide_the_points_and_a_keep_file_holds_to_them(
    lockscale: Lockscale, tmp_path: Path
) -> None:
    """A repairman that never waits takes 11 us an operation: the interval of more is narrower."""
    argv = ("machine_repairman", "--threads", "1", "--json")
    few, many = (("--operations", n) for n in ("400", "40000"))
    keep = ("--keep", str(tmp_path / "points"))
    value = json.loads(lockscale("sweep", *argv, *few, *keep).out)
    (point,) = value["points"]
    assert value["operations"] == 400
    (simulated,) = json.loads(lockscale("sim", *argv, *few).out)["points"]
    assert point.items() >= simulated.items()
    (longer,) = json.loads(lockscale("sim", *argv, *many).out)["points"]
    assert longer["high"] - longer["low"] < (point["high"] - point["low"]) / 3
    refused = lockscale("sweep", *argv, *many, *keep)
    assert refused.status == 2 and "keeps points of operations 400, not 40000" in refused.err


def test_a_kept_point_that_is_damaged_is_one_sentence(lockscale: Lockscale, tmp_path: Path) -> None:
    keep = tmp_path / "points"
    argv = ("sweep", "machine_repairman", "--operations", "100", "--keep", str(keep))
    lockscale(*argv)
    kept = keep.read_text()
    for old, new, fault in [
        ('"unit": ', '"units": ', "is a point without unit"),
        ('"value": ', '"value": NaN, "was": ', "has a point whose value is NaN, not a finite number"),
        ('"value": ', '"value": 1', "was changed after it was written"),
    ]:
        changed = kept.replace(old, new)
        of_old = re.sub(r', "line_sha256": "\w+"', "", changed)  # of a lockscale that wrote no hash
        keep.write_text(changed if "was changed" in fault else of_old)
        said = lockscale(*argv, "--json")
        assert (said.status, said.out) == (2, "") and said.err.count("\n") == 1
        assert f"{keep} line 2 {fault}: delete the line to compute it again" in said.err


@pytest.mark.parametrize("command", ["sim", "sweep"])
def test_help_warns_of_short_runs_near_a_storms_threshold(lockscale: Lockscale, command: str) -> None:
    said = " ".join(lockscale(command, "--help").out.split())
    assert "threshold of a storm" in said and "without the interval showing it" in said


@pytest.mark.slow
def test_what_is_no_dask_address_leaves_nothing_to_be_heard_of_later() -> None:
    """No client lives on: its end would be a traceback 10 s after the sentence."""
    addresses = ["nowhere", "nonsense://x", "tls://127.0.0.1:1"]
    argv = [sys.executable, "-c", ADDRESSES, *addresses]
    said = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stdout) == (0, "2\n" * len(addresses))
    for line, address in zip(said.stderr.splitlines(), addresses, strict=True):
        assert line.startswith(f"lockscale: no Dask scheduler answers at {address}")


def test_a_hypercube_meets_every_set_of_a_grid(lockscale: Lockscale) -> None:
    argv = ("inode_claim", "--threads", "2", "--grid", "search_locked=true,false", "--replications", "1")
    said = lockscale("sweep", *argv, "--latin", "hold_ns=100:500", "--samples", "4", "--json")
    points = [p["parameters"] for p in json.loads(said.out)["points"]]
    assert [p["search_locked"] for p in points] == [True] * 4 + [False] * 4
    assert sorted(int((p["hold_ns"] - 100) // 100) for p in points[:4]) == [0, 1, 2, 3]
    assert [p["hold_ns"] for p in points[:4]] == [p["hold_ns"] for p in points[4:]]


def test_a_person_reads_what_varies_and_that_it_is_simulated(lockscale: Lockscale) -> None:
    out = lockscale("sweep", "machine_repairman", "--threads", "2", "--grid", "think_us=5,10").out
    head, *rows, _, last = out.splitlines()
    assert head.split()[:2] == ["think_us", "threads"] and len(rows) == 2 and last == "simulated"
    assert "service_us" not in head


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done_and_the_same_command_goes_on(
    lockscale: Lockscale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = tmp_path / "points"
    argv = ("sweep", *GRID, "--replications", "1", "--keep", str(keep), "--json")
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while not (keep.exists() and keep.read_bytes().count(b"\n") >= 3):
            assert child.poll() is None, child.communicate()
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    partial = json.loads(out)
    done = len(partial["points"])
    assert child.returncode == 130 and partial["complete"] is False
    assert f"interrupted: {done} of 24 points are done; the same command continues from there" in err
    assert 2 <= done < 24 and len(set(keep.read_text().splitlines())) == 1 + done

    simulated = []
    real = sweep_module.simulate
    monkeypatch.setattr(
        sweep_module, "simulate", lambda *args, **kwargs: simulated.append(args) or real(*args, **kwargs)
    )
    resumed = json.loads(lockscale(*argv).out)
    assert len(simulated) == 24 - done
    assert [p for p in resumed["points"] if p in partial["points"]] == partial["points"]
    keep.unlink()
    assert json.loads(lockscale(*argv).out) == resumed


def test_dask_workers_give_the_same_points(lockscale: Lockscale, tmp_path: Path) -> None:
    from distributed import LocalCluster

    here = json.loads(lockscale("sweep", *GRID, "--replications", "1", "--json").out)
    options: dict[str, Any] = {"processes": False, "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
    with LocalCluster(n_workers=1, host="127.0.0.1", local_directory=tmp_path, **options) as cluster:
        argv = ("sweep", *GRID, "--replications", "1", "--dask", cluster.scheduler_address, "--json")
        assert json.loads(lockscale(*argv).out) == here


def test_a_dask_scheduler_without_workers_is_refused(lockscale: Lockscale, tmp_path: Path) -> None:
    from distributed import LocalCluster

    options: dict[str, Any] = {"processes": False, "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
    with LocalCluster(n_workers=0, host="127.0.0.1", local_directory=tmp_path, **options) as cluster:
        said = lockscale("sweep", *GRID, "--dask", cluster.scheduler_address)
    assert said.status == 2 and "has no workers: start some with `dask worker`" in said.err


def test_without_distributed_the_extra_is_named(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = lockscale("sweep", *GRID, "--dask", "tcp://127.0.0.1:8786")
    assert said.status == 2 and said.err.count("\n") == 1 and "the extra `scale`" in said.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["inode_clam"], "did you mean inode_claim"),
        (["inode_claim", "--grid", "hold_us=1"], "no parameter 'hold_us'"),
        (["inode_claim", "--grid", "hold_ns"], "--grid 'hold_ns' is not of the form NAME="),
        (["inode_claim", "--grid", "hold_ns="], "'hold_ns' is '': give a plain number"),
        (["inode_claim", "--grid", "hold_ns=1,,2"], "'hold_ns' is '': give"),
        (["inode_claim", "--grid", "hold_ns=1,x"], "'hold_ns' is 'x': give a plain number in ns"),
        (["inode_claim", "--grid", "hold_ns=1", "--grid", "hold_ns=2"], "--grid names 'hold_ns' twice"),
        (["inode_claim", "--grid", "hold_ns=1,1.0"], "point twice"),
        (["inode_claim", "--latin", "hold_ns=1:2"], "needs both --latin NAME=LOW:HIGH and --samples N"),
        (["inode_claim", "--samples", "4"], "needs both --latin"),
        (["inode_claim", "--latin", "hold_ns=1", "--samples", "4"], "write hold_ns=LOW:HIGH"),
        (["inode_claim", "--latin", "hold_ns=2:1", "--samples", "4"], "low < high"),
        (["inode_claim", "--latin", "hold_ns=true:false", "--samples", "4"], "a switch belongs in a grid"),
        (["inode_claim", "--latin", "search_locked=0:1", "--samples", "4"], "give true or false"),
        (["inode_claim", "--latin", "hold_ns=1:2", "--samples", "0"], "samples is 0"),
        (["inode_claim", "--latin", "hold_ns=1:2", "--samples", "4", "--seed", "-1"], "seed is -1"),
        (["inode_claim", "--threads", "1,x"], "--threads '1,x'"),
        (["inode_claim", "--threads", "0"], "threads is 0"),
        (["inode_claim", "--replications", "0"], "replications is 0"),
        (["inode_claim", "--operations", "0"], "operations is 0"),
        pytest.param(
            ["inode_claim", "--dask", "tcp://127.0.0.1:1"],
            "no Dask scheduler answers at tcp://127.0.0.1:1",
            marks=pytest.mark.slow,
        ),
        (["inode_claim", "--dask", "nonsense://x"], "no Dask scheduler answers at nonsense://x"),
        (["inode_claim", "--keep", "."], "is a directory"),
    ],
)
def test_bad_input_is_one_sentence(lockscale: Lockscale, argv: list[str], message: str) -> None:
    said = lockscale("sweep", *argv)
    assert said.status == 2 and said.out == "" and message in said.err
    assert said.err.startswith("lockscale: ") and said.err.count("\n") == 1
