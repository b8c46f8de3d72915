# SPDX-License-Identifier: MIT
"""Figures: stable bytes, numbers beside them, their origin in the title, colours that differ."""

import re
import subprocess
import sys
from pathlib import Path

import kaleido
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.show.figures import (
    casebook_figure,
    fit_figure,
    published_figure,
    scoreboard_figure,
    template,
)
from lockscale.show.figures import study as figures
from lockscale.show.figures.formats import alt_text, one_browser, page, save, svg
from lockscale.show.figures.template import COLOURS, DASHES, MARKERS, style
from lockscale.show.scale import kept_scale
from lockscale.show.scoreboard import kept_scoreboard
from lockscale.study.file import load_study
from lockscale.study.tables import StudyTable, published_table
from lockscale.tables import list_tables

STUDY = load_study("inode-claim")
TABLE = published_table("s1_rates")
ARMS = [arm.name for arm in STUDY.arms]
COST = pd.DataFrame({"function": ["ext4_create", "_raw_spin_lock"], "total_us": [2000.0, 1500.0]})
POINTS = pd.DataFrame({"arm": arm, "threads": n, "value": 10.0 * n} for arm in ARMS for n in (1, 8, 48))
POINTS = POINTS.assign(low=0.9 * POINTS.value, high=1.2 * POINTS.value)
POINTS["runs"] = [f"{0.99 * value} {1.01 * value}" for value in POINTS.value]
PUBLISHED = pd.DataFrame(
    {"arm": arm, "threads": 48, "value": 500.0, "note": "", "origin": "published"} for arm in ARMS
)
MEASURED = POINTS.assign(cpus=4, sd=20.0, statistic="total", origin="qemu")
COUNTED = pd.DataFrame({"cpus": [4, 4], "threads": [4, 8], "change": [0.1, 0.2], "arm": ARMS[0]})
COUNTED = COUNTED.assign(low=COUNTED.change / 2, high=COUNTED.change * 2)
COUNTED = COUNTED.assign(
    counter="get_write_access", unit="calls per create", level_pct=[66.7, 95.2], significant=[False, True]
)
GUEST, SAYS = "in QEMU (tcg)", "measured in QEMU (tcg)"

DRAWN = {
    "table_beside_simulated": (
        "simulated",
        lambda: figures.table_beside_simulated(STUDY, POINTS, PUBLISHED, TABLE),
    ),
    "counted_against_unpatched": (
        f"counted {GUEST}",
        lambda: figures.counted_against_unpatched(STUDY, COUNTED, GUEST),
    ),
    "measured_rates": (SAYS, lambda: figures.measured_rates(STUDY, MEASURED, GUEST)),
    "function_shares": (SAYS, lambda: figures.function_shares(COST, COST, (ARMS[0], ARMS[1]), SAYS)),
}


def test_drawing_begins_without_compiling_grammars():
    """Else each notebook's kernel, each figure and each start of JupyterLab waits for it: pyproject.toml."""
    names = "{'lark', 'jsonschema'} & {*sys.modules}"
    ask = f"import sys, nbformat, plotly.io, jupyter_events; print(sorted({names}))"
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert said.stdout == "['jsonschema']\n"


@pytest.mark.parametrize("name", DRAWN)
def test_a_title_says_where_its_numbers_are_from(name: str):
    origin, draw = DRAWN[name]
    assert origin in draw().layout.title.text.replace("<br>", " ")


def test_published_and_simulated_are_told_apart_in_one_figure():
    drawn = DRAWN["table_beside_simulated"][1]()
    assert "published" in drawn.layout.title.text
    assert {trace.name.rsplit(", ", 1)[1] for trace in drawn.data} == {"simulated", "published"}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("xfs_create", "calibrated to points measured in virtual time (xfs-create-four-groups.csv)"),
        ("any_lock", "calibrated to published points"),
        ("machine_repairman", "not calibrated"),
    ],
)
def test_a_simulated_curve_says_to_what_its_model_is_calibrated(model: str, said: str):
    arms = [one.model_copy(update={"model": None}) for one in STUDY.arms]
    study = STUDY.model_copy(update={"model": model, "arms": arms})
    name = "xfs-create-four-groups.csv"
    own = StudyTable(name, PUBLISHED.assign(origin="virtual"), Path(name))
    drawn = figures.table_beside_simulated(study, POINTS, PUBLISHED, own)
    assert f"lines: simulated, {said};" in drawn.layout.meta["says"]


