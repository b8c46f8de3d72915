# SPDX-License-Identifier: MIT
"""Which option of a kernel tree gives a module, read from its Makefiles as localmodconfig does."""

import functools
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

GIVES = re.compile(r"^obj-\$\((CONFIG_\w+)(?::m=y)?\)[ \t]*[:+]?=(.*)$", re.MULTILINE)


@functools.cache
def options_of_modules(tree: Path) -> Mapping[str, frozenset[str]]:
    """Module as sysfs spells it -> the options of which any one gives it. Once per process: seconds."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder, _, files in os.walk(tree):
        for name in {"Makefile", "Kbuild"} & set(files):
            for module, option in modules_in(Path(folder, name).read_text(errors="replace")):
                found[module].add(option)
    return {module: frozenset(options) for module, options in found.items()}


def modules_in(makefile: str) -> list[tuple[str, str]]:
    """(module, option) of each `obj-$(CONFIG_X) += name.o`."""
    lines = GIVES.findall(makefile.replace("\\\n", " "))
    return [
        (word.removesuffix(".o").replace("-", "_"), option)
        for option, words in lines
        for word in words.split()
        if word.endswith(".o") and "/" not in word
    ]
