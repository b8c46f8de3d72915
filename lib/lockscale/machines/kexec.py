# SPDX-License-Identifier: MIT
"""The other way to boot a kernel once, for who asks for it: kexec, past the firmware and GRUB.

The kernel that runs starts the one on trial; every reset leads to GRUB's default as before.
"""

from lockscale.machines.grub_menu import Entry
from lockscale.machines.machine import Machine, must


def load(server: Machine, entry: Entry, arguments: str) -> None:
    """Load the kernel of a menu entry, with its arguments and ours, for `systemctl kexec`."""
    initrd = f"/boot/initrd.img-{entry.release}"
    has_initrd = server.run(["test", "-e", initrd]).status == 0
    argv = ["kexec", "--load", "--kexec-syscall-auto", f"/boot/vmlinuz-{entry.release}"]
    argv += [f"--command-line={entry.arguments} {arguments}"]
    argv += [f"--initrd={initrd}"] if has_initrd else []
    must(server, argv)
