# SPDX-License-Identifier: MIT
"""Packages of one of the distribution's suites, fetched and verified by apt itself, unpacked beside it.

apt gets a configuration of its own: the machine's package sources and packages stay as they are, and no
root is needed.
"""

import contextlib
import platform
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.scratch import scratch_folder

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@contextlib.contextmanager
def unpacked_packages(
    packages: Sequence[str], suite: str, beside: Path, wanted: str, instead: str
) -> Iterator[Path]:
    """A folder in `beside` with what the packages hold, for as long as the caller moves out of it.

    It is on disk by then: a power cut would leave files of no length under the name that it gets.
    suite: of the machine's distribution, or of one that its keyring knows. wanted, instead: what needs the
    packages and what works without, for the sentence of BadInput.
    """
    with scratch_folder("apt", beside) as room:
        into = room / "unpacked"
        nowhere = f"{wanted}, but this machine has no Debian mirror to fetch it from: {instead}"
        options = _private_apt(room, suite, nowhere)
        _apt(["apt-get", *options, "update"], f"read the list of {suite}", wanted, instead)
        argv = ["apt-get", *options, "download", *(f"{name}/{suite}" for name in packages)]
        _apt(argv, f"download {packages[0]} from {suite}", wanted, instead, room)
        for package in sorted(room.glob("*.deb")):
            argv = ["dpkg-deb", "--extract", str(package), str(into)]
            _apt(argv, f"unpack {package.name}", wanted, instead)
        run_or_fail(["sync", "--file-system", str(into)], 900)
        yield into


def backports() -> str:
    """The suite with newer versions for this machine's distribution."""
    return f"{_codename()}-backports"


def suite_answers(suite: str) -> bool:
    """Whether the mirror has this suite now; nothing of it is kept."""
    try:
        release = f"{_mirror('')}/dists/{suite}/InRelease"
    except BadInput:
        return False
    with scratch_folder("apt") as scratch:
        quick = [f"-oAcquire::{name}" for name in ("Retries=0", "http::Timeout=5", "https::Timeout=5")]
        argv = ["/usr/lib/apt/apt-helper", *quick, "download-file", release, f"{scratch}/InRelease"]
        return not run_or_fail(argv, 20).returncode


def _private_apt(room: Path, suite: str, without: str) -> list[str]:
    """Options under which apt reads the suite too, and changes nothing of the machine."""
    mirror, name = _mirror(without), _codename()
    source = room / "sources.list"
    signed = f"deb [signed-by={KEYRING}] {mirror}"
    source.write_text(f"{signed} {name} main\n{signed} {suite} main\n")
    for folder in ("lists/partial", "cache/archives/partial"):
        (room / folder).mkdir(parents=True)
    said = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": room / "lists",
        "Dir::Cache": room / "cache",
        "APT::Sandbox::User": "",  # apt's own user may not write here
        "Acquire::Retries": 3,
    }
    return [word for key, value in said.items() for word in ("-o", f"{key}={value}")]


def _mirror(without: str) -> str:
    """Where this machine has its packages from: asked of apt, kept nowhere."""
    argv = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = run_or_fail([*argv, f"Codename: {_codename()}"], 60).stdout.split()
    if not found:
        raise BadInput(without)
    return found[0]


def _codename() -> str:
    said = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return said.get("VERSION_CODENAME", "unknown")


def _apt(argv: Sequence[str], what: str, wanted: str, instead: str, folder: Path | None = None) -> None:
    done = run_or_fail(argv, 900, folder)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()
        # apt names the mirror, which is nobody's business
        last = re.sub(r"\w+://\S+", "the mirror", said[-1])
        failed = f"apt could not {what} ({last[:120]})"
        raise BadInput(
            f"{wanted}, and {failed}: connect this machine to the network or install it; {instead}"
        )


def run_or_fail(
    argv: Sequence[str], timeout_s: float, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What a command said; one that is not there or does not end has failed by that name."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(argv, 1, "", type(error).__name__)
