# SPDX-License-Identifier: MIT
"""Install what a fresh Debian lacks, or say the one command that does: system.py [LIST].

LIST is packages.toml beside this file, or another one of its form. Runs before .venv exists, so it uses
the standard library alone. Asks no question. As root it installs, and starts no service; otherwise it
prints the command and ends with status 2. What only the tests use of a package that is a service is unpacked
under .cache, as anybody.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
UNPACKED = Path(os.environ.get("LOCKSCALE_CACHE") or ROOT / ".cache") / "unpacked"
POLICY = Path("/usr/sbin/policy-rc.d")  # asked before a package starts its service; 101 is no
OURS = "# of lockscale's setup, while it installs packages"
TRIES = 3  # a mirror in mid-update answers 404; a second `apt-get update` sees the new index
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}


def missing(listed: str) -> list[dict[str, Any]]:
    """The packages of `listed` whose command or file is not on this machine."""
    packages = tomllib.loads(Path(__file__).with_name(listed).read_text())["package"]
    return [package for package in packages if not is_there(package)]


def is_there(package: dict[str, Any]) -> bool:
    if tool := package.get("tool"):
        path = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin:{UNPACKED}/usr/sbin"
        return shutil.which(tool, path=path) is not None
    return any(Path("/").glob(package["file"].lstrip("/")))


@contextlib.contextmanager
def no_service() -> Iterator[None]:
    """Nothing that is installed starts by itself, unless this machine has a policy of its own.

    Whatever ends us, a closed terminal too, the policy goes with us; one that a killed setup left goes too.
    """
    if os.path.lexists(POLICY) and not is_of_a_dead_setup():
        yield
        return
    beside = POLICY.with_name(f"{POLICY.name}.{os.getpid()}")
    try:
        beside.write_text(f"#!/bin/sh\n{OURS}\nexit 101\n")
        beside.chmod(0o755)
        with beside.open() as policy:  # a file that is open for writing cannot be run
            fcntl.flock(policy, fcntl.LOCK_EX)  # for as long as we live, and before anybody sees it
            beside.rename(POLICY)
            yield
    finally:
        beside.unlink(missing_ok=True)
        POLICY.unlink(missing_ok=True)


def is_of_a_dead_setup() -> bool:
    """Whether a setup wrote the policy, and was killed since."""
    try:
        with POLICY.open() as policy:
            fcntl.flock(policy, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return OURS in policy.read()
    except (OSError, UnicodeDecodeError):
        return False


def mend_what_a_dead_setup_left() -> None:
    """Its policy goes, and what was half installed under it is whole first; nothing where there is none."""
    if os.geteuid() == 0 and is_of_a_dead_setup():
        with no_service():
            mend_torn()


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGINT, SIGTERM, SIGHUP end us by way of every `finally`; the first one counts: make sends more."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, _frame: object) -> None:
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def install(names: list[str]) -> int:
    """apt-get update and install, again after a failure; the status of the last try."""
    argv = ["apt-get", "install", "--yes", "--no-install-recommends", *names]
    mend_torn()
    for attempt in range(1, TRIES + 1):
        run_whole(["apt-get", "update"])
        status = run_whole(argv)
        if status == 0:
            return 0
        print(f"setup: apt-get ended with {status}, try {attempt} of {TRIES}", file=sys.stderr)
        time.sleep(5 * attempt)
    return status


def mend_torn() -> None:
    """An install of anybody's may have been killed, and apt-get would refuse every further one."""
    if is_torn():
        run_whole(["dpkg", "--configure", "-a"])


def is_torn() -> bool:
    """Whether dpkg has work that it never ended: its journal holds some, or a package is half there."""
    updates = Path("/var/lib/dpkg/updates")
    return any(updates.glob("[0-9]*")) or bool(
        subprocess.run(["dpkg", "--audit"], capture_output=True, check=False).stdout.strip()
    )


def run_whole(argv: list[str]) -> int:
    """Its status. Whatever ends us, it ends by itself: a dpkg that is killed leaves packages torn.

    Told so, apt-get ends at once while it fetches, and else after the step of dpkg that runs.
    """
    tied = ["setpriv", "--pdeathsig", "INT", *argv]  # where we are killed
    process = subprocess.Popen(tied, env={**os.environ, **QUIET}, start_new_session=True)
    try:
        return process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        print("setup: interrupted; waiting for the package manager to end its step", file=sys.stderr)
        process.wait()  # no further signal disturbs: ended_by_signals()
        raise


def unpack(names: list[str]) -> int:
    """Put the files of the packages under UNPACKED, whole or not at all; nothing of them is run.

    apt-get compares each with the hash in its signed lists.
    """
    UNPACKED.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=UNPACKED.parent, prefix="unpacking-") as made:
        folder = Path(made)
        argv = ["apt-get", "download", "-o", "APT::Sandbox::User=root", *names]
        if subprocess.run(argv, cwd=folder, check=False).returncode:
            print(
                "setup: apt-get knows no package yet: `apt-get update` as root, then make again",
                file=sys.stderr,
            )
            return 2
        for archive in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", archive, folder / "root"], check=True)
        shutil.rmtree(UNPACKED, ignore_errors=True)
        (folder / "root").rename(UNPACKED)
    return 0


def main(listed: str = "packages.toml") -> int:
    with ended_by_signals():
        mend_what_a_dead_setup_left()
    lacking = missing(listed)
    if not lacking:
        return 0
    for package in lacking:
        print(f"setup: {package['name']} is missing: {package['why']}", file=sys.stderr)
    if shutil.which("apt-get") is None:
        print("setup: this is no Debian: install what gives the same tools", file=sys.stderr)
        return 2
    to_unpack = [name for package in lacking for name in package.get("unpack", [])]
    with ended_by_signals():
        status = install_all([package["name"] for package in lacking if "unpack" not in package])
        return status or (unpack(to_unpack) if to_unpack else 0)


def install_all(names: list[str]) -> int:
    """Install as root, or say how; 0 where there is nothing to install."""
    if not names:
        return 0
    command = f"apt-get update && apt-get install --yes --no-install-recommends {' '.join(names)}"
    if os.geteuid() != 0:
        print(f"setup: run this once as root, then make again:\n  {command}", file=sys.stderr)
        return 2
    print(f"setup: {command}", file=sys.stderr)
    with no_service():
        return install(names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
