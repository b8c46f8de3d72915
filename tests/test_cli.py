# SPDX-License-Identifier: MIT
"""What each command prints: one JSON value or one table on stdout."""

import csv
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from command import Lockscale, script
from lockscale import paths
from lockscale.cli import cli
from lockscale.cli.output import table, thread_counts
from lockscale.errors import Interrupted
from lockscale.kernels.base import bases

SAMPLES = Path(__file__).parent / "samples"


def published_mean(arm: str) -> float:
    with (paths.PUBLISHED / "s1_rates.csv").open() as lines:
        rows = [r for r in csv.DictReader(lines) if r["arm"] == arm and r["metric"] == "create_rate"]
    assert len(rows) == 3
    return statistics.mean(float(row["value"]) for row in rows)


def test_study_list_says_question_arms_workload_and_tables(lockscale: Lockscale):
    found = {study["name"]: study for study in lockscale("study", "list", "--json").value}
    study = found["inode-claim"]
    assert study["arms"] == ["steal-retry", "search-locked"]
    assert study["tables"] == ["s1_rates", "s1_function_cost"]
    assert study["question"].endswith("?") and study["workload"] == "create_unlink"


def test_a_shown_study_is_what_its_file_says(lockscale: Lockscale):
    said = lockscale("study", "show", "inode-claim", "--json").value
    assert said["mkfs"][-1] == "lazy_itable_init=0,lazy_journal_init=0"
    assert [arm["role"] for arm in said["arms"]] == ["unpatched", "patched"]


def test_doctor_names_a_fix_for_what_is_missing_and_for_nothing_else(lockscale: Lockscale):
    said = lockscale("doctor", "--json")
    assert set(said.value) >= {"ok", "checks"}
    assert said.status == (0 if said.value["ok"] else 1)
    assert said.value["ok"] == all(check["ok"] for check in said.value["checks"])
    for check in said.value["checks"]:
        assert set(check) == {"name", "ok", "found", "fix"}
        assert bool(check["fix"]) != check["ok"], check
    assert {"python", "disk", "kvm", "kernel source", "gcc"} <= {c["name"] for c in said.value["checks"]}


