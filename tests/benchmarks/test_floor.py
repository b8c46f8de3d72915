# SPDX-License-Identifier: MIT
"""The C program that the simulator is timed against does the same work: it ends with the same numbers."""

import re
import time
from pathlib import Path

import pytest

from benchmarks.floor import MODELS, Floor, FloorRun, compile_floor
from benchmarks.own_loops import general, same_numbers
from benchmarks.rows import start_process
from benchmarks.speed_page import PAGE, TEXT, least, markdown
from lockscale.errors import BadInput
from lockscale.sim import load_model


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Floor:
    return compile_floor(tmp_path_factory.mktemp("floor"))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("threads", [1, 2, 5, 48])
def test_c_by_hand_ends_with_the_simulators_numbers(model: str, threads: int, floor: Floor) -> None:
    assert same_numbers(model, floor, 5000, threads)


def test_other_numbers_are_seen(floor: Floor) -> None:
    def wrong(model: str, threads: int, seed: int, warm_up: int, operations: int) -> FloorRun:
        return floor(model, threads, seed + 1, warm_up, operations)

    assert not same_numbers("inode_claim", wrong, 5000)


def test_the_general_loop_is_timed_by_the_steps_that_it_runs(floor: Floor) -> None:
    steps, seconds = general(load_model("inode_claim").program({}, 48), 7, 500)
    assert steps == floor("inode_claim", 48, 7, 1000, 500).transitions
    assert seconds > 0


def test_without_a_compiler_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="no cc: apt-get install gcc"):
        compile_floor(tmp_path)


def test_a_table_as_markdown() -> None:
    assert (
        markdown([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]) == "| a | b |\n| --- | --- |\n| 1 | x |\n| 2 | y |"
    )


def test_the_page_is_one_that_the_benchmark_wrote() -> None:
    page = PAGE.read_text()
    for fixed in re.split(r"\{[^}]*\}", TEXT):
        assert fixed in page


def test_waiting_is_wall_time_and_work_is_processor_time() -> None:
    wall_s, processor_s = least(lambda: time.sleep(0.1))
    assert wall_s >= 0.09 > processor_s
    _, of_child_s = least(lambda: start_process("sum(range(3_000_000))"))
    assert of_child_s > 0
