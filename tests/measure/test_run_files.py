# SPDX-License-Identifier: MIT
"""A damaged file of a run is one sentence that names it; a last line that a crash tore is none."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import Lockscale
from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_json
from lockscale.journal import line_of, without_hash
from lockscale.measure import provenance
from lockscale.measure.plan import Step
from lockscale.measure.provenance import how_to_repeat
from lockscale.measure.resume import open_journal, read_entries, refuse_other, step_seconds
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import (
    Run,
    curated_run,
    keep_study,
    latest_run,
    read_provenance,
    read_study_file,
)
from lockscale.show.runs import runs_table
from lockscale.show.story import open_story
from lockscale.study.file import load_study

CURATED = curated_run("inode-claim")
SMALL = {"guests": [{"cpus": 1, "processes": [1]}], "operations_per_point": 40, "iterations": 2}
STUDY = load_study("inode-claim", SMALL)
THREADS = read_rows(CURATED.rows).head(2).threads.tolist()
DAMAGED = ["{", "[]", "{}", "null", "", "\x00\x00", "[" * 100_000, '{"name": "a"']
LINES = [
    b'{"step"',
    b"\0\0\0",
    b"[1]",
    b'{"step": "x"}',
    b'{"step": 1, "rows": []}',
    b"\xff\xfe",
    b"null",
    b"",
]


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of this machine with three steps in its journal."""
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    run = Run(paths.RUNS / "inode-claim-20260101T000000Z")
    keep_study(run, STUDY, "local")
    journal, rows = open_journal(run, STUDY), read_rows(CURATED.rows).head(2).to_dict("records")
    for number in range(1, 4):
        step = Step(number, "ab", number, number, "as-found", 1, (1,))
        journal.add(step, rows=rows, as_found={}, wall_s=float(number))
    return run


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The curated run, copied to where runs are."""
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    return Run(Path(shutil.copytree(CURATED.folder, paths.RUNS / CURATED.id)))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_damaged_line_is_named_with_its_number_and_what_to_do(
    begun: Run, lockscale: Lockscale, line: bytes, at: int
):
    lines = begun.journal.read_bytes().splitlines()
    lines.insert(at, line)
    begun.journal.write_bytes(b"\n".join(lines) + b"\n")
    sentence = f"{begun.journal} line {at + 1} is damaged: delete the line to repeat "
    with pytest.raises(BadInput) as refused:
        open_journal(begun, STUDY)
    assert str(refused.value).startswith(sentence)
    said = lockscale("study", "resume", begun.id)
    assert said.status == 2 and sentence in said.err and "or start a new run" in said.err


@pytest.mark.parametrize("torn", [b'{"step": "004', b"\0\0\0", b'{"step": "\xc3', b"\xff", b"{}"])
def test_a_torn_last_line_is_dropped_whatever_is_in_it(begun: Run, torn: bytes):
    whole = begun.journal.read_bytes()
    begun.journal.write_bytes(whole + torn)
    assert len(read_entries(begun.journal)) == 3
    assert len(open_journal(begun, STUDY).entries) == 3
    assert begun.journal.read_bytes() == whole


def rewritten(run: Run, change: Callable[[dict[str, Any]], object], *, sealed: bool) -> None:
    """Let the second line say something else; sealed: as if lockscale itself had written it."""
    first, line, last = begun_lines = run.journal.read_text().splitlines()
    said = json.loads(line)
    seal = said.pop("line_sha256")
    change(said)
    again = line_of(said) if sealed else json.dumps(said)[:-1] + f', "line_sha256": "{seal}"}}'
    assert len(begun_lines) == 3 and again != line
    run.journal.write_text(f"{first}\n{again}\n{last}\n")


CHANGES = {
    "a digit more": lambda said: said["rows"][0].update(value=1e6),
    "a row less": lambda said: said["rows"].pop(),
    "another arm": lambda said: said["rows"][1].update(arm="other"),
    "another step": lambda said: said.update(step="001-ab1-as-found-1cpu"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_line_that_was_changed_after_it_was_written_is_named(begun: Run, change):
    rewritten(begun, change, sealed=False)
    with pytest.raises(BadInput, match=f"{begun.journal} line 2 was changed after it was written: delete"):
        open_journal(begun, STUDY)


def test_no_flipped_bit_of_a_line_passes(begun: Run):
    line = bytearray(begun.journal.read_bytes().splitlines()[0])
    last = line.index(b', "line_sha256"')
    for at in range(0, last, 7):
        line[at] ^= 1
        with pytest.raises(BadInput):
            without_hash(bytes(line))
        line[at] ^= 1
    assert json.loads(without_hash(bytes(line)))["step"].startswith("001")


def test_a_line_of_a_lockscale_that_wrote_no_hash_is_read(begun: Run):
    lines = begun.journal.read_bytes().splitlines()
    for old in (3, 1):  # the run began with that one, and went on with this one
        bare = [without_hash(line) for line in lines[:old]]
        begun.journal.write_bytes(b"\n".join([*bare, *lines[old:], b""]))
        assert len(open_journal(begun, STUDY).entries) == 3


@pytest.mark.parametrize(
    "edited",
    [
        lambda line: without_hash(line),
        lambda line: line.replace(b"line_sha256", b"line_sha"),
        lambda line: json.dumps(json.loads(line), separators=(",", ":")).encode(),
        lambda line: json.dumps(json.loads(line), sort_keys=True).encode(),
        lambda line: line + b"\r",
    ],
    ids=["cut off", "renamed", "written anew", "sorted", "by an editor"],
)
def test_a_line_that_lost_its_hash_is_no_older_one(begun: Run, edited: Callable[[bytes], bytes]):
    first, line, last = begun.journal.read_bytes().splitlines()
    begun.journal.write_bytes(b"\n".join([first, edited(line), last, b""]))
    with pytest.raises(BadInput, match=f"{begun.journal} line 2 was changed after it was written: delete"):
        open_journal(begun, STUDY)


def test_a_hash_in_another_form_is_a_change_from_the_first_line_on(begun: Run):
    first, *lines = begun.journal.read_bytes().splitlines()
    again = json.dumps(json.loads(first), separators=(",", ":")).encode()
    begun.journal.write_bytes(b"\n".join([again, *lines, b""]))
    with pytest.raises(BadInput, match=f"{begun.journal} line 1 was changed after it was written: delete"):
        open_journal(begun, STUDY)


def test_a_step_that_is_there_twice_is_refused(begun: Run):
    rewritten(begun, CHANGES["another step"], sealed=True)
    with pytest.raises(BadInput, match="has step 001-ab1-as-found-1cpu twice: delete the wrong line"):
        open_journal(begun, STUDY)


def test_a_step_without_rows_of_a_point_is_refused(begun: Run):
    steps = [Step(n, "ab", n, n, "as-found", 1, tuple({*THREADS})) for n in range(1, 4)]
    label = read_rows(CURATED.rows).target[0]
    refuse_other(open_journal(begun, STUDY), steps, label)
    whole = begun.journal.read_bytes()

    def of_other_points(said: dict[str, Any]) -> None:
        said["rows"] = [{**row, "threads": 999} for row in said["rows"]]

    for change in (lambda said: said.update(rows=[]), of_other_points):
        begun.journal.write_bytes(whole)
        rewritten(begun, change, sealed=True)
        with pytest.raises(
            BadInput, match=r"has no row of \d+ processes in step 002-ab2-as-found-1cpu: delete"
        ):
            refuse_other(open_journal(begun, STUDY), steps, label)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_value_that_is_no_number_is_refused(begun: Run, value: str):
    text = begun.journal.read_text().splitlines()[0]
    bare = without_hash(text.encode()).decode()
    begun.journal.write_text(re.sub(r'"value": [0-9.e+-]+', f'"value": {value}', bare, count=1) + "\n")
    with pytest.raises(BadInput, match="line 1 is damaged"):
        open_journal(begun, STUDY)


def test_a_line_ends_at_a_newline_alone(begun: Run):
    """U+2028, or a carriage return within a name, ends none."""
    lines = [without_hash(line).decode() for line in begun.journal.read_bytes().splitlines()]
    text = "".join(f"{line}\n" for line in lines).replace('"arm": "', '"arm": "\u2028\u0085')
    begun.journal.write_text(text, encoding="utf-8")
    assert len(read_entries(begun.journal)) == 3


def test_a_damaged_journal_of_another_run_is_no_reason_to_refuse_this_one(begun: Run, tmp_path: Path):
    other = Run(paths.RUNS / "inode-claim-20260102T000000Z")
    keep_study(other, STUDY, "local")
    assert step_seconds(other, STUDY, "local") == [1.0, 2.0, 3.0]
    begun.journal.write_text("[1]\n")
    assert step_seconds(other, STUDY, "local") == []


@pytest.mark.parametrize(
    "text", [*DAMAGED, '{"name": 1, "target": "local", "parameters": {}}',
             '{"name": "inode-claim", "target": "local", "parameters": []}',
             '{"name": "inode-claim", "target": "local", "parameters": {}, "arms": ["role", 1]}'],
    ids=lambda text: repr(text[:40]),
)  # fmt: skip
def test_a_damaged_study_file_is_one_sentence(kept: Run, lockscale: Lockscale, text: str):
    path = kept.folder / "study.json"
    path.write_text(text)
    for argv in (("study", "resume", kept.id), ("study", "show", kept.id)):
        said = lockscale(*argv)
        assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
        assert str(path) in said.err and "is damaged" in said.err and "start a new run" in said.err
    with pytest.raises(BadInput, match="is damaged"):
        open_story("inode-claim", kept.id)
    assert sorted(runs_table(text=kept.id).frame.state) == ["damaged", "measured"]


@pytest.mark.parametrize(
    "text", [*DAMAGED, '{"origin": 1, "kernels": {}}', '{"origin": "qemu", "kernels": {"a": 1}}',
             '{"origin": "qemu", "kernels": {}, "as_found": {"001": {}}}',
             '{"origin": "qemu", "kernels": {}, "controllers": 1}',
             '{"origin": "qemu", "kernels": {}, "study": "inode-claim"}'],
    ids=lambda text: repr(text[:40]),
)  # fmt: skip
def test_a_damaged_provenance_is_one_sentence(kept: Run, lockscale: Lockscale, text: str):
    kept.provenance.write_text(text)
    said = lockscale("study", "show", kept.id)
    assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
    assert str(kept.provenance) in said.err and "is damaged" in said.err and "start a new run" in said.err
    with pytest.raises(BadInput, match="is damaged"):
        provenance._controllers(kept)
    assert latest_run("inode-claim") == curated_run("inode-claim", rates=True)


def test_what_is_no_text_is_a_sentence_too(kept: Run):
    for path, read in (
        (kept.folder / "study.json", read_study_file),
        (kept.provenance, read_provenance),
    ):
        path.write_bytes(b'{"name": "\xff"}')
        with pytest.raises(BadInput, match=f"{path.name} is damaged"):
            read(kept.folder)
        path.unlink()
        with pytest.raises(BadInput, match=f"{path.name} cannot be read"):
            read(kept.folder)


def test_every_curated_run_is_read():
    for path in paths.MEASURED.glob("*/provenance.json"):
        assert read_provenance(path.parent)["kernels"] and read_study_file(path.parent)["parameters"]


def test_a_prediction_without_its_hash_is_a_sentence(kept: Run):
    assert how_to_repeat(kept)["prediction_sha256"] == json.loads(kept.prediction.read_text())["sha256"]
    kept.prediction.write_text("[]")
    with pytest.raises(BadInput, match=r"prediction\.json is damaged"):
        how_to_repeat(kept)


def test_a_run_whose_study_file_is_gone_says_that_its_command_does_not_work(
    kept: Run, lockscale: Lockscale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert lockscale("study", "show", kept.id, "--json").value["needs"] == []
    assert "does not work" not in lockscale("study", "show", kept.id).out
    monkeypatch.setattr(paths, "STUDIES", tmp_path)
    said = read_study_file(kept.folder)
    write_json(kept.folder / "study.json", {**said, "target": "gone"})
    needs = lockscale("study", "show", kept.id, "--json").value["needs"]
    assert [one.split(" (")[0] for one in needs] == [
        f"there is no study 'inode-claim' in {tmp_path.parent.name}/{tmp_path.name}",
        "there is no target 'gone' in notebooks/targets",
    ]
    text = lockscale("study", "show", kept.id).out
    assert text.count("This does not work as it is: there is no ") == 2
