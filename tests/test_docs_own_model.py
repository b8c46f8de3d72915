# SPDX-License-Identifier: MIT
"""docs/own-model.md followed word for word in an empty folder."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.sim import simulate
from lockscale.sim.builder import Builder
from lockscale.sim.path import Path as Steps
from lockscale.sweeps import sweep_points, sweep_table

SECTION = (paths.ROOT / "docs/own-model.md").read_text()
(CODE,) = re.findall(r"(?ms)^```python\n(.*?)^```$", SECTION)
(SHELL,) = re.findall(r"(?ms)^```sh\n(.*?)^```$", SECTION)
(FILE,) = re.findall(r"As `(\S+\.py)`:", SECTION)
(CALL,) = re.findall(r'`(simulate\("[^`]+\))`', SECTION)
(SWEEP,) = re.findall(r"`(sweep_table\([^`]+\))`", SECTION)
CLAIMED_PER_S = [float(figure) * 1e6 for figure in re.findall(r"([\d.]+)\sM\sadds/s", SECTION)]
ELSEWHERE_S, HOLD_S = 2e-6, 200e-9


def rate_per_s(threads: int, batch: int) -> float:
    """Mean value analysis: threads add, and one in a batch queues for one exponential server.

    Reiser and Lavenberg, J. ACM 27 (1980) 313; the time elsewhere may have any distribution.
    """
    demand_s, waiting, rate = HOLD_S / batch, 0.0, 0.0
    for n in range(1, threads + 1):
        response_s = demand_s * (1 + waiting)
        rate = n / (ELSEWHERE_S + response_s)
        waiting = rate * response_s
    return rate


EXPECTED_PER_S = [rate_per_s(1, 1), rate_per_s(48, 1), rate_per_s(1, 32), rate_per_s(48, 32)]


@pytest.fixture
def folder(inside: Path) -> Path:
    (inside / FILE).write_text(CODE)
    return inside


@pytest.mark.slow
def test_the_commands_show_what_the_section_claims_and_theory_says(folder: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = []
    for command in SHELL.splitlines():
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        head, *rows = [
            line.split() for line in done.stdout.splitlines() if " adds/s " in line or "low" in line
        ]
        values = [row[head.index("value")] for row in rows]
        assert [row[head.index("threads")] for row in rows] == ["1", "48"]
        assert done.stdout.splitlines()[-1] == "simulated; not calibrated"
        found += [float(value) for value in values]
    assert found == pytest.approx(EXPECTED_PER_S, rel=0.01)
    assert pytest.approx(EXPECTED_PER_S, rel=0.01) == CLAIMED_PER_S
    assert list(folder.iterdir()) == [folder / FILE]


def test_with_a_fold_at_every_add_the_lock_is_the_limit() -> None:
    assert rate_per_s(48, 1) == pytest.approx(1 / HOLD_S, rel=1e-3)
    assert rate_per_s(48, 32) == pytest.approx(48 / ELSEWHERE_S, rel=0.01)
    assert rate_per_s(480, 32) == pytest.approx(32 / HOLD_S, rel=0.01)


def test_the_line_for_a_notebook_runs(folder: Path) -> None:
    found = eval(CALL, {"simulate": simulate})
    assert found.rate_per_s == pytest.approx(rate_per_s(48, 32), rel=0.01)
    assert "percpu_counter, 48 threads" in repr(found) and "not calibrated" in repr(found)


def test_the_sweep_for_a_notebook_is_a_table_of_what_theory_says(folder: Path) -> None:
    found = eval(SWEEP, {"sweep_table": sweep_table, "sweep_points": sweep_points})
    rates = found.set_index(["batch_adds", "threads"]).value.to_dict()
    expected = {(batch, n): rate_per_s(n, batch) for batch in (1, 32) for n in (1, 48)}
    assert rates == pytest.approx(expected, rel=0.02) and set(found.origin) == {"simulated"}


def test_every_path_word_is_listed_once() -> None:
    rows = [line.split("|")[2:4] for line in SECTION.splitlines() if line.startswith("| ")]
    for column, written_on in enumerate((Builder, Steps)):
        listed = [word for row in rows for word in re.findall(r"`(\w+)`", row[column])][column == 0 :]
        public = {n for n, _ in inspect.getmembers(written_on, callable) if not n.startswith("_")}
        assert len(listed) == len(set(listed)) and set(listed) == public - {"compile"}


def test_it_is_short_and_in_our_own_style(folder: Path) -> None:
    assert len(CODE.splitlines()) <= 25
    for check in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *check, "--config", paths.ROOT / "pyproject.toml", FILE]
        assert subprocess.run(ruff, cwd=folder, check=False).returncode == 0
