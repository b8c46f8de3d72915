# SPDX-License-Identifier: MIT
"""One stem = one figure: the picture in the forms asked for, and the numbers in it as csv and text.

The same bytes on every call on one machine, with the figure in words for those who do not see it.
"""

import contextlib
import contextvars
import html
import logging
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.files import write_bytes, write_text
from lockscale.programs import need
from lockscale.progress import progress
from lockscale.show.figures.template import BUTTONS, room_for_legend
from lockscale.text_table import text_table

# A message of Chromium's that it cannot read is passed over, with a traceback; what fails is an exception.
logging.getLogger("choreographer.channels.pipe").setLevel(logging.CRITICAL)
MOST_SERIES = 12


def alt_text(drawn: go.Figure) -> str:
    """One paragraph of plain text; its numbers are those drawn, to three digits."""
    meta, layout = drawn.layout.meta or {}, drawn.layout
    titles = (layout.xaxis.title.text, layout.yaxis.title.text)
    axes = ", ".join(text.replace("<br>", " ") for text in titles if text)
    series = map(_series, drawn.data[:MOST_SERIES])
    left = len(drawn.data) - MOST_SERIES
    parts = [
        _sentence(meta.get("title") or (layout.title.text or "Figure").partition("<br>")[0]),
        _sentence(meta.get("says", "")),
        _sentence(f"Axes: {axes}" if axes else ""),
        *series,
        f"And {left} more series." if left > 0 else "",
    ]
    return " ".join(filter(None, parts))


def _series(trace: Any) -> str:
    name = (trace.name or trace.type).replace("<br>", " ")
    x, y = (_list(getattr(trace, axis, None)) for axis in "xy")
    if trace.type not in ("scatter", "bar") or not x or not y or getattr(trace, "base", None) is not None:
        return f"{name}: a {trace.type}." if trace.type != "table" else ""
    if trace.orientation == "h":
        x, y = y, x
    if getattr(trace, "fill", None) == "toself":  # a band: its edge goes there and back
        return _sentence(f"{name}: {_ends_of_a_band(x, y)}")
    return _sentence(f"{name}: {_points(x, y)}")


def _known(x: Sequence[Any], y: Sequence[Any]) -> list[tuple[Any, float]]:
    """The points that are there: a line or a band may have gaps."""
    pairs = zip(x, y, strict=True)
    return [(a, float(b)) for a, b in pairs if a is not None and b is not None and not np.isnan(b)]


def _ends_of_a_band(x: Sequence[Any], y: Sequence[Any]) -> str:
    known = _known(x, y)
    at = sorted({a for a, _ in known})
    values = {n: [b for a, b in known if a == n] for n in at[:1] + at[-1:]}
    said = (f"{_value(min(here))} to {_value(max(here))} at {_value(n)}" for n, here in values.items())
    return f"from {', to '.join(said)}" if known else "no points"


def _points(x: Sequence[Any], y: Sequence[Any]) -> str:
    """Few points one by one, many by their ends and their highest."""
    known = _known(x, y)
    if not known:
        return "no points"
    if len(known) <= 6:
        return ", ".join(f"{_value(b)} at {_value(a)}" for a, b in known)
    (a, b), (c, d), (e, f) = known[0], known[-1], max(known, key=lambda point: point[1])
    return f"{_value(b)} at {_value(a)} to {_value(d)} at {_value(c)}, highest {_value(f)} at {_value(e)}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value.replace("<br>", " ")
    digits = float(f"{value:.3g}")
    return f"{digits:,.0f}" if abs(digits) >= 1000 else f"{digits:.3g}"


def _list(values: Any) -> list[Any]:
    return [] if values is None else [v.item() if hasattr(v, "item") else v for v in values]


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}." if text else ""


