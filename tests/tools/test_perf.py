# SPDX-License-Identifier: MIT
"""Which perf it is."""

import pytest

from lockscale.errors import BadInput
from lockscale.tools import perf


def test_the_version_by_hand():
    assert perf.version("perf version 6.1.187\n") == "6.1.187"
    assert perf.version("perf version 6.12.95.g1234\n") == "6.12.95.g1234"


@pytest.mark.parametrize("said", ["", "perf 2.7 (Python)", "perf version \n"])
def test_another_perf_is_named(said):
    with pytest.raises(BadInput, match="linux-perf"):
        perf.version(said)
