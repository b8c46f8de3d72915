# SPDX-License-Identifier: MIT
"""A study says everything that decides its result; what it does not know is refused in a sentence."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.source import find_source
from lockscale.measure.run_folder import curated_run, read_provenance, read_study_file
from lockscale.sim import load_model
from lockscale.study.file import (
    Parameters,
    Study,
    list_studies,
    list_targets,
    load_study,
    load_target,
    parse_parameter,
)

SHIPPED = (paths.STUDIES / "inode-claim.yaml").read_text()
OPTIONAL = {"calls_without_retry", "check", "counters", "problem"}
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of studies of the test's own."""
    monkeypatch.setattr(paths, "STUDIES", tmp_path)
    return tmp_path


def test_the_shipped_studies_and_targets_load_and_are_named_as_their_files():
    assert "inode-claim" in list_studies()
    assert [load_study(name).name for name in list_studies()] == list_studies()
    assert "qemu" in list_targets()
    assert [load_target(name).name for name in list_targets()] == list_targets()


def test_every_shipped_arm_is_one_its_model_can_bind():
    for study in map(load_study, list_studies()):
        for arm in study.arms:
            load_model(study.model_of(arm)).bind(arm.model_parameters)


def test_the_shipped_default_has_the_points_of_the_question():
    parameters = load_study("inode-claim").parameters
    assert 48 in parameters.guests[0].processes
    assert parameters.guests[0].cpus >= 4
    assert parameters.iterations >= 3


def test_a_parameter_is_changed_and_the_others_stay():
    plain, changed = load_study("inode-claim"), load_study("inode-claim", {"iterations": 7})
    assert changed.parameters.iterations == 7
    assert changed.parameters.model_copy(update={"iterations": 3}) == plain.parameters


def test_an_unknown_study_is_refused_with_the_nearest_one():
    with pytest.raises(BadInput, match=r"no study 'inode-clam' in studies/: did you mean inode-claim\?"):
        load_study("inode-clam")


@pytest.mark.parametrize("name", ["zzz", "", "../targets/qemu", "inode-claim.yml", "/etc/passwd"])
def test_what_is_no_name_of_a_study_is_refused(name):
    with pytest.raises(BadInput, match="there is no study"):
        load_study(name)


def test_an_unknown_target_is_refused_with_the_nearest_one():
    with pytest.raises(BadInput, match=r"no target 'quemu' in targets/: did you mean qemu\?"):
        load_target("quemu")


def test_a_misspelt_parameter_is_refused_with_the_nearest_one():
    with pytest.raises(BadInput, match=r"no parameter 'iteration': did you mean iterations\?"):
        load_study("inode-claim", {"iteration": 4})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iterations", "4"),
        ("iterations", 4.0),
        ("iterations", True),
        ("iterations", 1),
        ("operations_per_point", 0),
        ("operations_per_point", None),
        ("seed", -1),
        ("seed", 2**63),
        ("simulated_threads", [4097]),
        ("tool", "bonnie"),
        ("accel", "fast"),
        ("guests", []),
        ("guests", [{"cpus": 4}]),
        ("guests", [{"cpus": 8193, "processes": [1]}]),
        ("guests", [{"cpus": 4, "processes": [0]}]),
        ("guests", [{"cpus": 4, "processes": [1], "memory": 1}]),
        ("simulated_threads", "1,2"),
        ("kernel_source", 6.12),
    ],
)
def test_a_value_of_the_wrong_type_or_range_is_refused_by_its_place(name, value):
    with pytest.raises(BadInput, match=rf"^parameter {name}.*: ") as refused:
        load_study("inode-claim", {name: value})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("guests", [{"cpus": 1, "processes": [1, 1]}], "1 is given 2 times: give each once"),
        (
            "guests",
            [{"cpus": 1, "processes": [1]}, {"cpus": 1, "processes": [2, 1]}],
            "1 processes on 1 CPUs are given 2 times: give each once",
        ),
        ("simulated_threads", [1, 8, 8, 8], "8 is given 3 times: give each once"),
    ],
)
def test_a_point_is_named_once_as_its_repeats_would_pass_for_iterations(name, value, reason):
    with pytest.raises(BadInput, match=reason):
        load_study("inode-claim", {name: value})


