# SPDX-License-Identifier: MIT
"""YAML, read safely: no tag runs code, and a name that is given twice is refused, not overwritten.

Bounded are size, depth, the number of values with aliases written out, and what merges make of a few lines.
Refused is also what does not mean what a person reads in it: 40:00 and 010 (numbers to YAML, 2400 and 8), a
set (of no order), NaN and infinity, characters that turn the direction of a text. Texts that reach a command
line or a path have only the characters that `spelt` allows.
"""

import math
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pydantic
import yaml

from lockscale.errors import BadInput, printable

# What YAML's own scanner and constructors raise for a character, a number, a date or a key that cannot be.
UNREADABLE = (
    yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, TypeError, RecursionError,
)  # fmt: skip

MOST_CHARACTERS = 1 << 20
MOST_DEPTH = 40
MOST_MERGED = 100_000
MOST_VALUES = 100_000  # of a file within MOST_CHARACTERS; they take seconds
_TURNS = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # Unicode, Bidi_Control
TURNS = "contains a bidirectional control character: remove it"
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # half of a character of UTF-16, which no text may contain
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_OCTAL = re.compile(r"[-+]?0[0-9_]+")


class _Loader(yaml.SafeLoader):
    """SafeLoader keeps the last of two equal names without a word."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = self.merged = self.values = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        self.values += 1
        if self.depth > MOST_DEPTH or self.values > MOST_VALUES:
            here: Any = self.peek_event()  # type: ignore[no-untyped-call]
            deep = f"is more than {MOST_DEPTH} levels deep: nest it less"
            many = f"follows {MOST_VALUES} names and values: write fewer"
            raise BadInput(f"{_line(here)} {deep if self.depth > MOST_DEPTH else many}")
        node: Any = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def compose_scalar_node(self, anchor: Any) -> Any:
        node: Any = super().compose_scalar_node(anchor)
        if _TURNS.search(node.value):
            raise BadInput(f"{_line(node)} {TURNS}")
        if _SURROGATE.search(node.value):
            raise BadInput(f"{_line(node)} contains half a character, such as \\ud800: write the whole one")
        if node.tag in _NUMBERS and ":" in node.value:
            raise BadInput(_of_base(60, node))
        if node.tag == _NUMBERS[0] and _OCTAL.fullmatch(node.value):
            raise BadInput(_of_base(8, node))
        return node

    def construct_scalar(self, node: Any) -> Any:
        """YAML 1.1 takes {=: 5} for 5, past what was asked of a scalar."""
        if isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(None, None, "names with values", node.start_mark)
        return super().construct_scalar(node)

    def flatten_mapping(self, node: Any) -> None:
        super().flatten_mapping(node)
        self.merged += len(node.value)
        if self.merged > MOST_MERGED:
            raise BadInput(f"{_line(node)} merges more than {MOST_MERGED} values: write only what it needs")

    def construct_yaml_float(self, node: Any) -> float:
        value: float = super().construct_yaml_float(node)
        if not math.isfinite(value):
            raise BadInput(f"{_line(node)} says {node.value[:40]}, which is not a number: write one")
        return value

    def construct_yaml_set(self, node: Any) -> Any:
        raise BadInput(f"{_line(node)} is a set, which has no order: write a list, such as [a, b]")

    def compose_mapping_node(self, anchor: Any) -> Any:
        node: Any = super().compose_mapping_node(anchor)
        names = [(key, self._meant(key)) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        seen = Counter(meant for _, meant in names)
        for key, meant in reversed(names):
            if seen[meant] > 1:
                line = key.start_mark.line + 1
                raise BadInput(f"line {line} repeats the name {key.value[:40]!r}: keep one")
        return node

    def _meant(self, key: yaml.ScalarNode) -> object:
        """What a key is to a mapping, to which 16, 0x10 and 16.0 are one."""
        return self.construct_object(key) if key.tag in _NUMBERS else (key.tag, key.value)


_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)
_Loader.add_constructor("tag:yaml.org,2002:set", _Loader.construct_yaml_set)


def _of_base(base: int, node: Any) -> str:
    return (
        f"{_line(node)} says {printable(node.value, 40)}, a number of base {base} to YAML: write it in "
        f"decimal, or put it in quotes"
    )


def _line(node: Any) -> str:
    return f"line {node.start_mark.line + 1}"


def parse_yaml(text: str) -> Any:
    """The value of a text. Raises BadInput for what is refused, one of UNREADABLE for what is no YAML."""
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"has more than {MOST_CHARACTERS >> 20} MiB: write less")
    if turned := _TURNS.search(text):  # in a comment too
        line = text.count("\n", 0, turned.start()) + 1
        raise BadInput(f"line {line} {TURNS}")
    loader = _Loader(text)
    try:
        value = loader.get_single_data()
    finally:
        loader.dispose()
    if _is_huge(value):
        raise BadInput(f"has more than {MOST_VALUES} values, aliases written out: write fewer")
    return value


def _is_huge(value: Any) -> bool:
    """Whether it has more than MOST_VALUES values, each alias written out, as in an error that quotes it."""
    left, seen = [value], 0
    while left and seen <= MOST_VALUES:
        one = left.pop()
        seen += 1
        left.extend([*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else ())
    return seen > MOST_VALUES


def read_yaml(path: Path) -> Any:
    """The value of a file. Raises BadInput with the line."""
    try:
        with path.open(encoding="utf-8") as stream:
            return parse_yaml(stream.read(MOST_CHARACTERS + 1))
    except BadInput as error:
        raise BadInput(f"{path} {error}") from None
    except UNREADABLE as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        why = printable(getattr(error, "problem", None) or str(error).partition("\n")[0], 80)
        raise BadInput(f"{path}{where} is not YAML that can be read safely, {why}: fix it") from None


class Strict(pydantic.BaseModel):
    """What a file says, as a type: names that it does not know are refused, and no value is changed later."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T")
OneOrMore = Annotated[list[T], pydantic.Field(min_length=1)]
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
