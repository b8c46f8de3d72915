# SPDX-License-Identifier: MIT
"""A server's GRUB: what it boots by default, and booting another entry exactly once.

The default is never changed. A server whose GRUB cannot promise that is refused with every reason. Of
custom.cfg, which GRUB reads at the end of its menu without an update-grub, only our part is written: the
rest is somebody else's, of any bytes and mode, copied on the server and never read here, and a disk that
fills up meanwhile leaves the old file whole. The menu is read as grub-mkconfig writes it.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.machines.machine import Machine, Write, must, must_all

_OPENS = re.compile(r"^\s*(menuentry|submenu)\s+(?:'((?:[^']|'\\'')*)'|\"([^\"]*)\")(.*)\{\s*$")
_ID = re.compile(r"(?:\$menuentry_id_option|--id)[ =](?:'([^']*)'|(\S+))")
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S*?vmlinuz-(\S+))(?:\s+(.*?))?\s*$")


@dataclass(frozen=True)
class MenuEntry:
    """One bootable entry. `ways`: (id, title, place) of each submenu that leads to it, and its own."""

    ways: tuple[tuple[str, str, str], ...]
    body: tuple[str, ...]
    is_unrestricted: bool = False  # reached and booted without a password, whatever the menu asks for

    @property
    def path(self) -> str:
        """What grub-set-default and grub-reboot take, whatever is added to the menu later."""
        return ">".join(name for name, _, _ in self.ways)

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
        return len(parts) == len(self.ways) and all(
            part in way for part, way in zip(parts, self.ways, strict=True)
        )

    def with_arguments(self, more: str) -> tuple[str, ...]:
        """The entry's commands, the kernel started with `more` behind its own arguments."""
        return tuple(f"{line.rstrip()} {more}" if _LINUX.match(line) else line for line in self.body)


def entries(grub_cfg: str) -> list[MenuEntry]:
    """Every entry of a generated grub.cfg, in the menu's order."""
    return list(_entries(iter(grub_cfg.splitlines()), (), is_free=True))


def _entries(
    lines: Iterator[str], above: tuple[tuple[str, str, str], ...], *, is_free: bool
) -> Iterator[MenuEntry]:
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
            here = (*above, (name, title, str(place)))
            free = is_free and "--unrestricted" in rest.split()
            if kind == "submenu":
                yield from _entries(lines, here, is_free=free)
            else:
                yield MenuEntry(here, tuple(_body(lines)), free)
            place += 1
        elif line.strip() == "}" and above:
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


CUSTOM = "/boot/grub/custom.cfg"
BEGIN, END = "# lockscale: the kernel on trial", "# lockscale: end"

# $1 the file, $2 our part's first line, $3 its last, $4 the part
REPLACE = """\
set -eu
half="$1.part"
trap 'rm -f "$half"' EXIT
if [ -e "$1" ]; then
    cp -p "$1" "$half"
    LC_ALL=C awk -v begin="$2" -v end="$3" '
        $0 == begin { ours = 1 }
        !ours { print }
        $0 == end { ours = 0 }
    ' "$1" > "$half"
else
    umask 022
    : > "$half"
fi
printf %s "$4" >> "$half"
sync "$half"
if [ -s "$half" ]; then mv "$half" "$1"; else rm -f "$1"; fi
sync "${1%/*}"
"""


def write_custom(server: Machine, lines: list[str], path: str = CUSTOM) -> None:
    """Let our part of custom.cfg be `lines`, or be gone where there are none; what others wrote stays.

    Raises RunFailed where that cannot be written, as on a full disk: the file is then what it was.
    """
    part = "".join(f"{line}\n" for line in [BEGIN, *lines, END]) if lines else ""
    done = server.run(["sh", "-c", REPLACE, "sh", path, BEGIN, END, part])
    if done.status:
        why = (done.stderr.strip() or "no reason given").splitlines()[0]
        raise RunFailed(f"{path} on the server cannot be written and is unchanged: {printable(why, 300)}")


