# SPDX-License-Identifier: MIT
"""What leaves the machine says nothing of it: paths, names and addresses out of text that is kept.

The rule, in this order, and nothing else changes:

the guest's private folder (also as virtme-ng encodes it)    GUEST
the folder of the checkout                                   ROOT
other files in the folder for temporary files                TMP/...
this user's home, /home/NAME, and what is in /root           HOME
the host that mds-survey says it runs on                     HOST
IPv4, IPv6, and hardware addresses                           IP, MAC
user and password before the host of an address              USER
names of this machine and of further ones, the user's name   HOST, USER

A path loses its first slashes with it where it had some, and begins where a path does: /var/tmp is not
the folder for temporary files. A home may have a space, written as in a shell or in /proc/mounts too.

Names are found in capitals or not, between whatever is no letter and no digit: MDS1, mds1-ib0,
run_alice. A name that ends with a letter may have a number behind it (alice2 is USER2); mds12 is
another machine than mds1. A host's domain goes with it, and so do other hosts of that domain. A name
of fewer than four characters, or one that tools print on any machine (tool_words.py), is a name only
in user@host and in what uname -a says, else `vm` would spoil vm.dirty_ratio. root and localhost stay.

Four numbers with dots are a version where `version`, `release` or `v` comes before them or where they
are joined to a name, else an address. An IPv6 address is one of 2000::/3, fc00::/7 or fe80::/10.
Addresses that every machine has (127.0.0.1, 0.0.0.0) stay.

A sealed output (profilers.seal) is sealed again.
"""

import getpass
import ipaddress
import re
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockscale import paths
from lockscale.measure.tool_words import TOOL_WORDS
from lockscale.tools.seal import seal, unseal

STAY = {"", "root", "localhost", "localhost.localdomain"}
SHORTEST_NAME = 4
_END = r"(?![\w.-])"
_SPACE = r"(?: |\\ |\\040)"
_HOME = rf"/(?:home/[\w.@+-]+(?:{_SPACE}[^\W\d_]+(?=/))?|root(?=/))"
_IPV4 = r"(?<![\w.-])(?<!version )(?<!version: )(?<!release )(?<!\bv )\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)"
_IPV6 = r"(?<![\w:.])(?:[23][\da-f]{3}|f[cde][\da-f]{2})(?::[\da-f]{0,4}){2,7}(?![\w:]|\.\d)"
_MAC = r"(?<![\w:])[\da-f]{2}(?::[\da-f]{2}){5,19}(?![\w:])"
_DOMAIN = r"(?:(?:\.[a-z][a-z0-9-]*){2,}|\.(?:local|lan|internal|localdomain)(?![\w-]))?"


def scrub(text: str, hosts: Sequence[str] = ()) -> str:
    """`text` by the rule above; a text that has been scrubbed stays as it is.

    hosts: further machines' names or addresses, which are to read HOST as well.
    """
    body, whole = unseal(text)
    clean = _scrub_names(_scrub_addresses(_scrub_paths(body), hosts), hosts)
    return seal(clean) if whole else clean


def _scrub_paths(text: str) -> str:
    text = re.sub(r"virtme\.exec=`[^`]*`", "virtme.exec=`GUEST`", text)  # base64 of such a path
    temporary = re.escape(tempfile.gettempdir().lstrip("/"))
    text = re.sub(rf"(?<![\w.-])/*{temporary}/lockscale-guest-\w+", "GUEST", text)
    text = re.sub(rf"(?<![\w.-])/*{re.escape(str(paths.ROOT).lstrip('/'))}{_END}", "ROOT", text)
    text = re.sub(rf"(?<![\w./-])/*{temporary}/", "TMP/", text)
    home = str(Path.home()).strip("/")
    if "/" in home:  # not root's: /root is also a place to mount on
        own = re.escape(home).replace(r"\ ", _SPACE)
        text = re.sub(rf"(?<![\w.-])/*{own}{_END}", "HOME", text)
    return re.sub(rf"(?<![\w./-])/*{_HOME}{_END}", "HOME", text)


def _scrub_addresses(text: str, hosts: Sequence[str]) -> str:
    for host in filter(_is_address, hosts):
        behind = r"[\w:]" if ":" in host else r"\w|\.\d"  # behind IPv4's colon is a port
        text = re.sub(rf"(?i)(?<![\w.:]){re.escape(host)}(?!{behind})", "HOST", text)
    text = re.sub(r"(?<=://)[^\s/@\"']+@(?=[\w\[])", "USER@", text)
    text = re.sub(_MAC, "MAC", text, flags=re.IGNORECASE)
    return re.sub(f"{_IPV4}|{_IPV6}", _hidden, text, flags=re.IGNORECASE)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _hidden(found: re.Match[str]) -> str:
    if not _is_address(found[0]):
        return found[0]
    address = ipaddress.ip_address(found[0])
    return found[0] if address.is_loopback or address.is_unspecified else "IP"


def _scrub_names(text: str, others: Sequence[str]) -> str:
    text = re.sub(r"(?m)^(.*/mds-survey from )\S+$", r"\1HOST", text)
    whole = {socket.gethostname(), socket.getfqdn(), *others} - STAY
    hosts = {name for name in whole if not _is_address(name)}
    for domain in {".".join(name.split(".")[-2:]) for name in hosts if name.count(".") > 1}:
        text = re.sub(rf"(?i)(?<![\w.-])(?:[\w-]+\.)*{re.escape(domain)}(?![\w-])", "HOST", text)
    for name in _longest_first({*hosts, *(name.partition(".")[0] for name in hosts)}):
        text = re.sub(_host(name), "HOST", text, flags=re.IGNORECASE)
    for name in _longest_first(set(_users())):
        text = re.sub(_user(name), "USER", text, flags=re.IGNORECASE)
    return text


def _users() -> Iterator[str]:
    try:
        yield getpass.getuser()
    except (KeyError, OSError):  # a user without an entry, as in some containers
        return


def _longest_first(names: set[str]) -> list[str]:
    return sorted((name for name in names if name.lower() not in STAY), key=lambda name: (-len(name), name))


def _is_plain(name: str) -> bool:
    """Whether the name could be anything but a name: it is short, or a word of the tools."""
    return len(name) < SHORTEST_NAME or name.lower() in TOOL_WORDS


def _word(name: str) -> str:
    """`name` between whatever is no letter and no digit, but for a number behind a last letter."""
    behind = r"[^\W_]" if name[-1].isdigit() else r"[^\W\d_]"
    return rf"(?<![^\W_]){re.escape(name)}(?!{behind})"


def _host(name: str) -> str:
    word = _word(name)
    return rf"(?:(?<=\w@)|(?<=\bLinux )(?=\S+ \d)){word}{_DOMAIN}" if _is_plain(name) else word + _DOMAIN


def _user(name: str) -> str:
    return _word(name) + (r"(?=@[a-z])" if _is_plain(name) else "")
