# SPDX-License-Identifier: MIT
"""A server that says what it was told to say, keeps what was asked of it, and boots what it was told to."""

from collections.abc import Sequence
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.machines.grub import REPLACE
from lockscale.machines.machine import Completed, Machine, Step, Write

OLD, NEW = "6.1.0-56-amd64", "6.12.117-lockscale-0badcafe"
MENU = (
    'if [ "${next_entry}" ] ; then\n  set default="${next_entry}"\nelse\n  set default="${saved_entry}"\nfi\n'
    f"menuentry 'New' $menuentry_id_option 'new' {{\n\tlinux /boot/vmlinuz-{NEW} root=/dev/vda1 ro\n}}\n"
    f"menuentry 'Old' $menuentry_id_option 'old' {{\n\tlinux /boot/vmlinuz-{OLD} root=UUID=A ro\n}}\n"
    "if [ -f  ${config_directory}/custom.cfg ]; then\n  source ${config_directory}/custom.cfg\nfi\n"
)
SOUND = {
    "cat /boot/grub/grub.cfg": MENU,
    "grub-editenv - list": "saved_entry=old\n",
    "grub-probe --target=fs /boot/grub": "ext2\n",
    "grub-probe --target=abstraction /boot/grub": "",
    "uname -r": f"{OLD}\n",
}


def files_in_boot(release: str) -> list[str]:
    """What a kernel has in /boot, and what an update-initramfs or a dpkg leaves there that was killed."""
    kinds = ("vmlinuz", "initrd.img", "config", "System.map")
    whole = [f"/boot/{kind}-{release}" for kind in kinds]
    return [*whole, f"/boot/initrd.img-{release}.new", *(f"{file}.dpkg-new" for file in whole)]


class ToldServer(Machine):
    """`answers`: a command line's standard output; any other command fails. `boots`: the answers that
    change at each further boot; when they are used up, the server never comes back.
    """

    def __init__(self, answers: dict[str, str], boots: Sequence[dict[str, str]] = ()) -> None:
        self.answers = dict(answers)
        self.boots = list(boots)
        self.booted = 0
        self.asked: list[str] = []
        self.written: dict[str, str] = {}
        self.custom: str | None = None  # our part of custom.cfg

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        if list(argv[:3]) == ["sh", "-c", REPLACE]:  # which test_grub_custom.py runs
            self.custom = argv[-1]
            return Completed(tuple(argv), 0, "", "")
        line = " ".join(argv)
        self.asked.append(line)
        return Completed(tuple(argv), 0 if line in self.answers else 1, self.answers.get(line, ""), "")

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        return [self._write(step) if isinstance(step, Write) else self.run(step) for step in steps]

    def _write(self, step: Write) -> Completed:
        self.written[step.path] = step.text
        return Completed((), 0, "", "")

    def put(self, local: Path, remote: str) -> None:
        self.written[remote] = str(local)

    def boot_id(self) -> str:
        return str(self.booted)

    def reconnect(self, timeout_s: float, *, after: str | None = None) -> None:
        if not self.boots:
            raise RunFailed("it did not come back")
        self.answers |= self.boots.pop(0)
        self.booted += 1
