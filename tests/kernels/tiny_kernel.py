# SPDX-License-Identifier: MIT
"""A kernel tree of two files, and real git beside it to write series against it."""

import os
import subprocess
from pathlib import Path

from lockscale.kernels.series import read_series

IALLOC = [f"line {n}" for n in range(1, 31)]
AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@x",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@x",
}


def git(folder: Path, *argv: str) -> str:
    env = {**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(["git", *argv], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def text(lines: list[str], **changes: str) -> str:
    """The file with lines replaced: `line 3` becomes the text given for `l3`."""
    return "".join(f"{changes.get(f'l{n}', line)}\n" for n, line in enumerate(lines, start=1))


class Kernel:
    """A tiny kernel tree, and real git beside it to write series against it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree, self.work = folder, folder / "tree", folder / "work"
        self.patches = folder / "kernel-patches"
        for place in (self.tree, self.work):
            (place / "fs/ext4").mkdir(parents=True)
            (place / "fs/ext4/ialloc.c").write_text(text(IALLOC))
            (place / "fs/ext4/old.c").write_text("old\n")
        git(self.work, "init", "-q")
        git(self.work, "add", ".")
        git(self.work, "commit", "-q", "-m", "base")

    def commit(self, name: str, content: str | None) -> None:
        """One commit that writes, or with None removes, a file."""
        path = self.work / name
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        git(self.work, "add", "-A")
        git(self.work, "commit", "-q", "-s", "-m", f"change {name}")

    def series(self, *listed: str):
        """The commits since the base as series s/arm; `listed` instead of their names when given."""
        arm = self.patches / "s" / "arm"
        arm.mkdir(parents=True, exist_ok=True)
        root = git(self.work, "rev-list", "--max-parents=0", "HEAD").strip()
        made = git(self.work, "format-patch", "-q", "-o", str(arm), root) or sorted(arm.glob("*.patch"))
        names = listed or [path.name for path in made]
        (arm / "series").write_text("# what the arm changes\n\n" + "".join(f"{n}\n" for n in names))
        return read_series("s", "arm")

    def snapshot(self) -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in self.tree.rglob("*") if p.is_file()}
