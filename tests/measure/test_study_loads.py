# SPDX-License-Identifier: MIT
"""Every study's own workload by one runner: what is measured, what is counted, and of which arms."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.machines.disk_guard import NamedDisk
from lockscale.measure import count_calls
from lockscale.measure.compare_arms import counted, counted_arms, extra_calls, proof_of, rates
from lockscale.measure.count_calls import OBSERVE, observed_counters
from lockscale.measure.load import choose_load, fsload_load
from lockscale.measure.plan import plan
from lockscale.measure.rows import read_rows
from lockscale.measure.run import run_plan
from lockscale.measure.run_folder import Run
from lockscale.measure.target import Booted
from lockscale.show.pipeline import study_on
from lockscale.study.file import LocalTarget, Study, Target, list_studies, load_study, load_target
from lockscale.tools.fsload import PHASES

ACCESS = "jbd2_journal_get_write_access"
SMALL = {"guests": [{"cpus": 1, "processes": [1, 2]}], "operations_per_point": 256, "iterations": 2}
SAFE_ORPHANS = ["orphan-mutex", "orphan-locked", "orphan-lockless"]
pytestmark = pytest.mark.usefixtures("own_places")
DISK = NamedDisk(Path("/dev/disk/by-id/x"), "x", 1 << 30)
HERE = LocalTarget(name="here", kind="local")
STUDIES = [load_study(name) for name in list_studies()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "changes", "tests"),
    [
        ("inode-claim", {}, {"create", "remove"}),
        ("write-access", {}, {"create", "remove"}),
        ("group-trylock", {}, {"fallocate"}),
        ("orphan-file", {"arms": SAFE_ORPHANS}, {"truncate", "creat"}),
    ],
)
def test_a_study_measures_its_own_operation(run: Run, study: str, changes, tests):
    wanted = load_study(study, {**SMALL, **changes})
    rows = read_rows(run_plan(run, wanted, HERE))
    assert set(rows[rows.metric == "rate"].test) == tests
    table = rates(rows)
    assert set(table.threads) == {1, 2} and (table.value > 0).all() and set(table.repeats) == {2}
    first = {path.name.split(".")[0] for path in next(run.raw.iterdir()).iterdir()}
    beside = {f"{PHASES[one][0]}-{n}" for one in wanted.workloads_beside for n in (1, 2)}
    assert first == {"warm-up", "rate-1", "rate-2", *beside}


def test_an_unsafe_arm_is_left_out_by_name_for_a_disk_that_matters(run: Run):
    with pytest.raises(BadInput, match="orphan-file/orphan-off is unsafe"):
        run_plan(run, load_study("orphan-file", SMALL), HERE)
    kept = load_study("orphan-file", {"arms": SAFE_ORPHANS}).arm_names
    assert kept == SAFE_ORPHANS


@pytest.mark.parametrize(
    ("arms", "reason"),
    [(["orphan-mutx"], "did you mean orphan-mutex"), (["orphan-mutex"], "one of role patched are needed")],
)
def test_arms_that_compare_nothing_are_refused(arms: list[str], reason: str):
    with pytest.raises(BadInput, match=rf"^parameter arms: .*{reason}"):
        load_study("orphan-file", {"arms": arms})


def test_mdtest_is_for_creates_alone():
    with pytest.raises(BadInput, match="mdtest has no fallocate2"):
        choose_load(SimpleNamespace(), "mdtest", "/x", "/bin/fsload", workload="fallocate2")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="mdtest has no containers"):
        choose_load(SimpleNamespace(), "mdtest", "/x", "/bin/fsload", containers=True)  # type: ignore[arg-type]


def test_processes_that_are_containers_are_so_in_every_load():
    """Where the study says so of a boot's points: as the seed measured S3, on 64 CPUs."""
    few, many = load_study("group-trylock"), study_on(load_target("manycore"), "group-trylock", {})
    assert [{step.containers for step in plan(study)} for study in (few, many)] == [
        {False},
        {True},
    ]
    load = fsload_load(many.workload, "/x", "/bin/fsload", containers=True)
    assert "--containers 4" in " ".join(load.command(4, 1, "both"))


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_each_study_names_a_counter_that_something_counts(study: Study):
    known = observed_counters(study)
    assert (study.counter in known) != (study.counter in study.parameters.profiled_functions)
    if study.counter in known:
        both = {study.unpatched.name, study.patched.name}
        assert both <= set(known[study.counter].arms)


def row(arm: str, metric: str, value: float, block: int = 1, threads: int = 8, tool: str = OBSERVE):
    return {
        "study": "orphan-file", "arm": arm, "cpus": 4, "threads": threads, "pair": "ab", "block": block,
        "iteration": block, "tool": tool, "metric": metric, "value": value, "origin": "qemu",
    }  # fmt: skip


