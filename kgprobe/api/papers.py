"""``kgprobe.paper`` and ``paper_options``: the four papers, their published numbers and their options."""

from pathlib import Path
from typing import Any, overload

from kgprobe.base.options import options_of
from kgprobe.models.spec_forms import LocalOptions
from kgprobe.papers.presets import preset_of
from kgprobe.papers.results import PaperContents, PaperList, PaperTable, list_papers, paper_contents, paper_table


@overload
def paper() -> PaperList: ...


@overload
def paper(
    name: str, table: None = None, *, model: str = ..., other_model: str = ..., graph: str | Path | None = ...
) -> PaperContents: ...


@overload
def paper(
    name: str, table: str, *, model: str = ..., other_model: str = ..., graph: str | Path | None = ...
) -> PaperTable: ...


def paper(
    name: str | None = None,
    table: str | None = None,
    *,
    model: str = "demo",
    other_model: str = "hf:EleutherAI/pythia-70m",
    graph: str | Path | None = None,
) -> PaperList | PaperContents | PaperTable:
    """Return the four papers, the tables of one, or one table with published numbers and your stored results.

    >>> [(paper.name, paper.tables) for paper in kgprobe.paper().papers]
    [('distractors', 17), ('kglens', 15), ('latent-knowledge', 26), ('grapheval', 12)]
    >>> kgprobe.paper("distractors", "table-4").to_frame()[["row", "number"]].head(2)
             row  number
    0    ROUGE-L    0.47
    1  LLM judge    0.58

    Args:
        name: ``distractors``, ``kglens``, ``latent-knowledge`` or ``grapheval``; None returns the list of papers.
        table: such as ``table-3`` or ``figure-1``; None returns the list of all.
        model, other_model: models in the commands.
        graph: folder or address of the graph; without one there, a note names the missing `load`.

    Raises:
        UnknownNameError: no such paper or table.
    """
    if name is None:
        return list_papers()
    if table is None:
        return paper_contents(name, model, other_model, graph)
    return paper_table(name, table, model, other_model, graph)


def paper_options(name: str, command: str) -> dict[str, Any]:
    """Return the options of a paper's experiment for a command, to pass to its function; without those of the model.

    >>> kgprobe.paper_options("latent-knowledge", "probe examples")["examples"]
    50

    Args:
        command: command without ``kgprobe``: ``probe examples`` for ``measure(graph, model, "examples", **options)``.

    Raises:
        UnknownNameError: no such paper, or it has no options for the command.
    """
    of_models = {option.name for option in options_of(LocalOptions)}
    options = preset_of(name, command).options
    return {option: preset.value for option, preset in options.items() if option not in of_models}
