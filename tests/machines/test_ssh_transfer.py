# SPDX-License-Identifier: MIT
"""Files to a server, against a real sshd: whole and the same, or not there at all."""

import hashlib
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.machines import ssh, ssh_shell
from lockscale.machines.ssh import SshMachine
from loopback_sshd import Proxy, Sshd

ODD = "it's $(odd) \n ;name\\"

pytestmark = pytest.mark.slow


def some_bytes(count: int) -> bytes:
    return random.Random(count).randbytes(count)


@pytest.mark.parametrize("count", [0, 1, 300_000])
@pytest.mark.parametrize("name", ["plain", ODD])
def test_a_file_goes_there(machine: SshMachine, tmp_path: Path, count: int, name: str) -> None:
    local, there = tmp_path / "local", tmp_path / "there"
    there.mkdir()
    local.write_bytes(some_bytes(count))
    local.chmod(0o770)
    (there / name).write_text("an older one")
    machine.put(local, str(there / name))
    assert (there / name).read_bytes() == some_bytes(count)
    assert (there / name).stat().st_mode & 0o777 == 0o750
    assert [path.name for path in there.iterdir()] == [name]


def test_what_cannot_be_copied_is_one_sentence(machine: SshMachine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for local, remote, because in (
        (tmp_path / "none", f"{tmp_path}/to", "is not a file"),
        (tmp_path, f"{tmp_path}/to", "is not a file"),
        (tmp_path / "file", f"{tmp_path}/none/to", "is not a folder"),
        (tmp_path / "file", "to", "is not the absolute path"),
        (tmp_path / "file", f"{tmp_path}/", "is not the absolute path"),
    ):
        with pytest.raises(BadInput, match=because):
            machine.put(local, remote)
    with pytest.raises(BadInput, match="cannot be replaced: is it a folder"):
        machine.put(tmp_path / "file", str(tmp_path.parent))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert not [path for path in tmp_path.parent.iterdir() if path.name.endswith(".part")]


def test_a_server_that_reads_no_more_of_a_copy_is_left(
    machine: SshMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk hangs and its sshd does not, so that ssh never gives up."""
    monkeypatch.setattr(ssh, "_PUT", "sleep 30")
    monkeypatch.setattr(ssh_shell, "STUCK_S", 1)
    (tmp_path / "file").write_bytes(bytes(64 << 20))
    with pytest.raises(RunFailed, match="no longer answers"):
        machine.put(tmp_path / "file", str(tmp_path / "to"))


def test_a_damaged_copy_is_not_used(
    machine: SshMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local, remote = tmp_path / "local", tmp_path / "remote"
    local.write_text("the old one")
    remote.write_text("the old one")
    send = ssh._send

    def damaged(local: Path, size: int, write: Callable[[bytes], object], what: str) -> None:
        send(local, size, lambda data: write(b"!" * len(data)), what)

    monkeypatch.setattr(ssh, "_send", damaged)
    with pytest.raises(RunFailed, match="arrived damaged"):
        machine.put(local, str(remote))
    assert local.read_text() == remote.read_text() == "the old one"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.fixture
def small(own_sshd: Sshd, tmp_path: Path) -> Iterator[Path]:
    """A folder that is for the server's root a disk of 512 KiB: his mount namespace has it."""
    folder = tmp_path / "small"
    folder.mkdir()
    own = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
    script = 'mount -t tmpfs -o size=512k none "$1" && echo ready && exec sleep 600'
    argv = ["unshare", *own, "sh", "-c", script, "sh", str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"ready\n"
        enter = f"nsenter --target {holder.pid} --mount" + ("" if os.geteuid() == 0 else " --user")
        own_sshd.uid(1000)
        own_sshd.sudo(f'[ "$1" = -n ] && shift; exec {enter} "$@"')
        yield folder
        holder.kill()


def test_a_full_disk_of_the_server_is_one_sentence_and_leaves_nothing(
    own_sshd: Sshd, small: Path, tmp_path: Path
) -> None:
    local = tmp_path / "local"
    with SshMachine(own_sshd.host(), jobs_folder=str(tmp_path / "jobs")) as machine:
        local.write_bytes(some_bytes(100_000))
        machine.put(local, str(small / "fits"))
        local.write_bytes(some_bytes(2_000_000))
        with pytest.raises(BadInput, match=rf"^the disk under {small} on 127\.0\.0\.1 is full$"):
            machine.put(local, str(small / "fits"))
        assert machine.run(["ls", "-A", str(small)]).stdout == "fits\n"
        (said,) = machine.run(["sha256sum", str(small / "fits")]).stdout.splitlines()
    assert said.split()[0] == hashlib.sha256(some_bytes(100_000)).hexdigest()


def test_output_that_does_not_fit_on_the_server_is_one_sentence(
    own_sshd: Sshd, small: Path, tmp_path: Path
) -> None:
    with SshMachine(own_sshd.host(), jobs_folder=str(small / "jobs")) as machine:
        assert len(machine.run(["seq", "10000"]).stdout) > 40_000
        with pytest.raises(RunFailed, match=r"did not fit|is full"):
            machine.run(["seq", "1000000"])


def test_a_copy_outlives_its_connection(
    sshd: Sshd, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut in the middle of 4 MB; it begins again."""
    monkeypatch.setattr(ssh, "RETRY_S", 0.05)
    known = tmp_path / "known_hosts"
    known.write_text(sshd.known_hosts.read_text().replace(str(sshd.port), str(proxy.port)))
    source, copy = tmp_path / "source", tmp_path / "to" / "copy"
    source.write_bytes(some_bytes(4_000_000))
    copy.parent.mkdir()
    with SshMachine(
        replace(sshd.host(proxy.port), known_hosts=known), jobs_folder=str(tmp_path / "jobs")
    ) as machine:
        proxy.cut_once(2_000_000, back=False)
        machine.put(source, str(copy))
    assert copy.read_bytes() == source.read_bytes()
    assert proxy.accepted == 2
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]


def test_a_large_copy_shows_how_far_it_is(
    machine: SshMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ssh, "SHOWN_FROM", 1000)
    (tmp_path / "large").write_bytes(some_bytes(1000))
    machine.put(tmp_path / "large", str(tmp_path / "copy"))
    assert "to 127.0.0.1: large: 1000/1000" in capfd.readouterr().err
