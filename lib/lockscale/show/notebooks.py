# SPDX-License-Identifier: MIT
"""notebooks/src/NN_name.py (py:percent, what people edit) -> NN_name.ipynb, byte for byte the same.

jupytext gives cells random ids; here an id is a hash of the cell's kind and text. A table of contents
and the way to the notebooks before and after it are added to the first cell.
"""

import ast
import contextlib
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from traitlets.config import Config

from lockscale import paths
from lockscale.files import write_text

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
INDEX = "Index: [Notebooks](README.md), [Runs](runs.ipynb)"
ENDS_S = 5.0
"""How long an interrupted kernel may take to end what it does, as jupyter_client has it."""
HEADING = re.compile(r"^## (.+)$", re.M)


def sources() -> list[Path]:
    """The numbered notebooks' sources in their order."""
    return sorted(paths.NOTEBOOK_SOURCES.glob("[0-9][0-9]_*.py"))


def all_sources() -> list[Path]:
    """Of every committed notebook."""
    return sorted(paths.NOTEBOOK_SOURCES.rglob("*.py"))


def notebook_names() -> dict[str, Path]:
    """Every notebook by its path below notebooks/ without its ending, the numbered ones first."""
    found = (path for path in paths.NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
    named = {path.relative_to(paths.NOTEBOOKS).with_suffix("").as_posix(): path for path in found}
    return dict(sorted(named.items()))


def parameters_of(notebook: Path) -> dict[str, Any]:
    """What the parameters cell of a notebook gives, by name; nothing where there is no such cell."""
    cells = json.loads(notebook.read_text())["cells"]
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    lines = [line for cell in tagged for line in ast.parse("".join(cell["source"])).body]
    given = [(line.targets[0], line.value) for line in lines if isinstance(line, ast.Assign)]
    return {to.id: ast.literal_eval(value) for to, value in given if isinstance(to, ast.Name)}


def notebook_of(source: Path) -> Path:
    """notebooks/src/NN_name.py -> notebooks/NN_name.ipynb; likewise in explore/."""
    return paths.NOTEBOOKS / source.relative_to(paths.NOTEBOOK_SOURCES).with_suffix(".ipynb")


def generate(source: Path) -> str:
    """The text of the notebook: no output, fixed ids, fixed metadata."""
    # imported here: the pipeline needs the names of notebooks, not what makes them
    import jupytext
    import nbformat

    notebook = jupytext.reads(source.read_text(), fmt="py:percent")
    if _is_comment(notebook.cells[0]):  # the licence: a reader begins with the title
        del notebook.cells[0]
    first, *others = (cell for cell in notebook.cells if cell.cell_type == "markdown")
    headings = HEADING.findall("\n\n".join(cell.source for cell in others))
    first.source = "\n\n".join([first.source, *_contents(headings), *_way(source)])
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


def _is_comment(cell: Any) -> bool:
    return cell.cell_type == "code" and all(line.startswith("#") for line in cell.source.splitlines())


def _contents(headings: list[str]) -> list[str]:
    """Links to the sections, by the anchors that JupyterLab and nbconvert give to headings."""
    links = [f"[{text}](#{quote(text.replace(' ', '-'))})" for text in headings]
    return ["Contents: " + " · ".join(links)] if len(links) > 1 else []


def _way(source: Path) -> list[str]:
    """Links to the notebooks before and after a numbered one, and to the index."""
    known = sources()
    if source not in known:
        return []
    at = known.index(source)
    sides = [("Before", known[max(at - 1, 0) : at]), ("Next", known[at + 1 : at + 2])]
    links = [f"{word}: [{_short_title(one)}]({one.stem}.ipynb)" for word, found in sides for one in found]
    return [" · ".join([*links, INDEX])]


def _short_title(source: Path) -> str:
    """Such as 02 Simulate of # 02 Simulate: the algorithm that explains the tables."""
    found = re.search(r"^# # ([^:\n]+)", source.read_text(), re.M)
    return found[1] if found else source.stem


@contextlib.contextmanager
def private_kernel(ends_s: float = ENDS_S) -> Iterator[Config]:
    """The `config` of papermill and nbclient for one kernel: over TCP anybody on the machine could listen.

    The connection file has to be named: without one the sockets lie in the working directory, which
    the kernel and its client need not share.
    """
    with tempfile.TemporaryDirectory(prefix="lockscale-", ignore_cleanup_errors=True) as folder:
        manager = {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}
        yield Config({"KernelManager": {**manager, "shutdown_wait_time": 2 * ends_s}})


def main() -> None:
    """Write every notebook whose source changed."""
    for source in all_sources():
        target, text = notebook_of(source), generate(source)
        if not target.is_file() or target.read_text() != text:
            write_text(target, text)
            print(f"wrote {target.relative_to(paths.ROOT)}")


if __name__ == "__main__":
    main()