def forget_custom(server: Machine, path: str = CUSTOM) -> None:
    """Take our part out, where there is one."""
    if not server.run(["grep", "-qsx", BEGIN, path]).status:
        write_custom(server, [], path)


FOLDER = "/boot/grub"
SAVED_ONE = 'set default="${saved_entry}"'
PINNED = "/var/lib/lockscale/default"  # a line with what was saved before, and one with what we saved
TRIAL = "lockscale-trial-"  # how our entries are called
NEWEST = "gnulinux-simple-"  # the entry above the submenu, which boots whatever kernel is the newest
CANNOT_WRITE = ("btrfs", "zfs")  # GRUB reads these only (grub manual, "Environment block")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

_QUESTIONS: dict[str, Sequence[str]] = {
    "menu": ("cat", f"{FOLDER}/grub.cfg"),
    "environment": ("grub-editenv", "-", "list"),
    "file system": ("grub-probe", "--target=fs", FOLDER),
    "abstraction": ("grub-probe", "--target=abstraction", FOLDER),
    "configured": ("grep", "-rsh", "^GRUB_DEFAULT=", "/etc/default/grub", "/etc/default/grub.d"),
    "kexec": ("grep", "-sx", "LOAD_KEXEC=true", "/etc/default/kexec"),
    "secure boot": ("od", "-A", "n", "-t", "u1", "-j", "4", SECURE_BOOT),
    "password": ("grep", "-shE", r"^\s*set superusers=", f"{FOLDER}/grub.cfg", CUSTOM),
    "running": ("uname", "-r"),
}


@dataclass(frozen=True)
class Grub:
    """GRUB as the server has it now; `default` boots when nobody asks for anything else."""

    entries: tuple[MenuEntry, ...]
    default: MenuEntry
    saved: str  # how the environment block names it; empty for the first entry
    is_pinned: bool  # the default is saved by a name that no further kernel can take over

    def entry_of(self, release: str) -> MenuEntry:
        """The entry that boots the kernel `release` as usual."""
        return _entry_of(self.entries, release)


def read_grub(server: Machine) -> Grub:
    """What the server's GRUB would do. Raises BadInput when it cannot boot a kernel once and go back."""
    answers = dict(zip(_QUESTIONS, server.run_all(list(_QUESTIONS.values())), strict=True))
    said = {name: done.stdout.strip() for name, done in answers.items()}
    if reasons := list(_reasons(said, {name for name, done in answers.items() if done.status})):
        raise BadInput(f"the server's GRUB cannot boot a kernel for one boot only: {'; '.join(reasons)}")
    menu = tuple(entry for entry in entries(said["menu"]) if entry.release)
    saved = environment(said["environment"]).get("saved_entry", "")
    default = _lasting(menu, _default_of(menu, saved) if saved else _entry_of(menu, said["running"]))
    if said["password"] and not default.is_unrestricted:
        raise BadInput(
            "the server's GRUB asks for a password before it boots its default, so it would not come back: "
            "give its entries --unrestricted (CLASS in /etc/grub.d/10_linux) and set GRUB_DISABLE_SUBMENU=y, "
            "then run update-grub"
        )
    return Grub(menu, default, saved, is_pinned=saved == default.path)


def _default_of(menu: Sequence[MenuEntry], saved: str) -> MenuEntry:
    found = next((entry for entry in menu if entry.is_called(saved)), None)
    if found is None:
        raise BadInput(
            f"the server's saved default {saved!r} is not an entry of its menu: choose one with "
            f"grub-set-default"
        )
    return found


def _lasting(menu: Sequence[MenuEntry], entry: MenuEntry) -> MenuEntry:
    """The entry that boots the kernel of `entry` under a name that stays its own."""
    if not entry.path.startswith(NEWEST):
        return entry
    others = (one for one in menu if one.release == entry.release and not one.path.startswith(NEWEST))
    return next(others, entry)


