# SPDX-License-Identifier: MIT
"""Homemade words for which kernel developers have one of their own do not come back."""

import re
import subprocess

import pytest

from lockscale import paths

STANDARD = {
    "thrown switch": "enabled flag",
    "may be thrown": "may be on",
    "go home": "boot the default kernel",
    "one's own table": "user table",
    "cured arm": "patched arm",
    "ends the talk": "closes the connection",
    "whoever watches": "log",
    "its p, and": "its p-value",
    "hold fewer of them": "fix fewer parameters",
    "a jump host of itself": "its own jump host",
    "does its most at": "peaks at",
    "spin time from their profile promises": "would promise",
    "lines that move": "cache-line transfers",
    "queue that is left": "residual bottleneck",
    "told apart": "distinguishable",
    "cannot be told": "unknown",
    "is met within": "is within",
    "meets nobody": "uncontended",
    "turn of the queue": "pass of the queue",
    "no benchmark": "not a benchmark",
    "boots an arm": "boots per arm",
    "attempts an operation": "attempts per operation",
    "retries a create": "retries per create",
    "by ranks": "rank-based",
    "eleting the spin time": "subtracting the spin time",
}


def prose() -> dict[str, str]:
    """Library, documents, study files and notebooks' sources as running text."""
    listed = ["git", "ls-files", "-z", "lib", "docs", "notebooks/src", "notebooks/studies", "*.md"]
    out = subprocess.run(listed, cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    found = {name: paths.ROOT / name for name in out.split("\0") if name.endswith((".py", ".md", ".yaml"))}
    return {
        name: " ".join(re.sub(r"\n\s*#?", "\n", path.read_text()).split()) for name, path in found.items()
    }


TEXTS = prose()


@pytest.mark.parametrize("phrase", STANDARD)
def test_a_standard_term_stands_where_a_homemade_one_was(phrase: str) -> None:
    assert len(TEXTS) > 300
    used = [name for name, text in TEXTS.items() if phrase in text]
    assert used == [], f"write {STANDARD[phrase]!r}"
