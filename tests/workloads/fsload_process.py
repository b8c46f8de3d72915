# SPDX-License-Identifier: MIT
"""Start fsload, and see that nothing of it outlives it."""

import json
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
