# SPDX-License-Identifier: MIT
"""System.map: the function that holds an address, of which a plugin keeps the lower half."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.measure.where_time_went import read_system_map

TEXT = """\
0000000000000000 D __per_cpu_start
ffffffff81000000 T _text
ffffffff81000040 t start_this_handle
ffffffff81000200 W jbd2_journal_stop
ffffffff82000000 D init_task
"""


def test_an_address_belongs_to_the_last_function_that_begins_before_it(tmp_path: Path):
    (tmp_path / "System.map").write_text(TEXT)
    found = read_system_map(tmp_path / "System.map")
    assert found.function_at(0x81000040) == found.function_at(0x810001FF) == "start_this_handle"
    assert found.function_at(0x81000200) == "jbd2_journal_stop"
    assert found.function_at(0x80000000) == "?"


@pytest.mark.parametrize("text", ["", "ffffffff82000000 D init_task\n", "no map\n"])
def test_a_map_without_code_is_refused(text: str, tmp_path: Path):
    (tmp_path / "System.map").write_text(text)
    with pytest.raises(BadInput, match="lists no function"):
        read_system_map(tmp_path / "System.map")


def test_a_map_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="cannot be read"):
        read_system_map(tmp_path / "System.map")
