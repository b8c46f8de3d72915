# SPDX-License-Identifier: MIT
"""A kernel's configuration: what was asked for was taken, and which spin lock that gives."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.kernels.base import Kind, build_kind, build_kinds
from lockscale.kernels.config import (
    not_taken,
    read_config,
    refuse_malformed,
    refuse_unknown,
    spin_lock_kind,
)

options = st.dictionaries(
    st.from_regex(r"CONFIG_[A-Z0-9_]+", fullmatch=True),
    st.sampled_from(["y", "m", "n", "64", "0xff", '"lockscale"', '"a=b"', '""']),
    max_size=20,
)


def written(values: dict[str, str]) -> str:
    """As scripts/kconfig writes a .config: an option that is off is a comment."""
    head = "#\n# Automatically generated file; DO NOT EDIT.\n#\n"
    return head + "".join(f"# {k} is not set\n" if v == "n" else f"{k}={v}\n" for k, v in values.items())


def test_values_by_hand():
    text = '# CONFIG_A is not set\nCONFIG_B=y\n\n#CONFIG_C=y\n# CONFIG_D=y\nCONFIG_E="x y"\nCONFIG_F=n\n'
    assert read_config(text) == {"CONFIG_A": "n", "CONFIG_B": "y", "CONFIG_E": '"x y"', "CONFIG_F": "n"}


@given(options)
def test_what_was_written_is_read_back(values):
    assert read_config(written(values)) == values


@pytest.mark.slow
@given(options, options)
def test_what_was_asked_for_and_not_taken_is_named(asked, rest):
    assert not_taken(written(asked), written({**rest, **asked})) == []
    absent = not_taken(written(asked), "")
    assert absent == [f"{k}={v}" for k, v in asked.items() if v != "n"]


def test_an_option_that_is_gone_counts_as_off():
    assert not_taken("CONFIG_GONE=n\n", "CONFIG_OTHER=y\n") == []
    assert not_taken("CONFIG_GONE=y\n", "CONFIG_OTHER=y\n") == ["CONFIG_GONE=y"]
    assert not_taken("CONFIG_HYPERVISOR_GUEST=n\n", "CONFIG_HYPERVISOR_GUEST=y\n") == [
        "CONFIG_HYPERVISOR_GUEST=n"
    ]


@pytest.mark.parametrize("kind", build_kinds())
def test_every_line_of_the_shipped_fragments_says_something(kind: str):
    refuse_malformed(build_kind(kind))


def test_only_what_a_kconfig_file_defines_is_known(tmp_path: Path):
    (tmp_path / "fs/ext4").mkdir(parents=True)
    (tmp_path / "fs/ext4/Kconfig").write_text("config A\n\tbool\n\tdepends on B\n\thelp\n\t  See config.\n")
    (tmp_path / "fs/ext4/Makefile").write_text("config C\n")
    kind = Kind("rate", (tmp_path / "x.config",))
    kind.configs[0].write_text("CONFIG_A=n\nCONFIG_B=y\n")
    refuse_unknown(kind, tmp_path, "6.12.99")
    for name in ("B", "C", "AA"):
        kind.configs[0].write_text(f"CONFIG_A=n\nCONFIG_{name}=n\n")
        with pytest.raises(
            BadInput, match=rf"x\.config asks for CONFIG_{name}=n, which is in no Kconfig file of"
        ):
            refuse_unknown(kind, tmp_path, "6.12.99")


# arch/x86/include/asm/qspinlock.h: virt_spin_lock() exists under CONFIG_PARAVIRT
@pytest.mark.parametrize(
    ("on", "kind"),
    [
        ("SMP QUEUED_SPINLOCKS", "queued"),
        ("SMP QUEUED_SPINLOCKS HYPERVISOR_GUEST", "queued"),
        ("SMP QUEUED_SPINLOCKS HYPERVISOR_GUEST PARAVIRT", "virt-test-and-set"),
        ("SMP QUEUED_SPINLOCKS HYPERVISOR_GUEST PARAVIRT PARAVIRT_SPINLOCKS", "paravirt-queued"),
        ("SMP", "unknown"),
        ("QUEUED_SPINLOCKS", "none"),
        ("", "none"),
    ],
)
def test_an_unfair_lock_is_told_from_a_fifo_one(on, kind):
    assert spin_lock_kind(written({f"CONFIG_{option}": "y" for option in on.split()})) == kind


def test_an_option_that_is_off_decides_nothing():
    values = {"CONFIG_SMP": "y", "CONFIG_QUEUED_SPINLOCKS": "y", "CONFIG_PARAVIRT": "n"}
    assert spin_lock_kind(written(values)) == "queued"


def test_the_shipped_fragment_asks_for_queued_locks_that_count_their_events():
    asked = read_config(build_kind("rate").fragment)
    assert spin_lock_kind(build_kind("rate").fragment) == "queued"
    assert asked["CONFIG_HYPERVISOR_GUEST"] == "n"
    assert asked["CONFIG_LOCK_EVENT_COUNTS"] == "y"
    assert asked["CONFIG_FUNCTION_PROFILER"] == "y"
    assert asked["CONFIG_LOCALVERSION_AUTO"] == "n"
