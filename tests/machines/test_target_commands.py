# SPDX-License-Identifier: MIT
"""`lockscale target` on servers: what they lack is told line by line, and nothing on them is changed."""

import getpass
from pathlib import Path

import pytest
import yaml

from command import Lockscale
from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure import target_ssh
from lockscale.measure.server_recovery import (
    host_facts,
    machine_of,
    origin_of,
    refuse_other_kind,
    server_lock,
)
from lockscale.measure.target import in_use
from lockscale.prove import check
from lockscale.study.file import SshTarget, load_target
from loopback_sshd import Sshd, free_port
from machines.told_server import ToldServer

SERVER = yaml.safe_load((paths.TARGETS / "example-server.yaml").read_text())


@pytest.fixture
def target(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SshTarget:
    """The loopback sshd as the target `example-server`, and no other."""
    reached = {"host": "127.0.0.1", "user": getpass.getuser(), "port": sshd.port, "virtual": True}
    files = {"identity_file": str(sshd.key), "known_hosts": str(sshd.known_hosts)}
    (tmp_path / "example-server.yaml").write_text(yaml.safe_dump({**SERVER, **reached, **files}))
    monkeypatch.setattr(paths, "TARGETS", tmp_path)
    found = load_target("example-server")
    assert isinstance(found, SshTarget)
    return found


@pytest.mark.slow
def test_each_thing_that_a_server_lacks_is_a_line_with_its_fix(
    lockscale: Lockscale, target: SshTarget, monkeypatch: pytest.MonkeyPatch
):
    def lacks(*_):  # its own tests configure kernels, which takes a minute
        raise BadInput("the root disk's driver is off")

    monkeypatch.setattr(target_ssh, "recipe_of", lacks)
    told = lockscale("target", "check", "example-server", "--json")
    lines = {line["name"]: line for line in told.value["checks"]}
    assert told.status == 1 and not told.value["ok"]
    assert lines["example-server is reached"]["ok"] and lines["example-server lets root in"]["ok"]
    disk = lines["its disk may be formatted"]
    assert not disk["ok"] and disk["fix"].endswith("is not formatted: it does not exist")
    assert "has no /boot/grub/grub.cfg: run update-grub" in lines["its GRUB boots a kernel once"]["fix"]
    assert lines["its boot guard"]["ok"] and not lines["it comes back with a lockscale kernel"]["ok"]
    assert all(bool(line["fix"]) != line["ok"] for line in lines.values())


def test_a_server_that_does_not_answer_is_one_line(lockscale: Lockscale, target: SshTarget, tmp_path: Path):
    said = yaml.safe_load((tmp_path / "example-server.yaml").read_text())
    (tmp_path / "example-server.yaml").write_text(yaml.safe_dump({**said, "port": free_port()}))
    told = lockscale("target", "check", "example-server", "--json")
    assert told.status == 1
    (line,) = told.value["checks"]
    assert "refuses the connection" in line["fix"]


@pytest.mark.slow
def test_a_run_is_refused_by_what_its_server_lacks_before_anything_of_it_is_made(
    lockscale: Lockscale, target: SshTarget, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    from lockscale.machines.server_lock import ServerLock

    monkeypatch.setattr(ServerLock.__init__, "__defaults__", (str(tmp_path / "held"),))
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    told = lockscale("study", "run", "inode-claim", "--target", "example-server")
    assert told.status == 2 and "its GRUB boots a kernel once: no, " in told.err.splitlines()[-1]
    assert "`lockscale target check example-server`" in told.err.splitlines()[-1]
    assert not list((tmp_path / "runs").glob("*"))


@pytest.mark.slow
def test_a_dry_run_holds_nothing_and_reboots_nothing(
    lockscale: Lockscale, target: SshTarget, monkeypatch: pytest.MonkeyPatch
):
    def never(*_, **__):
        raise AssertionError("a dry run did more than look")

    for name in ("server_lock", "on_own_kernel", "boot_once"):
        monkeypatch.setattr(target_ssh, name, never)
    told = lockscale("target", "prepare", "example-server", "--dry-run")
    assert told.status == 2 and "is not formatted: it does not exist" in told.err


@pytest.mark.parametrize("command", ["check", "prepare", "kernels", "home"])
@pytest.mark.parametrize("name", ["qemu", "local"])
def test_a_guest_or_this_machine_is_no_server(lockscale: Lockscale, command: str, name: str):
    told = lockscale("target", command, name)
    assert told.status == 2 and f"target {name} is of kind {name}: this is for a server" in told.err


@pytest.mark.slow
def test_a_server_is_held_by_one_run_and_the_other_is_told_who(
    target: SshTarget, monkeypatch, tmp_path: Path
):
    from lockscale.machines.server_lock import ServerLock

    monkeypatch.setattr(ServerLock.__init__, "__defaults__", (str(tmp_path / "held"),))
    monkeypatch.setenv("LOCKSCALE_NAME", "Ada\x1b[31m\nLovelace")
    with server_lock(target, "inode-claim-1"):
        with pytest.raises(BadInput) as refused, server_lock(target, "inode-claim-2"):
            raise AssertionError("two runs hold one server")
        sentence = str(refused.value)
    assert sentence.startswith("target example-server is in use by Ada?[31m?Lovelace since 20")
    assert "(run inode-claim-1)" in sentence and sentence.isprintable()
    with server_lock(target, "inode-claim-2"):
        pass


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "not json", '{"who": 1}', '{"who": {}, "run": [], "since_utc": 0}']
)
def test_any_record_of_a_holder_is_read(text: str):
    assert in_use("target t", text).startswith("target t is in use by ")


