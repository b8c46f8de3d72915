# SPDX-License-Identifier: MIT
"""QEMU started so that the guest's first process is lib/guest's, which shortens virtme-ng's start-up."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from lockscale import paths
from lockscale.files import write_text
from lockscale.tools import c_program

# virtme-ng writes its own first process at the end of the kernel's command line.
STARTER = """\
#!/bin/sh
for word do
    shift
    case "$word" in
    *" init=/"*/bin/virtme-ng-init) word="${word%% init=*} lockscale_init=${word##* init=} init="FIRST ;;
    esac
    set -- "$@" "$word"
done
exec QEMU "$@"
"""


def write_starter(path: Path, qemu: Sequence[str]) -> Path:
    """A script at `path` that starts QEMU, the words `qemu` and those it is given, with our first process.

    Where a folder's name has blanks, which end a word of the kernel's command line, virtme-ng's starts.
    """
    first = str(c_program.build("first-process", paths.GUEST, paths.CACHE / "bin"))
    text = STARTER if " " not in first else '#!/bin/sh\nexec QEMU "$@"\n'
    said = {"FIRST": shlex.quote(first), "QEMU": shlex.join(qemu)}
    write_text(path, re.sub("FIRST|QEMU", lambda found: said[found[0]], text))
    path.chmod(0o755)
    return path