@pytest.mark.parametrize("reached", [True, False])
def test_doctor_says_whether_a_qemu_for_virtual_time_can_still_come(
    reached: bool, lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lockscale.doctor.known_qemu", lambda: None)
    monkeypatch.setattr("lockscale.doctor.can_fetch", lambda: reached)
    said = lockscale("doctor", "--json").value["checks"]
    (check,) = [one for one in said if one["name"] == "QEMU for virtual time"]
    assert check["ok"] == reached
    assert "fetched when" in check["found"] if reached else "target qemu" in check["fix"]


@pytest.mark.parametrize("reached", [True, False])
def test_doctor_fetches_no_kernel_source_and_says_whether_one_can_still_come(
    reached: bool, lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("LOCKSCALE_KERNEL_BASE", "7.3")
    monkeypatch.delenv("LOCKSCALE_KERNEL_SOURCE", raising=False)
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    monkeypatch.setattr("lockscale.kernels.source.unpacked_packages", lambda *_: pytest.fail("fetched"))
    monkeypatch.setattr("lockscale.doctor.suite_answers", lambda _: reached)
    monkeypatch.setattr("lockscale.doctor.can_fetch", lambda: True)
    said = lockscale("doctor", "--json").value["checks"]
    (check,) = [one for one in said if one["name"] == "kernel source"]
    assert check["ok"] == reached
    assert "fetched when" in check["found"] if reached else "trixie-backports" in check["fix"]


@pytest.mark.slow
def test_one_calibrated_parameter_set_gives_both_published_rates(lockscale: Lockscale):
    base = lockscale("sim", "inode_claim", "--threads", "48", "--json").value
    cured = lockscale("sim", "inode_claim", "--threads", "48", "-p", "search_locked=true", "--json").value
    assert base["points"][0]["value"] == pytest.approx(published_mean("steal-retry"), rel=0.03)
    assert cured["points"][0]["value"] == pytest.approx(published_mean("search-locked"), rel=0.03)
    assert base["calibration"].startswith("calibrated") and base["origin"] == "simulated"
    assert cured["parameters"] == {**base["parameters"], "search_locked": True}


def test_a_simulated_point_has_its_interval_attempts_and_locks(lockscale: Lockscale):
    said = lockscale("sim", "inode_claim", "--threads", "1,4", "--replications", "2", "--json").value
    assert said["model"] == "inode_claim" and [p["threads"] for p in said["points"]] == [1, 4]
    for point in said["points"]:
        assert point["metric"] == "throughput" and point["unit"] == "creates/s"
        assert point["low"] <= point["value"] <= point["high"]
        assert set(point["locks"]["group lock"]) >= {"acquisitions", "wait_ns_mean", "hold_ns_mean"}
    assert said["points"][0]["attempts_per_op"] == 1  # alone, nobody takes the bit first


def test_the_seed_decides_every_bit(lockscale: Lockscale):
    argv = ("sim", "machine_repairman", "--threads", "3", "--json", "--seed")
    first, again, other = lockscale(*argv, "7"), lockscale(*argv, "7"), lockscale(*argv, "8")
    assert first.out == again.out != other.out


def test_models_are_listed(lockscale: Lockscale):
    """One for each study, XFS among them, two for S3's steps and S4's tables, any lock, and a lesson."""
    names = ["any_lock", "creat_clo", "group_goals", "group_trylock", "handle_start", "inode_claim"]
    names += ["machine_repairman", "orphan_file", "write_access", "xfs_create"]
    assert lockscale("sim", "--list").out.split() == names
    assert lockscale("sim", "--list", "--json").value == names


def test_names_need_no_compiler():
    """Listing is instant: nothing that takes time to import is imported."""
    code = "import sys; from lockscale.cli import main\ntry: main(['sim', '--list'])\n"
    argv = [sys.executable, "-c", code + "finally: print(*sys.modules)"]
    names = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert "inode_claim" in names and not {"numba", "numpy", "scipy", "pandas"} & set(names.split())


def test_an_interrupt_is_one_word(lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch):
    """How to go on is said only where one can: by a study's run and by a sweep."""

    def interrupt(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lockscale.show.simulated.simulate", interrupt)
    said = lockscale("sim", "machine_repairman")
    assert said.status == 130 and said.out == "" and said.err.split("\n")[-2] == "lockscale: interrupted"
    assert "resume" not in said.err


def test_who_says_how_it_goes_on_was_interrupted_too(lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*args: Any, **kwargs: Any) -> None:
        raise Interrupted("interrupted: the same command continues")

    monkeypatch.setattr("lockscale.show.simulated.simulate", interrupt)
    said = lockscale("sim", "machine_repairman")
    assert (said.status, said.err) == (130, "lockscale: interrupted: the same command continues\n")


def test_that_nobody_reads_on_is_no_failure_of_what_was_asked():
    """As of `lockscale study list | head -1`: 1 would say that a guest or a check failed."""
    read, write = os.pipe()
    os.close(read)
    argv = [sys.executable, "-m", "lockscale", "study", "list"]
    done = subprocess.run(argv, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_where_streams_are_closed_no_file_of_ours_takes_their_place(tmp_path: Path):
    """A child's own standard output would close the machine's lock in it, and progress has nowhere to go."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom lockscale.cli import main\n"
        "from lockscale.progress import progress\nsys.argv = ['lockscale', 'study', 'list']\n"
        "try: main()\nfinally:\n    with progress('x', 2) as shown: shown.update(1)\n"
        "    Path('said').write_text(' '.join(os.readlink(f'/proc/self/fd/{n}') for n in range(3)))\n"
    )
    argv = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    assert subprocess.run(argv, cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "said").read_text() == "/dev/null /dev/null /dev/null"


def test_audit_recomputes_tenfold(lockscale: Lockscale):
    rows = lockscale("audit", "--json").value
    keys = {"table", "claim", "printed", "recomputed", "low", "high", "verdict", "note"}
    assert all(keys <= set(row) for row in rows)
    assert {row["verdict"] for row in rows} <= {"holds", "fails", "unknown"}
    gain = next(row for row in lockscale("audit", "s1_rates", "--json").value if "10X" in row["claim"])
    by_hand = published_mean("search-locked") / published_mean("steal-retry")
    assert gain["recomputed"] == pytest.approx(by_hand, rel=1e-9)


def test_fits_have_parameters_with_intervals_and_both_errors(lockscale: Lockscale):
    found = lockscale("fit", "s4_creat_clo", "--model", "usl", "--json").value
    assert {fit["column"] for fit in found} == {"orphan-mutex throughput", "orphan-lockless throughput"}
    for fit in found:
        assert {"table", "column", "model", "parameters", "mape_pct", "loo_pct"} <= set(fit)
        for p in fit["parameters"]:
            assert set(p) == {"name", "unit", "value", "low", "high", "status"}
            assert p["low"] <= p["value"] and (p["high"] is None or p["value"] <= p["high"])


@pytest.mark.slow
def test_fits_as_text_show_the_leave_one_out_error(lockscale: Lockscale):
    said = lockscale("fit", "s4_creat_clo", "--model", "machine_repairman")
    errors = re.findall(r"error ([\d.]+)% in sample, ([\d.]+)% leave-one-out", said.out)
    assert len(errors) == 2 and all(float(inside) < float(held_out) for inside, held_out in errors)


@pytest.mark.slow
def test_rates_per_container_are_fitted_as_the_sum_over_containers(lockscale: Lockscale):
    """The sum saturates near its rate at 64 containers; the mean per container falls on and on."""
    found = lockscale("fit", "s3_fallocate2", "--model", "machine_repairman", "--json").value
    columns = ["wait-group", "inode-goal-scan0", "inode-goal-scan1"]
    assert [fit["column"] for fit in found] == [f"{arm} fallocate_rate aggregate" for arm in columns]
    with (paths.PUBLISHED / "s3_fallocate2.csv").open() as lines:
        last = [row for row in csv.DictReader(lines) if row["threads"] == "64" and row["unit"] == "ops/s"]
    for fit, row in zip(found, last, strict=True):
        saturated_per_s = 1e6 / next(p["value"] for p in fit["parameters"] if p["name"] == "s_us")
        assert saturated_per_s == pytest.approx(64 * float(row["value"]), rel=0.5)


def test_every_series_and_target_is_listed(lockscale: Lockscale):
    listed = lockscale("patches", "list", "--json").value
    assert {f"{s['study']}/{s['arm']}" for s in listed} == {
        str(path.parent.relative_to(paths.KERNEL_PATCHES)) for path in paths.KERNEL_PATCHES.glob("*/*/series")
    }
    upstream = ("inode-claim/search-locked", "write-access/fast-search", "group-trylock/trylock")
    empty = {f"{s['study']}/{s['arm']}" for s in listed if not s["patches"]}
    upstream += ("handle-start/shared-counters",)
    mkfs_alone = ("xfs-create/four-groups", "xfs-create/many-groups")
    assert empty == {*upstream, "orphan-file/orphan-mutex", "orphan-file/orphan-lockless", *mkfs_alone}
    (target,) = [t for t in lockscale("target", "list", "--json").value if t["name"] == "qemu"]
    assert target["name"] == target["kind"] == "qemu" and target["disposable"]


def test_built_kernels_are_listed_with_their_build_ids(lockscale: Lockscale):
    said = lockscale("kernel", "list", "--json")
    assert said.status == 0
    lines = tuple(f"{one.line}." for one in bases())
    for kernel in said.value:
        assert len(bytes.fromhex(kernel["build_id"])) == 20 and kernel["release"].startswith(lines)


@pytest.mark.parametrize("sample", ["mdtest-3.3.0.txt", "mdtest-4.1.0.txt", "fsload-0.1.0.jsonl"])
def test_a_tools_output_becomes_rows(lockscale: Lockscale, sample: str):
    said = lockscale("parse", str(SAMPLES / sample), "--json")
    tool, version = sample.split("-")
    assert said.value["tool"] == tool and version.startswith(said.value["version"].split("+")[0])
    keys = {"test", "threads", "iteration", "metric", "unit", "value", "statistic"}
    assert said.value["rows"] and all(set(row) == keys for row in said.value["rows"])
    assert len(said.err.splitlines()) == len(said.value["warnings"])


def test_a_deep_stack_fits_a_line_and_is_whole_in_json(lockscale: Lockscale):
    sample = str(SAMPLES / "perf_report-6.1.187-callee.txt")
    shown, rows = lockscale("parse", sample).out, lockscale("parse", sample, "--json").value["rows"]
    assert max(row["test"].count(" < ") for row in rows) > 6
    assert max(line.count(" < ") for line in shown.splitlines()) == 6
    assert " < ...  " in shown


@pytest.mark.slow
def test_the_installed_script_keeps_progress_apart_from_what_it_prints():
    said = script("sim", "machine_repairman", "--threads", "2", "--json")
    assert said.status == 0 and said.value["points"][0]["threads"] == 2
    text = script("study", "list")
    assert text.status == 0 and "\ninode-claim " in text.out and not text.err


def test_help_is_at_hand(lockscale: Lockscale):
    assert "Commands:" in lockscale("--help").out
    assert lockscale("--version").out.split()[-1].count(".") == 2


def every_command(group: Any = cli, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, command in group.commands.items():
        deeper = getattr(command, "commands", None) and every_command(command, (*before, name))
        found += deeper or [(*before, name)]
    return found


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_command_has_help_and_takes_json(lockscale: Lockscale, command: tuple[str, ...]):
    said = lockscale(*command, "--help")
    assert said.status == 0 and "--json" in said.out


def commands(one: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Each command below and including `one`, by what is typed for it."""
    yield name, one
    for inner, of in one.commands.items() if isinstance(one, click.Group) else ():
        yield from commands(of, f"{name} {inner}")


@pytest.mark.parametrize(("name", "command"), list(commands(cli, "lockscale")))
def test_help_explains_each_option_and_names_what_it_takes(name: str, command: click.Command):
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.opts[0]} has no help"
            is_text = isinstance(option.type, click.types.StringParamType) and not option.is_flag
            assert option.metavar or not is_text, f"{name} {option.opts[0]} takes TEXT: name what it takes"


def test_a_table_has_words_for_true_and_false():
    assert table([{"name": "a", "ok": True}, {"name": "b", "ok": False}]) == "name  ok\na     yes\nb     no"


def test_a_number_of_threads_that_is_given_twice_counts_once():
    assert thread_counts("8,8,4,8") == [8, 4]
