# SPDX-License-Identifier: MIT
"""A figure as svg, pdf or html: the same bytes on every call on one machine, with its text for the blind."""

import contextlib
import contextvars
import html
import re
from collections.abc import Iterator

import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.progress import progress
from lockscale.report.alt_text import alt_text
from lockscale.tools import need

_shared = contextvars.ContextVar("a browser that several pictures share", default=False)
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
    kaleido.start_sync_server(silence_warnings=True)
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


def page(drawn: go.Figure, stem: str) -> str:
    """The figure to move and zoom, in a page that needs no network."""
    _fix_ids(drawn, stem)
    inner = drawn.to_html(full_html=False, include_plotlyjs=True, div_id=stem)
    return PAGE.format(title=_title(drawn, stem), alt=html.escape(alt_text(drawn)), drawn=inner)


def _title(drawn: go.Figure, stem: str) -> str:
    return html.escape((drawn.layout.meta or {}).get("title", stem))


def _image(drawn: go.Figure, stem: str, form: str) -> bytes:
    need("chromium")
    _fix_ids(drawn, stem)
    with contextlib.nullcontext() if _shared.get() else progress(f"draw {stem}.{form}") as shown:
        if shown:
            shown.update(0, "Chromium starts")
        import kaleido

        size = {"width": drawn.layout.width, "height": drawn.layout.height}
        try:
            found: bytes = kaleido.calc_fig_sync(drawn.to_dict(), opts={"format": form, **size})
        except Exception as error:  # kaleido wraps whatever its browser said in types of its own
            first = (str(error).strip().splitlines() or ["no reason given"])[0]
            said = f"Chromium did not draw {stem}.{form} ({first}): check `lockscale doctor`"
            raise BadInput(said) from error
    return found


def _fix_ids(drawn: go.Figure, stem: str) -> None:
    for k, trace in enumerate(drawn.data):
        trace.uid = f"{stem}-{k}"  # plotly would draw a random one
