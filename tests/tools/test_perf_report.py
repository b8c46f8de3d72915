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
    with pytest.raises(
        BadInput, match=r"contains 2 tables: choose one with --table: 1 \(Before, line 1\), 2 "
    ):
        profile_of(both)
    assert profile_of(both, table=2) == profile_of(both, table="after the patch")
    with pytest.raises(BadInput, match="the text has no table 3, only these 2"):
        profile_of(both, table=3)


def by_hand(name):
    return profile_of((SAMPLES / f"perf_{name}-by-hand.txt").read_text())


def test_a_copy_of_the_browser_quoted_in_a_mail():
    profile = by_hand("report_browser")
    assert profile.match("demo_alloc_block").wait_pct == 30.1
    assert profile.match("demo_alloc_block_irq").wait_pct == 14
    assert profile.match("demo_file_write").wait_pct == pytest.approx(44.1)
    assert profile.match("demo_file_write").share_pct == 61.2
    assert [one.name for one in profile.waits] == ["demo_alloc_block", "demo_alloc_block_irq"]


def test_a_call_graph_whose_row_the_mail_left_out():
    profile = by_hand("report_bare_graph")
    assert (profile.match("demo_ilock").share_pct, profile.match("demo_ilock").wait_pct) == (21.79, 21.6)
    assert profile.match("demo_copy").wait_pct is None


def test_perf_top():
    profile = by_hand("top")
    assert profile.match("native_queued_spin_lock_slowpath").share_pct == 63.21
    assert profile.idle_pct == 9.05


def test_a_row_that_a_mailer_broke_is_one_row():
    text = sample("flat").replace("  [k] _raw_spin_lock ", "\n[k] _raw_spin_lock ")
    assert (
        profile_of(text).match("_raw_spin_lock").share_pct
        == profile_of(sample("flat")).match("_raw_spin_lock").share_pct
    )


WIDE = "    60.00%  mdtest           [kernel.kallsyms]           [k] native_queued_spin_lock_slowpath\n"
NARROW = "     1.20%  mdtest           [kernel.kallsyms]           [k] osq_lock\n"


@pytest.mark.parametrize("at", ["native_", "[k]", "[kernel"])
@pytest.mark.parametrize("mark", ["", "> "])
def test_a_wide_row_that_a_mailer_broke_is_not_lost(at, mark):
    """The functions that wait have the longest names, so their rows are those that are broken."""
    head = "# Overhead  Command  Shared Object      Symbol\n"
    text = head + WIDE.replace(at, f"\n{at}", 1) + NARROW
    (profile,) = profiles_of("".join(mark + line for line in text.splitlines(keepends=True)))
    assert [(one.name, one.share_pct) for one in profile.entries] == [
        ("native_queued_spin_lock_slowpath", 60),
        ("osq_lock", 1.2),
    ]


@pytest.mark.parametrize(
    "name", ["osq_lock", "[unknown]", "f(int) [clone .cold]", "operator new[](unsigned long)"]
)
def test_a_file_behind_the_symbol_is_no_part_of_its_name(name):
    """Also where a mail has one space between the two."""
    for spaces in (" ", "   "):
        (profile,) = profiles_of(f"    45.32%  [k] {name}{spaces}[kernel.kallsyms]\n")
        assert [one.name for one in profile.entries] == [name]
    (profile,) = profiles_of(f"    45.32%  [k] {name}\n")
    assert [one.name for one in profile.entries] == [name]


def test_a_row_without_its_symbol_is_named():
    (profile,) = profiles_of(WIDE.replace(" native", "\nWith the patch, native") + NARROW)
    assert [one.name for one in profile.entries] == ["osq_lock"]
    assert any("line 1 is left out, it has no symbol: 60.00%  mdtest" in one for one in profile.warnings)
    assert profile.lost_line == 1