def test_each_arms_published_marks_are_its_lines_own_symbol_open_so_that_grey_tells_them_apart():
    """Twelve arms: from the seventh on the line's own symbols are open, and the marks stay larger."""
    many = [STUDY.arms[0].model_copy(update={"name": f"arm-{k}"}) for k in range(12)]
    study = STUDY.model_copy(update={"arms": many})
    points, said = (
        pd.concat([frame[frame.arm == ARMS[0]].assign(arm=one.name) for one in many])
        for frame in (POINTS, PUBLISHED)
    )
    traces = {one.name: one.marker for one in figures.table_beside_simulated(study, points, said, TABLE).data}
    for arm in study.arm_names:
        line, mark = traces[f"{arm}, simulated"], traces[f"{arm}, published"]
        assert mark.symbol == f"{line.symbol.removesuffix('-open')}-open" and mark.color == line.color
        assert mark.size > line.size
    first = {traces[f"{arm}, published"].symbol for arm in study.arm_names[: len(MARKERS)]}
    assert first == {f"{symbol}-open" for symbol in MARKERS}


@pytest.mark.parametrize("name", DRAWN)
def test_axes_are_named_and_traces_have_names_of_their_own(name: str):
    drawn = DRAWN[name][1]()
    assert drawn.layout.xaxis.title.text
    names = [trace.name for trace in drawn.data]
    assert all(names) and len(set(names)) == len(names)


def test_a_caption_says_what_the_intervals_cover():
    """Of two runs they cover 66.7%, which nobody guesses."""
    says = figures.counted_against_unpatched(STUDY, COUNTED, GUEST).layout.meta["says"]
    assert "bars: 66.7 to 95.2%, rank-based" in says
    alike = COUNTED.assign(level_pct=95.0)
    says = figures.counted_against_unpatched(STUDY, alike, GUEST).layout.meta["says"]
    assert "bars: 95%, rank-based" in says


def test_a_legend_beside_long_names_of_functions_is_not_cut_off():
    """In 520 pixels half of what the functions' names leave is too short for "search-locked"."""
    drawn = DRAWN["function_shares"][1]()
    assert drawn.layout.width > template.WIDTH_PX and drawn.layout.legend.entrywidth is None


def test_no_figure_is_wider_than_a_page():
    """JupyterLab's cells show 948 pixels in a window of 1400; what is beyond is cut off."""
    with pytest.raises(ValueError, match="cut off"):
        template.figure("t", "simulated", "x", "y", 949)
    for path in paths.FIGURES.glob("*.svg"):
        assert int(re.findall(r'width="(\d+)"', path.read_text())[0]) <= 948, path.name


def log_axes(drawn: go.Figure) -> list[str]:
    axes = (*drawn.select_xaxes(), *drawn.select_yaxes())
    return [axis.title.text for axis in axes if axis.type == "log" and axis.title.text]


@pytest.mark.slow
def test_a_logarithmic_axis_says_so_in_every_figure():
    drawn = [draw() for _, draw in DRAWN.values()] + [published_figure(name) for name in list_tables()]
    drawn += [
        figures.scale_figure(kept_scale()),
        fit_figure("s4_creat_clo", "usl", column="orphan-mutex throughput"),
    ]
    drawn += [scoreboard_figure(kept_scoreboard(), "s3_fallocate2")]
    names = [name for one in drawn for name in log_axes(one)]
    assert len(names) > 10 and all(name.endswith("(log scale)") for name in names)


def test_a_logarithmic_axis_shows_a_decade_at_least():
    near = template.log_rates(template.figure("t", "s", "x", "rate"), 50e3, 140e3).layout.yaxis
    low, high = near.range
    assert high - low >= 1 and 10**low < 50e3 and 10**high > 140e3
    assert template.log_rates(template.figure("t", "s", "x", "rate"), 1.0, 11.0).layout.yaxis.range is None


def test_colours_and_marks_are_distinct():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == len(DASHES)
    looks = {repr(style(k)) for k in range(2 * len(COLOURS))}
    assert len(looks) == 2 * len(COLOURS)


