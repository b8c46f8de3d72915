# SPDX-License-Identifier: MIT
"""Only our own kernels are put on a server or taken off it, and the default never changes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.grub import BEGIN
from lockscale.machines.machine import Completed
from lockscale.machines.server_kernels import (
    OnServer,
    install_package,
    installed_kernels,
    purge_torn,
    remove_kernel,
)
from lockscale.measure.target_ssh import install
from machines.told_server import MENU, NEW, OLD, SOUND, ToldServer, files_in_boot

DEB = Path("linux.deb")
INSTALL = f"env DEBIAN_FRONTEND=noninteractive dpkg --install /var/tmp/{DEB}"
OTHER = "6.12.117-lockscale-e3b0c442"
DF = "df --output=avail -BM /boot /lib/modules /var/tmp"
ROOMY = SOUND | {DF: "Avail\n1000M\n1000M\n1000M\n", INSTALL: "", "update-grub": ""}
PURGE = "dpkg --purge --force-remove-reinstreq linux-image"
STATE = "dpkg-query --show --showformat=${db:Status-Status} linux-image"
WITH_OURS = ROOMY | {
    "ls /boot": f"config-{NEW}\nvmlinuz-{NEW}\nvmlinuz-{OLD}\nvmlinuz-{OTHER}\nvmlinuz-6.6.0-custom\n",
    f"dpkg-query --search /boot/vmlinuz-{OTHER}": f"linux-image-{OTHER}: /boot/vmlinuz-{OTHER}\n",
    f"{STATE}-{OTHER}": "installed",
}
LOOK = f"grep -qsx {BEGIN} /boot/grub/custom.cfg"
UNITS = ("trial-reached.service", "trial.timer", "trial.service", "home.timer", "home.service")
FORGET = "rm -f /var/lib/lockscale/trial " + " ".join(
    f"/etc/systemd/system/lockscale-{unit}" for unit in UNITS
)


class Built(NamedTuple):
    release: str
    package: Path


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a little less than 1 MiB."""
    monkeypatch.chdir(tmp_path)
    DEB.write_bytes(bytes(1000))


def test_the_default_is_pinned_before_a_package_is_installed():
    server = ToldServer(
        ROOMY | {"grub-editenv - list": "", "mkdir -p /var/lib/lockscale": "", "grub-set-default old": ""}
    )
    with pytest.raises(RunFailed, match="the server's default"):
        install_package(server, NEW, DEB)  # this server does not keep what it was told to save
    assert server.asked.index("grub-set-default old") < server.asked.index(INSTALL)
    assert f"{PURGE}-{NEW}" in server.asked, "a kernel that became the default does not stay"


def test_a_package_is_installed_without_a_question_and_not_left_lying():
    server = ToldServer(ROOMY | {"rm -f /var/tmp/linux.deb": ""})
    install_package(server, NEW, DEB)
    assert server.written == {"/var/tmp/linux.deb": "linux.deb"}
    assert server.asked.index(INSTALL) < server.asked.index("rm -f /var/tmp/linux.deb")
    unable = {line: said for line, said in ROOMY.items() if line != INSTALL}
    with pytest.raises(RunFailed, match="dpkg --install"):
        install_package(ToldServer(unable), NEW, DEB)


@pytest.mark.parametrize(
    "release",
    ["6.12.117", "6.12.117-amd64", "../../etc/lockscale-1", "6.12-lockscale-1 2", "-lockscale-1", ""],
)
def test_a_name_that_is_not_ours_is_refused_before_anything_is_asked(release: str):
    server = ToldServer(ROOMY)
    with pytest.raises(BadInput, match="only lockscale's kernels"):
        install_package(server, release, DEB)
    assert server.asked == []


def test_a_full_boot_and_a_menu_without_the_kernel_are_refused():
    rooms = {"boot": "12M 900M 900M", "lib/modules": "900M 3M 900M", "var/tmp": "900M 900M 0M"}
    for folder, free in rooms.items():
        with pytest.raises(BadInput, match=rf"the server's /{folder} has \d+ MiB free"):
            install_package(ToldServer(ROOMY | {DF: f"Avail {free}"}), NEW, DEB)
    without = ROOMY | {"cat /boot/grub/grub.cfg": MENU.replace(NEW, OTHER)}
    with pytest.raises(BadInput, match="no entry"):
        install_package(ToldServer(without), NEW, DEB)


