# SPDX-License-Identifier: MIT
"""notebooks/src/NN_name.py (py:percent, what people edit) -> NN_name.ipynb, byte for byte the same.

jupytext gives cells random ids; here an id is a hash of the cell's kind and text.
"""

import contextlib
import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from traitlets.config import Config

from lockscale import paths
from lockscale.files import write_text

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def sources() -> list[Path]:
    """The numbered notebooks' sources in their order."""
    return sorted(paths.NOTEBOOK_SOURCES.glob("[0-9][0-9]_*.py"))


def explore_sources() -> list[Path]:
    """Those of the notebooks to play with, which no study runs."""
    return sorted((paths.NOTEBOOK_SOURCES / "explore").glob("*.py"))


def notebook_of(source: Path) -> Path:
    """notebooks/src/NN_name.py -> notebooks/NN_name.ipynb; likewise in explore/."""
    return paths.NOTEBOOKS / source.relative_to(paths.NOTEBOOK_SOURCES).with_suffix(".ipynb")


def generate(source: Path) -> str:
    """The text of the notebook: no output, fixed ids, fixed metadata."""
    # imported here: the pipeline needs the names of notebooks, not what makes them
    import jupytext
    import nbformat

    notebook = jupytext.reads(source.read_text(), fmt="py:percent")
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        found = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[found] += 1
        cell.id = found if seen[found] == 1 else f"{found}-{seen[found]}"
    notebook.metadata = {"kernelspec": KERNEL}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook, version=nbformat.NO_CONVERT)  # type: ignore[no-untyped-call]
    return text + "\n"


@contextlib.contextmanager
def private_kernel() -> Iterator[Config]:
    """The `config` of papermill and nbclient for one kernel: over TCP anybody on the machine could listen.

    The connection file has to be named: without one the sockets lie in the working directory, which
    the kernel and its client need not share.
    """
    with tempfile.TemporaryDirectory(prefix="lockscale-", ignore_cleanup_errors=True) as folder:
        yield Config({"KernelManager": {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}})


def main() -> None:
    """Write every notebook whose source changed."""
    for source in [*sources(), *explore_sources()]:
        target, text = notebook_of(source), generate(source)
        if not target.is_file() or target.read_text() != text:
            write_text(target, text)
            print(f"wrote {target.relative_to(paths.ROOT)}")


if __name__ == "__main__":
    main()
