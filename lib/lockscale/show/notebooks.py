# SPDX-License-Identifier: MIT
"""notebooks/src/NN_name.py (py:percent, what people edit) -> NN_name.ipynb with its outputs.

jupytext gives cells random ids; here an id is a hash of the cell's kind and text. A table of contents
and the way to the notebooks before and after it are added to the first cell. The outputs are those of a
run from a clean kernel on data/measured (`make notebooks`), with a static picture beside each figure.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

from lockscale import paths
from lockscale.errors import RunFailed
from lockscale.files import sha256_of, sha256_of_json, write_text
from lockscale.measure.run_folder import curated_run
from lockscale.scratch import scratch_folder
from lockscale.show.execution import all_sources, execute, notebook_of, parameters_in, sources

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
INDEX = "Index: [Notebooks](README.md), [Runs](runs.ipynb)"
HEADING = re.compile(r"^## (.+)$", re.M)
METADATA = "lockscale"
"""Key of a notebook's metadata: `made_from`, the hash of what its outputs were made from; `run`."""

PLOTLY, SVG, PNG = "application/vnd.plotly.v1+json", "image/svg+xml", "image/png"
WIDGET = "application/vnd.jupyter.widget-view+json"
MOST_PLOTLY_BYTES = 20_000
"""A larger figure is committed as a static picture only: a committed notebook stays below 300 kB."""
MOST_SVG_BYTES = 60_000
"""A picture of thousands of strokes is smaller as png."""
PNG_SCALE = 0.72
"""A page shows a notebook about 800 pixels wide; the widest figures have 940."""
MOST_STILLS, STILL_PX, MOST_STILL_NAMES = 4, 280, 8


def clean(source: Path) -> Any:
    """The notebook of a source: no output, fixed ids, fixed metadata."""
    import jupytext
    import nbformat

    notebook = jupytext.reads(source.read_text(), fmt="py:percent")
    first = notebook.cells[0]
    if first.cell_type == "code" and all(line.startswith("#") for line in first.source.splitlines()):
        del notebook.cells[0]  # the licence: a reader begins with the title
    first, *others = (cell for cell in notebook.cells if cell.cell_type == "markdown")
    headings = HEADING.findall("\n\n".join(cell.source for cell in others))
    first.source = "\n\n".join([first.source, *_contents(headings), *_way(source)])
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        found = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[found] += 1
        cell.id = found if seen[found] == 1 else f"{found}-{seen[found]}"
    notebook.metadata = {"kernelspec": KERNEL}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return notebook


def _contents(headings: list[str]) -> list[str]:
    """Links to the sections, by the anchors that JupyterLab and nbconvert give to headings."""
    links = [f"[{text}](#{quote(text.replace(' ', '-'))})" for text in headings]
    return ["Contents: " + " · ".join(links)] if len(links) > 1 else []


def _way(source: Path) -> list[str]:
    """Links to the notebooks before and after a numbered one, and to the index."""
    known = sources()
    if source not in known:
        return []
    at = known.index(source)
    sides = [("Before", known[max(at - 1, 0) : at]), ("Next", known[at + 1 : at + 2])]
    links = [f"{word}: [{_short_title(one)}]({one.stem}.ipynb)" for word, found in sides for one in found]
    return [" · ".join([*links, INDEX])]


def _short_title(source: Path) -> str:
    """Such as 02 Simulate of # 02 Simulate: the algorithm that explains the tables."""
    found = re.search(r"^# # ([^:\n]+)", source.read_text(), re.M)
    return found[1] if found else source.stem


@cache
def data_sha256(run: str) -> str:
    """Of what a notebook reads of data/: the published tables, the kept fits, and the files of its run."""
    found = [path for path in paths.DATA.rglob("*") if path.is_file() and path.suffix != ".md"]
    kept = paths.MEASURED, paths.COUNTED
    read = [path for path in found if run in path.parts or not any(one in path.parents for one in kept)]
    return sha256_of_json({path.relative_to(paths.DATA).as_posix(): sha256_of(path) for path in sorted(read)})


def made_from(notebook: Any, run: str) -> str:
    """The hash of what the outputs are made from: code cells, data and run. Prose changes no output."""
    return sha256_of_json([[cell.source for cell in _code(notebook)], run, data_sha256(run)])


def run_read_by(notebook: Any) -> str:
    """The run of data/measured that the committed outputs show: that of the study in the parameters cell."""
    study = parameters_in(_code(notebook)).get("study")
    return curated_run(study, rates=True).id if study else ""


def committed(source: Path) -> str:
    """The text of the notebook with the outputs that are committed, where its code and data/ made them."""
    notebook, path = clean(source), notebook_of(source)
    if path.is_file():
        before = _read(path)
        if before.metadata.get(METADATA, {}).get("made_from") == made_from(notebook, run_read_by(notebook)):
            _take_outputs(notebook, before)
            notebook.metadata[METADATA] = before.metadata[METADATA]
    return _text(notebook)


