# SPDX-License-Identifier: MIT
"""The wheel, installed into an environment of its own: commands work from another folder, without a clone.

The packages that it needs are those of this environment, so nothing is downloaded.
"""

import csv
import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from blocks import blocks
from lockscale import paths

pytestmark = pytest.mark.slow
SAMPLES = Path(__file__).parent / "samples"
SITE = sysconfig.get_paths()["purelib"]
PARTS = (paths.PUBLISHED, paths.MEASURED, paths.KERNEL_PATCHES, paths.NOTEBOOKS, paths.FSLOAD, paths.MANYCORE)


class Installed(NamedTuple):
    """An environment with the package, a home, and a folder to work in that is no clone."""

    python: Path
    home: Path
    work: Path

    def lockscale(self, *argv: str, status: int = 0) -> Any:
        """What it prints: JSON where that was asked for. Its environment names nothing of this project."""
        script = self.python.with_name("lockscale")
        env = {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        done = subprocess.run(
            [script, *argv], cwd=self.work, env=env, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout) if "--json" in argv and not status else done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    room = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(room / "wheel")]
    subprocess.run(build, cwd=paths.ROOT, check=True, capture_output=True)
    (wheel,) = (room / "wheel").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", room / "venv"], check=True)
    python = room / "venv/bin/python"
    put = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    subprocess.run([*put, "--python", python, wheel], check=True, capture_output=True)
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
    own = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    (Path(own) / "packages-of-the-tests.pth").write_text(f"{SITE}\n")
    for name in ("home", "work"):
        (room / name).mkdir()
    yield Installed(python, room / "home", room / "work")
    shutil.rmtree(room / "venv")


def test_the_package_is_the_wheels_and_its_paths_are_its_own(installed: Installed):
    ask = "from lockscale import paths; print(paths.__file__, paths.ROOT, paths.CACHE, paths.RUNS, sep='\\n')"
    said = subprocess.run(
        [installed.python, "-c", ask], cwd=installed.work, env={"HOME": str(installed.home)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    module, root, cache, runs = said.stdout.splitlines()
    assert module.startswith(str(installed.python.parents[1])) and root == str(Path(module).parent / "share")
    assert cache == str(installed.home / ".cache/lockscale") and runs == str(installed.work / "runs")


def test_all_that_commands_read_is_in_it(installed: Installed):
    (share,) = installed.python.parents[1].glob("lib/python*/site-packages/lockscale/share")
    listed = ["git", "ls-files", "-z", "--", *map(str, PARTS)]
    tracked = subprocess.run(listed, cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in tracked.split("\0") if (paths.ROOT / name).is_file()]
    assert len(names) > 800
    assert [name for name in names if not (share / name).is_file()] == []


def test_audit_recomputes_the_published_tables(installed: Installed):
    found = installed.lockscale("audit", "--json")
    assert {row["table"] for row in found} >= {"s1_rates", "s2_five_runs", "s4_creat_clo"}


@pytest.mark.long  # it compiles the simulator from nothing
def test_a_lock_is_simulated_and_its_compiled_code_is_kept_at_home(installed: Installed):
    (point,) = installed.lockscale("sim", "inode_claim", "--threads", "48", "--json")["points"]
    with (paths.PUBLISHED / "s1_rates.csv").open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["arm"] == "steal-retry"]
    rates = [float(row["value"]) for row in rows if row["metric"] == "create_rate"]
    assert point["value"] == pytest.approx(sum(rates) / len(rates), rel=0.03)
    assert list((installed.home / ".cache/lockscale/numba").iterdir())


def test_a_patch_is_predicted_from_rates_and_from_a_study(installed: Installed):
    assert "From rates 1:35k,64:140k" in installed.lockscale("whatif", "-r", "1:35k,64:140k")
    assert installed.lockscale("whatif", "inode-claim", "--json")["study"] == "inode-claim"


def test_a_tools_output_is_parsed(installed: Installed):
    said = installed.lockscale("parse", str(next(SAMPLES.glob("fsload-*.jsonl"))), "--json")
    assert said["rows"] and said["tool"] == "fsload"


def test_the_casebook_is_scored(installed: Installed):
    assert len(installed.lockscale("casebook", "score", "--json")["cases"]) > 30


@pytest.mark.long  # eight figures are drawn; tests/browser opens reports in make test
def test_a_curated_run_is_reported_into_the_folder_where_one_works(installed: Installed):
    run = next(paths.MEASURED.glob("xfs-create-*/rows.csv")).parent.name
    said = installed.lockscale("report", run, "--json")
    assert said == {"path": f"{run}.html", "bytes": (installed.work / f"{run}.html").stat().st_size}
    installed.lockscale("export", "inode-claim", "--format", "changelog")
    assert (installed.work / "figures/inode-claim-changelog.txt").is_file()


NEEDS_CLONE = (
    "new study dir-lock",
    "scoreboard --keep",
    "scale --keep",
    "study keep {run}",
    "patches check --boot --write-table",
)


@pytest.mark.parametrize("command", NEEDS_CLONE)
def test_what_writes_into_the_project_says_that_it_needs_a_clone(command: str, installed: Installed):
    run = next(paths.MEASURED.glob("*/rows.csv")).parent.name
    said = installed.lockscale(*command.format(run=run).split(), status=2)
    assert "work in a clone of lockscale" in said and "LOCKSCALE_ROOT" in said and said.count("\n") == 1


def test_a_folder_that_is_gone_is_no_traceback(installed: Installed):
    script, gone = installed.python.with_name("lockscale"), installed.work / "gone"
    gone.mkdir()
    ask = f"cd {gone} && rmdir {gone} && {script} study list --json"
    env = {"HOME": str(installed.home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", ask], env=env, capture_output=True, text=True, check=True)
    assert "inode-claim" in {one["name"] for one in json.loads(done.stdout)} and not done.stderr


def test_the_document_says_how_it_is_installed_and_what_needs_a_clone():
    text = (paths.ROOT / "docs/commands.md").read_text()
    assert any("pipx install ." in block.text for block in blocks(text))
    (told,) = [one for one in text.split("\n\n") if "need a clone" in one]
    assert {"`new study`", "`study keep`", "`--keep`", "`--write-table`"} <= set(re.findall("`[^`]+`", told))
