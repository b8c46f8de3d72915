# SPDX-License-Identifier: MIT
"""On a real server: a kernel boots once, and whatever it does the old one is back afterwards."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.build import Kernel
from lockscale.kernels.package import ServerKernel
from lockscale.kernels.series import read_series
from lockscale.kernels.source import find_source
from lockscale.machines.boot_watchdog import I6300esb, NoWatchdog
from lockscale.machines.grub import CUSTOM, PINNED, environment
from lockscale.machines.machine import must, must_all
from lockscale.machines.server_boot import boot_once, go_home
from lockscale.machines.server_kernels import installed_kernels, remove_kernel
from lockscale.machines.ssh import SshMachine
from lockscale.measure.target_ssh import install, recipe_of
from server.kernels import breaking, install_image
from server.machine import Server
from server.target import target_of

pytestmark = pytest.mark.guest
BOOT_S = 240  # 14 s on an idle machine; a busy one takes six times that
UNREACHED_S = 90
DEFAULTS = "/etc/default/grub"
FORGET_DEFAULT = ["grub-editenv", "-", "unset", "saved_entry"]
GUARD = I6300esb(timeout_s=180)


@pytest.fixture(scope="module")
def machine(server: Server) -> Iterator[SshMachine]:
    server.wait_for_ssh()  # whatever another test left behind
    with SshMachine(server.host) as found:
        yield found


@pytest.fixture(scope="module")
def kernel(server: Server, machine: SshMachine, small_kernel_config: Path) -> ServerKernel:
    """One arm, made for this server."""
    recipe = recipe_of(machine, target_of(server, small_kernel_config), find_source())
    return recipe.build(read_series("inode-claim", "search-locked"))


@pytest.fixture(scope="module")
def installed(machine: SshMachine, kernel: ServerKernel) -> ServerKernel:
    """The same kernel's package, installed."""
    install(machine, [kernel])
    return kernel


def home(machine: SshMachine) -> str:
    return must(machine, ["uname", "-r"]).strip()


@pytest.mark.long
def test_a_kernel_boots_once_and_the_next_boot_is_the_old_one(machine: SshMachine, installed: ServerKernel):
    old, first = home(machine), machine.boot_id()
    assert boot_once(machine, installed, GUARD, BOOT_S) == installed.build_id
    assert home(machine) == installed.release
    assert machine.boot_id() != first
    with pytest.raises(BadInput, match="runs on the server"):
        remove_kernel(machine, installed.release)
    go_home(machine, BOOT_S)
    assert home(machine) == old
    [ours] = installed_kernels(machine)
    assert (ours.release, ours.is_running, ours.is_default) == (installed.release, False, False)


@pytest.mark.long
def test_kexec_boots_it_once_too(machine: SshMachine, installed: ServerKernel):
    old = home(machine)
    assert boot_once(machine, installed, NoWatchdog(), BOOT_S, method="kexec") == installed.build_id
    go_home(machine, BOOT_S)
    assert home(machine) == old
    with pytest.raises(BadInput, match="armed by GRUB"):
        boot_once(machine, installed, GUARD, BOOT_S, method="kexec")


@pytest.mark.long
def test_a_kernel_with_another_build_id_is_named_and_left(machine: SshMachine, installed: ServerKernel):
    old, first = home(machine), machine.boot_id()
    other = replace(installed, build_id="0" * 40)
    with pytest.raises(RunFailed, match=rf"build-id {installed.build_id}, not .* back on Linux {old}"):
        boot_once(machine, other, GUARD, BOOT_S)
    assert home(machine) == old
    assert machine.boot_id() != first


@pytest.mark.long
def test_a_kernel_whose_network_never_comes_up_is_named(machine: SshMachine, kernels: dict[str, Kernel]):
    """The guests' kernel has no network card at all."""
    old, first = home(machine), machine.boot_id()
    guests = kernels["search-locked"]
    install_image(machine, guests)
    with pytest.raises(BadInput, match="lacks the watchdog's driver"):
        boot_once(machine, guests, GUARD, BOOT_S)
    with pytest.raises(RunFailed, match=rf"could not be reached over the network.* back on Linux {old}"):
        boot_once(machine, guests, NoWatchdog(), UNREACHED_S)
    assert home(machine) == old
    assert machine.boot_id() != first


def test_a_kernel_that_panics_is_named_and_left(machine: SshMachine, kernels: dict[str, Kernel]):
    """The guests' kernel reads no initrd, which GRUB counts on to find the root by its UUID."""
    old, first = home(machine), machine.boot_id()
    guests = kernels["search-locked"]
    initrd = f"/boot/initrd.img-{guests.release}"
    must(machine, ["touch", initrd])
    install_image(machine, guests)
    with pytest.raises(RunFailed, match=rf"Linux \S+ panicked before user space: .* back on Linux {old}"):
        boot_once(machine, guests, NoWatchdog(), BOOT_S)
    assert home(machine) == old
    assert machine.boot_id() != first
    must(machine, ["rm", initrd])


