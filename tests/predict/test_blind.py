# SPDX-License-Identifier: MIT
"""Blind: of a kernel with hidden parameters whatif sees the base's files, and predicts the patched rate."""

import random
from pathlib import Path

import pytest
from blind_kernel import ACCESS, draw

from lockscale.predict.user_files import ask_files


def holds(seed: int, folder: Path, most: int) -> bool:
    """Whether the patched rate lies within the 95% interval."""
    kernel = draw(seed, most)
    profile, rates = kernel.write(folder)
    measured = kernel.calls_alone + random.Random(seed).gauss(0, 0.05)
    answer = ask_files(profile, rates, "inode_claim", given={ACCESS: measured})
    (said,) = [p for p in answer.predictions if p.threads == kernel.threads[-1]]
    return said.low < kernel.patched_per_s() < said.high


@pytest.mark.slow
def test_nine_of_ten_patched_rates_lie_within_their_intervals(tmp_path: Path):
    assert sum(holds(seed, tmp_path, most=32) for seed in range(20)) >= 18


@pytest.mark.long
def test_nine_of_ten_of_200_do(tmp_path: Path):
    assert sum(holds(seed, tmp_path, most=48) for seed in range(1000, 1200)) >= 180
