# SPDX-License-Identifier: MIT
"""The two ways a command can end badly; the message is always one sentence for a person."""


class BadInput(Exception):
    """A file, flag, name, series or tool output that cannot be used: exit status 2.

    The message says what is wrong, where, and what to do.
    """


class FullDisk(BadInput):
    """A disk took no more; with room again what was begun can go on."""


class RunFailed(Exception):
    """The work was done as asked and found a failure (a guest panicked, a check is red): exit 1."""
