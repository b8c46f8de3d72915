# SPDX-License-Identifier: MIT
"""Which processors run, and that the others come back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.machine import Completed, Machine, Write
from lockscale.machines.prepare import ONLINE, only, parse_cpus


class Server(Machine):
    """A machine with processors 0-2 and 5 online, which keeps what is written."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []

    def run_all(self, steps, *, timeout_s=60):
        assert all(isinstance(s, Write) or list(s) in (["cat", ONLINE], ["true"]) for s in steps)
        self.written += [(s.path, s.text) for s in steps if isinstance(s, Write)]
        return [Completed((), 0, "0-2,5\n", "") for _ in steps]


def switch(cpu: int) -> str:
    return f"/sys/devices/system/cpu/cpu{cpu}/online"


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_list_of_processors_is_read(cpus: set[int]):
    assert parse_cpus(",".join(map(str, sorted(cpus)))) == sorted(cpus)


def test_a_list_as_the_kernel_prints_it():
    assert parse_cpus("0-3,8,10-11\n") == [0, 1, 2, 3, 8, 10, 11]


@pytest.mark.parametrize("text", ["", "0-", "a", "0;1", "-1", "1,,2"])
def test_what_is_no_list_is_refused(text: str):
    with pytest.raises(BadInput, match="not a list of CPUs"):
        parse_cpus(text)


def test_the_others_go_offline_and_come_back():
    server = Server()
    with only(server, 2):
        assert server.written == [(switch(5), "0"), (switch(2), "0")]
    assert server.written[2:] == [(switch(2), "1"), (switch(5), "1")]


def test_all_of_them_are_left_alone():
    server = Server()
    with only(server, 4):
        pass
    assert server.written == []


def test_more_than_there_are_is_refused():
    with pytest.raises(BadInput, match="asks for 5 CPUs and the target has 4"), only(Server(), 5):
        pass


def test_a_machine_that_may_be_gone_is_not_asked_again():
    server = Server()
    with pytest.raises(RunFailed), only(server, 3):
        raise RunFailed("the connection is lost")
    assert server.written == [(switch(5), "0")]