def test_one_number_of_processes_may_be_measured_on_several_numbers_of_cpus():
    guests = [{"cpus": 1, "processes": [1]}, {"cpus": 2, "processes": [1]}, {"cpus": 2, "processes": [2]}]
    assert len(load_study("inode-claim", {"guests": guests}).parameters.guests) == 3


ADDRESSES = [
    "https://bob:hunter2@host/x", "https:/bob:hunter2@host/x", "bob:hunter2@host:/x", "bob:hun/ter2@host",
    "git@host:repo", "host.example:/x", "ftp+x://host/x", "bob:hunter2@host",
]  # fmt: skip


@pytest.mark.parametrize("source", ADDRESSES)
def test_a_kernel_source_is_a_path_and_no_address_and_no_password_is_repeated(
    source: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOCKSCALE_KERNEL_SOURCE", source)
    for call in (lambda: load_study("inode-claim", {"kernel_source": source}), find_source):
        with pytest.raises(BadInput, match="looks like a URL, and nothing is downloaded") as refused:
            call()
        assert "hun" not in str(refused.value)


@pytest.mark.parametrize(
    "source", ["/srv/linux@6.12", "~/a:b@c", "./a@b", "kernels/l@6.12.tar.xz", "a:b", ""]
)
def test_a_path_may_have_the_signs_of_an_address(source: str):
    assert load_study("inode-claim", {"kernel_source": source}).parameters.kernel_source == source


def test_a_kernel_source_in_the_home_of_nobody_is_a_sentence():
    with pytest.raises(BadInput, match="'~nobody-here/x' does not begin with a home folder of this machine"):
        find_source("~nobody-here/x")


def test_a_key_that_no_study_has_is_refused(studies: Path):
    (studies / "x.yaml").write_text(SHIPPED + "mkfz: [-b]\n")
    with pytest.raises(BadInput, match=r"^x\.yaml: mkfz: there is no such key: remove it"):
        load_study("x")


@pytest.mark.parametrize("key", sorted(yaml.safe_load(SHIPPED).keys() - OPTIONAL))
def test_a_study_without_one_of_its_parts_is_refused(studies: Path, key: str):
    said = yaml.safe_load(SHIPPED)
    del said[key]
    (studies / "x.yaml").write_text(yaml.safe_dump(said))
    with pytest.raises(BadInput, match=rf"^x\.yaml: {key}: it is missing: add it$"):
        load_study("x", {"seed": 2})


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("role: patched", "role: proposed", "one of role patched"),
        ("role: unpatched", "role: proposed", "of role unpatched"),
        ("name: search-locked", "name: steal-retry", "two arms have the same name"),
    ],
)
def test_a_study_compares_an_unpatched_with_a_patched_kernel(studies: Path, old, new, reason):
    (studies / "x.yaml").write_text(SHIPPED.replace(old, new))
    with pytest.raises(BadInput, match=rf"{reason}[^\[]*$"):  # and no list of arms that is cut off
        load_study("x")


def test_a_yaml_tag_that_would_run_code_is_refused_and_runs_nothing(inside: Path, monkeypatch):
    monkeypatch.setattr(paths, "STUDIES", inside)
    (inside / "x.yaml").write_text('question: !!python/object/apply:os.mkdir ["ran"]\n')
    with pytest.raises(BadInput, match=r"x\.yaml line 1 is not YAML that can be read safely"):
        load_study("x")
    with pytest.raises(BadInput, match="parameter seed is not YAML"):
        parse_parameter('seed=!!python/object/apply:os.mkdir ["ran"]')
    assert not (inside / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tables": []}, "tables: it has 0 entries: write at least 1"),
        ({"arms": ["a"]}, "arms.0: write names with values (got 'a')"),
        ({"mkfs": None}, "mkfs: write a list, such as [a, b] (got None)"),
        ({"check": {"variants": {"a b": "c"}}}, "check.variants.a b: write a list, such as [a, b] (got 'c')"),
        ({"aa_counter": 5}, "aa_counter: write text, or write '' (got 5)"),
        (
            {"filesystem": "zfs"},
            "filesystem: there is no file system 'zfs': use one of btrfs, ext4, tmpfs, xfs",
        ),
        ({5: "x"}, "5: a key must be text: quote it, or correct its name (got 5)"),
    ],
)
def test_what_cannot_be_is_told_by_its_keys_and_by_what_to_write(studies: Path, changes, says: str):
    (studies / "inode-claim.yaml").write_text(yaml.safe_dump(yaml.safe_load(SHIPPED) | changes))
    with pytest.raises(BadInput, match=rf"^inode-claim\.yaml: {re.escape(says)}$"):
        load_study("inode-claim")


