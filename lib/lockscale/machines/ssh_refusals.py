# SPDX-License-Identifier: MIT
"""What OpenSSH logs when it gives up, as one sentence that names a server as the user typed it.

The log of `ssh -v` names users, key files, addresses and the real names behind aliases: of all that only a
host key's fingerprint is passed on. Its wording is that of OpenSSH 8.4 (Debian 11) to 10.0 (Debian 13).
"""

import re
from collections.abc import Iterator

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.ssh_host import CONNECT_S, HostKeyRefused, LoginRefused, SshHost, Unreachable

UNREADABLE = "an ssh_config file cannot be read: `ssh -G HOST` says where"
MOST_JUMPS = 8
IN_A_CIRCLE = "Setting implicit ProxyCommand from ProxyJump"
_KEY_SENT = re.compile(r"Server host key: (\S+) (\S+)")

Refusal = BadInput | RunFailed


def refusal_of(host: SshHost, log: str) -> Refusal:
    """Why `ssh -v` to `host` ended before its command ran."""
    lines = log.replace("\r", "").splitlines()
    debug = "\n".join(line for line in lines if line.startswith("debug"))
    said = "\n".join(line for line in lines if not line.startswith("debug"))
    name = f"the jump host of {host.host}" if _at_jump_host(said, debug) else host.host
    by_hand = host.by_hand()
    sent = _KEY_SENT.findall(debug)
    reasons = "; ".join(_why_no_key_opens(said, debug))
    words = {
        "name": name,
        "by_hand": by_hand,
        "key": f"({' '.join(sent[-1])})" if sent else "(of unknown type)",
        "reasons": f" ({reasons})" if reasons else "",
        "cause": "the connection broke",
    }
    for kind, sentences in _REFUSALS:
        for pattern, sentence in sentences.items():
            if found := re.search(pattern, said, re.MULTILINE | re.IGNORECASE):
                return kind(sentence.format_map(words | {k: v for k, v in found.groupdict().items() if v}))
    if "Authenticated to" in debug:
        return Unreachable(f"{name} closes the connection after the login")
    return Unreachable(f"{name} cannot be reached: `{by_hand}` says why")


def refusal_of_sudo(name: str, said: str) -> LoginRefused | None:
    """What sudo means, if it is sudo that refuses. Its own words name the user and the server."""
    if "sudo" not in said:
        return None
    allow = "allow it in `visudo` with a line `LOGIN ALL=(root) NOPASSWD: ALL`, or log in as root"
    if "not found" in said:
        return LoginRefused(f"{name} has no sudo, and the user is not root: install it, or log in as root")
    if "password" in said:
        return LoginRefused(
            f"sudo on {name} asks for a password, which lockscale neither stores nor sends: {allow}"
        )
    if "tty" in said or "terminal" in said:
        return LoginRefused(f"sudo on {name} wants a terminal: remove requiretty from its sudoers file")
    return LoginRefused(f"sudo on {name} refuses this user: {allow}")


def _at_jump_host(said: str, debug: str) -> bool:
    """A jump host's own ssh failed: the last one then reads nothing from its pipe."""
    return IN_A_CIRCLE in debug and bool(
        re.search(r"kex_exchange_identification: Connection closed|closed by UNKNOWN port 65535", said)
    )


def _why_no_key_opens(said: str, debug: str) -> Iterator[str]:
    if "Too many authentication failures" in said:
        yield "it closed the connection after too many keys: set `IdentitiesOnly yes` for it"
    if re.search(r"bad permissions|UNPROTECTED PRIVATE KEY", said):
        yield "a key file is readable by others: chmod 600"
    elif re.search(r'^Load key ".*": Permission denied', said, re.MULTILINE):
        yield "a key file is not readable by this user"
    elif re.search(r'^Load key ".*"', said, re.MULTILINE):
        yield "a key file has no key in a known format"
    if "Server accepts key" in debug:  # and it could not be used
        yield "a key needs a passphrase: add it to the agent with ssh-add"
    if "Authenticated using" in debug:
        yield "it requires more than a key"
    if "Offering public key" not in debug:
        yield "there is no key to offer, neither in an agent nor in a file"


# What ssh says -> what is wrong, the first that fits. {key}: type and fingerprint of the host key sent last.
_REFUSALS: tuple[tuple[type[Refusal], dict[str, str]], ...] = (
    (
        Unreachable,
        {r"^\S*sh: .*(not found|No such file)": "{name} has a ProxyCommand that is not on this machine"},
    ),
    (BadInput, {r" line \d+: |^Bad owner or permissions|terminating, \d+ bad": UNREADABLE}),
    (
        HostKeyRefused,
        {
            r"REVOKED HOST KEY": "the host key of {name} {key} is revoked in known_hosts",
            r"IDENTIFICATION HAS CHANGED": "the host key of {name} has changed {key}: another server may be "
            "answering; if you know why, `{by_hand}` names the old line of known_hosts to remove",
            r"Host key verification failed": "the host key of {name} {key} is not in known_hosts: compare it "
            "with the server's own (`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` there), then run "
            "`{by_hand}` once to add it",
        },
    ),
    (
        Unreachable,
        {
            r"Could not resolve hostname": "{name} does not resolve: is the name right, and is it in "
            "~/.ssh/config or DNS?",
            r"^ssh: connect to host .*: Connection refused": "{name} refuses the connection: is sshd "
            "running there, and is the port right?",
            r"^ssh: connect to host .*: (No route to host|Network is unreachable|Cannot assign)": "{name} "
            "cannot be reached, there is no route to it: is it up, and is this machine on its network?",
            r"^ssh: connect to host .*timed out": f"{{name}} does not answer within {CONNECT_S} s: is it up, "
            "and does a firewall let ssh through?",
            r"^ssh: connect to host (?:.*: (?P<cause>.+)$)?": "{name} cannot be reached ({cause})",
        },
    ),
    (
        LoginRefused,
        {
            r"^Unable to negotiate|no matching .* found": "{name} offers no key exchange, host key or "
            "cipher that is considered safe",
            r"^\S+: Permission denied \(|Too many authentication failures": "{name} accepts none of this "
            "user's keys{reasons}: put the public key into the server's authorized_keys, and name the user "
            "and the key in the target file or ~/.ssh/config",
        },
    ),
    (
        Unreachable,
        {
            r"stdio forwarding failed|open failed": "{name} cannot be reached from its jump host",
            r"kex_exchange_identification|banner|^Connection (closed|reset)|Bad packet length": "{name} "
            "closes the connection before login: is there an ssh server on that port?",
        },
    ),
)
