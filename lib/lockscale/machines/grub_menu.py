# SPDX-License-Identifier: MIT
"""GRUB's menu as grub-mkconfig writes it: which entry boots which kernel, and with what arguments."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENS = re.compile(r"^\s*(menuentry|submenu)\s+(?:'((?:[^']|'\\'')*)'|\"([^\"]*)\")(.*)\{\s*$")
_ID = re.compile(r"(?:\$menuentry_id_option|--id)[ =](?:'([^']*)'|(\S+))")
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S*?vmlinuz-(\S+))(?:\s+(.*?))?\s*$")


@dataclass(frozen=True)
class Entry:
    """One bootable entry. `ids` leads to it through its submenus; `places` and `titles` likewise."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    places: tuple[int, ...]
    body: tuple[str, ...]
    is_unrestricted: bool = False  # reached and booted without a password, whatever the menu asks for

    @property
    def path(self) -> str:
        """What grub-set-default and grub-reboot take, whatever is added to the menu later."""
        return ">".join(self.ids)

    @property
    def _linux(self) -> re.Match[str] | None:
        return next(filter(None, map(_LINUX.match, self.body)), None)

    @property
    def release(self) -> str | None:
        """uname -r of the kernel it boots; None for an entry that boots something else."""
        return self._linux.group(2) if self._linux else None

    @property
    def arguments(self) -> str:
        """The kernel's command line."""
        return (self._linux.group(3) or "") if self._linux else ""

    def is_called(self, name: str) -> bool:
        """Whether `name`, as saved_entry or next_entry may hold it, means this entry."""
        parts = name.split(">")
        known = zip(self.ids, self.titles, map(str, self.places), strict=True)
        return len(parts) == len(self.ids) and all(
            part in ways for part, ways in zip(parts, known, strict=True)
        )

    def with_arguments(self, more: str) -> tuple[str, ...]:
        """The entry's commands, the kernel started with `more` behind its own arguments."""
        return tuple(f"{line.rstrip()} {more}" if _LINUX.match(line) else line for line in self.body)


def entries(grub_cfg: str) -> list[Entry]:
    """Every entry of a generated grub.cfg, in the menu's order."""
    return list(_entries(iter(grub_cfg.splitlines()), (), (), (), is_free=True))


def _entries(
    lines: Iterator[str],
    ids: tuple[str, ...],
    titles: tuple[str, ...],
    places: tuple[int, ...],
    *,
    is_free: bool,
) -> Iterator[Entry]:
    """The entries up to the brace that closes this menu; GRUB counts entries and submenus alike.

    is_free: no menu above asks for a password.
    """
    place = 0
    for line in lines:
        opened = _OPENS.match(line)
        if opened:
            kind, single, double, rest = opened.groups()
            title = single.replace(r"'\''", "'") if single is not None else double
            named = _ID.search(rest)
            name = (named.group(1) or named.group(2)) if named else title
            here = ((*ids, name), (*titles, title), (*places, place))
            free = is_free and "--unrestricted" in rest.split()
            if kind == "submenu":
                yield from _entries(lines, *here, is_free=free)
            else:
                yield Entry(*here, tuple(_body(lines)), free)
            place += 1
        elif line.strip() == "}" and ids:
            return


def _body(lines: Iterator[str]) -> Iterator[str]:
    """The lines of one entry; grub-mkconfig closes it with a brace of its own line."""
    depth = 0
    for line in lines:
        if line.strip() == "}" and depth == 0:
            return
        depth += line.rstrip().endswith("{")
        depth -= line.strip() == "}"
        yield line
