# SPDX-License-Identifier: MIT
"""fio: find it, create, stat and remove files with it, read its JSON (--output-format=json or json+).

Its file engines time an open with O_CREAT, a stat or an unlink of each file; no data is written. fio
takes times in whole milliseconds, so a rate from a short run is coarse.
"""

from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.target_tools import Part, TargetTool, on_path, printed
from lockscale.workloads.fio_json import TOOL, parse, recognise

__all__ = ["ON_TARGET", "PHASES", "TOOL", "command", "parse", "recognise"]

PHASES = {"create": "filecreate", "stat": "filestat", "remove": "filedelete"}
# filecreate alone makes no directories.
_MAKE_FOLDERS = r"""k=0; while [ $k -lt "$2" ]; do mkdir -p "$1/lockscale.$k" || exit 1; k=$((k + 1)); done
shift 2; exec "$@" """
ON_TARGET = TargetTool(
    name=TOOL,
    ask=on_path(TOOL, TOOL, "--version"),
    version=printed(r"fio-(\S+)"),
    without="creates and removes are measured with mdtest or fsload, stats of files are not",
    get="apt-get install fio",
    parts=[
        Part(
            f"the engine {engine}",
            ["sh", "-c", 'fio --enghelp | grep -qw "$1"', "sh", engine],
            f"fio does not measure the {phase} of files",
        )
        for phase, engine in PHASES.items()
    ],
)


def command(
    directory: str,
    *,
    processes: int,
    items: int,
    phases: Sequence[str] = ("create", "stat", "remove"),
    executable: str = "fio",
) -> list[str]:
    """argv of `items` files by each of `processes`, each in its own directory under `directory`.

    A phase begins when the one before it has ended; a later run may go on with the files of an earlier
    one. create_on_open keeps fio from laying out files with data before the phases that need files.
    """
    strange = [phase for phase in phases if phase not in PHASES]
    if strange or not phases or len(set(phases)) < len(phases):
        raise BadInput(f"fio is asked for phases {', '.join(phases)}: use {', '.join(PHASES)}, each once")
    if processes < 1 or items < 1:
        raise BadInput("fio needs at least one process and one file")
    shared = {
        "directory": directory.replace("\\", "\\\\").replace(":", "\\:"),
        "filename_format": "lockscale.$jobnum/$filenum",
        "nrfiles": items, "numjobs": processes, "openfiles": 1, "filesize": 1, "bs": 1,
        "create_on_open": 1, "group_reporting": 1,
    }  # fmt: skip
    argv = ["sh", "-c", _MAKE_FOLDERS, "sh", directory, str(processes)]
    argv += [executable, "--output-format=json", "--name=global", *(f"--{k}={v}" for k, v in shared.items())]
    for number, phase in enumerate(phases):
        argv += [f"--name={phase}", f"--ioengine={PHASES[phase]}", *(["--stonewall"] if number else [])]
    return argv
