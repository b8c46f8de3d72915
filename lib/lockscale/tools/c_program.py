# SPDX-License-Identifier: MIT
"""A C program of this project, compiled from the sources in one folder."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.scratch import scratch_folder

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-pthread"]


def build(
    name: str, sources: Path, out_dir: Path, flags: Sequence[str] = (), headers: Sequence[Path] = ()
) -> Path:
    """Program `name` under `out_dir`, compiled now unless sources, `flags` and compiler are unchanged.

    headers: those of another folder that the sources include by name.
    BadInput when there is no C compiler, when it refuses the sources, or when the disk does.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise BadInput(f"no C compiler: cc is not on PATH, install gcc or clang to build {name}")
    target = out_dir / f"{name}-{_key(compiler, sources, flags, headers)}"
    flags = [*flags, *(f"-I{folder}" for folder in sorted({str(path.parent) for path in headers}))]
    if target.exists():
        return target
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        with scratch_folder("cc", out_dir) as scratch:
            made = _compile(name, [compiler, *FLAGS, *flags], sources, scratch / name)
            with made.open("rb") as stream:
                os.fsync(stream.fileno())  # it is trusted by its name, also after a power cut
            made.replace(target)
    except OSError as error:
        raise BadInput(f"cannot build {name} in {out_dir}: {error.strerror}") from error
    return target


def _key(compiler: str, sources: Path, flags: Sequence[str], headers: Sequence[Path]) -> str:
    """Changes with the compiler's version, the flags, and every byte of the sources and headers."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    digest = hashlib.sha256(version + repr([*FLAGS, *flags]).encode())
    for source in (*sorted(sources.glob("*.[ch]")), *headers):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _compile(name: str, compiler: Sequence[str], sources: Path, out: Path) -> Path:
    files = [str(path) for path in sorted(sources.glob("*.c"))]
    if not files:
        raise BadInput(f"the sources of {name} are not in {sources}: use a complete checkout")
    argv = [*compiler, "-o", str(out), *files]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no error message")
        raise BadInput(f"{compiler[0]} failed to compile {name}: {first}")
    return out
