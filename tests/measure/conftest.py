# SPDX-License-Identifier: MIT
"""What the tests that carry out a plan on this machine share: places of their own, and an empty run."""

from pathlib import Path

import pytest

from lockscale import paths
from lockscale.measure.run_folder import Run


@pytest.fixture
def own_places(tmp_path_factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache, shared by the session's tests, and the runs, of each test alone."""
    monkeypatch.setattr(paths, "CACHE", tmp_path_factory.getbasetemp() / "cache")
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = Run(tmp_path / "run")
    made.folder.mkdir()
    return made
