# SPDX-License-Identifier: MIT
"""`lockscale export NAME`: the figures of a published table or a study, and a measured study's texts."""

import contextlib
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go

from lockscale import paths
from lockscale.errors import BadInput, near
from lockscale.files import need_place_for_folder, write_text
from lockscale.measure.compare_arms import counted_arms, rates
from lockscale.measure.rows import is_benchmark, origin_of
from lockscale.measure.run_folder import curated_run, find_run, target_of
from lockscale.predict.casebook import read_casebook
from lockscale.predict.casebook_score import score_cases
from lockscale.progress import progress
from lockscale.show.changelog import FORMS, in_form
from lockscale.show.figures import measured_rates, scale_figure, table_beside_simulated
from lockscale.show.figures.casebook import casebook_figure, casebook_numbers
from lockscale.show.figures.formats import FORMATS, one_browser, save
from lockscale.show.figures.predicted import gains_figure
from lockscale.show.figures.study import counted_against_unpatched
from lockscale.show.figures.tables import published_figure, scoreboard_figure, scoreboard_numbers
from lockscale.show.gains import first_virtual, gain_rows
from lockscale.show.scale import kept_scale
from lockscale.show.scoreboard import explained_tables, kept_scoreboard
from lockscale.show.simulated import simulated_points, table_points
from lockscale.show.story import Story, open_story
from lockscale.study.file import list_studies
from lockscale.tables import list_tables, published

SCALE, CASES = "scale", "casebook"


class Drawing(NamedTuple):
    """A figure, the numbers in it, the stem of its files, and of which run it is where it is of one."""

    stem: str
    figure: go.Figure
    numbers: pd.DataFrame
    run: str = ""


def export_names() -> list[str]:
    """What `export` knows: the published tables, the studies, and the scale study."""
    return [*list_tables(), *list_studies(), SCALE, CASES]


def export(
    names: Collection[str], formats: Collection[str] = FORMATS, folder: Path = paths.FIGURES, run: str = ""
) -> list[Path]:
    """Write each figure of `names` in each format; the paths of the files.

    `formats`: of a figure FORMATS; of a measured study's text FORMS. `run`: a study's run; by default
    its latest one in data/measured, so that every machine writes the same: for a text one in virtual time,
    which has rates. A study that was not measured has its simulated figure only. Raises BadInput for what
    is not known.
    """
    known = [*FORMATS, *FORMS]
    for one in formats:
        if one not in known:
            raise BadInput(f"there is no format {one!r}: use {','.join(known)}")
    no_study = [name for name in names if name not in list_studies()]
    if run and no_study:
        raise BadInput(
            f"--run {run} is a run of a study, but {no_study[0]} is not a study: leave out one of them"
        )
    need_place_for_folder(folder, "with --output")  # a study's figure takes a minute of simulation
    figures, texts = ([one for one in known if one in formats] for known in (FORMATS, FORMS))
    drawn_of = {name: _story(name, run) for name in names} if figures else {}
    told_of = {
        name: story
        for name in (names if texts else ())
        if (story := _story(name, run, rates=True)) and _is_measured(story)
    }
    untold = sorted({*names} - {*told_of} - {*no_study}) if texts else []
    written: list[Path] = []
    browser = one_browser() if {"svg", "pdf"} & set(figures) else contextlib.nullcontext()
    with progress("export", len(names)) as shown, browser:
        for done, name in enumerate(dict.fromkeys(names), start=1):
            for stem, drawn, numbers, _ in _drawings(name, drawn_of[name]) if figures else ():
                save(drawn, numbers, folder, stem, figures)
                written += [folder / f"{stem}.{form}" for form in figures]
            if name in told_of:
                written += _write_texts(told_of[name], texts, folder)
            shown.update(done, name)
    if not written:
        cure = f"{no_study[0]} is not a study: name one" if no_study else _measure(untold[0])
        raise BadInput(f"{', '.join(names)} has no measured run to write about: {cure}")
    if untold:
        said = f"{', '.join(untold)} has no measured run, so there is no {' or '.join(texts)} of it"
        print(f"{said}: {_measure(untold[0])}", file=sys.stderr)
    return written


def _measure(study: str) -> str:
    return f"run `make study STUDY={study}`, then give --run RUN"


def _story(name: str, run: str, *, rates: bool = False) -> Story | None:
    """The study's in `run` or in its latest one in data/measured; None for what is no study."""
    if name in (SCALE, CASES) or name in list_tables():
        return None
    if name not in list_studies():
        raise BadInput(f"there is no table or study {name!r}{near(name, export_names())}")
    if run and (target_of(find_run(run)) or ("", ""))[0] != name:
        raise BadInput(
            f"run {run} is not a run of study {name}: give a run of that study, or export studies one by one"
        )
    with contextlib.suppress(BadInput):
        run = run or curated_run(name, rates=rates).id
    return open_story(name, run)


def _is_measured(story: Story) -> bool:
    return story.reads is not None or not story.by_hand


def _write_texts(story: Story, forms: Sequence[str], folder: Path) -> list[Path]:
    texts = {folder / f"{story.study.name}-{FORMS[form]}": in_form(form, story) for form in forms}
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def _drawings(name: str, story: Story | None) -> Iterator[Drawing]:
    if story:
        yield from study_drawings(story)
    elif name == SCALE:
        yield Drawing(SCALE, scale_figure(kept_scale()), kept_scale())
    elif name == CASES:
        score = score_cases(read_casebook())
        numbers = casebook_numbers(score).assign(origin="published; predicted")
        yield Drawing(CASES, casebook_figure(score), numbers)
    else:
        yield Drawing(name, published_figure(name), published(name).assign(origin="published"))
        if name in explained_tables():
            rows = kept_scoreboard()
            yield Drawing(f"{name}-explained", scoreboard_figure(rows, name), scoreboard_numbers(rows, name))


def study_drawings(story: Story) -> Iterator[Drawing]:
    """The study's simulated curves beside its table; of a measured one its counts and rates too."""
    study = story.study
    points, table = simulated_points(study), story.tables[0]
    if len(points):  # none of a study of a lock that no model has
        in_table = table_points(study, points, table)
        drawn = table_beside_simulated(study, points, in_table, table)
        beside = in_table.drop(columns="note").assign(metric=points.metric.iloc[0], unit=points.unit.iloc[0])
        yield Drawing(f"{study.name}-simulated", drawn, pd.concat([points, beside]))
    gains = pd.DataFrame([asdict(row) for row in gain_rows() if row.study == study.name])
    if len(gains) and gains.virtual.notna().any():
        kinds = ["published", "simulated", "virtual", "predicted"]
        origins = [
            "; ".join(kind for kind in kinds if row[kind]) for row in gains[kinds].notna().to_dict("records")
        ]
        numbers = gains.assign(origin=origins)
        run = first_virtual()[study.name].id
        yield Drawing(f"{study.name}-gains", gains_figure(study, gains), numbers, run)
    if _is_measured(story):
        run = story.measured.id
        where, counts = f"{story.where}, run {run}", counted_arms(story.rows, study)
        drawn = counted_against_unpatched(study, counts, where)
        yield Drawing(f"{study.name}-counted", drawn, counts.assign(run=run), run)
        if is_benchmark(origin_of(story.rows)):  # rates of a guest are no result
            found = rates(story.rows)
            drawn = measured_rates(study, found, where)
            yield Drawing(f"{study.name}-rates", drawn, found.assign(run=run), run)
