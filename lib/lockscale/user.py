# SPDX-License-Identifier: MIT
"""Who is told to others that wait, and the time since when: a person's name, never a machine's."""

import getpass
import os
from datetime import UTC, datetime

from lockscale.printable import printable

NAME_VARIABLE = "LOCKSCALE_NAME"  # what others read of who holds something; else the user's name


def user_name() -> str:
    """This user, in at most 40 printable characters."""
    try:
        return printable(os.environ.get(NAME_VARIABLE) or getpass.getuser(), 40)
    except (KeyError, OSError):  # a user without an entry, as in some containers
        return "an unnamed user"


def now_utc() -> str:
    """The time now, to the second: 2026-01-31T12:00:00Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
