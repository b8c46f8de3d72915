# SPDX-License-Identifier: MIT
"""docs/own-server.md, followed word for word against the test server."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lockscale import paths
from lockscale.measure.server_recovery import disk_of
from server.machine import Server
from server.target import DISK, NAME, target_of

pytestmark = [pytest.mark.guest, pytest.mark.long]
PAGE = (paths.ROOT / "docs/own-server.md").read_text()
COMMANDS = [line for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", PAGE) for line in block.splitlines()]
ALIAS = "my-server"
CHECK = "lockscale target check my-server"
FINDABLE = "900%"  # in the noise of an emulated server no number of iterations would find 3%
# What a person would type into the file, by way of $EDITOR.
EDIT = """#!{python}
import sys, yaml
said = yaml.safe_load(open(sys.argv[1]))
said |= yaml.safe_load({values!r})
said["boot"] |= yaml.safe_load({boot!r})
yaml.safe_dump(said, open(sys.argv[1], "w"))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """The project's folder, with targets of its own."""
    root = tmp_path / "checkout"
    root.mkdir()
    for path in paths.ROOT.iterdir():
        if path.name != "notebooks":
            (root / path.name).symlink_to(path)
    (root / "notebooks").mkdir()
    for path in paths.NOTEBOOKS.iterdir():
        if path.name != "targets":
            (root / "notebooks" / path.name).symlink_to(path)
    shutil.copytree(paths.TARGETS, root / "notebooks/targets")
    yield root


@pytest.fixture
def person(server: Server, checkout: Path, small_kernel_config: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has the server in ~/.ssh/config."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    known = server.ssh_config.read_text().replace("Host testserver", f"Host {ALIAS}")
    (home / ".ssh/config").write_text(known)
    size = server.disks[DISK].image.stat().st_size
    disk = {"by_id": f"/dev/disk/by-id/virtio-{DISK}", "serial": DISK, "size_bytes": size}
    values = yaml.safe_dump({"name": ALIAS, "host": ALIAS, "virtual": True, "disk": disk})
    boot = yaml.safe_dump({"guard": "i6300esb", "config": str(small_kernel_config)})
    editor = home / "editor"
    editor.write_text(EDIT.format(python=sys.executable, values=values, boot=boot))
    editor.chmod(0o755)
    # ssh itself finds the home of the user in the passwd file, so its wrapper names the file
    (home / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {home}/.ssh/config "$@"\n')
    (home / "ssh").chmod(0o755)
    path = f"{home}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    folders = {
        "LOCKSCALE_ROOT": checkout,
        "LOCKSCALE_CACHE": paths.CACHE,
        "LOCKSCALE_RUNS": tmp_path / "runs",
    }
    return {**os.environ, "HOME": str(home), "PATH": path, "EDITOR": str(editor)} | {
        name: str(folder) for name, folder in folders.items()
    }


def interrupted(argv: list[str], runs: Path, **how: Any) -> str:
    """What a run says that is ended by Ctrl-C as soon as it has one record: all of it would take hours."""
    before = set(runs.glob("*/base/journal.jsonl"))
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True, **how)
    threading.Thread(target=_interrupt, args=(process, runs, before), daemon=True).start()
    _, said = process.communicate(timeout=7200)
    assert process.returncode == 130, said
    return said


def _interrupt(process: "subprocess.Popen[str]", runs: Path, before: set[Path]) -> None:
    while process.poll() is None and not set(runs.glob("*/base/journal.jsonl")) - before:
        time.sleep(1)
    with contextlib.suppress(ProcessLookupError):  # it ended by itself, and its status is told
        os.killpg(process.pid, signal.SIGINT)


def test_each_command_does_what_the_page_says(
    server: Server,
    checkout: Path,
    person: dict[str, str],
    small_kernel_config: Path,
    capfd: pytest.CaptureFixture[str],
):
    token = disk_of(target_of(server, small_kernel_config)).token
    home, said, runs = server.must("uname", "-r").strip(), {}, Path(person["LOCKSCALE_RUNS"])
    for command in COMMANDS:
        argv = ["sh", "-c", command.replace("0000-480GB", token).replace("3%", FINDABLE)]
        if "--detect" in command:
            argv[-1] = f"exec {argv[-1]}"  # else the shell ends by the same signal, with its own status
            said[command] = interrupted(argv, runs, cwd=checkout, env=person)
            continue
        done = subprocess.run(argv, cwd=checkout, env=person, stdout=subprocess.PIPE, text=True, timeout=7200)
        token_is_missing = command == CHECK and CHECK not in said
        assert done.returncode == token_is_missing, f"{command} ended with {done.returncode}: {done.stdout}"
        if token_is_missing:
            (missing,) = [line for line in done.stdout.splitlines() if "no" in line.split("  ")]
            assert "its disk may be formatted" in missing and "give --token" in missing
        said[command] = done.stdout
    assert server.must("uname", "-r").strip() == home
    (first, second) = [text for command, text in said.items() if "study run" in command]
    assert "search-locked" in first and len(list(runs.glob("*/rows.csv"))) == 1
    assert re.search(r"\d+ iterations", second) and "Traceback" not in second
    goes_on = r"no finished step is lost, `lockscale study resume inode-claim-\w+` continues the run"
    assert re.search(f"lockscale: interrupted: {goes_on}", second)
    assert said[COMMANDS[-1]].count("lockscale") >= 2
    assert yaml.safe_load((paths.TARGETS / f"{NAME}.yaml").read_text())["host"] == "my-server"
