# SPDX-License-Identifier: MIT
"""YAML, read safely: no tag runs code, and a name that is given twice is refused, not overwritten.

Texts of such files that reach a command line or a path have only the characters that `spelt` allows.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pydantic
import yaml

from lockscale.errors import BadInput

# What YAML's own constructors raise for an integer, a date or a key that cannot be.
UNREADABLE = (yaml.YAMLError, ValueError, KeyError, AttributeError, RecursionError)


class _Loader(yaml.SafeLoader):
    """SafeLoader keeps the last of two equal names without a word."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node: Any = super().compose_mapping_node(anchor)
        names = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        seen = Counter((key.tag, key.value) for key in names)
        for key in reversed(names):
            if seen[key.tag, key.value] > 1:
                line = key.start_mark.line + 1
                raise BadInput(f"line {line} gives the name {key.value[:40]!r} a second time: keep one")
        return node


def parse_yaml(text: str) -> Any:
    """The value of a text. Raises BadInput for a name given twice, one of UNREADABLE for what is no YAML."""
    loader = _Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def read_yaml(path: Path) -> Any:
    """The value of a file. Raises BadInput with the line."""
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except BadInput as error:
        raise BadInput(f"{path} {error}") from None
    except UNREADABLE as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise BadInput(f"{path}{where} is not YAML that can be read safely: mend it") from None


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