@pytest.mark.parametrize("text", ["", "- a list", "only words"])
def test_a_file_without_names_says_what_to_write(studies: Path, text: str):
    (studies / "x.yaml").write_text(text)
    with pytest.raises(BadInput, match=r"x\.yaml has no names with values: write some, such as name: x$"):
        load_study("x")


@pytest.mark.parametrize("text", ["a: [", "a: 0x_", "\x00", "a: 2024-99-99"])
def test_a_file_that_is_no_study_is_refused(studies: Path, text: str):
    (studies / "x.yaml").write_text(text)
    with pytest.raises(BadInput, match=r"x\.yaml"):
        load_study("x")


def test_a_file_that_is_no_text_is_refused(studies: Path):
    (studies / "x.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(BadInput, match=r"x\.yaml"):
        load_study("x")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("iterations=4", "iterations", 4),
        ("tool=fsload", "tool", "fsload"),
        ("guests=[{cpus: 4, processes: [1, 8]}]", "guests", [{"cpus": 4, "processes": [1, 8]}]),
        ("kernel_source=/a=b", "kernel_source", "/a=b"),
        ("seed=", "seed", None),
    ],
)
def test_a_parameter_of_the_command_line_is_read_as_yaml(text, name, value):
    assert parse_parameter(text) == (name, value)


@pytest.mark.parametrize("text", ["iterations", "=4", ""])
def test_a_parameter_without_name_or_equals_sign_is_refused(text):
    with pytest.raises(BadInput, match="write -p name=value"):
        parse_parameter(text)


# int(), datetime and a look-up inside YAML's own constructors fail in their own ways
@pytest.mark.parametrize(
    "text", ["[1", "0x_", "2024-99-99", "!!bool x", "!!timestamp x", "[" * 5000, "9" * 5000]
)
def test_a_value_that_yaml_cannot_read_is_refused_and_not_repeated_at_length(text):
    with pytest.raises(
        BadInput, match=r"the value of parameter seed (is not YAML|cannot be used: line 1)"
    ) as refused:
        parse_parameter(f"seed={text}")
    assert len(str(refused.value)) < 200


def test_a_value_that_grows_when_it_is_printed_is_refused_briefly():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{n}: &{n} [{', '.join([f'*{m}'] * 9)}]" for m, n in zip("abcdefgh", "bcdefghi", strict=True)]
    for value in (yaml.safe_load("\n".join(lines)), int("9" * 4000) ** 2):
        with pytest.raises(BadInput) as refused:
            load_study("inode-claim", {"guests": value})
        assert len(str(refused.value)) < 300


@settings(deadline=None)
@given(st.text())
@example("x=!!int y")
def test_any_text_is_a_parameter_or_a_sentence(text):
    try:
        name, _ = parse_parameter(text)
    except BadInput:
        return
    assert text.startswith(name + "=")


@settings(deadline=None)
@given(st.sampled_from(sorted(Parameters.model_fields)), junk)
def test_any_value_is_a_valid_study_or_a_sentence(name, value):
    try:
        study = load_study("inode-claim", {name: value})
    except BadInput as error:
        assert "\n" not in str(error)
        return
    assert getattr(study.parameters, name) == value
    assert Study.model_validate(study.model_dump()) == study


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(Study.model_fields)), junk)
def test_any_value_of_a_study_is_a_valid_study_or_a_sentence(tmp_path_factory, name, value):
    folder = tmp_path_factory.mktemp("studies")
    (folder / "inode-claim.yaml").write_text(yaml.safe_dump({**yaml.safe_load(SHIPPED), name: value}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "STUDIES", folder)
        try:
            assert load_study("inode-claim", {"seed": 5}).parameters.seed == 5
        except BadInput as error:
            assert str(error).startswith(("inode-claim.yaml", f"{folder}/inode-claim.yaml"))
            assert not re.search("should|required|NoneType|cannot stand", str(error))  # pydantic's own words


def test_a_file_is_named_as_its_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "other.yaml").write_text(SHIPPED)
    monkeypatch.setattr(paths, "STUDIES", tmp_path)
    with pytest.raises(BadInput, match=r"rename the file to inode-claim\.yaml"):
        load_study("other")


