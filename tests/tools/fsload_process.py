# SPDX-License-Identifier: MIT
"""Start fsload, and see that nothing of it outlives it."""

import json
import re
import signal
import subprocess
from pathlib import Path


def run(argv, **options):
    """Runs in a session of its own, and checks that nothing of it outlives it."""
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        **options,
    )  # fmt: skip
    out, err = process.communicate(timeout=60)
    assert not session_members(process.pid)
    return process.returncode, out, err


def session_members(session):
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            members.append(int(stat.parent.name))
    return members


def error_sentence(err):
    message = json.loads(err)["error"]
    assert err.count("\n") == 1
    return message


def end(process, with_signal=signal.SIGTERM):
    process.send_signal(with_signal)
    out, err = process.communicate(timeout=60)
    assert (out, session_members(process.pid)) == ("", [])
    return process.returncode, error_sentence(err)


def children(process):
    return sorted(set(session_members(process.pid)) - {process.pid})


def lines_of(out, phase):
    return [line for line in map(json.loads, out.splitlines()) if line.get("phase") == phase]


def own_cgroup():
    """The directory of this process's cgroup v2, or None."""
    mounts = [
        line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line
    ]
    own = re.search(r"^0::(/.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    return Path(mounts[0] + own[1]) if mounts and own else None
