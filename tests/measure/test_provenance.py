# SPDX-License-Identifier: MIT
"""A run's provenance holds the hash of its prediction from before anything was measured."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockscale import paths
from lockscale.files import sha256_of_json, write_json
from lockscale.measure.provenance import begin, run_command
from lockscale.measure.run_folder import Run
from lockscale.study.file import load_study, load_target, parse_parameter

PLACE: Any = SimpleNamespace(origin="qemu", label="qemu (tcg)", describe=lambda: {"kernels": {"a": {}}})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "inode-claim-20260101T000000Z")


def predicted(run: Run, rate_per_s: float) -> str:
    said = {"low": rate_per_s}
    write_json(run.prediction, {**said, "sha256": sha256_of_json(said)})
    return sha256_of_json(said)


def begun(run: Run) -> dict[str, str] | None:
    begin(run, load_study("inode-claim"), load_target("qemu"), PLACE, {})
    found: dict[str, str] | None = json.loads(run.provenance.read_text())["prediction"]
    return found


def test_the_prediction_is_there_with_a_time_before_which_it_was_written(run: Run):
    sha256 = predicted(run, 690_000)
    kept = begun(run)
    assert kept is not None and kept["sha256"] == sha256
    assert kept["written_before_utc"].endswith("Z")
    second = predicted(run, 700_000)  # nothing is measured yet: notebook 03 may predict again
    assert (begun(run) or {})["sha256"] == second


def test_a_prediction_that_was_exchanged_after_a_measurement_does_not_become_the_runs(run: Run):
    predicted(run, 690_000)
    kept = begun(run)
    run.journal.write_text("{}\n")
    predicted(run, 812_000)
    assert begun(run) == kept


def test_a_run_that_was_measured_before_hashes_were_kept_gets_none_now(run: Run):
    predicted(run, 690_000)
    begun(run)
    said = json.loads(run.provenance.read_text())
    del said["prediction"]
    write_json(run.provenance, said)
    run.journal.write_text("{}\n")
    assert begun(run) is None


def test_a_run_that_lost_its_provenance_after_it_measured_does_not_guess_one(run: Run):
    predicted(run, 690_000)
    run.journal.write_text("{}\n")
    assert begun(run) is None


def test_without_a_prediction_there_is_no_hash(run: Run):
    assert begun(run) is None


def test_the_kept_runs_are_read_whether_they_have_one_or_not():
    for path in paths.MEASURED.glob("*/provenance.json"):
        known = json.loads(path.read_text()).get("prediction")
        kept = json.loads((path.parent / "prediction.json").read_text())["sha256"]
        assert known is None or known["sha256"] == kept


@pytest.mark.parametrize("source", ["/srv/linux 6.12.tar", "/srv/\N{MATHEMATICAL SCRIPT CAPITAL A}'s.tar"])
def test_the_command_that_repeats_a_run_is_read_back_as_it_was(source: str):
    """JSON alone would write a character beyond U+FFFF as two halves, which no parameter may contain."""
    words = shlex.split(run_command("inode-claim", {"kernel_source": source}, "qemu"))
    assert parse_parameter(words[words.index("-p") + 1]) == ("kernel_source", source)
