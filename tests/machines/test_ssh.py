# SPDX-License-Identifier: MIT
"""A server's commands, against a real sshd: they arrive as they are, in order, and end in time."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lockscale.doctor import Found, checks_of
from lockscale.errors import BadInput, RunFailed
from lockscale.machines.machine import LocalMachine, Write, must, must_all
from lockscale.machines.server_facts import needs
from lockscale.machines.ssh import SshMachine
from lockscale.measure import server_recovery
from lockscale.study.file import load_target
from lockscale.tools.registry import TARGET_TOOLS
from loopback_sshd import Sshd, free_port

HOSTILE = [
    "$(touch pwned)", "`touch pwned`", "; touch pwned", "| tee pwned", "&& true", "> pwned", "a b\tc",
    "line\nline\r\n", "\x1b[31mred\x1b[0m", "'", '"', "\\", "\\'", "!!", "*", "~root", "$HOME", "#", "",
    "-n", "--", "%s%n", "../..", "é漢\u202e", "!!python/object:os.system", "{a,b}",
]  # fmt: skip
# What a process can be given: no NUL, and no half of a surrogate pair.
WORDS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=30), max_size=8
)


def wait_for(path: Path) -> str:
    """The text of a file once there is one."""
    while not (path.exists() and (text := path.read_text())):
        time.sleep(0.02)
    return text


def is_gone(pid: int) -> bool:
    """The process has ended; a zombie is one that nobody has asked for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_gone(pid: int) -> None:
    while not is_gone(pid):
        time.sleep(0.02)


