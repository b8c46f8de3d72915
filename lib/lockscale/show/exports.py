# SPDX-License-Identifier: MIT
"""`lockscale export NAME`: the figures of a published table or a study, and a measured study's texts."""

import contextlib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import need_place_for_folder, write_text
from lockscale.kernels.mail import read_mail
from lockscale.measure.compare_arms import (
    compared_rates,
    counted_arms,
    extra_calls,
    function_costs,
    proof_of,
    rates,
    unit_of,
)
from lockscale.measure.run_folder import curated_run, find_run, target_of
from lockscale.progress import progress
from lockscale.show.changelog import FORMS, Paragraph, as_form, changelog_blocks
from lockscale.show.figures import (
    counted_against_unpatched,
    measured_rates,
    published_figure,
    save,
    scale_figure,
    scoreboard_figure,
    scoreboard_numbers,
    table_beside_simulated,
)
from lockscale.show.figures.formats import FORMATS, one_browser
from lockscale.show.scale import kept_scale
from lockscale.show.scoreboard import explained_tables, kept_scoreboard
from lockscale.show.simulated import simulated_points, table_points
from lockscale.show.story import Story, open_story
from lockscale.study.file import Study, list_studies
from lockscale.tables import list_tables, published

SCALE = "scale"
Writer = Callable[[Collection[str], Path], list[Path]]


class Drawing(NamedTuple):
    """A figure, the numbers in it, and the stem of its files."""

    stem: str
    figure: go.Figure
    numbers: pd.DataFrame


def export_names() -> list[str]:
    """What `export` knows: the published tables, the studies, and the scale study."""
    return [*list_tables(), *list_studies(), SCALE]


def export(
    names: Collection[str], formats: Collection[str] = FORMATS, folder: Path = paths.FIGURES, run: str = ""
) -> list[Path]:
    """Write each figure of `names` in each format; the paths of the files.

    `formats`: of a figure FORMATS; of a measured study's text FORMS. `run`: a study's run; by default
    its latest one in data/measured, so that every machine writes the same. A study that was
    not measured has its simulated figure only. Raises BadInput for what is not known.
    """
    known = [*FORMATS, *FORMS]
    for one in formats:
        if one not in known:
            raise BadInput(f"there is no format {one!r}: give some of {','.join(known)}")
    if run and (no_study := [name for name in names if name not in list_studies()]):
        raise BadInput(f"--run {run} is a study's run, and {no_study[0]} is no study: leave one of them out")
    need_place_for_folder(folder)  # a study's figure takes a minute of simulation
    todo = [(name, _writers(name, run)) for name in names]
    written: list[Path] = []
    with progress("export", len(todo)) as shown, _browser(formats):
        for done, (name, write) in enumerate(todo, start=1):
            written += write(formats, folder)
            shown.update(done, name)
    if not written:
        raise BadInput(f"{', '.join(names)} has no measured run, so there is no text of it: give --run RUN")
    return written


def _writers(name: str, run: str) -> Writer:
    if name in list_tables():
        return partial(_write_drawings, partial(_table_drawings, name))
    if name == SCALE:
        return partial(_write_drawings, _scale_drawings)
    if name in list_studies():
        found = run or _curated(name)
        if run and (target_of(find_run(run)) or ("", ""))[0] != name:
            raise BadInput(f"run {run} is none of study {name}: export each study with a run of its own")
        return partial(_write_study, open_story(name, found), bool(found))
    raise BadInput(f"there is no table and no study {name!r}: there are {', '.join(export_names())}")


def _curated(study: str) -> str:
    """The latest run of the study in data/measured, or nothing."""
    try:
        return curated_run(study).id
    except BadInput:
        return ""


def _write_drawings(
    drawings: Callable[[], Iterator[Drawing]], formats: Collection[str], folder: Path
) -> list[Path]:
    forms = [one for one in FORMATS if one in formats]
    found = []
    for stem, drawn, numbers in drawings() if forms else []:
        save(drawn, numbers, folder, stem, forms)
        found += [folder / f"{stem}.{form}" for form in forms]
    return found


def _write_study(story: Story, measured: bool, formats: Collection[str], folder: Path) -> list[Path]:
    drawings = partial(_study_drawings, story, measured)
    written = _write_drawings(drawings, formats, folder)
    forms = [one for one in FORMS if one in formats and measured]
    blocks = text_blocks(story) if forms else []
    for form in forms:
        path = folder / f"{story.study.name}-{FORMS[form]}"
        write_text(path, as_form(form, story.study, blocks, _mails(story.study)))
        written.append(path)
    return written


def _table_drawings(table: str) -> Iterator[Drawing]:
    yield Drawing(table, published_figure(table), published(table).assign(origin="published"))
    if table in explained_tables():
        rows = kept_scoreboard()
        yield Drawing(f"{table}-explained", scoreboard_figure(rows, table), scoreboard_numbers(rows, table))


def _scale_drawings() -> Iterator[Drawing]:
    yield Drawing(SCALE, scale_figure(kept_scale()), kept_scale())


def _study_drawings(story: Story, measured: bool) -> Iterator[Drawing]:
    study = story.study
    points, table = simulated_points(study), story.tables[0]
    said = table_points(study, points, table)
    drawn = table_beside_simulated(study, points, said, table)
    said = said.drop(columns="note").assign(metric=points.metric.iloc[0], unit=points.unit.iloc[0])
    yield Drawing(f"{study.name}-simulated", drawn, pd.concat([points, said]))
    if measured:
        where = f"{story.where}, run {story.measured.id}"
        counts, found = counted_arms(story.rows, study), rates(story.rows)
        drawn = counted_against_unpatched(study, counts, where)
        yield Drawing(f"{study.name}-counted", drawn, counts.assign(run=story.measured.id))
        drawn = measured_rates(study, found, where)
        yield Drawing(f"{study.name}-rates", drawn, found.assign(run=story.measured.id))


def text_blocks(story: Story) -> list[Paragraph]:
    """A measured story in words; function costs are those of the point with the most extra calls."""
    rows, study = story.rows, story.study
    extra, counter = extra_calls(rows, study), proof_of(rows, study)
    most = extra.sort_values("extra").iloc[-1]
    arms = [study.unpatched.name, study.patched.name]
    costs = {arm: function_costs(rows, arm, int(most.cpus), int(most.threads)) for arm in arms}
    return changelog_blocks(
        study, story.provenance, extra, rates(rows), costs, story.read_prediction(),
        f"{counter}: {unit_of(study, counter)}", compared_rates(rows, study),
    )  # fmt: skip


def _mails(study: Study) -> list[bytes]:
    """The patches of the first arm that has any."""
    for arm in study.arms:
        if patches := study.series_of(arm.name).patches:
            return [read_mail(patch) for patch in patches]
    return []


@contextlib.contextmanager
def _browser(formats: Collection[str]) -> Iterator[None]:
    with one_browser() if {"svg", "pdf"} & set(formats) else contextlib.nullcontext():
        yield
