# SPDX-License-Identifier: MIT
"""The arithmetic of a CSV of one's own: checked right, or refused in one sentence."""

import re
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.show.audit import audit

HEADER = "arm,threads,metric,statistic,unit,value\n"
RATES = "base,8,rate,mean,ops/s,200\npatch,8,rate,mean,ops/s,301\n"


def checked(tmp_path, text):
    path = tmp_path / "my.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return audit(str(path))


def change_of(digits):
    return f"patch,8,rate,vs_base,%,{digits}\n"


def test_a_right_change_holds_and_a_wrong_one_is_named(tmp_path):
    (row,) = checked(tmp_path, HEADER + RATES + change_of("50.5"))
    assert (row["table"], row["printed"], row["recomputed"], row["verdict"]) == ("my.csv", 1, 1, "holds")
    rounded, cut_off = checked(tmp_path, HEADER + RATES + change_of("51.5"))
    assert rounded["verdict"] == cut_off["verdict"] == "fails"
    assert rounded["note"] == "not rate of patch at 8 (printed 51.5%, found 50.500%)"


def test_published_tables_are_files_of_this_layout():
    for name in ("s3_fallocate2", "s4_creat_clo", "s1_function_cost"):
        own = audit(str(paths.PUBLISHED / f"{name}.csv"))
        whole = {row["claim"]: row for row in audit(name)}
        for row in own:
            assert row["table"] == f"{name}.csv"
            same = whole[row["claim"]]
            assert (row["recomputed"], row["verdict"]) == (same["recomputed"], same["verdict"])


def test_printed_digits_win_over_the_value(tmp_path):
    text = "arm,threads,metric,statistic,unit,value,printed\n"
    text += 'base,8,rate,mean,ops/s,1000,"1,000"\npatch,8,rate,mean,ops/s,1100,\n'
    text += "patch,8,rate,vs_base,%,10,+10.0%\n"
    (row,) = checked(tmp_path, text)
    assert row["verdict"] == "holds"


def test_function_costs_of_ones_own(tmp_path):
    text = "function,total_us,count,avg_us\nf,100000,3000,33.33\ng,100000,3000,33.34\n"
    (row,) = checked(tmp_path, text)
    assert (row["recomputed"], row["verdict"]) == (1, "fails")
    assert row["note"] == "not g (printed 33.34 us, found 33.33 us)"
    (row,) = checked(tmp_path, "function,total_us,count,avg_us\nf,1000000,3000,333.3\n")
    assert row["verdict"] == "holds" and row["claim"].endswith("the average rounded as printed")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no rows"),
        (HEADER, "no rows"),
        ("a,b\n1,2\n", "columns arm, threads"),
        (
            "threads,value,unit\n1,13100,ops/s\n",
            "lacks the columns arm, metric, statistic of .*lockscale fit",
        ),
        (HEADER + RATES, "no change to check"),
        (HEADER + RATES + change_of("nan"), "row 4: 'nan' is not a number"),
        (HEADER + RATES + change_of("1e3"), "not a number"),
        (HEADER + RATES + change_of(""), "not a number"),
        (HEADER + RATES.replace("200", "0") + change_of("1"), "base above 0"),
        (HEADER + RATES.replace("200", "-5") + change_of("1"), "base above 0"),
        (
            HEADER + RATES.replace("ops/s,200", "kops/s,0.2") + change_of("50.5"),
            "row 4: a change between kops/s and ops/s: write both values in one unit",
        ),
        (HEADER + RATES + RATES + change_of("1"), "not 2 and 2"),
        (HEADER + RATES.replace(",8,", ",9,") + change_of("1"), "not 0 and 0"),
        (HEADER + RATES + "patch,8\n", "more or fewer cells"),
        (HEADER + RATES + "patch,8,rate,vs_base,%,1,2\n", "more or fewer cells"),
        (HEADER + RATES + "\n\npatch,8\n", "row 6 has more or fewer cells"),
        (HEADER + "\n\n" + RATES + change_of("nan"), "row 6: 'nan' is not a number"),
        (
            HEADER.replace("\n", ",value\n") + "base,8,rate,mean,ops/s,200,7\n",
            "row 1 names column 'value' twice",
        ),
        (HEADER + RATES.replace("200", '"12,5"') + change_of("1"), "row 2: '12,5' is not a number"),
        (HEADER + RATES + change_of("50.5").replace("vs_base", "vs_"), "not 0 and 1"),
        (HEADER + RATES + change_of("1").replace("rate", "\x1b[31mrate"), r"needs one \?\[31mrate at 8"),
        (HEADER + RATES + change_of("1").replace("rate", "r" * 9999), r"needs one r{77}\.\.\. at 8"),
        (HEADER + RATES + '"patch,8', "not CSV"),
        (b"\xff\xfe\x00", "not CSV in UTF-8"),
        ("function,total_us,count,avg_us\nf,1,0,1\n", "no calls"),
        ("function,total_us,count,avg_us\nf,1,1,1\nf,1,1,1\n", "twice"),
    ],
)
def test_a_file_that_cannot_be_checked_is_refused(tmp_path, text, reason):
    with pytest.raises(BadInput, match=reason) as refused:
        checked(tmp_path, text)
    assert "my.csv" in str(refused.value) and str(refused.value).isprintable()