def _reasons(said: dict[str, str], failed: Set[str]) -> Iterator[str]:
    if "menu" in failed:
        yield f"it has no {FOLDER}/grub.cfg: run update-grub"
        return
    if "environment" in failed:
        yield f"its environment block cannot be read: create it with `grub-editenv {FOLDER}/grubenv create`"
        return
    if SAVED_ONE not in said["menu"]:
        line = (said["configured"] or "GRUB_DEFAULT").splitlines()[-1]
        yield (
            f"its default is not the saved entry: change {line} in /etc/default/grub to GRUB_DEFAULT=saved, "
            "then run update-grub"
        )
    if "custom.cfg" not in said["menu"]:
        yield "its menu does not read custom.cfg: make /etc/grub.d/41_custom executable, then run update-grub"
    if failed & {"abstraction", "file system"}:
        yield (
            f"grub-probe does not tell what {FOLDER} is on, so GRUB may not be able to write there: run "
            f"`grub-probe --target=fs {FOLDER}` to see why"
        )
    if said["abstraction"] or said["file system"] in CANNOT_WRITE:
        kind = " ".join((said["file system"], said["abstraction"])).strip()
        yield (
            f"GRUB cannot write to {kind}, so it would boot the trial kernel for ever: put {FOLDER} elsewhere"
        )
    if said["kexec"]:
        yield "kexec-tools makes reboots bypass GRUB: set LOAD_KEXEC=false in /etc/default/kexec"
    if said["secure boot"].split()[:1] == ["1"]:
        yield "Secure Boot is on and our kernels are not signed: turn it off in the firmware setup"


def environment(listing: str) -> dict[str, str]:
    """GRUB's environment block as `grub-editenv list` prints it."""
    return dict(line.split("=", 1) for line in listing.splitlines() if "=" in line)


def _entry_of(menu: Sequence[MenuEntry], release: str) -> MenuEntry:
    """The first entry of a kernel: its recovery entries come behind it."""
    found = next((entry for entry in menu if entry.release == release), None)
    if found is None:
        raise BadInput(f"the server's GRUB has no entry for Linux {release}: run update-grub there")
    return found


def pin_default(server: Machine, grub: Grub) -> None:
    """Save the default by its name, so that a further kernel does not take its place in the menu."""
    if not grub.is_pinned:
        note = f"{grub.saved}\n{grub.default.path}\n"
        must_all(server, [["mkdir", "-p", PINNED.rpartition("/")[0]], Write(PINNED, note)])
        must(server, ["grub-set-default", grub.default.path])


def unpin_default(server: Machine) -> None:
    """Save again what was saved before pin_default(), unless somebody has chosen another default since."""
    note = server.run(["cat", PINNED])
    if note.status:
        return
    before, pinned = [*note.stdout.splitlines(), "", ""][:2]
    if _saved(server, "saved_entry") == pinned:
        back = ["grub-set-default", before] if before else ["grub-editenv", "-", "unset", "saved_entry"]
        must(server, back)
    must(server, ["rm", "-f", PINNED])


def boot_next(server: Machine, entry: MenuEntry, before: Sequence[str], arguments: str) -> None:
    """Let the next boot, and only that one, start `entry` with more kernel arguments.

    `before` are GRUB commands that run right before the entry's own.
    """
    name = f"{TRIAL}{entry.release}"
    commands = (*before, *entry.with_arguments(arguments))
    # GRUB would ask for a password where its menu has one; the default is free of it (read_grub)
    opens = f"menuentry 'Linux {entry.release} on trial' --unrestricted --id {name} {{"
    write_custom(server, [opens, *commands, "}"])
    must(server, ["grub-reboot", name])
    if (armed := _saved(server, "next_entry")) != name:
        raise RunFailed(
            f"GRUB did not accept {name} as its next entry, it still has {armed!r}: look at its grubenv"
        )


def disarm(server: Machine) -> bool:
    """Whether the server's next boot was to be a trial of ours; it is not any more."""
    if not _saved(server, "next_entry").startswith(TRIAL):
        return False
    must(server, ["grub-editenv", "-", "unset", "next_entry"])
    return True


def _saved(server: Machine, name: str) -> str:
    """What the environment block holds under `name`; empty for nothing."""
    return environment(must(server, ["grub-editenv", "-", "list"])).get(name, "")
