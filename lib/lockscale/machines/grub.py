# SPDX-License-Identifier: MIT
"""A server's GRUB: what it boots by default, and booting another entry exactly once.

The default is never changed. A server whose GRUB cannot promise that is refused with every reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.grub_custom import CUSTOM, write_custom
from lockscale.machines.grub_menu import Entry, entries
from lockscale.machines.machine import Completed, Machine, Write, must, must_all

FOLDER = "/boot/grub"
SAVED_ONE = 'set default="${saved_entry}"'
PINNED = "/var/lib/lockscale/default"  # a line with what was saved before, and one with what we saved
TRIAL = "lockscale-trial-"  # how our entries are called
CANNOT_WRITE = ("btrfs", "zfs")  # GRUB reads these only (grub manual, "Environment block")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

_QUESTIONS: tuple[Sequence[str], ...] = (
    ("cat", f"{FOLDER}/grub.cfg"),
    ("grub-editenv", "-", "list"),
    ("grub-probe", "--target=fs", FOLDER),
    ("grub-probe", "--target=abstraction", FOLDER),
    ("grep", "-rsh", "^GRUB_DEFAULT=", "/etc/default/grub", "/etc/default/grub.d"),
    ("grep", "-sx", "LOAD_KEXEC=true", "/etc/default/kexec"),
    ("od", "-A", "n", "-t", "u1", "-j", "4", SECURE_BOOT),
    ("grep", "-shE", r"^\s*set superusers=", f"{FOLDER}/grub.cfg", CUSTOM),
    ("uname", "-r"),
)


@dataclass(frozen=True)
class Grub:
    """GRUB as the server has it now; `default` boots when nobody asks for anything else."""

    entries: tuple[Entry, ...]
    default: Entry
    saved: str  # how the environment block names it; empty for the first entry
    is_pinned: bool  # the default is saved by a name that no further kernel can take over

    def entry_of(self, release: str) -> Entry:
        """The entry that boots the kernel `release` as usual."""
        return _entry_of(self.entries, release)


def read_grub(server: Machine) -> Grub:
    """What the server's GRUB would do. Raises BadInput when it cannot boot a kernel once and go back."""
    answers = server.run_all(_QUESTIONS)
    asks_password, running = answers[-2].stdout.strip(), answers[-1].stdout.strip()
    reasons = list(_reasons(*answers[:-2]))
    if reasons:
        raise BadInput(f"the server's GRUB cannot boot a kernel once: {'; '.join(reasons)}")
    menu = tuple(entry for entry in entries(answers[0].stdout) if entry.release)
    saved = environment(answers[1].stdout).get("saved_entry", "")
    default = _default_of(menu, saved) if saved else _entry_of(menu, running)
    if asks_password and not default.is_unrestricted:
        raise BadInput(
            "the server's GRUB asks for a password before it boots its default, and nobody is there to type "
            "it: give its entries --unrestricted (CLASS in /etc/grub.d/10_linux), then run update-grub"
        )
    return Grub(menu, default, saved, is_pinned=saved == default.path)


def _default_of(menu: Sequence[Entry], saved: str) -> Entry:
    found = next((entry for entry in menu if entry.is_called(saved)), None)
    if found is None:
        raise BadInput(
            f"the server's saved default {saved!r} is no entry of its menu: choose one with grub-set-default"
        )
    return found


def _reasons(
    menu: Completed,
    environment_block: Completed,
    file_system: Completed,
    abstraction: Completed,
    configured: Completed,
    kexec: Completed,
    secure_boot: Completed,
) -> Iterator[str]:
    if menu.status:
        yield f"it has no {FOLDER}/grub.cfg: run update-grub"
        return
    if environment_block.status:
        yield f"its environment block cannot be read: make it by `grub-editenv {FOLDER}/grubenv create`"
        return
    if SAVED_ONE not in menu.stdout:
        line = configured.stdout.strip().splitlines()
        yield (
            f"its default is not a saved one: change {line[-1] if line else 'GRUB_DEFAULT'} in "
            "/etc/default/grub to GRUB_DEFAULT=saved, then run update-grub"
        )
    if "custom.cfg" not in menu.stdout:
        yield "its menu does not read custom.cfg: make /etc/grub.d/41_custom executable, then run update-grub"
    kind = " ".join((file_system.stdout + abstraction.stdout).split())
    if abstraction.stdout.strip() or file_system.stdout.strip() in CANNOT_WRITE:
        yield f"GRUB cannot write on {kind}, so the trial would boot for ever: put {FOLDER} elsewhere"
    if kexec.stdout.strip():
        yield "kexec-tools takes reboots past GRUB: set LOAD_KEXEC=false in /etc/default/kexec"
    if secure_boot.stdout.split()[:1] == ["1"]:
        yield "Secure Boot is on and our kernels are not signed: turn it off in the firmware's set-up"


def environment(listing: str) -> dict[str, str]:
    """GRUB's environment block as `grub-editenv list` prints it."""
    return dict(line.split("=", 1) for line in listing.splitlines() if "=" in line)


def _entry_of(menu: Sequence[Entry], release: str) -> Entry:
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


def boot_next(server: Machine, entry: Entry, before: Sequence[str], arguments: str) -> None:
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
        raise RunFailed(f"GRUB did not take {name} as its next entry: it has {armed!r}")


def disarm(server: Machine) -> bool:
    """Whether the server's next boot was to be a trial of ours; it is not any more."""
    if not _saved(server, "next_entry").startswith(TRIAL):
        return False
    must(server, ["grub-editenv", "-", "unset", "next_entry"])
    return True


def _saved(server: Machine, name: str) -> str:
    """What the environment block holds under `name`; empty for nothing."""
    return environment(must(server, ["grub-editenv", "-", "list"])).get(name, "")
