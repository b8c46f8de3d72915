# SPDX-License-Identifier: MIT
"""Comments and spacing are no code: what is called the same compiles to the same, and nothing else is."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.kernels.identity import code_of

TOKENS = ["int", "f", "(", ")", "{", "}", "a", "++", "+", "-", '"a  /* b"', "'\"'", ";", ",", "x[", "]", "1"]
GAPS = [" ", "\n", "\t ", " /* int */ ", " // f(\n", "\n\n/*\n * it's\n */\n", " \\\n "]
FILE = """\
#include <stdio.h>
#define TWICE(x) ((x) + (x)) /* both */
/* before */
int main(void)
{
\tputs("// no /* comment */"); // a comment
\treturn TWICE(3) - 6;
}
"""


def code(text: str, name: str = "fs/a.c") -> bytes | None:
    return code_of(name, text.encode())


@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=12), st.data())
def test_comments_and_spacing_between_tokens_change_nothing(tokens: list[str], data: st.DataObject):
    gaps = [data.draw(st.sampled_from(GAPS)) for _ in tokens]
    spaced = "".join(gap + token for gap, token in zip(gaps, tokens, strict=True))
    assert code(spaced + "\n") == code(" ".join(tokens))


@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=12), st.sampled_from(TOKENS), st.data())
def test_another_token_is_other_code(tokens: list[str], token: str, data: st.DataObject):
    at = data.draw(st.integers(0, len(tokens)))
    assert code(" ".join([*tokens[:at], token, *tokens[at:]])) != code(" ".join(tokens))


def assembly(folder: Path, text: str) -> str:
    (folder / "a.c").write_text(text)
    return subprocess.run(
        ["gcc", "-O2", "-S", "-o", "-", "a.c"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/* before */", "/* later,\n * and longer */\n"),
        (" /* both */", ""),
        ("// a comment", "/* ; */"),
        ("main(void)", "main( /* nothing */ void )"),
        ("return ", "return\t/* six less six */\n\t\t"),
        ("((x) + (x)) /* both */", "\\\n\t((x) + (x))"),
    ],
)
def test_gcc_makes_the_same_of_what_is_called_the_same(tmp_path: Path, old: str, new: str):
    assert old in FILE
    other = FILE.replace(old, new)
    assert code(other) == code(FILE)
    assert assembly(tmp_path, other) == assembly(tmp_path, FILE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("// no /* comment */", "// no /*  comment */"),  # in a string
        ("TWICE(3)", "TWICE(4)"),
        ("TWICE(x) ((x)", "TWICE (x) ((x)"),  # another macro
        (" - 6", " -- 6"),
        ("// a comment", "// a comment \\"),  # swallows the next line
        ("#define", "# undef main\n#define"),
    ],
)
def test_code_that_differs_is_told(old: str, new: str):
    assert old in FILE
    assert code(FILE.replace(old, new)) != code(FILE)


def test_a_file_that_is_not_c_is_code_to_the_last_byte_and_documentation_is_none():
    assert code("obj-y += a.o # x\n", "fs/Makefile") != code("obj-y += a.o\n", "fs/Makefile")
    assert code("words\n", "Documentation/a.rst") is code("more\n", "Documentation/a.rst") is None
    assert code_of("fs/a.c", None) is None
