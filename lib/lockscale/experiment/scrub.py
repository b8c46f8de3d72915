# SPDX-License-Identifier: MIT
"""What leaves the machine says nothing of it: paths, host and user names out of text that is kept.

The rule, in this order, and nothing else changes:

the guest's private folder (also as virtme-ng encodes it)    GUEST
the folder of the checkout                                   ROOT
other files in the folder for temporary files                TMP/...
home directories, /root among them                           HOME
the host that mds-survey says it runs on                     HOST
this machine's host name and the user's name, as words       HOST, USER

A path loses its first slash with it where it had one. The words that programs print on any machine
(COMMON_WORDS) stay, even if they are the machine's name. A sealed output (profilers.seal) is sealed
again.
"""

import getpass
import re
import socket
import tempfile

from lockscale import paths
from lockscale.profilers.seal import seal, unseal

COMMON_WORDS = {
    "root",
    "localhost",
    "localhost.localdomain",
    "debian",
    "linux",
    "ext4",
    "qemu",
    "host",
    "guest",
}
_END = r"(?![\w.-])"


def scrub(text: str) -> str:
    """`text` by the rule above; a text that has been scrubbed stays as it is."""
    body, whole = unseal(text)
    clean = _scrub_names(_scrub_paths(body))
    return seal(clean) if whole else clean


def _scrub_paths(text: str) -> str:
    text = re.sub(r"virtme\.exec=`[^`]*`", "virtme.exec=`GUEST`", text)  # base64 of such a path
    temporary = re.escape(tempfile.gettempdir().lstrip("/"))
    text = re.sub(rf"/?{temporary}/lockscale-guest-\w+", "GUEST", text)
    text = re.sub(rf"/?{re.escape(str(paths.ROOT).lstrip('/'))}{_END}", "ROOT", text)
    text = re.sub(rf"/?{temporary}/", "TMP/", text)
    return re.sub(rf"(?<![\w.])/(?:home/[\w.-]+|root(?=/)){_END}", "HOME", text)


def _scrub_names(text: str) -> str:
    text = re.sub(r"(?m)^(.*/mds-survey from )\S+$", r"\1HOST", text)
    for name, instead in _names():
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", instead, text)
    return text


def _names() -> list[tuple[str, str]]:
    """This machine's names, the longest first, and the user's."""
    host = socket.gethostname()
    hosts = sorted({host, socket.getfqdn(), host.partition(".")[0]}, key=len, reverse=True)
    try:
        users = [getpass.getuser()]
    except (KeyError, OSError):  # a user without an entry, as in some containers
        users = []
    named = [*((name, "HOST") for name in hosts), *((name, "USER") for name in users)]
    return [(name, instead) for name, instead in named if name and name.lower() not in COMMON_WORDS]