def test_the_colours_of_a_terminal_are_not_read():
    """perf gives them to the larger percentages alone, so a report without those rows would look whole."""
    coloured = WIDE.replace("    60.00%", "\x1b[31m    60.00%\x1b[m") + NARROW
    (profile,) = profiles_of(f"\x1b[H\x1b[2J{coloured}")
    assert profile.entries == profiles_of(WIDE + NARROW)[0].entries


def test_the_head_of_an_indented_report_names_its_columns():
    """As in a commit message, where latencies would pass for shares of the function alone."""
    (profile,) = profiles_of("    # Overhead  Command  Symbol\n        45.32%  mdtest   [k] osq_lock\n")
    assert [(one.name, one.process) for one in profile.entries] == [("osq_lock", "mdtest")]
    with pytest.raises(BadInput, match="the column Latency is not supported"):
        profiles_of("    # Overhead   Latency  Symbol\n        45.32%    5.00%  [k] osq_lock\n")


def test_the_table_of_perf_diff_is_refused():
    """A row of it that has no change looks like one of perf report."""
    head = "# Event 'cycles'\n#\n# Baseline  Delta Abs  Shared Object      Symbol\n"
    rows = "    45.32%    -20.10%  [kernel.kallsyms]  [k] osq_lock\n     1.20%             [vdso]  [.] foo\n"
    with pytest.raises(
        BadInput, match=r"^line 3: this is perf diff's table: give perf report --stdio of one"
    ):
        profiles_of(head + rows)


@pytest.mark.parametrize("share", ["63,21%", "63.2x%"])
def test_a_row_whose_share_is_damaged_is_named(share: str):
    text = sample("flat")
    row = next(line for line in text.splitlines() if "[k]" in line)
    damaged = profile_of(text.replace(row, row.replace(row.split()[0], share, 1)))
    number = text.splitlines().index(row) + 1
    assert any(one.startswith(f"line {number} is left out") for one in damaged.warnings)


@pytest.mark.parametrize("form", ["caller", "callee", "graph"])
def test_the_graph_of_a_row_that_was_lost_is_not_the_row_aboves(form):
    lines = sample(form).split("\n")
    heads = [at for at, line in enumerate(lines) if "[k]" in line or "[.]" in line]
    for at in heads[1:]:
        known = {(one.path, one.share_pct) for one in profile_of(sample(form)).entries}
        for one in profile_of("\n".join(lines[:at] + lines[at + 1 :])).entries:
            assert (one.path, one.share_pct) in known, one


def test_a_graph_cut_short_by_its_threshold_is_still_its_rows():
    text = (
        "    61.00%     2.00%  app  [k] foo\n            |          \n            |--58.00%--foo\n"
        "            |          bar\n            |          \n             --1.50%--start_thread\n"
        "                       main\n\n     1.00%     1.00%  app  [k] bar\n"
    )
    profile = profile_of(text)
    assert profile.match("bar < foo").share_pct == 58
    assert not any("left out" in one for one in profile.warnings)


def test_a_graph_below_an_empty_line_is_of_no_row():
    graph = "            |\n            ---{}\n               {}\n\n"
    row = "    30.00%  app  [k] foo\n"
    profile = profile_of(row + graph.format("foo", "bar") + graph.format("other", "bar2"))
    assert any("line 7: the call graph of foo lost a line above it" in one for one in profile.warnings)
    with pytest.raises(BadInput):
        profile.match("bar2")


EXCERPT = """
# Children      Self  Command  Shared Object      Symbol
    98.00%     0.00%  mdtest   [kernel.kallsyms]  [k] do_syscall_64
            |
            ---do_syscall_64
               |
               |--60.00%--ext4_create
               |          _raw_spin_lock
               |          native_queued_spin_lock_slowpath
               |
                --38.00%--ext4_orphan_add
                          mutex_spin_on_owner

    50.00%    50.00%  mdtest   [kernel.kallsyms]  [k] native_queued_spin_lock_slowpath
            |
            ---do_syscall_64
               ext4_create
               _raw_spin_lock
               native_queued_spin_lock_slowpath

    38.00%    38.00%  mdtest   [kernel.kallsyms]  [k] mutex_spin_on_owner
            |
            ---do_syscall_64
               ext4_orphan_add
               mutex_spin_on_owner
"""


