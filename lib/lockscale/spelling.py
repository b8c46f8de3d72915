# SPDX-License-Identifier: MIT
"""Texts of YAML files that reach a command line or a path: which characters they may have, in words."""

import re

import pydantic

NAME = (r"[a-z0-9][a-z0-9_-]*", "write small letters, digits, - and _")
"""Of a study, a target, an arm: the first arguments of spelt()."""


def spelt(pattern: str, otherwise: str, most: int = 4096) -> pydantic.AfterValidator:
    """Take texts of at most `most` characters that `pattern` matches whole; `otherwise` says what to write.

    pydantic's own `pattern` would show a person the expression.
    """
    known = re.compile(pattern, re.ASCII)

    def checked(text: str) -> str:
        """`text`; ValueError is pydantic's."""
        if len(text) > most:
            raise ValueError(f"at most {most} characters are taken: {otherwise}")
        if known.fullmatch(text) is None:
            raise ValueError(otherwise)
        return text

    return pydantic.AfterValidator(checked)
