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
        ("base: &b {x: 1}\nthis:\n  <<: *b\n  <<: *b\n", 4, "<<"),
    ],
)
def test_a_name_given_twice_is_refused_with_its_line(tmp_path: Path, text: str, line: int, name: str):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(
        BadInput, match=rf"x\.yaml line {line} gives the name '{name}' a second time: keep one$"
    ):
        read_yaml(tmp_path / "x.yaml")


def test_the_same_name_in_two_places_and_a_merge_that_is_overridden_are_no_repeat():
    assert parse_yaml("a: {x: 1}\nb: {x: 2}\n") == {"a": {"x": 1}, "b": {"x": 2}}
    merged = parse_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: {<<: *a, x: 4}\n")
    assert merged == {"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 2}, "c": {"x": 4, "y": 2}}


@pytest.mark.parametrize("text", ["a: [", "a: !!python/object/apply:os.getpid []", "2023-99-99", "\x00"])
def test_what_is_no_yaml_is_one_sentence(tmp_path: Path, text: str):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadInput, match=r"x\.yaml.* is not YAML that can be read safely: mend it$"):
        read_yaml(tmp_path / "x.yaml")
