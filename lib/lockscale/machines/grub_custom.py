# SPDX-License-Identifier: MIT
"""Our part of a server's custom.cfg, which GRUB reads at the end of its menu without an update-grub.

The rest of the file is somebody else's, of any bytes and mode: it is copied on the server and never read
here, and a disk that fills up meanwhile leaves the old file whole.
"""

from lockscale.errors import RunFailed, printable
from lockscale.machines.machine import Machine

CUSTOM = "/boot/grub/custom.cfg"
BEGIN, END = "# lockscale: the kernel on trial", "# lockscale: end"

# $1 the file, $2 our part's first line, $3 its last, $4 the part
REPLACE = """\
set -eu
half="$1.part"
trap 'rm -f "$half"' EXIT
if [ -e "$1" ]; then
    cp -p "$1" "$half"
    LC_ALL=C awk -v begin="$2" -v end="$3" '
        $0 == begin { ours = 1 }
        !ours { print }
        $0 == end { ours = 0 }
    ' "$1" > "$half"
else
    umask 022
    : > "$half"
fi
printf %s "$4" >> "$half"
sync "$half"
if [ -s "$half" ]; then mv "$half" "$1"; else rm -f "$1"; fi
sync "${1%/*}"
"""


def write_custom(server: Machine, lines: list[str], path: str = CUSTOM) -> None:
    """Let our part of custom.cfg be `lines`, or be gone where there are none; what others wrote stays.

    Raises RunFailed where that cannot be written, as on a full disk: the file is then what it was.
    """
    part = "".join(f"{line}\n" for line in [BEGIN, *lines, END]) if lines else ""
    done = server.run(["sh", "-c", REPLACE, "sh", path, BEGIN, END, part])
    if done.status:
        why = (done.stderr.strip().splitlines() or ["nothing was said"])[0]
        raise RunFailed(f"{path} on the server cannot be written, and is what it was: {printable(why, 300)}")


def forget_custom(server: Machine, path: str = CUSTOM) -> None:
    """Take our part out, where there is one."""
    if not server.run(["grep", "-qsx", BEGIN, path]).status:
        write_custom(server, [], path)
