# SPDX-License-Identifier: MIT
"""Install what a fresh Debian lacks, or say the one command that does: system.py [LIST].

LIST is packages.toml beside this file, or another one of its form. Runs before .venv exists, so it uses
the standard library alone. Asks no question. As root it installs, and starts no service; otherwise it
prints the command and ends with status 2.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

POLICY = Path("/usr/sbin/policy-rc.d")  # asked before a package starts its service; 101 is no
OURS = "# of lockscale's setup, while it installs packages"
TRIES = 3  # a mirror in mid-update answers 404; a second `apt-get update` sees the new index
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}


def missing(listed: str) -> list[dict[str, str]]:
    """The packages of `listed` whose command or file is not on this machine."""
    packages = tomllib.loads(Path(__file__).with_name(listed).read_text())["package"]
    return [package for package in packages if not is_there(package)]


def is_there(package: dict[str, str]) -> bool:
    if tool := package.get("tool"):
        path = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
        return shutil.which(tool, path=path) is not None
    return any(Path("/").glob(package["file"].lstrip("/")))


@contextlib.contextmanager
def no_service() -> Iterator[None]:
    """Nothing that is installed starts by itself, unless this machine has a policy of its own.

    Whatever ends us, a closed terminal too, the policy goes with us; one that a killed setup left goes too.
    """
    if os.path.lexists(POLICY) and not is_ours():
        yield
        return
    with ended_by_signals():
        try:
            POLICY.write_text(f"#!/bin/sh\n{OURS}\nexit 101\n")
            POLICY.chmod(0o755)
            yield
        finally:
            POLICY.unlink(missing_ok=True)


def is_ours() -> bool:
    """Whether a setup wrote the policy, one that was killed."""
    try:
        return OURS in POLICY.read_text()
    except (OSError, UnicodeDecodeError):
        return False


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end us as SIGINT does: by way of every `finally`."""

    def end(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def install(names: list[str]) -> int:
    """apt-get update and install, again after a failure; the status of the last try."""
    argv = ["apt-get", "install", "--yes", "--no-install-recommends", *names]
    for attempt in range(1, TRIES + 1):
        subprocess.run(["apt-get", "update"], env={**os.environ, **QUIET}, check=False)
        status = subprocess.run(argv, env={**os.environ, **QUIET}, check=False).returncode
        if status == 0:
            return 0
        print(f"setup: apt-get ended with {status}, try {attempt} of {TRIES}", file=sys.stderr)
        time.sleep(5 * attempt)
    return status


def main(listed: str = "packages.toml") -> int:
    lacking = missing(listed)
    if not lacking:
        return 0
    names = [package["name"] for package in lacking]
    for package in lacking:
        print(f"setup: {package['name']} is missing: {package['why']}", file=sys.stderr)
    if shutil.which("apt-get") is None:
        print("setup: this is no Debian: install what gives the same tools", file=sys.stderr)
        return 2
    command = f"apt-get update && apt-get install --yes --no-install-recommends {' '.join(names)}"
    if os.geteuid() != 0:
        print(f"setup: run this once as root, then make again:\n  {command}", file=sys.stderr)
        return 2
    print(f"setup: {command}", file=sys.stderr)
    with no_service():
        return install(names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
