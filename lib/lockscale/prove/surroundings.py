# SPDX-License-Identifier: MIT
"""What no patch is to blame for: it is looked for once, before any arm, and ends the command."""

from lockscale.kernels.build import build_folder
from lockscale.kernels.source import compiler, find_source
from lockscale.programs import need


def refuse_bad_surroundings(*, build: bool = False, boot: bool = False) -> None:
    """BadInput when the kernel source is not usable, its build folder full, or a tool missing."""
    with build_folder(find_source()):
        pass
    if build or boot:
        compiler()
    if boot:
        need("qemu-system-x86_64")