def test_a_parameter_whose_value_gives_a_name_twice_is_refused():
    with pytest.raises(BadInput, match="repeats the name 'cpus'"):
        parse_parameter("guests=[{cpus: 2, cpus: 4, processes: [1]}]")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mkfs", ["/dev/sda"]),
        ("mkfs", ["-d", "../../etc"]),
        ("mkfs", ["-O journal_dev"]),
        ("mkfs", ["$(reboot)"]),
        ("mount", ["noatime; reboot"]),
        ("mount", ["-o"]),
        ("mkfs_asserts", ["a b"]),
        ("question", "red \x1b[31m"),
        ("metric", "a\nb"),
    ],
)
def test_what_would_reach_beyond_the_disk_or_steer_a_terminal_is_refused(studies: Path, name, value):
    said = {**yaml.safe_load(SHIPPED), name: value}
    (studies / "inode-claim.yaml").write_text(yaml.safe_dump(said))
    with pytest.raises(BadInput, match=rf"^inode-claim\.yaml: {name}") as refused:
        load_study("inode-claim")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("value", ["a;b", "a b", "$(x)", "../x", "", "a\nb"])
def test_a_function_to_profile_is_a_name_or_a_pattern(value: str):
    with pytest.raises(BadInput, match="profiled_functions"):
        load_study("inode-claim", {"profiled_functions": [value]})


@pytest.mark.parametrize(
    "changes",
    [
        {"creates_per_point": 9},
        {"manycore": [{"cpus": 4, "processes": [1], "creates_per_point": 9}]},
        {"manycore": [{"cpus": 4, "processes": [1], "creates_at": {1: 9}}]},
    ],
)
def test_a_parameter_by_its_name_of_earlier_versions_says_its_present_one(changes: dict[str, object]):
    with pytest.raises(BadInput, match=r"creates_\w+:? is called operations_\w+ now: rename it$"):
        load_study("inode-claim", changes)


def test_what_a_run_of_an_earlier_version_says_of_its_study_has_its_present_names():
    said = json.loads((curated_run("group-trylock").folder / "study.json").read_text())
    assert said["arms"][0]["role"] == "before" and "creates_per_point" in said["parameters"]
    found = read_study_file(curated_run("group-trylock").folder)
    roles = {arm["name"]: arm["role"] for arm in found["arms"]}
    assert (roles["wait-group"], roles["trylock"], roles["goal-spread"]) == (
        "unpatched", "patched", "proposed",
    )  # fmt: skip
    parameters = load_study("group-trylock", found["parameters"]).parameters
    assert parameters.operations_per_point == said["parameters"]["creates_per_point"]
    provenance = read_provenance(curated_run("group-trylock").folder)
    assert provenance["study"]["arms"] == found["arms"]


@pytest.mark.parametrize("folder", ["", "studies/", "notebooks/studies/", f"{paths.STUDIES}/"])
@pytest.mark.parametrize("end", ["", ".yaml"])
def test_a_study_has_its_folder_before_its_name_or_not(folder: str, end: str):
    assert load_study(f"{folder}inode-claim{end}").name == "inode-claim"
    with pytest.raises(BadInput, match="there is no study"):
        load_study(f"../{folder}inode-claim{end}")


@pytest.mark.parametrize("name", ["qemu.yaml", "notebooks/targets/qemu.yaml", "targets/qemu"])
def test_a_target_has_its_folder_before_its_name_or_not(name: str):
    assert load_target(name).name == "qemu"


def test_a_role_and_a_key_of_an_earlier_version_are_told_their_present_names(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(paths, "STUDIES", tmp_path)
    text = (paths.ROOT / "notebooks/studies/inode-claim.yaml").read_text()
    for was, now, said in (
        ("role: unpatched", "role: before", "before is called unpatched now: rename it"),
        ("mount: [noatime]", "creates_per_point: 5", "operations_per_point now, a key of parameters"),
    ):
        assert was in text
        (tmp_path / "inode-claim.yaml").write_text(text.replace(was, now, 1))
        with pytest.raises(BadInput, match=said):
            load_study("inode-claim")