def test_ours_are_listed_with_what_holds_them():
    assert installed_kernels(ToldServer(WITH_OURS | {"uname -r": f"{NEW}\n"})) == [
        OnServer(NEW, package=None, is_running=True, is_default=False),
        OnServer(OTHER, package=f"linux-image-{OTHER}", is_running=False, is_default=False),
    ]


def test_the_running_the_default_and_other_peoples_kernels_are_not_removed():
    for change, release, reason in (
        ({"uname -r": f"{NEW}\n"}, NEW, "runs on the server"),
        ({"grub-editenv - list": "saved_entry=new\n"}, NEW, "is the default"),
        ({}, OLD, "no lockscale kernel"),
        ({}, "6.6.0-custom", "no lockscale kernel"),
    ):
        server = ToldServer(WITH_OURS | change)
        with pytest.raises(BadInput, match=reason):
            remove_kernel(server, release)
        assert not [line for line in server.asked if line.startswith(("rm", "dpkg "))]


def test_a_package_is_purged_and_an_image_is_deleted():
    rest = {LOOK: "", FORGET: ""}
    for release, purged in ((OTHER, [f"{PURGE}-{OTHER}"]), (NEW, [])):
        files = " ".join(files_in_boot(release))
        gone = {f"rm -f {files}": "", f"rm -rf /lib/modules/{release}": ""} | dict.fromkeys(purged, "")
        server = ToldServer(WITH_OURS | rest | gone)
        remove_kernel(server, release)
        assert [line for line in server.asked if line.startswith("dpkg ")] == purged
        assert server.asked[-4:] == ["update-grub", "grub-editenv - list", LOOK, FORGET]


def test_a_package_that_cannot_be_installed_is_taken_off_again():
    """Half-installed it would make apt refuse all else, and its image would pass for a kernel."""
    server = ToldServer({line: said for line, said in ROOMY.items() if line != INSTALL})
    with pytest.raises(RunFailed, match="dpkg --install"):
        install_package(server, NEW, DEB)
    assert server.asked.index(f"{PURGE}-{NEW}") > server.asked.index(INSTALL)


@pytest.mark.parametrize("state", ["half-installed", "unpacked", "half-configured", "triggers-awaited"])
def test_a_kernel_whose_package_was_cut_short_is_installed_again(state: str):
    """A dpkg that was killed leaves the image in /boot: without an initrd that is no kernel to boot."""
    cut = WITH_OURS | {f"{STATE}-{NEW}": state, "rm -f /var/tmp/linux.deb": ""}
    del cut[f"dpkg-query --search /boot/vmlinuz-{OTHER}"]
    for there, asked in ((cut, 1), (cut | {f"{STATE}-{NEW}": "installed"}, 0)):
        server = ToldServer(there)
        install(server, [Built(NEW, DEB)])
        assert server.asked.count(INSTALL) == asked


def test_two_arms_of_one_kernel_install_it_once():
    server = ToldServer(ROOMY | {"ls /boot": f"vmlinuz-{OLD}\n", "rm -f /var/tmp/linux.deb": ""})
    install(server, [Built(NEW, DEB), Built(NEW, DEB)])
    assert server.asked.count(INSTALL) == 1


def test_one_that_no_package_brought_is_left_as_it_is():
    server = ToldServer(WITH_OURS)
    install(server, [Built(NEW, DEB)])
    assert INSTALL not in server.asked and purge_torn(server) == []


def test_with_the_last_of_ours_the_default_is_saved_as_it_was_found():
    gone = {
        f"rm -f {' '.join(files_in_boot(NEW))}": "",
        f"rm -rf /lib/modules/{NEW}": "",
        LOOK: "",
        FORGET: "",
    }
    asks = "cat /var/lib/lockscale/default"
    for listed, asked in ((f"vmlinuz-{NEW}\n", 1), (f"vmlinuz-{NEW}\nvmlinuz-{OTHER}\n", 0)):
        server = ToldServer(WITH_OURS | gone | {"ls /boot": listed})
        remove_kernel(server, NEW)
        assert server.asked.count(asks) == asked


