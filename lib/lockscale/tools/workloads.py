# SPDX-License-Identifier: MIT
"""One file per tool: how to run it and how to read what it prints.

A further tool is one further module with `TOOL`, `recognise(text)` and `parse(text)`, named in
`READERS`.
"""

from collections.abc import Callable

from lockscale.tools import changelog_table, fio, fsload, mds_survey, mdtest, mmtests, reaim, will_it_scale
from lockscale.tools.workload_rows import Parsed, Row

__all__ = ["READERS", "Parsed", "Row"]

READERS: dict[str, tuple[Callable[[str], bool], Callable[[str], Parsed]]] = {
    changelog_table.TOOL: (changelog_table.recognise, changelog_table.parse),
    fio.TOOL: (fio.recognise, fio.parse),
    fsload.TOOL: (fsload.recognise, fsload.parse),
    mds_survey.TOOL: (mds_survey.recognise, mds_survey.parse),
    mdtest.TOOL: (mdtest.recognise, mdtest.parse),
    mmtests.TOOL: (mmtests.recognise, mmtests.parse),
    reaim.TOOL: (reaim.recognise, reaim.parse),
    will_it_scale.TOOL: (will_it_scale.recognise, will_it_scale.parse),
}
