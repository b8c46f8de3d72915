# SPDX-License-Identifier: MIT
"""perf report in each of its forms says of one perf.data what the samples themselves say.

The oracle is perf script's text of the same perf.data, folded by awk and not by our code.
"""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import profile_of, profiles_of

SAMPLES = Path(__file__).parents[1] / "samples"
FORMS = ("callee", "caller", "children", "flat", "folded", "fractal", "graph")
STACKS = [
    (line.rsplit(" ", 1)[0].split(";")[1:], int(line.rsplit(" ", 1)[1]))
    for line in (SAMPLES / "folded-6.1.187.txt").read_text().splitlines()
]
ALL = sum(count for _, count in STACKS)


def sample(form):
    return (SAMPLES / f"perf_report-6.1.187-{form}.txt").read_text()


def on_stack_pct(*names):
    """Samples in which the first was called, whether at once or not, by the second, and so on."""

    def has(stack):
        below = iter(one if one in names else one.split(".")[0] for one in reversed(stack))
        return all(name in below for name in names)

    return 100 * sum(count for stack, count in STACKS if has(stack)) / ALL


@pytest.mark.parametrize("form", FORMS)
def test_no_share_is_more_than_the_samples_have(form):
    profile = profile_of(sample(form))
    assert (profile.of, profile.samples) == ("on-CPU samples", ALL)
    names = {one.path[0] for one in profile.entries}
    for name in names:
        assert profile.match(name).share_pct <= on_stack_pct(name) + 0.05, name


@pytest.mark.parametrize("form", FORMS)
def test_each_row_says_what_the_samples_say(form):
    for one in profile_of(sample(form)).entries:
        if one.callers is None:
            of = [
                count
                for stack, count in STACKS
                if one.name in (stack[-1:] if one.counts == "self" else stack)
            ]
            expected = 100 * sum(of) / ALL
            assert one.share_pct == pytest.approx(expected, abs=0.011), one


@pytest.mark.parametrize("form", ["callee", "folded", "fractal", "graph", "caller"])
def test_each_branch_is_of_the_callers_that_it_names(form):
    branches = [one for one in profile_of(sample(form)).entries if one.callers]
    assert branches
    for one in branches:
        within = on_stack_pct(*one.path) + 0.02
        assert one.share_pct <= within, one


def test_a_profile_with_children_says_the_whole_of_a_caller():
    for form in ("children", "graph"):
        profile = profile_of(sample(form))
        for name in ("ext4_create", "do_syscall_64"):
            assert profile.match(name).share_pct == pytest.approx(on_stack_pct(name), abs=0.01)


def test_a_name_is_never_matched_by_a_part_of_it():
    with pytest.raises(BadInput, match=r"ext4_creat is not in the profile .* did you mean ext4_create"):
        profile_of(sample("graph")).match("ext4_creat")


def test_of_two_reports_one_is_chosen_by_number_or_title():
    both = f"Before:\n\n{sample('flat')}\n\nAfter the patch:\n\n{sample('children')}"
    assert [one.title for one in profiles_of(both)] == ["Before", "After the patch"]
    with pytest.raises(BadInput, match=r"holds 2 tables: choose one with --table: 1 \(Before, line 1\), 2 "):
        profile_of(both)
    assert profile_of(both, table=2) == profile_of(both, table="after the patch")
    with pytest.raises(BadInput, match="table 3 is not one of the 2"):
        profile_of(both, table=3)
