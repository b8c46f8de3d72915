# SPDX-License-Identifier: MIT
"""``python -m mutants``: whether the tests notice each listed change of the riskiest code.

With --sample N some of them, others each day. Ends with 1 where one survives that is neither argued
equivalent nor known to be missed, where one is argued equivalent and killed, or where one does not apply any
more.
"""

import argparse
import importlib
import multiprocessing
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import locked
from lockscale.progress import progress
from mutants.listed import Mutant, mutants, sample
from mutants.scratch import BROKEN, KILLED, SURVIVED, Scratch

WORKERS = 2
GONE = "no longer applies"
# what a child needs not import again; nothing of lockscale
ONCE = (
    "pytest",
    "numpy",
    "pandas",
    "scipy.stats",
    "scipy.optimize",
    "numba",
    "pydantic",
    "yaml",
)

Verdict = tuple[int, str, str]
ROOM = paths.CACHE / "mutants"
_here: list[Scratch] = []


def _begin(numbers: "multiprocessing.Queue[int]") -> None:
    """A worker makes its copy of the tree, always in the same place: what it compiled it finds again."""
    _here.append(Scratch(ROOM / str(numbers.get())))


def _work(numbered: tuple[int, Mutant]) -> Verdict:
    number, mutant = numbered
    try:
        return number, *_here[0].verdict(mutant)
    except (BadInput, OSError) as error:
        return number, GONE, str(error)


def _unchanged(numbered: tuple[int, Mutant]) -> Verdict:
    """What the tests of a mutant say of the tree as it is."""
    number, mutant = numbered
    return number, *_here[0].tested(mutant.tests, interpreted=mutant.interpreted)


def _verdicts(chosen: Sequence[Mutant], *, unchanged: bool) -> Iterator[tuple[Mutant, str, str]]:
    work, what = (_unchanged, "tests of the tree as it is") if unchanged else (_work, "mutants")
    fork = multiprocessing.get_context("fork")
    numbers = fork.Queue()
    for number in range(WORKERS):
        numbers.put(number)
    with fork.Pool(WORKERS, _begin, (numbers,)) as pool, progress(what, len(chosen)) as shown:
        done = pool.imap_unordered(work, list(enumerate(chosen)))
        for count, (number, verdict, said) in enumerate(done, start=1):
            shown.update(count, f"{chosen[number].file} {verdict}")
            yield chosen[number], verdict, said


def against(mutant: Mutant, verdict: str, said: str) -> str:
    """Why the verdict is no good one; empty for one as it should be."""
    if verdict in (GONE, BROKEN):
        return f"{verdict}: {mutant.name} ({said})"
    if verdict == SURVIVED and not (mutant.equivalent or mutant.missed):
        return f"survived: {mutant.name} ({' '.join(mutant.tests)})"
    if verdict == KILLED and mutant.equivalent:
        return f"killed, though argued to be equivalent: {mutant.name} ({said})"
    return ""


def main() -> int:
    """The exit status. One at a time in a cache; the copies go at the end."""
    with locked(ROOM.with_suffix(".lock"), "the room for mutants", wait=True):
        try:
            return _main()
        finally:
            shutil.rmtree(ROOM, ignore_errors=True)


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--sample", type=int, help="only so many, others each day")
    parser.add_argument("--file", help="only those of this file of lib/lockscale")
    asked = parser.parse_args()
    for name in ONCE:
        importlib.import_module(name)
    chosen = [one for one in mutants() if asked.file in (None, one.file)]
    if asked.sample:
        chosen = sample(chosen, asked.sample, datetime.now(UTC).date().isoformat())
    else:
        each = list({(one.tests, one.interpreted): one for one in chosen}.values())
        red = [
            f"without any change: {' '.join(mutant.tests)}: {said}"
            for mutant, verdict, said in _verdicts(each, unchanged=True)
            if verdict != SURVIVED
        ]
        if red:
            print("\n".join(red))
            return 1
    began_s, counts, bad = time.monotonic(), Counter[str](), []
    for mutant, verdict, said in _verdicts(chosen, unchanged=False):
        known = "equivalent" if mutant.equivalent else "missed" if mutant.missed else verdict
        counts[known if verdict == SURVIVED else verdict] += 1
        if why := against(mutant, verdict, said):
            bad.append(why)
            print(why, flush=True)
    print(
        f"{len(chosen)} mutants in {time.monotonic() - began_s:.0f} s: "
        + ", ".join(f"{n} {word}" for word, n in counts.items())
    )
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