def test_a_command_returns_its_status_and_both_streams(machine: SshMachine) -> None:
    done = machine.run(["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert (done.status, done.stdout, done.stderr) == (7, "out\n", "err\n")


@pytest.mark.slow
@settings(max_examples=8)
@given(WORDS)
@example(HOSTILE)
def test_hostile_text_arrives_as_it_is(machine: SshMachine, words: list[str]) -> None:
    assert must(machine, ["printf", "%s\\0", "", *words]).split("\0")[1:-1] == words


@pytest.mark.slow
@pytest.mark.parametrize("word", ["if", "{", "A=b", "!", "no-such-command", "$(true)", "time", "cd"])
def test_the_first_word_is_a_program_or_nothing(machine: SshMachine, word: str) -> None:
    """Neither keyword nor assignment nor substitution; what a shell has built in changes no later step."""
    first, second = machine.run_all([[word, "/tmp"], ["pwd"]])
    assert first.status in (0, 126, 127) and not first.stdout
    assert second.stdout == "/\n"


def test_later_steps_run_although_one_fails(machine: SshMachine, tmp_path: Path) -> None:
    file = tmp_path / "it's a $file"
    done = machine.run_all([["false"], ["exit", "3"], Write(str(file), "-n %s\\n$x\n"), ["cat", str(file)]])
    assert [one.status for one in done] == [1, 3, 0, 0]
    assert file.read_text() == done[3].stdout == "-n %s\\n$x\n"
    assert machine.run_all([]) == []


def test_a_write_that_fails_says_so(machine: SshMachine) -> None:
    with pytest.raises(RunFailed, match="exited with status"):
        must_all(machine, [Write("/proc/version", "x")])


def test_commands_run_in_the_c_locale_with_the_usual_umask(machine: SshMachine) -> None:
    assert must(machine, ["sh", "-c", "echo $LC_ALL; umask"]) == "C\n0022\n"


def test_output_that_is_no_text_is_replaced(machine: SshMachine) -> None:
    assert must(machine, ["printf", "a\\377b"]) == "a\ufffdb"


def test_a_long_output_arrives_whole(machine: SshMachine) -> None:
    out = must(machine, ["seq", "200000"])
    assert out == "".join(f"{n}\n" for n in range(1, 200001))


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["1", "2"])
def test_an_output_without_end_is_one_sentence(
    machine: SshMachine, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setattr("lockscale.machines.machine.MOST_PRINTED", 1 << 20)
    much = ["sh", "-c", f"head -c 3000000 /dev/zero >&{stream}"]
    for where in (machine, LocalMachine()):
        with pytest.raises(RunFailed, match=r"/dev/zero .*` printed 2 MiB, more than the limit of 1 MiB$"):
            where.run(much)
        assert where.run(["echo", "more"]).stdout == "more\n"


def test_a_long_list_of_steps_needs_no_long_command_line(machine: SshMachine) -> None:
    """Linux takes no argument of more than 128 KiB; a Write of 300 KB is none."""
    text = "x" * 300_000
    assert machine.run_all([Write("/dev/null", text), ["true"]])[0].status == 0


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_what_no_argument_can_hold_is_refused(machine: SshMachine, word: str) -> None:
    with pytest.raises(BadInput, match="contains a"):
        machine.run(["echo", word])


def test_a_job_leaves_how_it_ended_and_its_output_until_the_next(machine: SshMachine) -> None:
    machine.run(["echo", "x" * 1000])
    machine.run(["true"])
    [session] = Path(machine.jobs_folder).iterdir()
    assert stat.S_IMODE(session.stat().st_mode) == 0o700
    *earlier, last = sorted(session.iterdir(), key=lambda path: int(path.name))
    assert {file.name for number in earlier for file in number.iterdir()} == {"done"}
    assert (last / "0.out").read_text() == ""


def test_a_session_leaves_nothing(sshd: Sshd, tmp_path: Path) -> None:
    with SshMachine(sshd.host(), jobs_folder=str(tmp_path / "jobs")) as machine:
        machine.run(["true"])
        assert len(list((tmp_path / "jobs").iterdir())) == 1
    assert not (tmp_path / "jobs").exists()


@pytest.mark.slow
def test_a_session_of_nobody_goes_after_a_day(sshd: Sshd, tmp_path: Path) -> None:
    old, young = tmp_path / "old", tmp_path / "young"
    for folder in (old, young):
        folder.mkdir()
        (folder / "lock").touch()
    long_ago_s = time.time() - 2 * 86400
    os.utime(old, (long_ago_s, long_ago_s))
    with SshMachine(sshd.host(), jobs_folder=str(tmp_path)):
        assert young.exists() and not old.exists()


@pytest.mark.slow
def test_time_out_ends_every_process_of_the_command(machine: SshMachine, tmp_path: Path) -> None:
    """Also one that has a process group of its own, and one that ignores TERM."""
    script = f"""
        perl -e 'setpgrp; open F, ">", "{tmp_path}/own"; print F $$; close F; sleep 300' &
        (trap '' TERM; sh -c 'echo $PPID > {tmp_path}/deaf'; while :; do sleep 1; done) &
        wait"""
    with pytest.raises(RunFailed, match=r"`sh .* did not end within 2 s and was killed"):
        machine.run_all([["true"], ["sh", "-c", script], ["true"]], timeout_s=2)
    assert is_gone(int((tmp_path / "own").read_text()))
    assert is_gone(int((tmp_path / "deaf").read_text()))
    assert machine.run(["true"]).status == 0


@pytest.mark.slow
def test_a_command_that_ended_has_its_result_though_nobody_wrote_down_how(sshd: Sshd, jobs: Path) -> None:
    """On a starved server systemd kills the process that would."""
    dies = f"for one in {jobs}/*/*/steps; do echo 'kill -KILL $$' > $one.new; mv $one.new $one; done"
    with SshMachine(sshd.host(), jobs_folder=str(jobs)) as machine:
        done = machine.run(["sh", "-c", f"{dies}; echo said; exit 3"])
        assert (done.status, done.stdout) == (3, "said\n")
        assert machine.run(["true"]).status == 0


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Whoever runs the tests may have turned interrupts off, as pytest-xdist does in its workers."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_command_on_the_server(machine: SshMachine, tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def interrupt() -> None:
        wait_for(pid)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        machine.run(["sh", "-c", f"echo $$ > {pid}; exec sleep 300"], timeout_s=300)
    wait_gone(int(pid.read_text()))
    assert machine.run(["true"]).status == 0


ORPHAN = """
import sys
from pathlib import Path
from lockscale.machines.ssh import SshMachine
from lockscale.machines.ssh_host import SshHost
port, key, known, config, jobs, pid = sys.argv[1:]
with SshMachine(SshHost("127.0.0.1", None, int(port), Path(key), Path(known), Path(config)), jobs) as machine:
    machine.run(["sh", "-c", f"echo $$ > {pid}; exec sleep 300"], timeout_s=300)
"""


@pytest.mark.slow
def test_a_dead_controllers_command_runs_on_until_it_is_ended(sshd: Sshd, tmp_path: Path) -> None:
    jobs, pid = tmp_path / "jobs", tmp_path / "pid"
    arguments = (sshd.port, sshd.key, sshd.known_hosts, sshd.ssh_config, jobs, pid)
    with subprocess.Popen([sys.executable, "-c", ORPHAN, *map(str, arguments)]) as controller:
        job = int(wait_for(pid))
        controller.kill()
    with SshMachine(sshd.host(), jobs_folder=str(jobs)) as machine:
        assert not is_gone(job)
        assert machine.end_others() == 1
        wait_gone(job)
        assert machine.end_others() == 0


def test_provenance_knows_the_server_and_not_its_name(machine: SshMachine, sshd: Sshd) -> None:
    said = machine.describe()
    assert said["transport"] == "ssh" and set(said) == {"transport", "vendor", "product", "machine", "system"}
    assert said == machine.describe()
    text = json.dumps(said)
    for secret in (socket.gethostname(), "127.0.0.1", str(sshd.port), str(sshd.key)):
        assert secret not in text
    if said["machine"]:
        assert Path("/etc/machine-id").read_text().strip()[:16] != said["machine"]


def test_a_server_with_all_it_needs_has_no_need(machine: SshMachine) -> None:
    lines = {need.name: need for need in needs("my-server", machine)}
    assert lines["my-server is reached"].ok
    assert lines["lsblk on my-server"].found.startswith("/")
    assert lines["my-server lets root in"].ok == (os.geteuid() == 0)


@pytest.mark.slow
def test_the_doctor_asks_a_server_for_its_tools(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = load_target("example-server")
    monkeypatch.setattr(
        server_recovery, "machine_of", lambda _: SshMachine(sshd.host(), jobs_folder=str(tmp_path / "jobs"))
    )
    tools: list[Found] = []
    lines = {check.name: check for check in checks_of(target, tools)}
    assert lines["example-server is reached"].ok
    assert [one.tool for one in tools] == list(TARGET_TOOLS)
    assert {one.tool.name for one in tools} <= set(lines)
    assert lines["lsblk on example-server"].found.startswith("/")
    monkeypatch.setattr(server_recovery, "machine_of", lambda _: SshMachine(sshd.host(free_port())))
    [line] = checks_of(target, tools)
    assert not line.ok and "refuses the connection" in line.fix
