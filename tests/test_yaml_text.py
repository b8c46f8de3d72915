# SPDX-License-Identifier: MIT
"""YAML files: the values of PyYAML's safe loader, but a name given twice is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.yaml_text import parse_yaml, read_yaml

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(VALUES)
def test_what_names_everything_once_is_read_as_it_was_written(value: Any):
    assert parse_yaml(yaml.safe_dump(value)) == value


@pytest.mark.parametrize("path", sorted(paths.ROOT.glob("[dn]*/**/*.yaml")), ids=lambda path: path.stem)
def test_every_file_of_the_repository_names_everything_once(path: Path):
    assert read_yaml(path) == yaml.safe_load(path.read_text())


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("cpus: 4\ncpus: 8\n", 2, "cpus"),
        ("a: 1\n'b': 2\nguests:\n- cpus: 4\n  seed: 1\n  \"cpus\": 4\n", 6, "cpus"),
        ("{a: {b: 1, b: 1}}", 1, "b"),
        ("loads_at:\n  16: 2\n  0x10: 3\n", 3, "0x10"),
        ("{1: a, 1.0: b}", 1, "1.0"),
        ("base: &b {x: 1}\nthis:\n  <<: *b\n  <<: *b\n", 4, "<<"),
    ],
)
def test_a_name_given_twice_is_refused_with_its_line(tmp_path: Path, text: str, line: int, name: str):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadInput, match=rf"x\.yaml line {line} repeats the name '{name}': keep one$"):
        read_yaml(tmp_path / "x.yaml")


def test_the_same_name_in_two_places_and_a_merge_that_is_overridden_are_no_repeat():
    assert parse_yaml("a: {x: 1}\nb: {x: 2}\n") == {"a": {"x": 1}, "b": {"x": 2}}
    merged = parse_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: {<<: *a, x: 4}\n")
    assert merged == {"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 2}, "c": {"x": 4, "y": 2}}


ALIASES = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 30))
MERGES = (
    "a0: &a0 {"
    + ", ".join(f"k{n}: 1" for n in range(40))
    + "}\n"
    + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 8))
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mount: !!set {a, b}", "line 1 is a set, which has no order: write a list, such as"),
        ("a: 1\nmount:\n  ? a\n  ? b\nc: !!set {? x}", "line 5 is a set"),
        ("seconds: 40:00", "line 1 says 40:00, a number of base 60 to YAML"),
        (r'a: !!float "1:\e[31m"', r"line 1 says 1:\?\[31m, a number of base 60"),
        ("a: b\nseconds: -1:30.5", "line 2 says -1:30.5, a number of base 60"),
        ("a: 1\niterations: 010", "line 2 says 010, a number of base 8 to YAML: write it in decimal"),
        ("serial: -0_7", "line 1 says -0_7, a number of base 8"),
        ("value: .nan", "line 1 says .nan, which is not a number"),
        ("a: [1, -.inf]", "line 1 says -.inf, which is not a number"),
        ("a: 1.0e+999", "line 1 says 1.0e\\+999, which is not a number"),
        ("question: faster \u202e?retsaf", "line 1 contains a bidirectional control character"),
        ('a: 1\nquestion: "\\u2066x"', "line 2 contains a bidirectional"),
        ("# harmless \u202e\na: 1", "line 1 contains a bidirectional"),
        ('a: 1\n"\\ud800": x', r"line 2 contains half a character, such as \\ud800: write the whole one"),
        ("a: " + "[" * 60 + "]" * 60, "line 1 is more than 40 levels deep"),
        pytest.param(
            "a: 1\nb: [" + "1," * 100_000 + "]",
            "line 2 follows 100000 names and values: write fewer",
            marks=pytest.mark.slow,
        ),
        (MERGES, r"line \d merges more than 100000 values"),
        (ALIASES, "has more than 100000 values, aliases written out: write fewer"),
        ("a: &a [*a]", "has more than 100000 values"),
        ("a: " + "x" * (1 << 20), "has more than 1 MiB: write less"),
    ],
    ids=range(20),
)
def test_what_means_something_else_or_grows_without_bound_is_refused(tmp_path: Path, text: str, why: str):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadInput, match=rf"x\.yaml {why}"):
        read_yaml(tmp_path / "x.yaml")


def test_what_looks_like_it_and_is_harmless_is_taken():
    text = "time: '40:00'\nport: a:b\naddress: 10:20:30:zz\nnumber: 1.5e3\nwords: é → x"
    assert parse_yaml(text) == {
        "time": "40:00", "port": "a:b", "address": "10:20:30:zz", "number": "1.5e3", "words": "é → x"
    }  # fmt: skip
    assert parse_yaml("[0, -0, '010', 0x10, 0b11, 1_000, 0.5]") == [0, 0, "010", 16, 3, 1000, 0.5]


@pytest.mark.parametrize(
    "text",
    [
        "a: [", "a: !!python/object/apply:os.getpid []", "2023-99-99", "\x00", 'a: !!int ""',
        'a: !!float "_"', r'a: "\UFFFFFFFF"', "a: !!timestamp {=: 2001-01-01}", "a: !!int {=: '40:00'}",
        "a: !!str {=: b}",
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_one_sentence(tmp_path: Path, text: str):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadInput, match=r"x\.yaml.* is not YAML that can be read safely, .+: fix it$"):
        read_yaml(tmp_path / "x.yaml")
