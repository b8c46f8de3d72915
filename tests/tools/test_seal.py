# SPDX-License-Identifier: MIT
"""A sealed output is whole and unchanged, or it is refused."""

import hashlib
import io
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools.seal import UNSEALED, seal, sealed, unseal, unsealed, unsealed_bytes


def run(argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_seal_is_the_sha256_of_the_output():
    text = run(sealed(["printf", "%s\\n", "a b", "c"])).stdout
    assert text == "a b\nc\n\nsha256 " + hashlib.sha256(b"a b\nc\n").hexdigest() + "\n"
    assert unseal(text) == ("a b\nc\n", True)


@pytest.mark.parametrize("said", ["", "no end of line", "x\n\n", "sha256 0\n"])
def test_the_command_and_the_library_seal_alike(said):
    assert run(sealed(["printf", "%s", said])).stdout == seal(said)
    assert unseal(seal(said)) == (said, True)
    assert unseal(said) == (said, False)


def test_a_command_that_fails_gives_no_seal_and_its_status():
    done = run(sealed(["sh", "-c", "echo half; exit 7"]))
    assert (done.returncode, done.stdout) == (7, "")


def test_errors_are_part_of_the_output_where_the_tool_prints_its_tables_there():
    argv = ["sh", "-c", "echo table >&2"]
    assert unseal(run(sealed(argv, with_errors=True)).stdout) == ("table\n", True)
    assert unseal(run(sealed(argv)).stdout) == ("", True)


@given(st.text(), st.integers(0, 10**6), st.characters())
def test_any_change_under_the_seal_is_refused(text, at, put):
    whole = seal(text)
    at %= len(text) + 1
    changed = whole[:at] + put + whole[at + 1 :]
    if changed == whole:
        return
    try:
        assert unseal(changed) == (changed, False)  # the change took the seal itself away
        assert at == len(text)
    except BadInput as error:
        assert "SHA-256" in str(error)


@given(st.binary(max_size=300), st.booleans())
def test_a_file_is_measured_as_a_text_is(body, whole):
    content = body + (b"\nsha256 " + hashlib.sha256(body).hexdigest().encode() + b"\n" if whole else b"")
    stream = io.BytesIO(content)
    assert unsealed_bytes(stream) == (len(body), whole)
    assert stream.tell() == 0


def test_a_changed_file_is_refused():
    with pytest.raises(BadInput, match="SHA-256"):
        unsealed_bytes(io.BytesIO(seal("8.01\n").replace("8.01", "8.02").encode()))


def test_a_text_without_a_seal_has_a_warning_and_one_with_it_has_none():
    assert unsealed("said\n") == ("said\n", [UNSEALED])
    assert unsealed(seal("said\n")) == ("said\n", [])
