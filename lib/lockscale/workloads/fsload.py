# SPDX-License-Identifier: MIT
"""fsload, our own load generator (lib/fsload): build it, run it, read its JSON lines."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.paths import FSLOAD
from lockscale.workloads.fsload_lines import TOOL, parse, recognise

__all__ = ["TOOL", "build", "command", "parse", "recognise"]

_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-pthread"]


def build(out_dir: Path) -> Path:
    """The compiled fsload under `out_dir`, made now unless sources and compiler are unchanged.

    BadInput when there is no C compiler, when it refuses the sources, or when the disk does.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise BadInput("no C compiler: cc is not on PATH, install gcc or clang to build fsload")
    target = out_dir / f"fsload-{_key(compiler)}"
    if target.exists():
        return target
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out_dir) as scratch:
            _compile(compiler, Path(scratch) / "fsload").replace(target)
    except OSError as error:
        raise BadInput(f"fsload cannot be built in {out_dir}: {error.strerror}") from error
    return target


def _key(compiler: str) -> str:
    """Changes with the compiler's version, the flags, and every byte of the sources."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    digest = hashlib.sha256(version + repr(_FLAGS).encode())
    for source in sorted(FSLOAD.glob("*.[ch]")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _compile(compiler: str, out: Path) -> Path:
    sources = [str(path) for path in sorted(FSLOAD.glob("*.c"))]
    if not sources:
        raise BadInput(f"the sources of fsload are not in {FSLOAD}: use a whole checkout")
    argv = [compiler, *_FLAGS, "-o", str(out), *sources]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
        raise BadInput(f"{compiler} does not compile fsload: {first}")
    return out


def command(
    executable: Path, directory: str, *, processes: int, items: int, phase: str = "both"
) -> list[str]:
    """argv of create_unlink: `items` files in each of `processes` directories under `directory`.

    `phase` is create, remove or both; create leaves the files that a later remove takes away.
    """
    return [
        str(executable), "create_unlink", "--dir", directory, "--processes", str(processes),
        "--items", str(items), "--phase", phase,
    ]  # fmt: skip
