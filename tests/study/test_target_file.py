# SPDX-License-Identifier: MIT
"""A target file names a machine; whatever else it says is one sentence, and nothing is run."""

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.server_recovery import host_of
from lockscale.study.file import LocalTarget, QemuTarget, SshTarget, guest_target, load_target
from lockscale.study.target_file import with_disk

SERVER = yaml.safe_load((paths.TARGETS / "example-server.yaml").read_text())
MANYCORE = (paths.TARGETS / "manycore.yaml").read_text()
PLACES = [
    ("host",), ("user",), ("identity_file",), ("known_hosts",), ("disk", "by_id"), ("disk", "serial"),
    ("boot", "guard"), ("boot", "method"), ("name",), ("kind",),
]  # fmt: skip
FILES = ("identity_file", "known_hosts")
HOSTILE = [
    "-oProxyCommand=touch ran", "$(touch ran)", "`touch ran`", "a;touch ran", "a\ntouch ran", "a b", "",
    "../../etc/passwd", "\x1b[31mred", "\x00", "a|b", "a'b", 'a"b', "!!python/name:os.system",
]  # fmt: skip


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "TARGETS", tmp_path)
    return tmp_path


def refused(folder: Path, said: object) -> str:
    (folder / "example-server.yaml").write_text(said if isinstance(said, str) else yaml.safe_dump(said))
    with pytest.raises(BadInput) as error:
        load_target("example-server")
    sentence = str(error.value)
    assert sentence.isprintable() and len(sentence) < 500, sentence
    return sentence


def changed(place: tuple[str, ...], value: object) -> dict:
    said = yaml.safe_load(yaml.safe_dump(SERVER))
    inside = said
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return said


def test_the_three_kinds_are_told_apart():
    kinds = {"qemu": QemuTarget, "example-server": SshTarget, "local": LocalTarget}
    assert {name: type(load_target(name)) for name in kinds} == kinds


@pytest.mark.parametrize("name", ["qemu", "manycore"])
def test_a_study_may_ask_for_a_larger_disk_of_a_guest_and_for_no_smaller_one(name: str):
    target = load_target(name)
    assert with_disk(target, 40960).disk.size_mib == 40960
    assert with_disk(target, 40960).name == target.name
    assert with_disk(target, 1024) == with_disk(target, None) == target
    server = load_target("example-server")
    assert with_disk(server, 1 << 20) == server


def test_a_server_boots_no_guests():
    with pytest.raises(BadInput, match="target example-server is of kind ssh, and this boots guests"):
        guest_target(load_target("example-server"))


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_a_name_that_could_do_harm_on_a_command_line_is_refused(targets: Path, place):
    for value in HOSTILE:
        if place[-1] in FILES and value and value.isprintable():
            continue  # a file may be called so: it is opened, and reaches no command line
        assert place[-1] in refused(targets, changed(place, value)) or place == ("kind",)


@pytest.mark.parametrize(
    "path",
    [
        "/dev/sda",
        "/dev/disk/by-id/../../sda",
        "/dev/disk/by-id/",
        "/dev/disk/by-id/..",
        "/dev/disk/by-uuid/a",
    ],
)
def test_a_disk_is_named_by_id_only(targets: Path, path: str):
    assert "disk.by_id" in refused(targets, changed(("disk", "by_id"), path))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("disk", "by_id"), "/dev/sda", "disk.by_id: write the disk's persistent name: /dev/disk/by-id/"),
        (("disk", "serial"), "a b", "disk.serial: write the serial number, as `lsblk -o NAME,SERIAL`"),
        (("host",), "a b", "host: write a host's name, its address or its alias in ~/.ssh/config"),
        (("user",), "a b", "user: write the name of the server's user"),
        (("boot", "config"), "my/config", "boot.config: write full, localmodconfig, or the path"),
        (("boot", "boot_timeout_s"), 10**20, "boot.boot_timeout_s: write a number of at most 86400"),
        (("host",), "h" * 254, "host: at most 253 characters are taken: write a host's name"),
    ],
)
def test_a_refusal_says_what_to_write_and_shows_no_pattern(targets: Path, place, value: str, said: str):
    sentence = refused(targets, changed(place, value))
    assert sentence.startswith(f"example-server.yaml: {said}") and "pattern" not in sentence


@pytest.mark.parametrize(
    "key", sorted(SERVER.keys() - {"user", "port", "identity_file", "known_hosts", "boot", "prepare"})
)
def test_a_server_without_one_of_its_parts_is_refused(targets: Path, key: str):
    assert refused(targets, {k: v for k, v in SERVER.items() if k != key}).startswith("example-server.yaml: ")


def test_what_no_server_has_is_refused_in_printable_words(targets: Path):
    said = refused(targets, {**SERVER, "lo\x1b[31mgin\n": "x"})
    assert "there is no such key" in said


@pytest.mark.parametrize("key", ["password", "Passwort", "passphrase", "api_token", "client-secret"])
def test_a_password_is_refused_without_repeating_it(targets: Path, key: str):
    said = refused(targets, {**SERVER, key: "hunter2secret"})
    assert said == (
        f"example-server.yaml: {key}: such a file must not contain a password: "
        "remove the line, and log in with a key or an agent"
    )


@pytest.mark.parametrize("value", ["hunter2secret", ["hunter2secret"], {"deep": "hunter2secret"}])
def test_the_value_of_what_no_server_has_is_not_repeated(targets: Path, value: object):
    assert "hunter2" not in refused(targets, {**SERVER, "login": value})
    assert "hunter2" not in refused(targets, {"password": value, "name": "example-server"})
    assert "hunter2" not in refused(targets, {**SERVER, "bob:hunter2secret@server": value})
    assert "hunter2" not in refused(targets, {**SERVER, "host": "ssh://bob:hunter2secret@server"})