NOTE = "/var/lib/lockscale/default"
PINNED = {"test -e " + NOTE: "", "cat " + NOTE: "\nold\n", "rm -f " + NOTE: ""}
UNPIN = "grub-editenv - unset saved_entry"
OURS_TO_DPKG = "dpkg-query --show --showformat=${Package} ${db:Status-Status}\\n linux-image-*-lockscale-*"


class Interrupted(ToldServer):
    """A person presses Ctrl-C while dpkg runs."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        done = super().run(argv, timeout_s=timeout_s)
        if "--install" in argv:
            raise KeyboardInterrupt
        return done


def gone(release: str) -> dict[str, str]:
    """The answers to what takes a kernel off."""
    files = f"rm -f {' '.join(files_in_boot(release))}"
    lines = (f"{PURGE}-{release}", files, f"rm -rf /lib/modules/{release}", UNPIN, LOOK, FORGET)
    return dict.fromkeys(lines, "")


def test_an_interrupted_installation_is_taken_off_again():
    server = Interrupted(ROOMY | gone(NEW) | {"ls /boot": f"vmlinuz-{NEW}.dpkg-new\n"})
    with pytest.raises(KeyboardInterrupt):
        install_package(server, NEW, DEB)
    assert {f"{PURGE}-{NEW}", f"rm -rf /lib/modules/{NEW}"} <= set(server.asked)


def test_the_default_is_as_it_was_found_where_the_first_of_ours_cannot_be_installed():
    unable = {line: said for line, said in ROOMY.items() if line != INSTALL} | PINNED | gone(NEW)
    for listed, unpinned in (("", True), (f"vmlinuz-{NEW}.dpkg-new\n", True), (f"vmlinuz-{OTHER}\n", False)):
        server = ToldServer(unable | {"ls /boot": f"vmlinuz-{OLD}\n{listed}"})
        with pytest.raises(RunFailed, match="dpkg --install"):
            install_package(server, NEW, DEB)
        assert (UNPIN in server.asked) == unpinned


def test_the_default_stays_pinned_where_dpkg_may_still_be_at_work():
    """It holds its lock, so no other takes the package off, and in the end the kernel is in the menu."""
    left = {"ls /boot": f"vmlinuz-{OLD}\nvmlinuz-{NEW}.dpkg-new\n"}
    left |= {OURS_TO_DPKG: f"linux-image-{NEW} half-installed\n"}
    refused = {line: said for line, said in gone(NEW).items() if not line.startswith(PURGE)}
    interrupted = Interrupted(ROOMY | PINNED | refused | left)
    with pytest.raises(KeyboardInterrupt):
        install_package(interrupted, NEW, DEB)
    later = ToldServer(ROOMY | PINNED | refused | left)
    assert purge_torn(later) == []
    assert UNPIN not in {*interrupted.asked, *later.asked}


def test_a_package_that_was_killed_before_its_image_had_a_name_is_taken_off():
    """dpkg unpacks all files beside their places, and only then renames them."""
    left = {"ls /boot": f"vmlinuz-{OLD}\nvmlinuz-{NEW}.dpkg-new\n"}
    left |= {OURS_TO_DPKG: f"linux-image-{OTHER} installed\nlinux-image-{NEW} half-installed\n"}
    server = ToldServer(ROOMY | PINNED | gone(NEW) | left)
    assert installed_kernels(server) == [] and purge_torn(server) == [NEW]
    assert {f"{PURGE}-{NEW}", UNPIN} <= set(server.asked)
    assert f"{PURGE}-{OTHER}" not in server.asked


def test_a_removal_that_was_cut_short_is_ended():
    """Without it the default would be saved by name for ever, with no kernel of ours to remove."""
    for noted, listed, ended in ((PINNED, OLD, True), ({}, OLD, False), (PINNED, OTHER, False)):
        server = ToldServer(ROOMY | noted | gone(NEW) | {"ls /boot": f"vmlinuz-{listed}\n"})
        assert purge_torn(server) == []
        assert ({"update-grub", UNPIN} <= set(server.asked)) == ended