@pytest.mark.slow
def test_a_server_that_is_not_what_its_file_says_is_refused(target: SshTarget):
    with machine_of(target) as machine:
        asked = machine.run(["systemd-detect-virt", "--vm"]).stdout.strip()
        if not asked:
            refuse_other_kind(target, machine)
            return
        is_virtual = asked != "none"
        refuse_other_kind(target.model_copy(update={"virtual": is_virtual}), machine)
        with pytest.raises(BadInput, match="set virtual: "):
            refuse_other_kind(target.model_copy(update={"virtual": not is_virtual}), machine)


@pytest.mark.parametrize(
    ("said", "origin"),
    [("qemu\n", "qemu"), ("kvm\n", "qemu"), ("vmware\n", "vm"), ("amazon\n", "vm"), ("", "vm")],
)
def test_a_virtual_machine_of_another_kind_does_not_pass_for_qemus(said: str, origin: str):
    server = load_target("example-server")
    assert isinstance(server, SshTarget)
    machine = ToldServer({"systemd-detect-virt --vm": said})
    assert origin_of(server.model_copy(update={"virtual": True}), machine) == origin
    assert origin_of(server, machine) == "hardware"


def test_what_a_server_is_made_of_is_told_without_its_name(target: SshTarget):
    with machine_of(target) as machine:
        found = host_facts(machine)
    assert found["cpus"] and found["memory_bytes"] > 1 << 20 and found["kernel"]


def test_a_damaged_target_file_hides_no_other(lockscale: Lockscale, target: SshTarget):
    (paths.TARGETS / "torn.yaml").write_text("name: torn\n")
    told = lockscale("target", "list", "--json")
    assert told.status == 2 and "torn.yaml: its kind is missing" in told.err
    assert "example-server" in told.out


@pytest.mark.parametrize("token", ["", "0000-481GB", " 0000-480GB"])
def test_a_wrong_token_is_refused_before_its_server_is_asked(
    lockscale: Lockscale, target: SshTarget, tmp_path: Path, token: str
):
    said = yaml.safe_load((tmp_path / "example-server.yaml").read_text())
    (tmp_path / "example-server.yaml").write_text(yaml.safe_dump({**said, "port": free_port()}))
    told = lockscale("target", "prepare", "example-server", "--token", token)
    assert told.status == 2 and "is not formatted: the token is wrong: type the last four" in told.err


@pytest.mark.parametrize(
    ("name", "cpus", "more", "said"),
    [
        ("qemu", "4", {"memory_mib": 1 << 21}, "memory_mib: write a number of at most 1048576"),
        (
            "qemu",
            "4",
            {"disk": {"serial": "lockscale", "size_mib": 10**11}},
            "disk.size_mib: write a number of at most 16777216",
        ),
        ("manycore", "48", {"most_cpus": 32}, "target manycore has 32 CPUs, not 48: ask for fewer"),
        ("local", "4", {}, "target local is of kind local"),
    ],
)
@pytest.mark.parametrize("options", [("--show-command",), ()])
def test_a_guest_that_cannot_be_is_refused_before_its_kernel_is_built(
    lockscale: Lockscale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name, cpus, more, said, options
):
    written = yaml.safe_load((paths.TARGETS / f"{name}.yaml").read_text())
    (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({**written, **more}))
    monkeypatch.setattr(paths, "TARGETS", tmp_path)
    monkeypatch.setattr(check, "build", lambda _: pytest.fail("a kernel was built"))
    told = lockscale("target", "boot", name, "inode-claim/steal-retry", "--cpus", cpus, *options)
    assert told.status == 2 and said in told.err