def executed(source: Path) -> str:
    """The text of the notebook with the outputs of a run from a clean kernel, its figures drawn as svg.

    A notebook of a study reads the run of data/measured, so nothing is built or booted; the others see an
    empty runs/. Raises RunFailed for a cell that fails or that writes to standard error.
    """
    notebook = clean(source)
    with (
        scratch_folder("notebook") as room,
        mock.patch.dict(os.environ, LOCKSCALE_RUNS=f"{room}/runs"),  # where kernels started inside keep runs
    ):
        begun, ended = room / source.with_suffix(".ipynb").name, room / "executed.ipynb"
        write_text(begun, _text(notebook))
        run = run_read_by(notebook)
        execute(begun, ended, {"run": run} if run else {}, room / "progress.log")
        found = _read(ended)
    found.cells = [cell for cell in found.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    _take_outputs(notebook, found)
    for cell in _code(notebook):
        cell.outputs = [_as_committed(output, cell.id, source.stem) for output in cell.outputs]
    notebook.metadata[METADATA] = {"made_from": made_from(notebook, run), "run": run}
    return _text(notebook)


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _read(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=nbformat.NO_CONVERT)  # type: ignore[no-untyped-call]


def _text(notebook: Any) -> str:
    import nbformat

    return str(nbformat.writes(notebook, version=nbformat.NO_CONVERT)) + "\n"  # type: ignore[no-untyped-call]


def _take_outputs(notebook: Any, other: Any) -> None:
    """Put the outputs of the same code cells in `other` into `notebook`, counted from 1."""
    for count, (cell, one) in enumerate(zip(_code(notebook), _code(other), strict=True), start=1):
        cell.execution_count, cell.outputs = count, one.outputs
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count


def _as_committed(output: Any, cell: str, notebook: str) -> Any:
    """An output as a repository page can show it: a figure also as a picture, of a widget a sentence."""
    if output.output_type == "stream" and output.name == "stderr":
        raise RunFailed(f"{notebook}, cell {cell}, wrote to standard error: {output.text.strip()[:200]}")
    data = output.get("data", {})
    if data.pop(WIDGET, None):  # it lives in a kernel, and its text holds an address in memory
        data["text/plain"] = "A widget: run this cell in JupyterLab."
    if PLOTLY in data:
        drawn = _decoded(data[PLOTLY])
        data.update(static_picture(drawn, f"c{cell}"))
        if len(json.dumps(data[PLOTLY])) > MOST_PLOTLY_BYTES:
            del data[PLOTLY]
    return output


def _decoded(value: Any) -> Any:
    """plotly's JSON with its base64 arrays as lists."""
    if isinstance(value, dict) and "bdata" in value:
        import numpy as np

        flat = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
        return flat.reshape([int(n) for n in str(value.get("shape", len(flat))).split(",")]).tolist()
    if isinstance(value, dict):
        return {name: _decoded(one) for name, one in value.items()}
    return [_decoded(one) for one in value] if isinstance(value, list) else value


def static_picture(drawn: dict[str, Any], stem: str) -> dict[str, str]:
    """A figure of plotly's JSON as svg, or as png where that is smaller; by its MIME type."""
    import plotly.graph_objects as go

    from lockscale.show.figures.formats import png, svg

    shown = go.Figure(_stills(drawn) if drawn.get("frames") else {k: drawn[k] for k in ("data", "layout")})
    vector = svg(shown, stem)
    if len(vector) <= MOST_SVG_BYTES:
        return {SVG: vector}
    return {PNG: base64.b64encode(png(shown, stem, PNG_SCALE)).decode()}


def _stills(film: dict[str, Any]) -> dict[str, Any]:
    """Up to MOST_STILLS frames of a film, one below the other, each with its title and its own rows."""
    frames = film["frames"]
    if len(frames) > MOST_STILLS:
        frames = [frames[0], frames[-1]]
    layout = {k: v for k, v in film["layout"].items() if k not in ("sliders", "xaxis", "yaxis", "title")}
    layout |= {"height": STILL_PX * len(frames) + 60, "margin": {"l": 70, "r": 20, "t": 20, "b": 60}}
    layout["annotations"], data, named = [], [], set()
    for k, frame in enumerate(frames):
        n, top = "" if k == 0 else str(k + 1), 1 - k / len(frames)
        domain = [top - 0.85 / len(frames), top - 0.2 / len(frames)]
        across = {**film["layout"]["xaxis"], "anchor": f"y{n}", "rangeslider": {"visible": False}}
        layout[f"xaxis{n}"] = across if frame is frames[-1] else {**across, "title": None}
        beside = _fewer_names(frame["layout"]["yaxis"])
        layout[f"yaxis{n}"] = {**beside, "anchor": f"x{n}", "domain": domain}
        at = {"xref": "paper", "yref": "paper", "x": 0, "y": top, "yanchor": "top", "align": "left"}
        title = frame["layout"]["title"]["text"]
        layout["annotations"].append({**at, "text": title, "showarrow": False})
        for trace, new in zip(film["data"], frame["data"], strict=True):
            first = bool(new["x"]) and trace["name"] not in named
            named |= {trace["name"]} if first else set()
            here = {"name": trace["name"], "legendgroup": trace["name"], "showlegend": first}
            data.append({**trace, **new, **here, "xaxis": f"x{n}", "yaxis": f"y{n}"})
    return {"data": data, "layout": layout}


def _fewer_names(axis: dict[str, Any]) -> dict[str, Any]:
    """So many that they are not printed over one another in a still, the last of them among these."""
    names = axis.get("ticktext") or ()
    every = -(-len(names) // MOST_STILL_NAMES) or 1
    lists = {name: axis[name][::-1][::every][::-1] for name in ("tickvals", "ticktext") if axis.get(name)}
    return {**axis, **lists}


def main() -> None:
    """Write the notebooks whose source changed; with --run all of them, or those named, with new outputs."""
    run, names = "--run" in sys.argv, [name for name in sys.argv[1:] if name != "--run"]
    chosen = [source for source in all_sources() if not names or source.stem in names]
    with contextlib.ExitStack() as stack:
        if run:
            from lockscale.show.figures.formats import one_browser

            stack.enter_context(one_browser())
        for source in chosen:
            target, text = notebook_of(source), executed(source) if run else committed(source)
            if not target.is_file() or target.read_text() != text:
                write_text(target, text)
                print(f"wrote {target.relative_to(paths.ROOT)}")


if __name__ == "__main__":
    main()
