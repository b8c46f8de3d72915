# SPDX-License-Identifier: MIT
"""YAML, read safely: no tag runs code, and a name that is given twice is refused, not overwritten."""

from collections import Counter
from pathlib import Path
from typing import Any

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
