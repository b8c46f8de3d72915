# SPDX-License-Identifier: MIT
"""Parts of a report as one HTML page, in light and in dark, on screen and on paper.

Every text is escaped here and nowhere else; a figure's svg has escaped its own.
"""

import html
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import printable_lines
from lockscale.show.figures.formats import svg
from lockscale.show.figures.template import COLOURS, room_for_legend
from lockscale.text_table import cell_text, yes_no


@dataclass(frozen=True)
class ReportTable:
    """Numbers below one another. origin: in words, where they are from."""

    title: str
    origin: str
    frame: pd.DataFrame
    note: str = ""

    def as_html(self) -> str:
        """A caption with the origin, and a box that scrolls where the screen is narrow."""
        names = (str(name).replace("_pct", " (%)").replace("_", " ") for name in self.frame.columns)
        head = "".join(f"<th scope=col>{_text(name)}</th>" for name in names)
        cells = ("".join(map(_cell, row)) for row in self.frame.itertuples(index=False, name=None))
        rows = "\n".join(f"<tr>{row}</tr>" for row in cells)
        note = f"<p class=note>{_text(self.note)}</p>" if self.note else ""
        title = _text(self.title)
        return (
            f'<div class="table" role="region" aria-label="{title}" tabindex="0"><table>\n'
            f"<caption><b>{title}</b> {_origin(self.origin)}</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n{note}"
        )


@dataclass(frozen=True)
class ReportFigure:
    """A figure as svg text, which names itself for those who do not see it."""

    origin: str
    svg: str

    @staticmethod
    def of(stem: str, drawn: go.Figure, more: str = "") -> "ReportFigure":
        """One that says itself where its numbers are from; `more` is added to that."""
        return ReportFigure(drawn.layout.meta["says"] + more, svg(room_for_legend(drawn), stem))

    def as_html(self) -> str:
        return (
            f"<figure>\n{in_page_colours(self.svg)}\n<figcaption>{_origin(self.origin)}</figcaption></figure>"
        )


@dataclass(frozen=True)
class ReportText:
    """Prose; fixed: lines and columns stay as they are. origin: where the words themselves do not say it."""

    text: str
    fixed: bool = False
    origin: str = ""

    def as_html(self) -> str:
        said = _origin(self.origin) if self.origin else ""
        if self.fixed:
            return f"<p>{said}</p>\n<pre>{_text(self.text)}</pre>"
        return f"<p>{_text(self.text)} {said}</p>"


@dataclass(frozen=True)
class ReportSection:
    """What stands under one heading."""

    title: str
    parts: Sequence[ReportTable | ReportFigure | ReportText]


LONG = 26
"""Letters of a word, such as a hash, that may be broken where it ends a line."""


def page_of(title: str, sections: Sequence[ReportSection]) -> str:
    """The whole page. No word of it can be run or fetch anything: its policy forbids both."""
    body = "\n".join(map(_section, sections))
    return PAGE.format(title=_text(title), policy=POLICY, style=STYLE, body=body)


def _section(one: ReportSection) -> str:
    name = re.sub(r"[^a-z]+", "-", one.title.lower())
    parts = "\n".join(part.as_html() for part in one.parts)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{_text(one.title)}</h2>\n{parts}\n</section>'


def _cell(value: object) -> str:
    value = yes_no(value)
    shown = cell_text(value)
    kind = (
        "number" if isinstance(value, numbers.Real) else "" if max(map(len, shown.split())) < LONG else "long"
    )
    return f"<td{f' class={kind}' if kind else ''}>{_text(shown)}</td>"


def _origin(text: str) -> str:
    return f"<span class=origin>{_text(text)}</span>"


def _text(text: str) -> str:
    """Escaped, and without the characters that turn the direction of what a reader sees."""
    return html.escape(printable_lines(text))


def in_page_colours(svg: str) -> str:
    """The same figure with the colours of its styles as variables, which the page sets for light and dark."""
    return STYLED.sub(lambda style: RGB.sub(_variable, style[0]), svg)


STYLED = re.compile(r'style="[^"]*"')
RGB = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")
_NAMED = {"222222": "ink", "444444": "ink", "ffffff": "paper", "e5e5e5": "grid", "eeeeee": "grid"} | {
    colour[1:].lower(): f"c{k}" for k, colour in enumerate(COLOURS)
}


def _variable(found: re.Match[str]) -> str:
    name = _NAMED.get("".join(f"{int(part):02x}" for part in found.groups()))
    return f"var(--{name})" if name else found[0]


_SERIES = "; ".join(f"--c{k}: {colour}" for k, colour in enumerate(COLOURS))
STYLE = f"""\
:root {{ color-scheme: light dark; --paper: #fff; --ink: #222; --grid: #e5e5e5; --soft: #f4f4f4;
  --quiet: #555; {_SERIES} }}
@media (prefers-color-scheme: dark) {{
  :root {{ --paper: #16181d; --ink: #e6e6e6; --grid: #3a3e46; --soft: #20242b; --quiet: #b4b8c0;
    --c0: #ff8a3d; --c1: #5db4ee; --c2: #3fcf9f; --c3: #e6a0c8; --c4: #f0b93a; --c5: #8fd0f7 }}
}}
body {{ font: 16px/1.45 "DejaVu Sans", sans-serif; color: var(--ink); background: var(--paper);
  max-width: 70em; margin: 1.5em auto; padding: 0 1em; overflow-wrap: break-word }}
h1 {{ font-size: 1.5em }} h2 {{ font-size: 1.2em; margin-top: 1.8em; border-bottom: 1px solid var(--grid) }}
figure {{ display: inline-block; vertical-align: top; margin: 0.5em 0.5em 1em 0; max-width: 100% }}
figure svg {{ max-width: 100%; height: auto }}
figcaption {{ max-width: 34em; font-size: 0.85em }}
.table {{ overflow-x: auto; margin: 1em 0 }}
table {{ border-collapse: collapse; font-size: 0.8em; min-width: min(100%, 45em) }}
caption {{ text-align: left; padding: 0.3em 0 }}
th, td {{ border: 1px solid var(--grid); padding: 0.15em 0.5em; text-align: left; vertical-align: top }}
th {{ background: var(--soft) }} .long {{ overflow-wrap: anywhere }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }}
.origin, .note {{ color: var(--quiet) }} .note {{ font-size: 0.8em; margin-top: -0.6em }}
.origin::before {{ content: "Origin: " }}
pre {{ font: 0.8em/1.35 "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere;
  background: var(--soft); padding: 0.7em }}
@media print {{
  @page {{ size: A4; margin: 12mm }}
  :root {{ --paper: #fff; --ink: #222; --grid: #ccc; --soft: #fff; --quiet: #444; {_SERIES} }}
  body {{ font-size: 9pt; max-width: none; margin: 0; padding: 0 }}
  .table {{ overflow: visible; margin: 0.5em 0 }} table {{ font-size: 6.5pt; line-height: 1.2 }}
  th, td {{ padding-top: 0.05em; padding-bottom: 0.05em }}
  pre {{ font-size: 7pt; padding: 0 }}
  figure {{ width: 48%; margin: 0 0.5% 0.5em 0 }} figure, tr {{ break-inside: avoid }}
  h2 {{ margin-top: 1em; break-after: avoid }} caption {{ break-after: avoid }}
}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style></head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
