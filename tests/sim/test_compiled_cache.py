# SPDX-License-Identifier: MIT
"""Machine code on disk is never older than the sources, and the user's settings stay theirs."""

import os
from pathlib import Path
from typing import Any

import numba
import pytest

from lockscale.paths import CACHE
from lockscale.sim.engine import compiled, run_ops


def test_a_change_in_any_source_file_changes_the_folder(tmp_path: Path) -> None:
    seen = set()
    for name, text in [("a.py", "x = 1"), ("b.py", "y = 1"), ("b.py", "y = 2"), ("a.py", "x =  1")]:
        (tmp_path / name).write_text(text)
        seen.add(compiled.source_hash(tmp_path))
    assert len(seen) == 4


def test_a_users_cache_folder_is_respected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert compiled.cache_folder().parent == tmp_path
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert compiled.cache_folder().parent == CACHE / "numba"


def test_other_users_of_numba_keep_their_cache() -> None:
    assert run_ops.run is not None
    config: Any = numba.config
    assert os.environ.get("NUMBA_CACHE_DIR", "") == config.CACHE_DIR


def twice(number: int) -> int:
    return 2 * number


DAMAGES = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "a flipped bit": lambda content: content[:60] + bytes([content[60] ^ 4]) + content[61:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("kind", ["nbc", "nbi"])
def test_damaged_machine_code_is_compiled_again_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], damage, kind: str
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert compiled.compiled(twice)(21) == 42
    (file,) = tmp_path.rglob(f"*.{kind}")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    again: Any = compiled.compiled(twice)
    assert again(21) == 42 and sum(again.stats.cache_misses.values()) == 1
    assert (
        f"{file.name} in {file.parent}, a compiled part of the simulator, is damaged"
        in capfd.readouterr().err
    )
    third: Any = compiled.compiled(twice)
    assert third(21) == 42 and sum(third.stats.cache_hits.values()) == 1 and not capfd.readouterr().err


def test_without_a_writable_folder_code_still_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert compiled.compiled(twice)(21) == 42
