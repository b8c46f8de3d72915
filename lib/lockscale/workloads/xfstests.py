# SPDX-License-Identifier: MIT
"""xfstests (fstests), where the user has it: find it, configure it, run it.

It is not shipped and not installed: it is GPL, large, and built against the target's own libraries.
What it prints is read by xfstests_lines and compared by xfstests_compare.
"""

import re
import shlex
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.target_tools import TargetTool

# Its own `make install` puts it under /var/lib; src/ and ltp/ hold what has to be built first.
PLACES = ('"$XFSTESTS"', "/var/lib/xfstests", "/opt/xfstests", "/usr/lib/xfstests", '"$HOME/xfstests"')
FOUND = "[ -x {place}/check ] && [ -f {place}/common/rc ] && [ -x {place}/ltp/fsstress ]"
GROUP = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)?")


def find_command() -> list[str]:
    """argv that prints the folder of a built xfstests on the machine it runs on, or nothing."""
    tries = "; ".join(f"if {FOUND.format(place=p)}; then echo {p}; exit; fi" for p in PLACES)
    return ["sh", "-c", tries]


def missing(target: str) -> BadInput:
    """What to say when find_command() printed nothing."""
    return BadInput(
        f"there is no built xfstests on {target}: build it there (git clone, make) and set XFSTESTS to "
        "its folder, or put it in /var/lib/xfstests"
    )


def local_config(
    test_device: str,
    scratch_device: str,
    results: str,
    *,
    mkfs: Sequence[str],
    mount: Sequence[str],
    test_dir: str = "/mnt/lockscale-test",
    scratch_dir: str = "/mnt/lockscale-scratch",
) -> str:
    """The file that HOST_OPTIONS names: an ext4 run on two devices, BOTH of which lose their content.

    The caller has made the folders and an ext4 on `test_device`; check formats `scratch_device` itself,
    again and again, with the options in `mkfs`. `mount` is used for both.
    """
    if test_device == scratch_device:
        raise BadInput(f"xfstests needs two devices, not {test_device} twice: give a partition to each")
    options = f"-o {','.join(mount)}" if mount else ""
    values = {
        "FSTYP": "ext4",
        "CANON_DEVS": "yes",  # so that by-id links are taken
        "TEST_DEV": test_device,
        "TEST_DIR": test_dir,
        "SCRATCH_DEV": scratch_device,
        "SCRATCH_MNT": scratch_dir,
        "RESULT_BASE": results,
        "MKFS_OPTIONS": " ".join(mkfs),
        "MOUNT_OPTIONS": options,
        "TEST_FS_MOUNT_OPTS": options,
    }
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items() if value)


def command(folder: str, config: str, group: str = "quick") -> list[str]:
    """argv of `check -g group` in `folder`, with `config` in place of the user's own local.config.

    check has to be run in its folder and as root. It exits 1 when a test failed, so only its output says
    whether it ran to its end.
    """
    if not GROUP.fullmatch(group):
        raise BadInput(f"{group!r} is not a group of xfstests: name one, as in quick or ext4/quick")
    run = 'cd "$1" && HOST_OPTIONS="$2" exec ./check -g "$3"'
    return ["sh", "-c", run, "sh", folder, config, group]


ON_TARGET = TargetTool(
    name="xfstests",
    ask=find_command(),
    version=None,
    without="patches are checked by the counters, soak and power cuts of `lockscale patches check`",
    get="build xfstests and set XFSTESTS to its folder",
    variables=["XFSTESTS", "HOME"],
)
