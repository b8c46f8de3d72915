# SPDX-License-Identifier: MIT
"""Only our own kernels are put on a server or taken off it, and the default never changes."""

from pathlib import Path
from typing import NamedTuple

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.grub import BEGIN
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