def counts(waits: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """Two blocks of 100 orphans: the waits of each arm, and 4 calls of get_write_access an orphan."""
    said = [
        row(arm, metric, value, block)
        for arm, both in waits.items()
        for block, found in enumerate(both, start=1)
        for metric, value in (
            ("trace:ext4_orphan_lock_wait", found),
            ("calls:ext4_orphan_add", 100.0),
            (f"calls:{ACCESS}", 400.0),
        )
    ]
    return pd.DataFrame(said)


def test_a_counter_of_the_study_is_a_ratio_of_its_sources():
    study = load_study("orphan-file")
    rows = counts({"orphan-mutex": (50, 70), "orphan-lockless": (0, 0)})
    waits = counted(rows, study)
    assert waits[waits.arm == "orphan-mutex"].value.tolist() == [0.5, 0.7]
    assert counted(rows, study, "get_write_access").value.tolist() == [4.0] * 4
    (extra,) = extra_calls(rows, study).to_dict("records")
    assert extra["extra"] == pytest.approx(0.6) and (extra["low"], extra["high"]) == (0.5, 0.7)


def test_the_spread_of_the_patched_arm_is_its_largest_less_its_smallest():
    rows = counts({"orphan-mutex": (50, 70), "orphan-lockless": (4, 1)})
    (extra,) = extra_calls(rows, load_study("orphan-file")).to_dict("records")
    assert extra["spread"] == pytest.approx(0.03) and extra["above"]


def test_every_arm_is_compared_with_the_unpatched_one_the_proof_first():
    study = load_study("orphan-file")
    waits = {"orphan-mutex": (50, 70), "orphan-lockless": (0, 0), "orphan-off": (0, 0)}
    table = counted_arms(counts(waits), study)
    assert list(table.counter) == ["waits for an orphan lock"] * 2 + ["get_write_access"] * 2
    assert list(table.arm) == ["orphan-lockless", "orphan-off"] * 2
    assert list(table.change) == pytest.approx([-0.6, -0.6, 0.0, 0.0]) and set(table.origin) == {"qemu"}


def test_where_no_observe_kernel_ran_the_profile_has_to_do():
    study = load_study("orphan-file")
    profiled = pd.DataFrame(
        [
            row(arm, metric, value, block, tool="ftrace_cost")
            for arm, calls in (("orphan-mutex", 9.0), ("orphan-lockless", 7.0))
            for block in (1, 2)
            for metric, value in ((f"{ACCESS}.calls", 100 * calls), ("truncates", 100.0))
        ]
    )
    assert proof_of(profiled, study) == ACCESS
    (extra,) = extra_calls(profiled, study).to_dict("records")
    assert extra["extra"] == pytest.approx(2.0)
    with pytest.raises(BadInput, match="did not count 'waits for an orphan lock'"):
        counted(profiled, study, study.counter)


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A place that counts 7 of everything, by the arms whose observe kernels were booted there."""
    started: list[str] = []

    class Counting:
        label, origin, at_once = "there", "qemu", 1

        def __init__(self, study: Study) -> None:
            self.arms = study.arm_names
            self.kernels: dict[str, object] = {}

        def threads(self) -> dict[int, tuple[int, int]]:
            return {}

        def machine_facts(self) -> dict[str, str]:
            return {}

        def describe(self) -> dict[str, object]:
            return {"kernels": {arm: {} for arm in self.arms}, "host": {"cpus": 2}}

        @contextmanager
        def boot(self, arm: str, cpus: int) -> Iterator[Booted]:
            started.append(arm)
            yield Booted(None, f"of-{arm}", "id", "/folder", "/bin/fsload", DISK)  # type: ignore[arg-type]

    @contextmanager
    def hold_target(run: Run, study: Study, target: Target, kind: str) -> Iterator[Counting]:
        assert kind == OBSERVE
        yield Counting(study)

    def count_points(machine, disk, options, loads, sources, cpus):
        assert "noatime" in options.mount and all("truncate_orphan" in argv for argv in loads.values())
        names = [f"trace:{one}" for one in sources.trace] + [f"calls:{one}" for one in sources.calls]
        return {n: dict.fromkeys(names, 7) for n in loads}

    monkeypatch.setattr("lockscale.measure.run.hold_target", hold_target)
    monkeypatch.setattr(count_calls, "count_points", count_points)
    return started


def test_a_guest_of_which_no_point_is_profiled_is_not_booted_to_count(run: Run, boots: list[str]):
    """As `--short` leaves one whose profiled points are not among its short ones: it ended in a traceback."""
    rates_only = {"cpus": 2, "processes": [2], "profiled": []}
    both = {"guests": [*SMALL["guests"], rates_only], "arms": SAFE_ORPHANS}
    study = load_study("orphan-file", SMALL | both)
    rows = read_rows(count_calls.observe(run, study, load_target("qemu")))
    assert set(rows.cpus) == {guest["cpus"] for guest in SMALL["guests"]} and 2 not in set(rows.cpus)
    assert len(boots) == 2 * len(study.arms)
    none = load_study("orphan-file", SMALL | {"guests": [rates_only], "arms": SAFE_ORPHANS})
    assert count_calls.observe(Run(run.folder / "other"), none, load_target("qemu")) is None


@pytest.mark.parametrize("target_name", ["qemu", "example-server"])
def test_counts_lie_in_their_own_folder_and_are_never_taken_twice(
    run: Run, boots: list[str], target_name: str
):
    study, target = load_study("orphan-file", SMALL | {"arms": SAFE_ORPHANS}), load_target(target_name)
    into = count_calls.observed(run)
    assert count_calls.observe(run, study, target) == into.rows and not run.rows.exists()
    rows = read_rows(into.rows)
    assert set(rows.tool) == {OBSERVE} and rows.profiled.all() and "rate" not in set(rows.metric)
    assert set(rows.test) == {"truncate"} and rows[rows.metric == "truncates"].value.eq(256).all()
    assert len(boots) == 2 * len(study.arms) == len({(r.arm, r.block) for r in rows.itertuples()})
    assert set(json.loads(into.provenance.read_text())["kernels"]) == set(study.arm_names)
    lines = into.journal.read_text().splitlines(keepends=True)
    into.journal.write_text("".join(lines[:-1]) + lines[-1][:40])  # killed while it wrote
    count_calls.observe(run, study, target)
    assert len(boots) == 2 * len(study.arms) + 1
    same = ["arm", "block", "threads", "metric", "value"]
    pd.testing.assert_frame_equal(read_rows(into.rows)[same], rows[same])


@pytest.mark.parametrize(("study", "target"), [("inode-claim", load_target("qemu")), ("group-trylock", HERE)])
def test_nothing_is_booted_to_count_where_a_profile_has_the_proof_or_no_arm_is_booted(
    run: Run, boots: list[str], study: str, target: Target
):
    assert count_calls.observe(run, load_study(study, SMALL), target) is None
    assert boots == [] and not count_calls.observed(run).folder.exists()


BASE = count_calls.ArmToCount("orphan-mutex", ("trace:ext4_orphan_lock_wait", "calls:ext4_orphan_add"))
PAIRS = {"guests": [{"cpus": 4, "processes": [1, 4, 8]}], "operations_per_point": 256, "iterations": 2}


def test_the_base_is_counted_alone_and_once_at_up_to_a_processor_a_process(run: Run, boots: list[str]):
    study, target = load_study("orphan-file", PAIRS | {"arms": SAFE_ORPHANS}), load_target("qemu")
    counted = count_calls.count_first_arm(run, study, target, BASE)
    assert set(boots) == {"orphan-mutex"} and len(boots) == count_calls.BLOCKS
    assert counted.rows is not None and set(counted.rows.threads) == {2, 4} and counted.host_cpus == 2
    assert set(counted.rows.metric) == {"truncates", *BASE.sources} and not run.journal.exists()
    again = count_calls.count_first_arm(run, study, target, BASE)
    assert len(boots) == count_calls.BLOCKS
    pd.testing.assert_frame_equal(again.rows, counted.rows)


def test_the_base_is_not_counted_once_an_arm_was_measured(run: Run, boots: list[str]):
    study, target = load_study("orphan-file", PAIRS | {"arms": SAFE_ORPHANS}), load_target("qemu")
    run.journal.write_text("a step\n")
    late = count_calls.count_first_arm(run, study, target, BASE)
    assert late == count_calls.FirstCounts(None, why_none=count_calls.LATE) and boots == []


@pytest.mark.parametrize(
    ("target", "base", "points", "why"),
    [
        (HERE, BASE, PAIRS, count_calls.LOCAL),
        (load_target("qemu"), None, PAIRS, count_calls.NONE_NAMED),
        (load_target("qemu"), BASE, SMALL, count_calls.ALONE),
    ],
)
def test_where_the_base_is_not_counted_a_sentence_says_why(
    run: Run, boots: list[str], target: Target, base, points, why: str
):
    study = load_study("orphan-file", points | {"arms": SAFE_ORPHANS})
    assert count_calls.count_first_arm(run, study, target, base) == count_calls.FirstCounts(
        None, why_none=why
    )
    assert boots == []