@pytest.mark.parametrize(
    "folder", ["../../rel", "rel", "~nobody-here/x", "~", "", "/a\nb", "/a\x1b[31m", 5, "/a/../b", "~/../b"]
)
def test_the_folder_of_loads_is_a_whole_path(targets: Path, folder: object):
    (targets / "here.yaml").write_text(yaml.safe_dump({"name": "here", "kind": "local", "folder": folder}))
    with pytest.raises(BadInput, match=r"^here\.yaml: folder: "):
        load_target("here")


def test_the_folder_of_loads_may_be_in_this_users_home(targets: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/somewhere")
    (targets / "here.yaml").write_text("name: here\nkind: local\nfolder: ~/loads\n")
    here = load_target("here")
    assert isinstance(here, LocalTarget) and here.room == Path("/somewhere/loads")


@pytest.mark.parametrize("place", FILES)
def test_a_key_in_the_home_of_nobody_is_a_sentence(targets: Path, place: str):
    said = yaml.safe_dump(changed((place,), "~nobody-here/key"))
    (targets / "example-server.yaml").write_text(said)
    target = load_target("example-server")
    assert isinstance(target, SshTarget)
    with pytest.raises(
        BadInput, match="'~nobody-here/key' does not begin with a home folder of this machine"
    ):
        host_of(target)


def test_a_tag_runs_nothing(targets: Path, inside: Path):
    refused(targets, 'host: !!python/object/apply:os.mkdir ["ran"]\n')
    assert not (inside / "ran").exists()


@pytest.mark.parametrize(
    "host", ["my-server", "server.example", "192.0.2.1", "2001:db8::1", "::1", "fe80::1%eth0"]
)
def test_a_name_or_an_address_is_a_host(targets: Path, host: str):
    (targets / "example-server.yaml").write_text(yaml.safe_dump({**SERVER, "host": host}))
    assert load_target("example-server").host == host


def test_a_file_without_a_kind_says_which_there_are(targets: Path):
    without = {name: value for name, value in SERVER.items() if name != "kind"}
    assert "kind is missing: write kind: manycore, qemu, ssh or local" in refused(targets, without)
    said = refused(targets, without | {"kind": "kvm"})
    assert said.endswith("kind: there is no such kind: write 'qemu', 'manycore', 'ssh', 'local'")


def test_a_file_is_named_as_its_target(targets: Path):
    assert "rename the file to other.yaml" in refused(targets, {**SERVER, "name": "other"})


@pytest.mark.parametrize("name", ["", "../studies/inode-claim", "example-server.yml", "/etc/passwd", "a\nb"])
def test_what_is_no_name_of_a_target_is_refused(name: str):
    with pytest.raises(BadInput, match="there is no target"):
        load_target(name)


junk = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text(), max_size=2)


@settings(max_examples=40)
@example(("host",), "mds1")
@example(("port",), 2222)
@example(("disk", "serial"), "S4EVNX0R")
@example(("user",), None)
@given(st.sampled_from([*PLACES, ("disk",), ("boot",), ("port",), ("virtual",), ("prepare",)]), junk)
def test_any_value_is_a_target_or_a_sentence(tmp_path_factory, place, value):
    folder = tmp_path_factory.mktemp("targets")
    (folder / "example-server.yaml").write_text(yaml.safe_dump(changed(place, value), allow_unicode=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "TARGETS", folder)
        try:
            target = load_target("example-server")
        except BadInput as error:
            assert str(error).isprintable()
            return
    assert isinstance(target, SshTarget)
    assert not target.host.startswith("-") and target.host.isprintable() and " " not in target.host


@pytest.mark.parametrize("name", ["quantum_ns", "live_ns"])
def test_a_time_of_no_picosecond_is_none(targets: Path, name: str):
    said = {**yaml.safe_load(MANYCORE), name: 1e-320}
    (targets / "manycore.yaml").write_text(yaml.safe_dump(said))
    with pytest.raises(BadInput, match=rf"^manycore\.yaml: {name}: write a number of at least 0\.01"):
        load_target("manycore")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("high_ns", "inf", "write a number of at most 1000000000"),
        ("high_ns", "nan", "write a number"),
        ("high_ns", 1e300, "write a number of at most 1000000000"),
        ("source", "cycles\x1b[31m of a pause", "write one line of text"),
    ],
)
def test_a_price_is_a_number_with_a_printable_source(targets: Path, name: str, value: object, why: str):
    said = yaml.safe_load(MANYCORE)
    said["prices"]["pause"][name] = value
    (targets / "manycore.yaml").write_text(yaml.safe_dump(said))
    with pytest.raises(BadInput, match=rf"^manycore\.yaml: prices\.pause\.{name}: {why}") as refused:
        load_target("manycore")
    assert str(refused.value).isprintable()


def test_what_is_public_of_a_server_does_not_say_where_it_is(targets: Path):
    planted = {"host": "secret-host", "user": "secret-user", "port": 2222}
    planted |= {"identity_file": "~/.ssh/secret-key", "known_hosts": "/etc/secret-hosts"}
    (targets / "example-server.yaml").write_text(yaml.safe_dump({**SERVER, **planted}))
    said = str(load_target("example-server").public())
    assert "secret" not in said and "2222" not in said and SERVER["disk"]["serial"] not in said


def test_a_local_target_is_never_disposable_in_the_words_of_yaml(targets: Path):
    here = {"name": "here", "kind": "local", "disposable": True}
    (targets / "here.yaml").write_text(yaml.safe_dump(here))
    with pytest.raises(BadInput, match=r"^here\.yaml: disposable: write false \(got True\)$"):
        load_target("here")
