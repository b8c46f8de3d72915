# SPDX-License-Identifier: MIT
"""A server's kernel keeps the server's own configuration, but for what the measurement needs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_kernel_build import own_patches, toy_tree

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.base import build_kind, build_kinds
from lockscale.kernels.config import read_config, refuse_malformed
from lockscale.kernels.coverage import check_coverage
from lockscale.kernels.server_config import (
    Given,
    loaded,
    of_servers,
    own_options,
    refused,
    server_config,
    written,
)
from lockscale.kernels.source import Source, find_source
from server_sample import CONFIG, SERVER, server

CALLED = "the configuration of the server's Linux '6.1'"
GIVEN = Given(CONFIG, CALLED)
FRAGMENT = (paths.KERNEL_PATCHES / "server.config").read_text()
names = st.text("ABC019_", min_size=1, max_size=8).map("CONFIG_{}".format)
values = st.sampled_from(
    ["y", "m", "n", "64", "-1", "0xff", '"x y"', '""', '"gcc-12 (Debian 12.2.0-14+deb12u1)"']
)


# --- The server's own file ----------------------------------------------------------------------------


def test_debians_own_configuration_is_taken_whole():
    own = own_options(GIVEN)
    assert own["CONFIG_EXT4_FS"] == "m" and own["CONFIG_PARAVIRT_SPINLOCKS"] == "y"
    assert own["CONFIG_FUNCTION_PROFILER"] == "n" and own["CONFIG_NR_CPUS"] == "8192"
    assert len(own) == sum(line.startswith(("CONFIG_", "# CONFIG_")) for line in CONFIG.splitlines())


@given(st.dictionaries(names, values, max_size=10))
def test_what_is_written_is_what_the_server_said(options):
    said = {"CONFIG_BLOCK": "y", **options}
    assert own_options(Given(written(said), CALLED)) == said


@pytest.mark.parametrize(
    "value",
    [
        '"$(shell touch /tmp/x)"',
        '"`id`"',
        '"a;b"',
        '"a\\"b"',
        "yes",
        "y # z",
        '"a"b"',
        "$(CURDIR)",
        "'y'",
        '"|"',
    ],
)
def test_a_value_that_make_or_a_shell_would_read_as_more_is_refused(value):
    with pytest.raises(BadInput, match=r"says CONFIG_DEFAULT_HOSTNAME=.* is not a valid value: fix it there"):
        own_options(Given(f"{CONFIG}CONFIG_DEFAULT_HOSTNAME={value}\n", CALLED))


@given(st.text(max_size=30))
def test_no_text_in_a_configuration_gets_as_far_as_make_unless_it_is_plain(text):
    line = f"CONFIG_X={text}"
    try:
        own = own_options(Given(f"CONFIG_BLOCK=y\n{line}\n", CALLED))
    except BadInput as error:
        assert str(error).isprintable()
    else:
        assert not set("$`\\'") & set(own.get("CONFIG_X", ""))


@pytest.mark.parametrize("text", ["", "#\n", "<html>\n", "not found\n"])
def test_a_file_that_is_no_configuration_is_refused(text):
    with pytest.raises(
        BadInput,
        match=r"is not a kernel configuration \(it has no CONFIG_BLOCK\): put that kernel's own there",
    ):
        own_options(Given(text, CALLED))


def test_loaded_modules_are_read_from_lsmod_and_from_proc_modules_alike():
    lsmod = "Module                  Size  Used by\next4                  983040  1\nvirtio_blk  1  0\n"
    assert loaded(server(lsmod=lsmod), ["i6300esb", "iTCO-wdt"]) == [
        "ext4",
        "i6300esb",
        "iTCO_wdt",
        "virtio_blk",
    ]
    assert {"jbd2", "virtio_pci"} <= set(loaded(SERVER, []))
    with pytest.raises(BadInput, match="'; reboot' is not the name of a kernel module"):
        loaded(SERVER, ["; reboot"])


# --- The fragment -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", build_kinds())
def test_each_kind_of_build_has_the_servers_fragment_in_place_of_the_guests(kind):
    guest, ours = build_kind(kind), of_servers(build_kind(kind))
    assert ours.configs[0].name == "server.config" and ours.configs[1:] == guest.configs[1:]
    assert (ours.name, ours.on_top) == (guest.name, guest.on_top)
    refuse_malformed(ours)


def test_what_the_profilers_read_is_on_as_in_the_guest():
    guest, ours = read_config(build_kind("rate").fragment), read_config(FRAGMENT)
    needed = {
        k
        for k in guest
        if k.removeprefix("CONFIG_").startswith(("FUNCTION", "FTRACE", "DYNAMIC", "IKCONFIG"))
    }
    needed |= {"CONFIG_DEBUG_FS", "CONFIG_PERF_EVENTS", "CONFIG_KALLSYMS", "CONFIG_LOCK_EVENT_COUNTS"}
    assert needed and {k: ours.get(k) for k in needed} == {k: guest[k] for k in needed}


def test_the_kind_of_spin_lock_and_of_preemption_stays_the_servers():
    asked = read_config(FRAGMENT)
    assert not [name for name in asked if "PARAVIRT" in name or "PREEMPT" in name or "HYPERVISOR" in name]
    assert asked["CONFIG_QUEUED_SPINLOCKS"] == "y" and asked["CONFIG_EXT4_FS"] == "y"


def test_no_file_of_the_distributions_build_machine_is_asked_for():
    asked = read_config(FRAGMENT)
    for name in (
        "SYSTEM_TRUSTED_KEYS",
        "MODULE_SIG_KEY",
        "EXTRA_FIRMWARE",
        "INITRAMFS_SOURCE",
        "LOCALVERSION",
    ):
        assert asked[f"CONFIG_{name}"] == '""'


def test_an_empty_text_that_is_not_there_was_taken():
    asked = 'CONFIG_A=""\nCONFIG_B=n\nCONFIG_C=y\n'
    assert refused(asked, "CONFIG_C=y\n") == []
    assert refused(asked, 'CONFIG_A="x"\nCONFIG_B=m\n') == ['CONFIG_A=""', "CONFIG_B=n", "CONFIG_C=y"]


# --- In a tree ----------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path, own_cache) -> Source:
    own_patches()
    return find_source(str(toy_tree(tmp_path)))


def steps(name: str = "steps") -> list[str]:
    found = next(paths.BUILD_CACHE.glob(f"*/objects-configure/{name}"))
    return found.read_text().splitlines()


def test_localmodconfig_is_asked_with_the_servers_modules_between_two_defaults(tree):
    made = server_config(SERVER, keep=["i6300esb"], source=tree)
    assert [line.split()[0] for line in steps()] == ["olddefconfig", "localmodconfig", "olddefconfig"]
    assert [line.split()[0] for line in steps("lsmod.seen")[1:]] == loaded(SERVER, ["i6300esb"])
    got = read_config(made.text)
    assert refused(FRAGMENT, made.text) == []
    assert got["CONFIG_PARAVIRT_SPINLOCKS"] == "y" and made.spin_lock == "paravirt-queued"
    assert "CONFIG_XFS_FS" not in got  # the toy's localmodconfig drops every module


def test_the_full_configuration_keeps_every_module(tree):
    got = read_config(server_config(SERVER, "full", source=tree).text)
    assert got["CONFIG_XFS_FS"] == "m" and "localmodconfig" not in " ".join(steps())


def test_a_file_of_ones_own_stands_in_for_the_servers(tree, tmp_path: Path):
    own = tmp_path / "own.config"
    own.write_text("CONFIG_BLOCK=y\nCONFIG_HZ=300\nCONFIG_IGB=m\n")
    made = server_config(SERVER, own, source=tree)
    got = read_config(made.text)
    assert (got["CONFIG_HZ"], got["CONFIG_IGB"], made.mode) == ("300", "m", "file")
    assert "CONFIG_XFS_FS" not in got and refused(FRAGMENT, made.text) == []
    with pytest.raises(BadInput, match=r"absent\.config cannot be read"):
        server_config(SERVER, tmp_path / "absent.config", source=tree)


def test_a_configuration_is_made_once_for_the_same_server(tree):
    first = server_config(SERVER, source=tree)
    assert server_config(server(root="/dev/other", lsmod=SERVER.lsmod + SERVER.lsmod), source=tree) == first
    assert len(steps()) == 3
    assert server_config(server(lsmod="ext4 1 1\n"), source=tree).text == first.text
    assert len(steps()) == 6
    server_config(SERVER, kind="observe", source=tree)
    assert len(steps()) == 9


def test_a_fragment_that_the_servers_configuration_forbids_is_refused_and_not_kept(tree):
    toy = tree.path / "Makefile"
    toy.write_text(
        toy.read_text() + "\nolddefconfig: forbid\nforbid: ; @sed -i '/FUNCTION_PROFILER/d' $(O)/.config\n"
    )
    for _ in range(2):
        with pytest.raises(BadInput) as said:
            server_config(SERVER, source=tree)
        assert str(said.value).startswith(
            "CONFIG_FUNCTION_PROFILER=y does not work with the configuration of the server's Linux "
            "'6.1.0-56-amd64' in Linux 6.12.99 (1 such line(s))"
        )


# --- In the real tree ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_debians_configuration_becomes_one_of_ours_that_covers_the_server():
    made = server_config(SERVER, keep=["i6300esb"])
    got = read_config(made.text)
    assert refused(FRAGMENT, made.text) == []
    modules = {name.removeprefix("CONFIG_") for name, value in got.items() if value == "m"}
    assert {"VIRTIO_BLK", "VIRTIO_NET", "VIRTIO_PCI", "BLK_DEV_DM", "I6300ESB_WDT"} <= modules
    assert not {"XFS_FS", "IGB", "MEGARAID_SAS", "BLK_DEV_NVME", "ITCO_WDT"} & modules
    assert made.spin_lock == "paravirt-queued"
    found = check_coverage(SERVER, made, watchdog="i6300esb")
    assert (found.lacks, found.not_known) == ((), ())
    assert (
        "CONFIG_I6300ESB_WDT" in check_coverage(SERVER, server_config(SERVER), watchdog="i6300esb").lacks[0]
    )
