# SPDX-License-Identifier: MIT
"""The kernel's own style check, scripts/checkpatch.pl --strict, on each patch of a series."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.kernels.series import Series
from lockscale.programs import need

TOTAL = re.compile(r"^total: (\d+) errors?, (\d+) warnings?, (\d+) checks?, \d+ lines checked$", re.MULTILINE)
ERROR = re.compile(r":(\d+): ERROR: ?(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Style:
    """What checkpatch counted in one patch; `first_error` is "" or "line N: what it says"."""

    patch: str
    errors: int
    warnings: int
    checks: int
    first_error: str = ""


def checkpatch(series: Series, tree: Path) -> list[Style]:
    """Counts per patch of `series`, by the script of the kernel in `tree`. Nothing is changed."""
    return [_style(patch, tree) for patch in series.patches]


def checkpatch_detail(series: Series, tree: Path) -> tuple[bool, str]:
    """Whether no patch has an error, and one sentence; warnings and checks are counted, not refused."""
    styles = checkpatch(series, tree)
    bad = next((style for style in styles if style.errors), None)
    counts = [sum(getattr(s, what) for s in styles) for what in ("errors", "warnings", "checks")]
    said = "{} errors, {} warnings, {} checks".format(*counts)
    return bad is None, f"{said}; first: {bad.patch} {bad.first_error}" if bad else said


def _style(patch: Path, tree: Path) -> Style:
    """Run in `tree`: at the top of a git repository a tracked patch is checked as a source file.

    HOME is `tree`, so that no .checkpatch.conf of the user's changes the result.
    """
    argv = [need("perl"), "scripts/checkpatch.pl", "--strict", "--terse", "--no-color", str(patch.resolve())]
    env = {**os.environ, "LC_ALL": "C", "HOME": str(tree)}
    done = subprocess.run(argv, cwd=tree, env=env, capture_output=True, text=True, errors="replace")
    return read_style(patch.name, done.stdout, done.stderr, done.returncode)


def read_style(patch: str, stdout: str, stderr: str, status: int) -> Style:
    """Read `checkpatch.pl --terse`, which prints nothing for a clean patch and ends in a total else."""
    if status == 0 and not stdout.strip():
        return Style(patch, 0, 0, 0)
    total, error = TOTAL.search(stdout), ERROR.search(stdout)
    if not total or bool(int(total[1])) != bool(error):
        lines = [line for line in (stderr + "\n" + stdout).splitlines() if line.strip()]
        raise RunFailed(f"checkpatch of {patch} failed: {lines[0].strip() if lines else 'nothing was said'}")
    errors, warnings, checks = (int(count) for count in total.groups())
    return Style(patch, errors, warnings, checks, f"line {error[1]}: {error[2]}" if error else "")