DRAW_AGAIN = """
import sys, plotly.graph_objects as go, pandas as pd
from pathlib import Path
from lockscale.show.figures.formats import save
drawn = go.Figure(go.Scatter(x=[1, 2], y=[3, 5], name="a"))
save(drawn, pd.DataFrame({"x": [1, 2]}), Path(sys.argv[1]), "stem")
"""


@pytest.mark.slow
def test_the_same_figure_is_the_same_bytes_in_any_process(tmp_path: Path):
    for folder in ("first", "second"):
        drawn = go.Figure(go.Scatter(x=[1, 2], y=[3, 5], name="a"))
        save(drawn, pd.DataFrame({"x": [1, 2]}), tmp_path / folder, "stem")
    subprocess.run(
        [sys.executable, "-c", DRAW_AGAIN, str(tmp_path / "other")], check=True, capture_output=True
    )
    for suffix in ("svg", "csv", "txt"):
        found = {(tmp_path / f / f"stem.{suffix}").read_bytes() for f in ("first", "second", "other")}
        assert len(found) == 1 and found.pop()


@pytest.mark.slow
def test_the_numbers_beside_a_figure_are_those_given(tmp_path: Path):
    save(DRAWN["counted_against_unpatched"][1](), COUNTED, tmp_path, "extra")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "extra.csv"), COUNTED)
    title, says, blank, *table = (tmp_path / "extra.txt").read_text().splitlines()
    assert "get_write_access" in title and says.startswith("counted in QEMU") and blank == ""
    assert len(table) == 1 + len(COUNTED)


def test_intervals_reach_from_low_to_high():
    bars = DRAWN["table_beside_simulated"][1]().data[0].error_y
    assert list(bars.array) == pytest.approx([2, 16, 96]) and list(bars.arrayminus) == pytest.approx(
        [1, 8, 48]
    )


def test_a_single_replication_has_no_interval_to_draw():
    single = POINTS.astype({"low": object, "high": object}).assign(low=None, high=None)
    bars = figures.table_beside_simulated(STUDY, single, PUBLISHED, TABLE).data[0].error_y
    assert pd.isna(bars.array).all() and pd.isna(bars.arrayminus).all()


def test_no_bar_of_a_rate_goes_below_zero_and_the_figure_says_so():
    """10 ops/s +- 20 is drawn from 0 to 30."""
    drawn = DRAWN["measured_rates"][1]()
    bars = drawn.data[0].error_y
    assert list(bars.arrayminus) == pytest.approx([10, 20, 20]) and list(bars.array) == pytest.approx(
        [20] * 3
    )
    assert drawn.layout.meta["says"].endswith("cut at 0") and drawn.layout.yaxis.rangemode == "nonnegative"
    steady = figures.measured_rates(STUDY, MEASURED.assign(sd=1.0), GUEST)
    assert "cut" not in steady.layout.meta["says"]


def test_a_point_whose_runs_are_far_apart_shows_the_runs_and_no_bar():
    """Some in a storm and some not: the mean with its interval would be rates that no run has."""
    runs = POINTS.runs.where(POINTS.threads != 8, "40 41 120")
    drawn = figures.table_beside_simulated(STUDY, POINTS.assign(runs=runs), PUBLISHED, TABLE)
    traces = {one.name: one for one in drawn.data}
    bars, dots = traces[f"{ARMS[0]}, simulated"].error_y, traces[f"{ARMS[0]}, single runs"]
    assert [pd.isna(end) for end in bars.array] == [False, True, False]
    assert (list(dots.x), list(dots.y)) == ([8, 8, 8], [40, 41, 120]) and dots.showlegend is False
    assert "; dots: single runs, where they differ by more than 1.5 times" in drawn.layout.meta["says"]
    alike = figures.table_beside_simulated(STUDY, POINTS, PUBLISHED, TABLE)
    assert "dots" not in alike.layout.meta["says"]
    assert not [one.name for one in alike.data if "runs" in one.name]


def test_no_figure_offers_to_upload_itself():
    """plotly 7's "Share chart..." sends the figure to its makers' servers."""
    drawn = DRAWN["measured_rates"][1]()
    shown = pio.renderers["plotly_mimetype"].to_mimebundle(drawn.to_dict())["application/vnd.plotly.v1+json"]
    assert "sendChartToCloud" in shown["config"]["modeBarButtonsToRemove"]
    assert re.search(r'"modeBarButtonsToRemove":\s*\["sendChartToCloud"', page(drawn, "rates"))


