# SPDX-License-Identifier: MIT
"""Damaged copies of data/published: what a table says must change when its numbers do."""

import hashlib
import json
import shutil

import pytest

from lockscale import paths
from lockscale.studies.registry import studies

studies()  # a module imported while a test has replaced published() would keep the replacement


@pytest.fixture
def copied_data(tmp_path, monkeypatch):
    """A copy of data/ that a test may damage."""
    return copy_data(tmp_path / "data", monkeypatch)


@pytest.fixture
def damage(copied_data):
    """damage(table, old, new, ...): text of a table's CSV replaced, and its sha256 with it."""

    def replace(name, *pairs, rehash=True):
        path = copied_data / "published" / f"{name}.csv"
        text = path.read_text()
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)
        if rehash:
            rewrite(copied_data, name, hash="sha256:" + hashlib.sha256(path.read_bytes()).hexdigest())

    return replace


@pytest.fixture
def restate(copied_data):
    """restate(table, key=value): what the data package says of a table."""
    return lambda name, **facts: rewrite(copied_data, name, **facts)


def copy_data(data, monkeypatch):
    shutil.copytree(paths.DATA / "published", data / "published")
    shutil.copy(paths.DATA / "datapackage.json", data)
    monkeypatch.setattr(paths, "DATA", data)
    return data


def rewrite(data, name, **facts):
    package = json.loads((data / "datapackage.json").read_text())
    resource = next(r for r in package["resources"] if r["name"] == name)
    resource.update(facts)
    (data / "datapackage.json").write_text(json.dumps(package))