@pytest.mark.long
@pytest.mark.parametrize(
    "ends, sentence",
    [
        pytest.param(
            True,
            r"Linux \S+ panicked before user space: .*; the server is back on Linux {old}",
            id="panics",
        ),
        pytest.param(
            False,
            r"Linux \S+ hangs before user space: the guard reset it, .* back on Linux {old}",
            id="hangs",
        ),
    ],
)
def test_a_kernel_that_never_reaches_user_space_is_named(
    machine: SshMachine, installed: ServerKernel, tmp_path: Path, ends: bool, sentence: str
):
    old, first = home(machine), machine.boot_id()
    with (
        breaking(machine, installed.release, tmp_path, ends=ends),
        pytest.raises(RunFailed, match=sentence.format(old=old)),
    ):
        boot_once(machine, installed, GUARD, BOOT_S)
    assert home(machine) == old
    assert machine.boot_id() != first


@pytest.mark.long
def test_a_menu_with_a_password_boots_a_trial_and_keeps_its_secret(
    machine: SshMachine, installed: ServerKernel
):
    """Debian's entries are free of it, as they must be where nobody sits; custom.cfg is root's alone."""
    theirs, script, kept = (
        'set superusers="boss"\npassword boss M\xfcller\n',
        "/etc/grub.d/10_linux",
        "/var/tmp/10_linux",
    )
    must_all(
        machine,
        [
            ["cp", "-p", script, kept],
            ["sed", "-i", 's/^CLASS="/CLASS="--unrestricted /', script],
            ["sh", "-c", 'echo GRUB_DISABLE_SUBMENU=y >> "$1"', "sh", DEFAULTS],  # a submenu asks for it
            ["rm", "-f", CUSTOM],  # an earlier trial's
            ["sh", "-c", 'umask 077; printf %s "$1" > "$2"', "sh", theirs, CUSTOM],
        ],
    )
    try:
        must(machine, ["update-grub"], timeout_s=300)
        must(machine, FORGET_DEFAULT)  # its name has the submenu in it
        assert boot_once(machine, installed, GUARD, BOOT_S) == installed.build_id
        assert must(machine, ["head", "-n", "2", CUSTOM]) == theirs
        assert must(machine, ["stat", "-c", "%a", CUSTOM]).strip() == "600"
        go_home(machine, BOOT_S)
        must(machine, ["mv", kept, script])
        must(machine, ["update-grub"], timeout_s=300)
        with pytest.raises(BadInput, match="asks for a password before it boots its default"):
            boot_once(machine, installed, GUARD, BOOT_S)
    finally:
        machine.run(["mv", kept, script])
        must(machine, ["rm", "-f", CUSTOM])
        go_home(machine, BOOT_S)
        must(machine, ["sed", "-i", "/^GRUB_DISABLE_SUBMENU/d", DEFAULTS])
        must(machine, ["update-grub"], timeout_s=300)
        must(machine, FORGET_DEFAULT)


@pytest.mark.long
def test_ours_are_removed_on_request_and_nothing_else(machine: SshMachine, installed: ServerKernel):
    for ours in installed_kernels(machine):
        remove_kernel(machine, ours.release)
    assert installed_kernels(machine) == []
    assert not environment(must(machine, ["grub-editenv", "-", "list"])).get("saved_entry")  # as in the image
    assert machine.run(["test", "-e", PINNED]).status
    left = must(machine, ["ls", "/boot"]).split()
    assert f"vmlinuz-{home(machine)}" in left
    assert not [name for name in left if "lockscale" in name]


@pytest.mark.long
def test_a_server_whose_default_is_not_saved_is_left_alone(machine: SshMachine, kernel: ServerKernel):
    """As update-grub leaves it with GRUB_DEFAULT=0."""
    names = [DEFAULTS, "/boot/grub/grub.cfg"]
    changes = ["-e", "s/^GRUB_DEFAULT=saved/GRUB_DEFAULT=0/", "-e", 's/default="${saved_entry}"/default="0"/']
    must(machine, ["sed", "--in-place=.kept", *changes, *names])
    before = must(machine, ["ls", "/boot"])
    try:
        with pytest.raises(BadInput, match=r"change GRUB_DEFAULT=0 .* to GRUB_DEFAULT=saved"):
            install(machine, [kernel])
        assert must(machine, ["ls", "/boot"]) == before
    finally:
        for name in names:
            must(machine, ["mv", f"{name}.kept", name])