def test_a_filled_mark_is_a_significant_one_and_the_caption_says_how_many_there_are():
    drawn = DRAWN["counted_against_unpatched"][1]()
    assert list(drawn.data[0].marker.symbol) == ["circle-open", "circle"]
    assert (
        "filled marks: significant with all points together (Holm, 5%), 1 of 2" in drawn.layout.meta["says"]
    )


def test_points_are_named_upright_and_arms_stand_side_by_side():
    drawn = DRAWN["counted_against_unpatched"][1]()
    assert list(drawn.data[0].x) == ["4<br>on 4", "8<br>on 4"] and drawn.layout.xaxis.tickangle == 0
    assert drawn.layout.scattermode == "group" and "0.1 at 4 on 4" in alt_text(drawn)


def test_without_chromium_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=r"^chromium is missing .* apt-get install chromium"):
        save(go.Figure(), pd.DataFrame({"x": [1]}), tmp_path, "stem")
    assert not (tmp_path / "stem.svg").exists()


def test_an_arm_whose_parameters_are_assumed_is_told_apart_from_the_calibrated_ones() -> None:
    study, table = load_study("orphan-file"), published_table("s4_stress_orphan")
    points, said = (frame.assign(arm="orphan-mutex") for frame in (POINTS, PUBLISHED))
    drawn = figures.table_beside_simulated(study, points, said, table)
    assert "calibrated to published points (orphan-mutex: assumed);" in drawn.layout.meta["says"]


def test_a_band_is_described_by_its_ends_and_a_gap_in_it_by_nothing() -> None:
    """Its edge goes there and back, so its points one by one say nothing."""
    x, y = [1, 2, 4, None, 4, 2, 1], [3.0, 4.0, 5.0, None, 2.0, float("nan"), 0.5]
    band = go.Figure(go.Scatter(x=x, y=y, fill="toself", name="predicted"))
    assert "predicted: from 0.5 to 3 at 1, to 2 to 5 at 4." in alt_text(band)
    one = go.Figure(go.Scatter(x=[4, 4], y=[1.0, 2.0], fill="toself", name="predicted"))
    assert "predicted: from 1 to 2 at 4." in alt_text(one)


def test_chromium_fetches_nothing_to_draw_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """kaleido's page waits for MathJax from the web, minutes where a firewall drops what goes there."""
    told: list[dict[str, object] | None] = []

    def drawn(figure: object, opts: object, kopts: dict[str, object] | None = None) -> bytes:
        told.append(kopts)
        return b"<svg></svg>"

    monkeypatch.setattr("lockscale.show.figures.formats.need", lambda tool: tool)
    monkeypatch.setattr(kaleido, "calc_fig_sync", drawn)
    monkeypatch.setattr(kaleido, "start_sync_server", lambda silence_warnings, **kopts: told.append(kopts))
    monkeypatch.setattr(kaleido, "stop_sync_server", lambda silence_warnings: None)
    svg(go.Figure(), "alone")
    with one_browser():
        svg(go.Figure(), "of-several")
    alone, server, of_several = told
    assert of_several is None, "a server that runs already takes no options"
    for kopts in (alone, server):
        assert kopts and 'src="http' not in kaleido.PageGenerator(mathjax=kopts["mathjax"]).generate_index()
    assert 'src="http' in kaleido.PageGenerator().generate_index(), "else this option is not needed any more"


def test_a_number_in_the_words_of_a_figure_has_no_exponent() -> None:
    assert "a: 1,000 at 1, 813 at 2." in alt_text(go.Figure(go.Scatter(x=[1, 2], y=[999.6, 812.6], name="a")))


def test_a_casebook_of_nothing_but_large_gains_is_drawn():
    """Beside smaller ones they would be left out."""
    case = {"id": "a", "label": "", "kind": "split", "threads": 8, "low": 1.0, "value": 2.0, "high": 90.0}
    score = {"cases": [case | {"published": 50.0, "held": True}], "held_pct": 100.0, "median_width": 90.0}
    drawn = casebook_figure(score)
    assert [list(one.x) for one in drawn.data if one.mode == "markers"] == [[50.0]]
    assert "not shown" not in drawn.layout.meta["says"]