def test_a_path_that_the_graphs_of_two_rows_show_counts_once():
    """As in a mail, which leaves out the rows in between."""
    (profile,) = profiles_of(EXCERPT)
    assert {one.name: one.wait_pct for one in profile.waits} == {"ext4_create": 60.0, "ext4_orphan_add": 38.0}
    assert profile.match("ext4_orphan_add").wait_pct == 38.0


def test_two_rows_of_one_function_are_of_different_samples():
    """As of two CPUs: their graphs show the same path."""
    row = EXCERPT[EXCERPT.index("    50.00%") : EXCERPT.index("    38.00%    38.00%")].replace(
        "50.00%", "20.00%"
    )
    (profile,) = profiles_of(EXCERPT.splitlines()[1] + "\n" + row + row)
    assert profile.match("ext4_create").wait_pct == 40.0


def test_lost_samples_are_a_warning():
    text = (SAMPLES / "perf_report-6.1.187-callee.txt").read_text()
    lost = text.replace("Total Lost Samples: 0", "Total Lost Samples: 900000")
    assert lost != text and not any("lost" in one for one in profile_of(text).warnings)
    assert "perf lost 900000 samples: shares may be far off" in profile_of(lost).warnings


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ("9000 events and lost 12 chunks!\n\nCheck IO/CPU overload!", "12 chunks"),
        ("9 samples and lost 34.56%!", "34.56%"),
    ],
)
def test_what_perf_lost_is_said_and_is_no_title(said, lost):
    """It stands above the report where standard error goes to the same file."""
    (profile,) = profiles_of(f"Warning:\nProcessed {said}\n\n{WIDE}")
    assert f"perf lost {lost} of what it recorded: shares and sums may be far off" in profile.warnings
    assert profile.title == ""


def test_what_perf_top_lost_is_said():
    text = (SAMPLES / "perf_top-by-hand.txt").read_text()
    lost = text.replace("lost: 0/0", "lost: 5/900")
    assert lost != text and not any("lost" in one for one in profile_of(text).warnings)
    said = "perf lost 900 samples of what it recorded: shares and sums may be far off"
    assert said in profile_of(lost).warnings


def test_samples_of_another_event_are_no_time() -> None:
    head, body = "# Samples: 1K of event '{}'\n#\n", "    60.00%  app  [kernel.kallsyms]  [k] osq_lock\n"
    of_time = ("cycles:P", "cpu_core/cycles/", "cpu-clock", "task-clock:u", "ibs_op//", "CPU_CYCLES")
    for event in (*of_time, "cpu_clk_unhalted.thread"):
        assert not [one for one in profile_of(head.format(event) + body).warnings if "samples of" in one]
    for event in ("cache-misses", "page-faults", "lock:contention_begin", "stalled-cycles-backend"):
        said = f"samples of {event} are no shares of the time: record cycles"
        assert said in profile_of(head.format(event) + body).warnings


IN_USER_SPACE = """
# Overhead  Command  Shared Object      Symbol
    40.00%  fio      [kernel.kallsyms]  [k] osq_lock
            |
            ---osq_lock
               demo_write
               {0}
               |
                --38.00%--{0}
                          {0}

    20.00%  fio      [kernel.kallsyms]  [k] mutex_spin_on_owner
            |
            ---mutex_spin_on_owner
               demo_rename
"""
IN_A_BROWSER = """
-   40.00%     0.00%  fio      [kernel.kallsyms]  [k] demo_write
   - 39.00% demo_write
      - 38.00% {0}
           {0}
              37.00% {0}
+   20.00%    20.00%  fio      [kernel.kallsyms]  [k] mutex_spin_on_owner
"""


