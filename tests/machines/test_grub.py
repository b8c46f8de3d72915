# SPDX-License-Identifier: MIT
"""A server whose GRUB cannot boot once and go back is refused with every reason; the default is pinned."""

import re
from pathlib import Path

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.machines import grub
from lockscale.machines.grub import (
    BEGIN,
    CUSTOM,
    END,
    PINNED,
    boot_next,
    disarm,
    pin_default,
    read_grub,
    unpin_default,
)
from machines.told_server import MENU, NEW, OLD, SOUND, ToldServer

SUPERUSERS = f"grep -shE ^\\s*set superusers= /boot/grub/grub.cfg {CUSTOM}"


def changed(**answers: str) -> ToldServer:
    """A sound server with some answers changed, each named by a word of its command."""
    keys = {name: next(key for key in SOUND if name in key) for name in answers}
    return ToldServer(SOUND | {keys[name]: text for name, text in answers.items()})


def test_the_saved_default_is_read_and_pinned():
    read = read_grub(ToldServer(SOUND))
    assert (read.default.release, read.is_pinned) == (OLD, True)
    server = ToldServer({})
    pin_default(server, read)
    assert server.asked == []


@pytest.mark.parametrize("saved", ["", "saved_entry=1\n", "saved_entry=Old\n"])
def test_a_default_that_a_new_kernel_could_take_over_is_saved_by_its_name(saved: str):
    read = read_grub(changed(editenv=saved))
    assert (read.default.release, read.is_pinned) == (OLD, False)
    server = ToldServer({"mkdir -p /var/lib/lockscale": "", "grub-set-default old": ""})
    pin_default(server, read)
    assert server.asked[-1] == "grub-set-default old"
    assert server.written[PINNED] == f"{saved.strip().removeprefix('saved_entry=')}\nold\n"


@pytest.mark.parametrize("saved", ["", "saved_entry=gnulinux-simple-A\n", "saved_entry=Debian GNU/Linux\n"])
def test_the_entry_of_whatever_kernel_is_newest_is_not_what_is_saved(saved: str):
    """As grub-mkconfig writes a menu unless it is told GRUB_DISABLE_SUBMENU=y."""
    menu = Path(__file__).parents[1].joinpath("server/samples/grub-2.06-debian.cfg").read_text()
    newest = "menuentry 'Debian GNU/Linux' $menuentry_id_option 'gnulinux-simple-A'"
    simple = f"{newest} {{\nlinux /vmlinuz-{OLD}\n}}\n"
    submenu = "submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-A' {\n"
    first = menu.index("menuentry '")
    behind = menu.index("### END /etc/grub.d/10_linux")
    menu = f"{menu[:first]}{simple}{submenu}{menu[first:behind]}}}\n{menu[behind:]}"
    read = read_grub(changed(cat=menu, editenv=saved))
    assert (read.default.release, read.is_pinned) == (OLD, False)
    assert read.default.path.startswith(f"gnulinux-advanced-A>gnulinux-{OLD}-advanced-")


@pytest.mark.parametrize(
    ("note", "saved", "said"),
    [
        ("\nold\n", "old", "grub-editenv - unset saved_entry"),
        ("1\nold\n", "old", "grub-set-default 1"),
        ("1\nold\n", "other", None),
    ],
)
def test_the_default_is_saved_as_it_was_unless_somebody_chose_another(
    note: str, saved: str, said: str | None
):
    answers = {f"cat {PINNED}": note, "grub-editenv - list": f"saved_entry={saved}\n", f"rm -f {PINNED}": ""}
    server = ToldServer(answers | {said or "": ""})
    unpin_default(server)
    assert server.asked[2:] == [*([said] if said else []), f"rm -f {PINNED}"]
    unpin_default(ToldServer({}))  # never pinned


