# SPDX-License-Identifier: MIT
"""The kernel's configuration: a fragment on top of allnoconfig, and the proof that it was taken."""

import functools
import os
import re
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.kernels.base import Kind
from lockscale.kernels.logged_command import make_in, run_step
from lockscale.kernels.mail import read_text

ASKED = re.compile(r"^(CONFIG_\w+)=(.+)$")
# make reads a configuration as make: a string that it would expand or hand to a shell is none.
VALUE = re.compile(r"""[ymn]|-?\d+|0x[0-9a-fA-F]+|"[^"'`$\\;&|<>\x00-\x1f\x7f]*\"""", re.ASCII)
DEFINED = re.compile(r"^[ \t]*(?:menu)?config[ \t]+(\w+)", re.MULTILINE)


def read_config(text: str) -> dict[str, str]:
    """Option -> value of a .config or a fragment; "n" for one that is said not to be set."""
    found = {}
    for line in text.splitlines():
        if match := ASKED.match(line):
            found[match[1]] = match[2]
        elif match := re.match(r"^# (CONFIG_\w+) is not set$", line):
            found[match[1]] = "n"
    return found


def not_taken(fragment: str, config: str) -> list[str]:
    """The lines of a fragment that the finished configuration does not hold."""
    got = read_config(config)
    return [f"{k}={v}" for k, v in read_config(fragment).items() if got.get(k, "n") != v]


def configure(tree: Path, objects: Path, kind: Kind, version: str) -> None:
    """Write objects/.config from allnoconfig and the kind's fragments; refuse what this kernel does not take.

    A line that a later fragment overrules is not asked for.
    """
    refuse_malformed(kind)
    objects.mkdir(parents=True, exist_ok=True)
    fragment = objects / "fragment.config"
    asked = read_config(kind.fragment)
    fragment.write_text("".join(f"{name}={value}\n" for name, value in asked.items()))
    argv = make_in(tree, objects, "allnoconfig", f"KCONFIG_ALLCONFIG={fragment}")
    run_step(argv, "configure the kernel", 20, objects / "config.log")
    if refused := not_taken(kind.fragment, (objects / ".config").read_text()):
        raise BadInput(
            f"{_home_of(refused[0], kind)} asks for {refused[0]}, which Linux {version} does not accept "
            f"({len(refused)} such line(s)): a dependency is missing or the option is gone"
        )
    refuse_unknown(kind, tree, version)


def refuse_malformed(kind: Kind) -> None:
    """Refuse a line of a fragment that would be passed over in silence, or that make would carry out."""
    for path in kind.configs:
        for at, line in enumerate(read_text(path).splitlines(), start=1):
            asked = ASKED.fullmatch(line)
            if line.strip() and not line.startswith("#") and not (asked and VALUE.fullmatch(asked[2])):
                raise BadInput(
                    f"{path} line {at} is {line[:60]!r}: "
                    "write CONFIG_X= and y, m, n, a number or plain text in quotes, or a # comment"
                )


def refuse_unknown(kind: Kind, tree: Path, version: str) -> None:
    """Refuse an option that is asked to be off and that no Kconfig file knows: it is off in any case."""
    off = [name for name, value in read_config(kind.fragment).items() if value == "n"]
    for name in off:
        if name.removeprefix("CONFIG_") not in _options_of(tree):
            raise BadInput(
                f"{_home_of(name, kind)} asks for {name}=n, which is in no Kconfig file of Linux "
                f"{version}: correct the spelling or drop the line"
            )


@functools.cache
def _options_of(tree: Path) -> frozenset[str]:
    """Every option in the Kconfig files of a tree, of all architectures: once per process, it takes seconds.

    The fragments are those of every arm, so an option that one series alone adds needs no second look.
    """
    found: set[str] = set()
    for folder, _, files in os.walk(tree):
        for name in files:
            if name.startswith("Kconfig"):
                found.update(DEFINED.findall(Path(folder, name).read_text(errors="replace")))
    return frozenset(found)


def _home_of(line: str, kind: Kind) -> Path:
    """The fragment that has the last word on an option."""
    name = line.partition("=")[0]
    return next(path for path in reversed(kind.configs) if name in read_config(read_text(path)))


def spin_lock_kind(config: str) -> str:
    """The kind of spin lock an x86 kernel with this configuration runs in a guest.

    queued: FIFO hand-over (MCS). paravirt-queued: queued, waiters may halt. virt-test-and-set:
    virt_spin_lock(), unfair, no retry storm can show. none: one processor.
    """
    got = read_config(config)
    on = {k for k, v in got.items() if v == "y"}
    if "CONFIG_SMP" not in on:
        return "none"
    if "CONFIG_PARAVIRT_SPINLOCKS" in on:
        return "paravirt-queued"
    if "CONFIG_PARAVIRT" in on:
        return "virt-test-and-set"
    return "queued" if "CONFIG_QUEUED_SPINLOCKS" in on else "unknown"