@pytest.mark.parametrize("form", [IN_USER_SPACE, IN_A_BROWSER])
@pytest.mark.parametrize(
    "name",
    [
        "0",
        "0000000000000000",
        "operator new(unsigned long)",
        "void rocksdb::Run<int>(int)",
        "rocksdb::(anonymous namespace)::Foo()",
        "std::ostream& std::operator<< <char>(std::ostream&, char const*)",
        "[unknown] (deleted)",
    ],
)
def test_a_function_of_any_name_is_part_of_its_graph(form, name):
    """Also an address of zero, and what C++ calls its functions, with spaces."""
    (profile,) = profiles_of(form.format(name))
    stacks = {(one.name, *(one.callers or ())) for one in profile.entries}
    assert any(one.count(name) == 3 for one in stacks)
    assert profile.match("mutex_spin_on_owner").share_pct == 20
    assert not any("left out" in one for one in profile.warnings)


def test_prose_among_the_lines_of_a_graph_ends_the_graph_but_no_report():
    text = IN_USER_SPACE.format("main").replace("               demo_write", "           <- here it is\n{}")
    (profile,) = profiles_of(text.format("               demo_write"))
    assert any("line 6: the call graph of osq_lock lost a line" in one for one in profile.warnings)
    assert [one.callers for one in profile.entries] == [None, None, ("demo_rename",)]


def test_prose_directly_below_a_row_is_no_graph_of_it():
    row = "    40.00%  fio  [kernel.kallsyms]  [k] osq_lock\n"
    assert len(profiles_of(f"{row}            and this is it with the patch:\n{row}")) == 2


def test_prose_below_an_empty_line_divides_reports():
    rows = IN_USER_SPACE.format("main").split("\n", 2)[2]
    both = f"{rows}\n            and this is it with the patch (48 threads):\n\n{rows}"
    assert len(profiles_of(both)) == 2


@pytest.mark.parametrize("row", ["0000000000000000", "0x00000000007d8661"])
@pytest.mark.parametrize("root", ["0", "0x55e48b767661"])
def test_the_graph_of_an_address_is_its_rows(row, root):
    """The row has an address in its file, the graph one in memory; perf prints 0 without 0x."""
    text = (
        "# Children      Self  Command  Shared Object  Symbol\n"
        f"     4.77%     0.00%  fio  [unknown]  [k] {row}\n"
        f"            |\n            ---{root}\n               |\n                --4.23%--demo_close\n\n"
        "     4.00%     0.00%  fio  [kernel.kallsyms]  [k] demo_open\n"
        "            |\n            ---demo_open\n"
    )
    profile = profile_of(text)
    assert profile.match(f"demo_close < {root}").share_pct == 4.23
    assert not any("left out" in one for one in profile.warnings)


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (
            "           1.54%\n                osq_lock\n",
            r"list of stacks \(-g flat\): report with -g caller",
        ),
        ("            |\n            |--31--demo_write\n", r"no percentages \(-g count or period\): report"),
        ("            |\n            |--62124248--0x7f86\n", r"no percentages \(-g count or period\)"),
        ("31 osq_lock;demo_write\n", r"no percentages \(-g count or period\)"),  # -g folded,count
        ("            |\n            |--1.49%--demo_write ??:0\n", r"by address \(-g address\): report with"),
        ("            |\n            ---demo_write +25\n", r"by address \(-g address\)"),
        ("            |\n            ---osq_lock\n               demo_write file.c:12\n", r"\(-g address\)"),
    ],
)
def test_a_graph_of_another_form_is_refused_with_the_option_that_helps(graph, says):
    row = "    30.00%  app  [kernel.kallsyms]  [k] osq_lock\n"
    with pytest.raises(BadInput, match=rf"perf report: line [234]: the call graph .*{says}"):
        profile_of(row + graph + "\n" + row)


@pytest.mark.parametrize("head", ["# Overhead  Command  Shared Object      Symbol\n#\n", ""])
def test_decimal_commas_are_those_of_a_locale(head):
    rows = "    40,00%  fio      [kernel.kallsyms]  [k] osq_lock\n    20,00%  fio  [fio]  [.] main\n"
    with pytest.raises(BadInput, match=r"^perf report: its percentages have decimal commas: .* LC_ALL=C$"):
        profile_of(head + rows)
