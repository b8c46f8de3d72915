# SPDX-License-Identifier: MIT
"""A server whose GRUB cannot boot once and go back is refused with every reason; the default is pinned."""

import re

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.targets import grub
from lockscale.targets.grub import boot_next, pin_default, read_grub
from lockscale.targets.grub_custom import BEGIN, CUSTOM, END
from targets.told_server import MENU, NEW, OLD, SOUND, ToldServer

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
    server = ToldServer({"grub-set-default old": ""})
    pin_default(server, read)
    assert server.asked == ["grub-set-default old"]


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
        "cannot write on ext2 lvm",
        "LOAD_KEXEC=false",
        "Secure Boot is on",
    ):
        assert reason in said
    assert "\n" not in said


@pytest.mark.parametrize("file_system", ["btrfs", "zfs"])
def test_a_file_system_that_grub_only_reads_is_refused(file_system: str):
    with pytest.raises(BadInput, match=f"cannot write on {file_system}"):
        read_grub(changed(fs=f"{file_system}\n"))


def test_a_server_without_grub_or_with_a_lost_default_is_refused():
    with pytest.raises(BadInput, match=re.escape("no /boot/grub/grub.cfg")):
        read_grub(ToldServer({"uname -r": OLD}))
    with pytest.raises(BadInput, match="'gone' is no entry"):
        read_grub(changed(editenv="saved_entry=gone\n"))


def test_the_trial_is_an_entry_of_its_own():
    armed = {"grub-editenv - list": f"saved_entry=old\nnext_entry=lockscale-trial-{NEW}\n"}
    server = ToldServer(SOUND | armed | {f"grub-reboot lockscale-trial-{NEW}": "", "sync": ""})
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
    server = ToldServer(SOUND | {f"grub-reboot lockscale-trial-{NEW}": "", "sync": ""})
    with pytest.raises(RunFailed, match="did not take"):
        boot_next(server, read_grub(server).entry_of(NEW), [], "panic=10")
