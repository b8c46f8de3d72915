# SPDX-License-Identifier: MIT
"""The audit at a terminal: everything is said, within 100 columns."""

from hypothesis import given
from hypothesis import strategies as st

from lockscale.show.audit import audit
from lockscale.tables import audit_text, list_tables
from lockscale.tables.claim import row

words = st.text("abcdefghij -.()%", min_size=1).filter(str.strip)
numbers = st.none() | st.floats(-1e7, 1e7)


def joined(text):
    return " ".join(text.split())


def test_the_audit_fits_100_columns_and_says_everything():
    rows, text = audit(), audit_text(audit())
    assert max(map(len, text.splitlines())) <= 100
    assert all(row["note"] == "" or joined(row["note"]) in joined(text) for row in rows)
    assert all(joined(row["searched"]) in joined(text) for row in rows if row["searched"])
    lines = text.splitlines()
    assert [line for line in lines if line in list_tables()] == list_tables()
    for verdict in ("holds", "fails", "unknown"):
        assert sum(row["verdict"] == verdict for row in rows) == sum(
            line.startswith(f"{verdict} ") for line in lines
        )


def test_the_last_line_counts_the_verdicts():
    rows = [row("t", "c", 1, 2.5, "x", verdict, "") for verdict in ("fails", "holds", "fails")]
    assert audit_text(rows).splitlines()[-1] == "1 hold, 2 fail, 0 unknown"
    assert audit_text([]) == "no claims"


def test_a_row_reads_as_a_line_and_its_note():
    text = audit_text(audit("s1_rates")).splitlines()
    assert text[0] == "s1_rates"
    assert joined(text[2]) == "unknown creation is improved more than 10X 10 10.14 9.769 .. 10.53 x"
    assert joined(" ".join(text[3:5])).startswith("ratio of the means of three iterations")


@given(words, words, numbers, numbers)
def test_any_note_and_claim_are_wrapped(claim, note, printed, found):
    text = audit_text([row("t", claim, printed, found, "x", "holds", note)])
    assert max(map(len, text.splitlines())) <= 100
    assert "".join(note.split()) in "".join(text.split())
    assert all(word in text for word in claim.split() if len(word) <= 40)