def test_every_reason_is_named_at_once():
    server = changed(
        cat=MENU.replace("${saved_entry}", "0").replace("custom.cfg", "other.cfg"), abstraction="lvm\n"
    )
    server.answers |= {
        "grep -rsh ^GRUB_DEFAULT= /etc/default/grub /etc/default/grub.d": "GRUB_DEFAULT=0\n",
        "grep -sx LOAD_KEXEC=true /etc/default/kexec": "LOAD_KEXEC=true\n",
        f"od -A n -t u1 -j 4 {grub.SECURE_BOOT}": "   1\n",
    }
    with pytest.raises(BadInput) as refused:
        read_grub(server)
    said = str(refused.value)
    for reason in (
        "change GRUB_DEFAULT=0 in /etc/default/grub to GRUB_DEFAULT=saved",
        "41_custom",
        "cannot write to ext2 lvm",
        "LOAD_KEXEC=false",
        "Secure Boot is on",
    ):
        assert reason in said
    assert "\n" not in said


@pytest.mark.parametrize("file_system", ["btrfs", "zfs"])
def test_a_file_system_that_grub_only_reads_is_refused(file_system: str):
    with pytest.raises(BadInput, match=f"cannot write to {file_system}"):
        read_grub(changed(fs=f"{file_system}\n"))


@pytest.mark.parametrize("target", ["fs", "abstraction"])
def test_where_grub_may_not_be_able_to_write_no_trial_is_begun(target: str):
    server = ToldServer(SOUND)
    del server.answers[f"grub-probe --target={target} /boot/grub"]
    with pytest.raises(BadInput, match="grub-probe does not tell what /boot/grub is on"):
        read_grub(server)


def test_a_server_without_grub_or_with_a_lost_default_is_refused():
    with pytest.raises(BadInput, match=re.escape("no /boot/grub/grub.cfg: run update-grub")):
        read_grub(ToldServer({"uname -r": OLD}))
    with pytest.raises(BadInput, match=r"block cannot be read: .*grub-editenv /boot/grub/grubenv create"):
        read_grub(ToldServer({key: text for key, text in SOUND.items() if "editenv" not in key}))
    with pytest.raises(BadInput, match="'gone' is not an entry"):
        read_grub(changed(editenv="saved_entry=gone\n"))


def test_the_trial_is_an_entry_of_its_own():
    armed = {"grub-editenv - list": f"saved_entry=old\nnext_entry=lockscale-trial-{NEW}\n"}
    server = ToldServer(SOUND | armed | {f"grub-reboot lockscale-trial-{NEW}": ""})
    boot_next(server, read_grub(server).entry_of(NEW), ["insmod setpci"], "panic=10")
    assert server.custom == (
        f"{BEGIN}\nmenuentry 'Linux {NEW} on trial' --unrestricted --id lockscale-trial-{NEW} {{\n"
        f"insmod setpci\n\tlinux /boot/vmlinuz-{NEW} root=/dev/vda1 ro panic=10\n}}\n{END}\n"
    )


def test_a_default_that_waits_for_a_password_is_refused():
    """Nobody is at the console when the server reboots."""
    asks = {SUPERUSERS: 'set superusers="root"\n'}
    with pytest.raises(BadInput, match=r"asks for a password before it boots its default.*--unrestricted"):
        read_grub(ToldServer(SOUND | asks))
    free = MENU.replace("menuentry 'Old'", "menuentry 'Old' --unrestricted")
    assert read_grub(ToldServer(SOUND | asks | {"cat /boot/grub/grub.cfg": free})).default.release == OLD


def test_a_one_shot_that_grub_did_not_take_is_an_error():
    server = ToldServer(SOUND | {f"grub-reboot lockscale-trial-{NEW}": ""})
    with pytest.raises(RunFailed, match="did not accept"):
        boot_next(server, read_grub(server).entry_of(NEW), [], "panic=10")


@pytest.mark.parametrize(
    ("armed", "is_ours"), [(f"lockscale-trial-{NEW}", True), ("memtest", False), ("", False)]
)
def test_only_a_trial_of_ours_is_disarmed(armed: str, is_ours: bool):
    unset = "grub-editenv - unset next_entry"
    server = ToldServer({"grub-editenv - list": f"saved_entry=old\nnext_entry={armed}\n", unset: ""})
    assert disarm(server) is is_ours
    assert (unset in server.asked) is is_ours
