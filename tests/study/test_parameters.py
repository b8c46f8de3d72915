# SPDX-License-Identifier: MIT
"""Parameters of a study, in its file and by -p: a value is one that can be, or is refused in a sentence."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_study import junk

from lockscale.errors import BadInput
from lockscale.kernels.source import find_source
from lockscale.study.file import Parameters, Study, load_study, parse_parameter

ADDRESSES = [
    "https://bob:hunter2@host/x", "https:/bob:hunter2@host/x", "bob:hunter2@host:/x", "bob:hun/ter2@host",
    "git@host:repo", "host.example:/x", "ftp+x://host/x", "bob:hunter2@host",
]  # fmt: skip


def test_a_parameter_is_changed_and_the_others_stay():
    plain, changed = load_study("inode-claim"), load_study("inode-claim", {"iterations": 7})
    assert changed.parameters.iterations == 7
    assert changed.parameters.model_copy(update={"iterations": 3}) == plain.parameters


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


NAMES = st.sampled_from(sorted(Parameters.model_fields))
GIVEN = st.one_of(st.text(), st.integers().map(str), st.lists(st.integers()).map(str))


@settings(deadline=None)
@given(st.one_of(st.text(), st.tuples(NAMES, GIVEN).map("=".join)))
@example("x=!!int y")
@example("seed=7")
def test_any_text_is_a_parameter_or_a_sentence(text):
    try:
        name, _ = parse_parameter(text)
    except BadInput as error:
        assert "\n" not in str(error)
        return
    assert name in Parameters.model_fields and text.startswith(name + "=")


@settings(deadline=None)
@given(NAMES, junk)
@example("seed", 7)
@example("profiled_functions", ["ext4_create"])
@example("arms", ["search-locked", "steal-retry"])
def test_any_value_is_a_valid_study_or_a_sentence(name, value):
    try:
        study = load_study("inode-claim", {name: value})
    except BadInput as error:
        assert "\n" not in str(error)
        return
    assert getattr(study.parameters, name) == value
    assert Study.model_validate(study.model_dump()) == study


def test_a_parameter_whose_value_gives_a_name_twice_is_refused():
    with pytest.raises(BadInput, match="repeats the name 'cpus'"):
        parse_parameter("guests=[{cpus: 2, cpus: 4, processes: [1]}]")


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


@pytest.mark.parametrize("name", ["operations_at", "loads_at"])
def test_a_number_of_processes_is_given_once_with_or_without_quotes(name: str):
    for text in ("{'4': 2}", "{4: 2}"):
        given = parse_parameter(f"guests=[{{cpus: 4, processes: [4], {name}: {text}}}]")
        assert getattr(load_study("inode-claim", dict([given])).parameters.guests[0], name) == {4: 2}
    given = parse_parameter(f"guests=[{{cpus: 4, processes: [4], {name}: {{'4': 2, 4: 3}}}}]")
    with pytest.raises(BadInput, match=rf"parameter guests\.0\.{name}: a number of processes is given twice"):
        load_study("inode-claim", dict([given]))
