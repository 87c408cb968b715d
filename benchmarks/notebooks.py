"""Run the notebooks of docs/notebooks from beginning to end, and store their outputs.

Each runs in a separate folder with separate graphs and results; the demo model and installed versions of Neo4j are the
user's. A test runs them the same way and compares the outputs.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import nbformat
from nbclient import NotebookClient

from kgprobe.models.demo import demo_model_folder

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
# A cell may measure for a minute on an idle machine.
_CELL_SECONDS = 900

# Texts that differ between runs or machines.
_NUMBERS = re.compile(r"\d[\d,.:]*(?:e-?\d+)?")
_PLACES = re.compile(r"(?:/[\w.@~+-]+)+/?")
_COLUMN = re.compile(r"<th>([^<]+)</th>")


def execute(path: Path) -> nbformat.NotebookNode:
    """Return the notebook after running all its cells.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary, _home(Path(temporary) / "home"):
        client = NotebookClient(
            notebook, timeout=_CELL_SECONDS, resources={"metadata": {"path": temporary}}, record_timing=False
        )
        client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            # Messages of libraries depend on the machine; markup repeats the text.
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def shown(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """Return the machine-independent output of each code cell.

    For a table its columns; for a text its words without numbers and paths. For a cell tagged ``answers``, whose text
    depends on the model's answers, only that it is a text: close decisions can differ between processors.
    """
    return [
        [_shown(output, "answers" in cell.metadata.get("tags", ())) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _shown(output: nbformat.NotebookNode, of_answers: bool) -> str:
    table = output.get("data", {}).get("text/html")
    if table is not None:
        return "table: " + ", ".join(_COLUMN.findall(table.partition("</thead>")[0]))
    if of_answers:
        return "text"
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return " ".join(_NUMBERS.sub("#", _PLACES.sub("…", text)).split())


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """Provide a folder as kgprobe's home, with only the demo model and the installed versions of Neo4j in it."""
    models = demo_model_folder().parent
    folder.mkdir()
    for installed in (models, *filter(Path.is_dir, models.parent.glob("neo4j-*"))):
        (folder / installed.name).symlink_to(installed)
    before = {name: os.environ.pop(name) for name in [*os.environ] if name.startswith("KGPROBE_")}
    os.environ["KGPROBE_HOME"] = str(folder)
    try:
        yield
    finally:
        del os.environ["KGPROBE_HOME"]
        os.environ.update(before)


@click.command(context_settings={"max_content_width": 100})
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Run the notebooks, or those with these names, and store their outputs."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            nbformat.write(execute(path), path)
            click.echo(f"Ran {path.name}.")


if __name__ == "__main__":
    main()
