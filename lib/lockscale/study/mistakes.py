# SPDX-License-Identifier: MIT
"""What is wrong with a study's or a target's file: one sentence with the file, the key, and what to write."""

import contextlib
import difflib
import re
import reprlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pydantic
from pydantic_core import ErrorDetails

from lockscale.errors import BadInput, printable
from lockscale.study.parameters import RENAMED, ROLES
from lockscale.yaml_text import read_yaml

M = TypeVar("M", bound=pydantic.BaseModel)
NO_KEY = "extra_forbidden"
_WHOLE, _NUMBER, _FLAG = "write a whole number", "write a number", "write true or false"
_NAMES = "write names with values"
WRITE = {
    "missing": "it is missing: add it",
    NO_KEY: "there is no such key: remove it, or correct its name",
    "invalid_key": "a key must be text: quote it, or correct its name",
    "union_tag_not_found": "its kind is missing: write kind: manycore, qemu, ssh or local",
    "union_tag_invalid": "there is no such kind: write {expected_tags}",
    "literal_error": "write {expected}",
    "string_type": "write text",
    "string_too_short": "write at least {min_length} characters",
    "string_too_long": "write at most {max_length} characters",
    "too_short": "it has {actual_length} entries: write at least {min_length}",
    "too_long": "it has {actual_length} entries: write at most {max_length}",
    "list_type": "write a list, such as [a, b]",
    **dict.fromkeys(("dict_type", "model_type"), _NAMES),
    **dict.fromkeys(("bool_type", "bool_parsing"), _FLAG),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _WHOLE),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), _NUMBER),
    "greater_than": "write a number above {gt}",
    "greater_than_equal": "write a number of at least {ge}",
    "less_than": "write a number below {lt}",
    "less_than_equal": "write a number of at most {le}",
}
"""pydantic's errors by their type; {} are of their context."""
_SECRET = re.compile(r"pass|secret|token|credential", re.IGNORECASE)
_WITH_PASSWORD = re.compile(r":.*@", re.DOTALL)


@contextlib.contextmanager
def told_of(study: str, key: str) -> Iterator[None]:
    """BadInput about what this key of a study's file names says the file and the key too."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{study}.yaml: {key}: {error}") from None


def read_names(path: Path) -> dict[str, Any]:
    """The names and values of a YAML file. Raises BadInput with the file for anything else."""
    said = read_yaml(path)
    if not isinstance(said, dict):
        raise BadInput(f"{path} has no names with values: write some, such as name: {path.stem}")
    return said


def checked(model: type[M], said: dict[str, Any], path: Path, given: Collection[str] = ()) -> M:
    """What a file said as `model`. Raises BadInput for the first thing in it that cannot be.

    given: parameters that are not the file's, but were asked for beside it.
    """
    try:
        return model.model_validate(said)
    except pydantic.ValidationError as error:
        found = error.errors()
    # a misspelt name is also one that is missing; it is the one that the user can see in the file
    first = next((one for one in found if one["type"] == NO_KEY), found[0])
    where = _place(said, first)
    alike = [one for one in found if _place(said, one) == where]  # each alternative of one value
    why = ", or ".join(dict.fromkeys(map(why_of, alike)))
    raise BadInput(f"{place_in(path, where, given)}{why}{_got(first, why)}{_meant(first, found)}")


def place_in(path: Path, where: str, given: Collection[str]) -> str:
    """How a sentence about that key begins: with the file, or with the parameter that was given."""
    if (names := re.fullmatch(r"parameters\.([a-z_]+)(.*)", where)) and names[1] in given:
        return f"parameter {names[1]}{names[2]}: "
    return f"{path.name}: {where}: " if where else f"{path.name}: "


def short(value: Any) -> str:
    """What was said, cut to a readable length; YAML's aliases can make it enormous."""
    if isinstance(value, str) and _WITH_PASSWORD.search(value):
        return "a text that looks like an address with a password"
    try:
        return reprlib.repr(value)[:80]
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"


def _place(said: Any, error: ErrorDetails) -> str:
    """The keys that lead to it in the file, without pydantic's own names of kinds and alternatives."""
    keys: list[int | str] = []
    for part in error["loc"]:
        inside = dict(enumerate(said)) if isinstance(said, list) else said
        if isinstance(inside, dict) and part in inside:
            said = inside[part]
            keys.append(part)
    if error["type"] == "missing":
        keys.append(error["loc"][-1])
    if error["type"] == "union_tag_invalid":
        keys.append("kind")
    return ".".join("..." if _WITH_PASSWORD.search(str(key)) else printable(key) for key in keys)


def why_of(error: ErrorDetails) -> str:
    """What to write there, without the file and the key."""
    key = error["loc"][-1] if error["loc"] else ""
    if error["type"] == NO_KEY and _SECRET.search(str(key)):
        return "such a file must not contain a password: remove the line, and log in with a key or an agent"
    if error["type"] == NO_KEY and key in RENAMED:
        where = "" if "parameters" in error["loc"] else ", a key of parameters"
        return f"is called {RENAMED[str(key)]} now{where}: rename it"
    if key == "role" and (role := ROLES.get(str(error["input"]))):
        return f"{error['input']} is called {role} now: rename it"
    if error["type"] == "value_error":
        return printable(error["msg"].removeprefix("Value error, "), 200)
    said = WRITE.get(error["type"], "this is not allowed here: fix it").format(**error.get("ctx", {}))
    return said.lower() if said in ("write True", "write False") else said  # as YAML spells them


def _got(error: ErrorDetails, why: str) -> str:
    """The value, where it is sure to be no secret and the sentence lacks it."""
    value, key = error["input"], error["loc"][-1:]
    hidden = error["type"] in ("missing", NO_KEY) or isinstance(value, dict | list)
    hidden |= key == ("user",) and ":" in str(value)  # as in user:password
    said = error["type"] == "value_error" and short(value) in why
    said |= key == ("role",) and str(value) in ROLES
    return "" if hidden or said else f" (got {short(value)})"


def _meant(first: ErrorDetails, found: list[ErrorDetails]) -> str:
    """For a name that is none, the missing one beside it that is near."""
    if first["type"] != NO_KEY or (key := first["loc"][-1]) in RENAMED:
        return ""
    missing = [
        str(one["loc"][-1])
        for one in found
        if one["type"] == "missing" and one["loc"][:-1] == first["loc"][:-1]
    ]
    meant = difflib.get_close_matches(str(key), missing, n=1)
    return f": did you mean {meant[0]}?" if meant else ""
