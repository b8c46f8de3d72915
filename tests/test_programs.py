# SPDX-License-Identifier: MIT
"""What a machine lacks is said with its package and reason, and installed or asked for once."""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.programs import Package, find, need, packages

LISTED = tomllib.loads(paths.SYSTEM_PACKAGES.read_text())["package"]
SYSTEM_PY = paths.ROOT / "setup" / "system.py"


def test_each_package_is_listed_once_with_one_way_to_recognise_it_and_a_reason():
    names = [entry["name"] for entry in LISTED]
    assert sorted(names) == sorted(set(names))
    for entry in LISTED:
        assert ("tool" in entry) != ("file" in entry), entry
        assert entry["why"].strip() and set(entry) <= {"name", "why", "tool", "file"}
    assert [package.name for package in packages()] == names


def test_a_file_is_found_by_its_pattern_and_a_command_in_path(inside: Path, monkeypatch):
    (inside / "include-6").mkdir()
    (inside / "include-6" / "x.h").touch()
    assert Package("libx-dev", "headers", file=f"{inside}/include*/x.h").found() == f"{inside}/include-6/x.h"
    assert Package("liby-dev", "headers", file=f"{inside}/include*/y.h").found() is None
    (inside / "lockscale-tool").write_text("#!/bin/sh\n")
    (inside / "lockscale-tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(inside))
    assert Package("x", "a tool", tool="lockscale-tool").found() == find("lockscale-tool")
    assert need("lockscale-tool") == str(inside / "lockscale-tool")


@pytest.mark.parametrize("unset", [True, False])
def test_without_a_path_no_command_is_taken_from_the_working_folder(inside: Path, monkeypatch, unset: bool):
    (inside / "lockscale-tool").write_text("#!/bin/sh\n")
    (inside / "lockscale-tool").chmod(0o755)
    monkeypatch.setenv("PATH", "")
    if unset:
        monkeypatch.delenv("PATH")
    assert find("lockscale-tool") is None and find("sh")


def test_a_missing_tool_is_one_sentence_with_its_package_and_its_reason(inside: Path, monkeypatch):
    monkeypatch.setenv("PATH", str(inside))
    with pytest.raises(BadInput) as refused:
        need("qemu-system-x86_64")
    assert str(refused.value) == (
        "qemu-system-x86_64 is missing on this machine (the default target: a guest that boots each "
        "patched kernel): apt-get install qemu-system-x86, or run `make env` as root"
    )


def test_a_missing_tool_that_no_package_lists_is_still_one_sentence():
    with pytest.raises(BadInput, match=r"^no-such-tool is missing on this machine: install it"):
        need("no-such-tool")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anybody may enter, as pytest's own may not, with the set-up script in it."""
    folder = Path(tempfile.mkdtemp(prefix="lockscale-tools-"))
    for path in (SYSTEM_PY, paths.SYSTEM_PACKAGES):
        shutil.copy(path, folder)
    folder.chmod(0o777)  # so that a wrong call of apt-get can leave its trace
    yield folder
    shutil.rmtree(folder)


def run_system_py(folder: Path) -> subprocess.CompletedProcess[str]:
    """setup/system.py as somebody who is not root, with standard input closed to any question."""
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    python = shutil.which("python3", path="/usr/bin") or sys.executable
    return subprocess.run(
        [python, "-I", folder / "system.py"],
        env={"PATH": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **nobody,
    )


def test_without_root_the_one_command_is_printed_and_nothing_is_asked(open_folder: Path):
    apt_get = open_folder / "apt-get"
    apt_get.write_text(f"#!/bin/sh\ntouch {open_folder}/ran\n")
    apt_get.chmod(0o755)
    done = run_system_py(open_folder)
    assert done.returncode == 2
    assert not (open_folder / "ran").exists()
    said = done.stderr.splitlines()
    assert "setup: gcc is missing: compiles the kernels and the load generator" in said
    command = said[-1].split()
    assert command[:3] == ["apt-get", "update", "&&"]
    missing = {line.split()[1] for line in said[:-2]}
    assert set(command[7:]) == missing >= {"gcc", "make", "qemu-system-x86", "git"}
    assert command[3:7] == ["apt-get", "install", "--yes", "--no-install-recommends"]


def test_on_no_debian_what_is_missing_is_said_and_no_command_is_made_up(open_folder: Path):
    done = run_system_py(open_folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "setup: this is no Debian: install what gives the same tools"


def test_with_everything_there_nothing_is_said():
    if any(package.found() is None for package in packages()):
        pytest.fail("this machine lacks a package of setup/packages.toml: make env")
    done = subprocess.run([sys.executable, "-I", str(SYSTEM_PY)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
