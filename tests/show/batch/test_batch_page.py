# SPDX-License-Identifier: MIT
"""A page of an executed notebook: what it shows, and where its links lead."""

import re
from typing import Any

from lockscale.show.batch.index import LINK, _relinked, _showable
from lockscale.show.notebooks import PLOTLY

NAMES = ("01_audit", "explore/lock_explorer")


def relinked(text: str, name: str = "01_audit") -> str:
    return LINK.sub(lambda found: _relinked(found[1], found[2], name, NAMES), text)


def test_a_link_to_a_notebook_of_the_batch_leads_to_its_page():
    assert relinked('<a href="01_audit.ipynb">01</a>') == '<a href="01_audit.html">01</a>'
    assert (
        relinked('<a href="../01_audit.ipynb">01</a>', "explore/lock_explorer")
        == '<a href="../01_audit.html">01</a>'
    )


def test_what_is_not_beside_it_is_named_and_not_linked():
    assert relinked('<a href="README.md">Notebooks</a>, <a href="02_none.ipynb">02</a>') == "Notebooks, 02"
    assert relinked('<a href="../../../etc/passwd">x</a>') == "x"


def test_sections_and_the_web_stay_as_they_are():
    kept = '<a href="#The-runs">The runs</a> <a href="https://example.org/">there</a>'
    assert relinked(kept) == kept


def test_a_figure_of_a_page_offers_no_upload():
    output: dict[str, Any] = {"data": {PLOTLY: {"data": [{"type": "scatter", "y": [1, 2]}], "layout": {}}}}
    assert _showable(output)
    assert re.search(r'"modeBarButtonsToRemove":\s*\["sendChartToCloud"', output["data"]["text/html"])
