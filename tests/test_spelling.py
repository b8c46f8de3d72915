# SPDX-License-Identifier: MIT
"""The prose of the notebooks and the texts around them, against a British word list and our own terms."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.show.execution import notebook_names

DICTIONARY = Path("/usr/share/dict/british-english")  # the package wbritish of setup/test-packages.toml
TERMS = Path(__file__).with_name("terms.txt")
TEXTS = ("README.md", "CONTRIBUTING.md", "notebooks/README.md", "data/README.md", "kernel-patches/README.md")
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LINKED = re.compile(r"\]\([^)]*\)")
NO_PROSE = re.compile(r"<!--.*?-->|`[^`]*`|\$+[^$\n]*\$+|<[^>]+>|\S*\w[.]\w\S*|\S*[/_=:]\w\S*", re.DOTALL)
"""Comments, code, formulae, links, file names, paths, names=values."""
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
NAME = re.compile(r"\w*\d\w*|\w*[A-Z]\w*[A-Z]\w*")
"""S1, CPUs, xfs4: with a figure or two capitals it is a name, which no word list has."""


@cache
def dictionary() -> frozenset[str]:
    return frozenset(DICTIONARY.read_text().split())


@cache
def terms() -> list[str]:
    return TERMS.read_text().split()


@cache
def known() -> frozenset[str]:
    return dictionary() | set(terms())


def words(text: str) -> set[str]:
    """The words of a text that are no code, link or name."""
    prose = NAME.sub(" ", NO_PROSE.sub(" ", LINKED.sub(" ", FENCED.sub(" ", text))))
    return {word.replace("’", "'") for word in WORD.findall(prose) if len(word) > 1}


def is_known(word: str) -> bool:
    return any(
        one in known()
        for one in (word, word.lower(), word.removesuffix("'s"), word.lower().removesuffix("'s"))
    )


def prose() -> dict[str, str]:
    found = {name: (paths.ROOT / name).read_text() for name in TEXTS}
    for name, path in notebook_names().items():
        cells = json.loads(path.read_text())["cells"]
        found[name] = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return found


@pytest.mark.parametrize("name", prose())
def test_every_word_is_spelt_as_the_list_has_it(name: str):
    unknown = sorted(word for word in words(prose()[name]) if not is_known(word))
    assert unknown == [], "mend it, or add a term of the field to tests/terms.txt"


def test_our_terms_are_sorted_and_in_no_dictionary():
    assert terms() == sorted(set(terms()), key=str.lower)
    assert [one for one in terms() if one in dictionary()] == []


def test_a_misspelt_word_is_found():
    assert words("the `lokc` of [recieve](recieve.md) S1 CPUs, teh lock's queue") == {
        "the", "of", "recieve", "teh", "lock's", "queue",
    }  # fmt: skip
    assert [word for word in ("teh", "recieve", "lock's", "Queue") if not is_known(word)] == [
        "teh",
        "recieve",
    ]


AWKWARD = {
    r"\b[Tt]o delete the \w+ time\b": "deleting the ... time",
    r"\bRead are\b": "lockscale reads",
    r"\bbesides\b": "as well, or in addition",
    r"\bstands? in the first line\b": "the first line says",
    r"\bit is that also\b|\bis that also\b": "the same for",
    r"\bcounts? (?:then )?tells?\b": "shows, or gives",
}
"""What was found again and again in texts that were read aloud -> what English says."""


def awkward(text: str) -> list[str]:
    plain = " ".join(FENCED.sub(" ", text).split())
    return [f"{found[0]!r}: {better}" for bad, better in AWKWARD.items() for found in re.finditer(bad, plain)]


def test_no_sentence_is_built_as_no_english_one_is():
    found = prose() | {str(p.relative_to(paths.ROOT)): p.read_text() for p in paths.ROOT.glob("docs/*.md")}
    assert {name: said for name, text in found.items() if (said := awkward(text))} == {}


def test_an_awkward_sentence_is_found():
    assert awkward("To see it.\n\nRead are mdtest\n3.2 to 4.1; what the base has besides.") == [
        "'Read are': lockscale reads",
        "'besides': as well, or in addition",
    ]