_shared = contextvars.ContextVar("a browser that several pictures share", default=False)
OFFLINE = {"mathjax": False}
"""Else each browser waits for MathJax from its makers' server, where no packet may go or come."""
PDF_DATE = re.compile(rb"\(D:\d{14}[+\-Z][\d']*\)")
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body>
<figure role="img" aria-label="{alt}">
{drawn}
<figcaption>{alt}</figcaption>
</figure>
</body>
</html>
"""


@contextlib.contextmanager
def one_browser() -> Iterator[None]:
    """All pictures inside are drawn by one Chromium; each alone starts its own, which takes seconds."""
    import kaleido

    need("chromium")
    kaleido.start_sync_server(silence_warnings=True, **OFFLINE)
    token = _shared.set(True)
    try:
        yield
    finally:
        _shared.reset(token)
        kaleido.stop_sync_server(silence_warnings=True)


def svg(drawn: go.Figure, stem: str) -> str:
    """The figure as svg with title and description. Raises BadInput where Chromium does not draw it."""
    text = str(_image(drawn, stem, "svg"), "utf-8")
    random_ids = dict.fromkeys(re.findall(r'id="defs-([0-9a-f]+)"', text))
    for k, found in enumerate(random_ids):
        text = text.replace(found, f"{stem}{k}")
    head, end, rest = text.partition(">")
    says = f'<title id="{stem}-title">{_title(drawn, stem)}</title>'
    says += f'<desc id="{stem}-desc">{html.escape(alt_text(drawn))}</desc>'
    return f'{head} role="img" aria-labelledby="{stem}-title {stem}-desc"{end}{says}{rest}'


def pdf(drawn: go.Figure, stem: str) -> bytes:
    """The figure as pdf, dated as no day in particular: the day would change its bytes."""
    found = _image(drawn, stem, "pdf")
    return PDF_DATE.sub(lambda date: b"(D:19700101000000+00'00')"[: len(date[0])], found)


def png(drawn: go.Figure, stem: str, scale: float = 1.0) -> bytes:
    """The figure in pixels, `scale` times as wide as its size says, for what is too much for svg."""
    return _image(drawn, stem, "png", scale)


def page(drawn: go.Figure, stem: str) -> str:
    """The figure to move and zoom, in a page that needs no network."""
    _fix_ids(drawn, stem)
    inner = drawn.to_html(full_html=False, include_plotlyjs=True, div_id=stem, config=BUTTONS)
    return PAGE.format(title=_title(drawn, stem), alt=html.escape(alt_text(drawn)), drawn=inner)


def _title(drawn: go.Figure, stem: str) -> str:
    return html.escape((drawn.layout.meta or {}).get("title", stem))


def _image(drawn: go.Figure, stem: str, form: str, scale: float = 1.0) -> bytes:
    need("chromium")
    _fix_ids(drawn, stem)
    with contextlib.nullcontext() if _shared.get() else progress(f"draw {stem}.{form}") as shown:
        if shown:
            shown.update(0, "Chromium starts")
        import kaleido

        size = {"width": drawn.layout.width, "height": drawn.layout.height, "scale": scale}
        own = {} if _shared.get() else {"kopts": {**OFFLINE}}
        try:
            found: bytes = kaleido.calc_fig_sync(drawn.to_dict(), opts={"format": form, **size}, **own)
        except Exception as error:  # kaleido wraps whatever its browser said in types of its own
            first = (str(error).strip().splitlines() or ["no reason given"])[0]
            raise BadInput(
                f"Chromium did not draw {stem}.{form} ({first}): check `lockscale doctor`"
            ) from error
    return found


def _fix_ids(drawn: go.Figure, stem: str) -> None:
    for k, trace in enumerate(drawn.data):
        trace.uid = f"{stem}-{k}"  # plotly would draw a random one


FORMATS = ("svg", "pdf", "html", "txt", "csv")
USUAL = ("csv", "txt", "svg")


def save(
    drawn: go.Figure, numbers: pd.DataFrame, folder: Path, stem: str, formats: Collection[str] = USUAL
) -> Path:
    """Write <stem>.<format> for each format; returns the path of the svg, written or not.

    The numbers come first: they need no browser.
    """
    room_for_legend(drawn)
    if "csv" in formats:
        write_text(folder / f"{stem}.csv", numbers.to_csv(index=False))
    if "txt" in formats:
        write_text(folder / f"{stem}.txt", text_of(drawn, numbers))
    if "html" in formats:
        write_text(folder / f"{stem}.html", page(drawn, stem))
    if "svg" in formats:
        write_text(folder / f"{stem}.svg", svg(drawn, stem))
    if "pdf" in formats:
        write_bytes(folder / f"{stem}.pdf", pdf(drawn, stem))
    return folder / f"{stem}.svg"


def text_of(drawn: go.Figure, numbers: pd.DataFrame) -> str:
    """The numbers below the figure's title and a line that says where they are from."""
    meta = drawn.layout.meta or {}
    head = [meta[key] for key in ("title", "says") if meta.get(key)]
    return "\n".join([*head, "", text_table(numbers)] if head else [text_table(numbers)])
