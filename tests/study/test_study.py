# SPDX-License-Identifier: MIT
"""A study says everything that decides its result; what it does not know is refused in a sentence."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.run_folder import curated_run, read_provenance, read_study_file
from lockscale.sim import load_model
from lockscale.study.file import (
    Study,
    list_studies,
    list_targets,
    load_study,
    load_target,
    parse_parameter,
)

SHIPPED = (paths.STUDIES / "inode-claim.yaml").read_text()
COUNTED = {"unit": "calls/create", "source": "one process"}
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


def test_an_unknown_study_is_refused_with_the_nearest_one():
    with pytest.raises(BadInput, match=r"in notebooks/studies: did you mean inode-claim\?"):
        load_study("inode-clam")


@pytest.mark.parametrize("name", ["zzz", "", "../targets/qemu", "inode-claim.yml", "/etc/passwd"])
def test_what_is_no_name_of_a_study_is_refused(name):
    with pytest.raises(BadInput, match="there is no study"):
        load_study(name)


def test_an_unknown_target_is_refused_with_the_nearest_one():
    with pytest.raises(BadInput, match=r"no target 'quemu' in notebooks/targets: did you mean qemu\?"):
        load_target("quemu")


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


@pytest.mark.parametrize(("told", "missing"), [("problem", "story"), ("story", "problem")])
def test_an_arm_for_another_kernel_says_its_problem_and_how_the_algorithm_explains_it(
    studies: Path, told: str, missing: str
):
    (studies / "x.yaml").write_text(SHIPPED.replace("role: patched", f"role: patched\n    {told}: Slow."))
    with pytest.raises(BadInput, match=f"it has a {told} of its own without a {missing}: write both"):
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
        (
            {"calls_without_retry": COUNTED | {"value": True}},
            "calls_without_retry.value: write a number (got True)",
        ),
        (
            {"calls_without_retry": COUNTED | {"value": -1}},
            "calls_without_retry.value: write a number of at least 0.0 (got -1)",
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mkfs", ["/dev/sda"]),
        ("mkfs", ["-d", "../../etc"]),
        ("mkfs", ["-O journal_dev"]),
        ("mkfs", ["$(reboot)"]),
        ("mount", ["noatime; reboot"]),
        ("mount", ["-o"]),
        ("mount", ["X-mount.subdir=.."]),
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


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "name: get_write_access",
            "name: retries",
            "two counters are called 'retries': give each a different",
        ),
        ("{processes: 8,", "{processes: 1000000000,", "check.processes: write a number of at most 4096"),
        ("300, cpus: 4}", "300, cpus: 65}", "check.cpus: write a number of at most 64"),
        ("items_per_process: 300", "items_per_process: 1000000001", "write a number of at most 100000000"),
        (
            "role: patched",
            "role: patched\n    knobs: {x: 18446744073709551616}",
            "knobs.x: write a number below",
        ),
        (
            'kernel_source: ""',
            f"kernel_source: /{'a' * 4096}",
            "kernel_source: write at most 4096 characters",
        ),
        (
            "search-locked = 0",
            f"search-locked{' ' * 60_000}x",
            "counter 'retries': expect 'search-locked ",
        ),
        (
            "arms:\n",
            "arms:\n" + "".join(f"  - {{name: a{n}, role: variant}}\n" for n in range(999)),
            "arms: it has 1001 entries: write at most 1000",
        ),
    ],
)
def test_what_no_run_could_use_is_refused_when_it_is_read(studies: Path, old: str, new: str, why: str):
    assert old in SHIPPED
    (studies / "inode-claim.yaml").write_text(SHIPPED.replace(old, new))
    with pytest.raises(BadInput) as refused:
        load_study("inode-claim")
    assert why in str(refused.value) and str(refused.value).isprintable()


ESCAPES = "x\x1b[31m"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ESCAPES},
        {"unit": ESCAPES},
        {"count": [f"trace:{ESCAPES}"]},
        {"expect": [f"steal-retry > {ESCAPES}"]},
        {"not_shown": {"steal-retry > search-locked": ESCAPES}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_nothing_that_a_counter_says_steers_a_terminal(studies: Path, changes):
    said = yaml.safe_load(SHIPPED)
    said["counters"][0] |= changes
    (studies / "inode-claim.yaml").write_text(yaml.safe_dump(said))
    with pytest.raises(BadInput, match=rf"^inode-claim\.yaml: counters\.0\.{next(iter(changes))}") as refused:
        load_study("inode-claim")
    assert str(refused.value).isprintable()


def test_nothing_that_a_variant_is_called_steers_a_terminal(studies: Path):
    said = {**yaml.safe_load(SHIPPED), "check": {"variants": {ESCAPES: ["noatime"]}}}
    (studies / "inode-claim.yaml").write_text(yaml.safe_dump(said))
    with pytest.raises(
        BadInput, match=r"^inode-claim\.yaml: check\.variants\.x\?\[31m: write one"
    ) as refused:
        load_study("inode-claim")
    assert str(refused.value).isprintable()


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
