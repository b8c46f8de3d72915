# SPDX-License-Identifier: MIT
"""GRUB's menu is read as GRUB reads it: submenus, quotes, and what a saved name may mean."""

from pathlib import Path

import pytest

from lockscale.machines.grub import entries

SAMPLE = Path(__file__).parents[1] / "server" / "samples" / "grub-2.06-debian.cfg"
MENU = """\
function savedefault {
  if [ -z "${boot_once}" ]; then
    saved_entry="${chosen}"
  fi
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-AAAA' {
\tload_video
\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
\tif [ x$feature_platform_search_hint = xy ]; then
\t  search --no-floppy --fs-uuid --set=root AAAA
\tfi
\tlinux\t/boot/vmlinuz-6.1.0-56-amd64 root=UUID=AAAA ro console=ttyS0
\tinitrd\t/boot/initrd.img-6.1.0-56-amd64
}
submenu 'Advanced options for Debian' $menuentry_id_option 'gnulinux-advanced-AAAA' {
\tmenuentry 'Linux 6.12.117-lockscale-0badcafe' $menuentry_id_option 'gnulinux-6.12-advanced-AAAA' {
\t\tlinux\t/vmlinuz-6.12.117-lockscale-0badcafe root=/dev/vda1 ro
\t}
\tmenuentry 'Linux 6.1.0-56-amd64 (recovery mode)' $menuentry_id_option 'gnulinux-6.1-recovery-AAAA' {
\t\tlinux\t/boot/vmlinuz-6.1.0-56-amd64 root=UUID=AAAA ro single
\t}
}
menuentry "Somebody's own" --id own {
\tchainloader +1
}
"""


def test_entries_are_found_in_their_submenus_and_named_as_grub_names_them():
    simple, ours, recovery, own = entries(MENU)
    assert simple.path == "gnulinux-simple-AAAA"
    assert ours.path == "gnulinux-advanced-AAAA>gnulinux-6.12-advanced-AAAA"
    assert ours.release == "6.12.117-lockscale-0badcafe"
    assert recovery.arguments == "root=UUID=AAAA ro single"
    assert own.release is None
    assert own.ways == (("own", "Somebody's own", "2"),)


@pytest.mark.parametrize(
    "saved",
    ["gnulinux-advanced-AAAA>gnulinux-6.1-recovery-AAAA", "1>1", "gnulinux-advanced-AAAA>1"],
)
def test_a_saved_default_may_be_an_id_a_title_or_a_place(saved: str):
    assert [entry.is_called(saved) for entry in entries(MENU)] == [False, False, True, False]


@pytest.mark.parametrize("saved", ["gnulinux-advanced-AAAA", "1", "1>1>0", "gnulinux-simple-AAAA>0"])
def test_a_name_of_another_depth_is_no_entrys(saved: str):
    assert not any(entry.is_called(saved) for entry in entries(MENU))


def test_a_place_counts_submenus_as_one():
    assert [entry.is_called("2") for entry in entries(MENU)] == [False, False, False, True]


def test_a_trial_starts_the_same_commands_with_more_arguments():
    simple = entries(MENU)[0]
    changed = simple.with_arguments("panic=10")
    assert changed[5] == "\tlinux\t/boot/vmlinuz-6.1.0-56-amd64 root=UUID=AAAA ro console=ttyS0 panic=10"
    assert changed[:5] + changed[6:] == simple.body[:5] + simple.body[6:]


def test_what_debian_writes_is_read():
    usual, recovery = entries(SAMPLE.read_text())
    assert (usual.release, recovery.release) == ("6.1.0-56-amd64", "6.1.0-56-amd64")
    assert usual.path == "gnulinux-6.1.0-56-amd64-advanced-6a129244-2649-463a-84af-9b183d71ccd5"
    assert usual.arguments == "root=UUID=6a129244-2649-463a-84af-9b183d71ccd5 ro console=ttyS0"
    assert recovery.arguments.split()[2] == "single"
    assert usual.body[-1].split() == ["initrd", "/boot/initrd.img-6.1.0-56-amd64"]


@pytest.mark.parametrize(
    ("submenu", "entry", "is_free"),
    [("", "", False), ("", "--unrestricted", False), ("--unrestricted", "--unrestricted", True)],
)
def test_an_entry_is_free_of_the_password_only_with_the_menus_above_it(
    submenu: str, entry: str, is_free: bool
):
    inside = f"menuentry 'Linux' {entry} --id one {{\nlinux /vmlinuz-6.1\n}}\n"
    menu = f"submenu 'Old ones' {submenu} --id old {{\n{inside}}}\n"
    (found,) = entries(menu)
    assert (found.path, found.is_unrestricted) == ("old>one", is_free)
