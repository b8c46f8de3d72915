# SPDX-License-Identifier: MIT
"""`lockscale report RUN`: one HTML file of a run, to attach to a mail or a ticket.

It holds everything that it shows: no script, no network, no other file.
"""

from pathlib import Path

from lockscale.errors import BadInput, near
from lockscale.files import need_place_for_file, write_text
from lockscale.measure.run_folder import find_run, is_run, known_runs, latest_run, read_study_file
from lockscale.progress import progress
from lockscale.show.figures.formats import one_browser
from lockscale.show.report.content import sections_of
from lockscale.show.report.page import page_of
from lockscale.show.story import Story, open_story
from lockscale.study.file import list_studies

MOST_BYTES = 5_000_000
"""What a mail or a ticket takes."""


def write_report(name: str, output: Path | None = None) -> Path:
    """Write the report of a run to `output`, by default <run>.html in this folder, whole; the path.

    name: as find_run() takes it, or a study, of which it is the latest measured run here, else
    the latest one in data/measured, if possible one with rates.
    Raises BadInput for a run that measured no arms, or whose prediction was changed.
    """
    if not is_run(name) and name not in list_studies():
        raise BadInput(f"there is no run and no study {name!r}{near(name, [*list_studies(), *known_runs()])}")
    run = find_run(name) if is_run(name) else latest_run(name)
    study = read_study_file(run.folder)["name"]
    path = output or Path(f"{run.id}.html")
    if path.is_dir():
        raise BadInput(f"{path} is a folder: give --output the name of a file in it, as {path / run.id}.html")
    if path.suffix.lower() not in (".html", ".htm"):  # a typing error would replace the user's own data
        raise BadInput(f"{path}: a report is HTML: give --output a name that ends in .html")
    need_place_for_file(path, "with --output")
    text = report_of(open_story(study, str(run.folder)))
    if (size := len(text.encode())) > MOST_BYTES:
        raise BadInput(
            f"the report of run {run.id} would have {size:,} bytes, more than the {MOST_BYTES:,} that a "
            f"mail may have: send only the texts, with lockscale export {study} --run {run.id} --format "
            f"changelog,cover,ticket"
        )
    write_text(path, text)
    return path


def report_of(story: Story) -> str:
    measured = story.measured
    if not measured.rows.is_file():
        raise BadInput(
            f"run {measured.id} has no rows.csv: finish it first with `lockscale study resume {measured.id}`"
        )
    if not story.provenance["kernels"]:
        raise BadInput(
            f"run {measured.id} measured only the running kernel and compares no arms, so there is nothing "
            f"to report: its rates are in {measured.rows}"
        )
    with progress(f"report {measured.id}"), one_browser():
        return page_of(f"{measured.id}: {story.study.question}", sections_of(story))
