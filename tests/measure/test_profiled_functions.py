# SPDX-License-Identifier: MIT
"""A function that a kernel has not is named before anything boots."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.measure.build_arms import refuse_unknown_functions
from lockscale.study.file import Study, load_study

MAP = "ffffffff81000000 T ext4_create\nffffffff81000040 t ext4_add_entry\nffffffff81000080 T _raw_spin_lock\n"


def profiling(*functions: str) -> Study:
    return load_study("inode-claim", {"profiled_functions": list(functions)})


@pytest.fixture
def symbols(tmp_path: Path) -> Path:
    path = tmp_path / "System.map"
    path.write_text(MAP)
    return path


def test_what_a_kernel_has_and_a_pattern_may_be_asked_for(symbols: Path):
    refuse_unknown_functions(profiling("ext4_create", "ext4_add_entry", "jbd2_*"), symbols)


def test_what_it_has_not_is_one_sentence_with_the_nearest_name(symbols: Path):
    said = (
        r"^inode-claim.yaml: profiled_functions names ext4_creat, .* \(did you mean ext4_create\?\): name a"
    )
    with pytest.raises(BadInput, match=said):
        refuse_unknown_functions(profiling("ext4_create", "ext4_creat"), symbols)


def test_a_kernel_of_which_no_map_was_kept_is_not_asked(tmp_path: Path):
    refuse_unknown_functions(profiling("ext4_creat"), tmp_path / "System.map")
