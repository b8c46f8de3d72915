# SPDX-License-Identifier: MIT
"""An arm that may lose data says so in its series file, and runs where nothing can be lost."""

import pytest
from tiny_kernel import IALLOC, Kernel, text

from lockscale.errors import BadInput
from lockscale.kernels.series import read_series, refuse_unsafe


def test_an_unsafe_arm_runs_on_a_disposable_target_only(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    kernel.series()
    listing = kernel.patches / "s/arm/series"
    listing.write_text("# unsafe: a crash leaks inodes\n" + listing.read_text())
    series = read_series("s", "arm")
    assert series.unsafe == "a crash leaks inodes"
    assert len(series.patches) == 1
    refuse_unsafe(series, disposable=True, target="qemu")
    with pytest.raises(BadInput, match=r"^arm s/arm is unsafe \(a crash leaks inodes\): .* server1 lacks$"):
        refuse_unsafe(series, disposable=False, target="server1")


def test_a_safe_arm_runs_anywhere(kernel: Kernel):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    refuse_unsafe(kernel.series(), disposable=False, target="server1")


@pytest.mark.parametrize(
    "line", ["# Unsafe: leaks", "#unsafe: leaks", "# unsafe", "# unsafe:", "# UNSAFE leaks"]
)
def test_a_misspelt_mark_is_not_overlooked(kernel: Kernel, line: str):
    kernel.commit("fs/ext4/ialloc.c", text(IALLOC, l15="changed"))
    kernel.series()
    listing = kernel.patches / "s/arm/series"
    listing.write_text(f"{line}\n" + listing.read_text())
    with pytest.raises(BadInput, match="write `# unsafe: why`"):
        read_series("s", "arm")