@pytest.mark.parametrize("digits", ["50.5", "51.5"])
def test_an_audit_has_done_its_work_where_claims_fail(digits, tmp_path, lockscale):
    (tmp_path / "my.csv").write_text(HEADER + RATES + change_of(digits))
    said = lockscale("audit", f"{tmp_path}/my.csv", "--json")
    assert (said.status, said.err) == (0, "")
    assert {row["verdict"] for row in said.value} == {"holds" if digits == "50.5" else "fails"}


def test_no_name_of_a_function_steers_the_terminal(tmp_path, lockscale):
    (tmp_path / "my.csv").write_text("function,total_us,count,avg_us\n\x1b[31mf,100,10,12\n")
    said = lockscale("audit", f"{tmp_path}/my.csv")
    assert said.status == 0 and "not ?[31mf (printed 12.00 us" in said.out and "\x1b" not in said.out


@pytest.mark.parametrize("name", ["data.txt", "UPPER.CSV", "noext"])
def test_a_file_that_is_there_needs_no_suffix_to_be_audited(name, inside):
    (inside / name).write_text(HEADER + RATES + change_of("50.5"))
    assert [row["table"] for row in audit(name)] == [name]


@pytest.mark.parametrize("name", ["absent.csv", "."])
def test_a_path_that_is_no_file_is_refused(tmp_path, name):
    with pytest.raises(BadInput, match="published table or a CSV file"):
        audit(f"{tmp_path}/{name}")


@given(
    base=st.integers(1, 10**7),
    after=st.integers(0, 10**7),
    decimals=st.integers(0, 3),
    cut=st.booleans(),
    off=st.integers(-1, 1),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rounding_and_cutting_off_are_told_apart(tmp_path, base, after, decimals, cut, off):
    """Printed by decimals, perhaps one last digit off; finer rates may allow what the printed do not."""
    last = Decimal(1).scaleb(-decimals)
    how = ROUND_DOWN if cut else ROUND_HALF_UP
    printed = (100 * (Decimal(after) / base - 1)).quantize(last, how) + off * last
    rates = re.sub("200|301", lambda found: str(base if found[0] == "200" else after), RATES)
    text = HEADER + rates + change_of(printed)
    verdicts = [row["verdict"] for row in checked(tmp_path, text)]
    half = Decimal("0.5")
    low, high = (100 * ((after + s) / (base - s) - 1) for s in (-half, half))
    allowed = [
        low.quantize(last, mode) <= printed <= high.quantize(last, mode)
        for mode in (ROUND_HALF_UP, ROUND_DOWN)
    ]
    assert verdicts == (["holds"] if allowed[0] else ["fails", "holds" if allowed[1] else "fails"])
    assert off or allowed[cut]


@given(
    st.binary(max_size=60)
    | st.text(max_size=60)
    | st.lists(st.sampled_from(["arm", "threads", "8", "%", "vs_b\n", "1", "\n"])).map(",".join)
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_rows_or_one_sentence(tmp_path, junk):
    text = junk if isinstance(junk, bytes) else (HEADER + junk).encode("utf-8", "surrogatepass")
    try:
        assert checked(tmp_path, text)
    except BadInput as refused:
        assert str(refused)
