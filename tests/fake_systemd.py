# SPDX-License-Identifier: MIT
"""systemd-run and systemctl for an sshd on a machine without systemd: only what a job asks of them.

One unit of a name at a time; when its main process ends, or its time is over, or it is stopped, every
process of its session ends, and then ExecStopPost runs. tests/server asks the same of a real systemd.
"""

import contextlib
import fnmatch
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = ("systemd-run", "systemctl")
OURS = "lockscale-job-"


def install(bin_folder: Path, units: Path) -> None:
    """Put both commands into `bin_folder`; a file under `units` is a unit that is loaded."""
    units.mkdir()
    for name in COMMANDS:
        words = [sys.executable, "-IS", str(Path(__file__).absolute()), name, str(units)]
        (bin_folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (bin_folder / name).chmod(0o755)


def systemd_run(units: Path, argv: list[str]) -> int:
    options: dict[str, str] = {}
    while argv[0].startswith("--"):
        key, _, value = argv.pop(0).removeprefix("--").removeprefix("property=").partition("=")
        options[key] = value
    unit = units / options["unit"]
    try:
        unit.open("x").close()
    except FileExistsError:
        print(f"Failed to start transient service unit: Unit {unit.name} was already loaded", file=sys.stderr)
        return 1
    over, supervisors = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(over)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            try:
                _supervise(unit, argv, options)
            finally:
                unit.unlink()
                os._exit(0)
        os._exit(0)
    os.close(supervisors)
    os.read(over, 1)  # --wait: until the supervisor is gone
    return 0


def _supervise(unit: Path, argv: list[str], options: dict[str, str]) -> None:
    main = subprocess.Popen(argv, start_new_session=True, cwd="/")
    unit.write_text(str(main.pid))
    try:
        status = main.wait(float(options["RuntimeMaxSec"]))
        result = "success" if status == 0 else "signal" if status < 0 else "exit-code"
    except subprocess.TimeoutExpired:
        result = "timeout"
    _end(main.pid, float(options["TimeoutStopSec"]))
    main.wait()
    after = shlex.split(options["ExecStopPost"])
    subprocess.run(after, env={**os.environ, "SERVICE_RESULT": result}, check=False)


def _end(session: int, grace_s: float) -> None:
    deadline_s = time.monotonic() + grace_s
    _kill(session, signal.SIGTERM)
    while _members(session) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    _kill(session, signal.SIGKILL)


def _kill(session: int, number: signal.Signals) -> None:
    for pid in _members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _members(session: int) -> list[int]:
    """The processes of a session that have not ended, whatever their group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == session and words[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def systemctl(units: Path, argv: list[str]) -> int:
    words = [word.removesuffix(".service") for word in argv[1:] if not word.startswith("-")]
    if argv[0] not in ("is-active", "stop", "list-units") or not words or not words[0].startswith(OURS):
        real = "/usr/bin/systemctl"
        return subprocess.call([real, *argv]) if Path(real).exists() else 1
    loaded = [unit for unit in units.iterdir() if any(fnmatch.fnmatch(unit.name, word) for word in words)]
    if argv[0] == "is-active":
        print("active" if loaded else "inactive")
        return 0 if loaded else 3
    for unit in loaded:
        if argv[0] == "list-units":
            print(f"{unit.name}.service loaded active running")
        else:
            while unit.exists() and not (text := unit.read_text()):
                time.sleep(0.01)
            _end(int(text), 5)
            while unit.exists():
                time.sleep(0.01)
    return 0


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    sys.exit({"systemd-run": systemd_run, "systemctl": systemctl}[command](Path(folder), rest))
