# SPDX-License-Identifier: MIT
"""Whether a set of a batch is done, failed or left: the runner and the index say the same."""

from pathlib import Path

import pytest
import yaml

from lockscale.show.batch.index import NotebookEntry, open_journal, state_of, summary
from lockscale.show.batch.plan import read_batch
from lockscale.show.batch.work import _BatchFolder


def entry(status: str, name: str = "n", key: str = "k", one: str = "s") -> NotebookEntry:
    return {
        "set": one, "notebook": name, "key": key, "status": status, "says": "", "numbers": {},
        "wall_s": 1.0, "started_utc": "",
    }  # type: ignore[typeddict-item]  # fmt: skip


def test_one_failed_notebook_fails_a_set_and_one_that_is_left_leaves_it():
    done, failed = entry("done"), entry("failed")
    assert state_of([done, done]) == "done"
    assert state_of([done, None]) == "left"
    assert state_of([done, failed, None]) == state_of([failed]) == "failed"


@pytest.fixture
def room(inside: Path) -> _BatchFolder:
    """A batch of one set, both of whose notebooks are done."""
    (inside / "storm.yaml").write_text(yaml.safe_dump({"notebooks": ["01_audit", "02_simulate"]}))
    batch = read_batch(inside / "storm.yaml")
    found = _BatchFolder(batch, inside, open_journal(inside / "journal.jsonl"))
    (one,) = batch.sets
    for name, key in found._keys(one):
        found.journal.add(entry("done", name, key, one.id))
        found._kept(one, name).parent.mkdir(parents=True, exist_ok=True)
        found._kept(one, name).touch()
    return found


def statuses(room: _BatchFolder) -> list[str]:
    return list(summary(room.batch, room.entries()).status)


def test_a_notebook_whose_output_is_gone_is_left_to_run_and_the_index_does_not_link_to_it(room: _BatchFolder):
    (one,) = room.batch.sets
    assert room._state(one) == "done" and statuses(room) == ["done", "done"]
    room._kept(one, "02_simulate").unlink()
    assert room._state(one) == "left" and statuses(room) == ["done", "left"]
    assert summary(room.batch, room.entries()).path.isna().tolist() == [False, True]
