"""``kgprobe.paper`` and ``paper_options``: the four papers, their published numbers and their options."""

from collections import Counter
from typing import Any, overload

from kgprobe.api.paper_results import own_numbers, own_results, stored_for
from kgprobe.papers.presets import preset_of
from kgprobe.papers.results import PaperContents, PaperCounts, PaperList, PaperNumber, PaperTable, PaperTableRow
from kgprobe.papers.tables import (
    PAPERS,
    PaperEntry,
    PublishedNumber,
    all_numbers,
    filled,
    numbers_of,
    paper_named,
    table_named,
    tables_of,
)


@overload
def paper() -> PaperList: ...


@overload
def paper(name: str, table: None = None, *, model: str = ..., other_model: str = ...) -> PaperContents: ...


@overload
def paper(name: str, table: str, *, model: str = ..., other_model: str = ...) -> PaperTable: ...


def paper(
    name: str | None = None,
    table: str | None = None,
    *,
    model: str = "demo",
    other_model: str = "hf:EleutherAI/pythia-70m",
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

    Raises:
        UnknownNameError: no such paper or table.
    """
    if name is None:
        return PaperList(papers=list(map(_counts, PAPERS)))
    if table is None:
        entries = [_row(entry, model, other_model) for entry in tables_of(name)]
        return PaperContents(paper=paper_named(name), entries=entries)
    entry = table_named(name, table)
    stored = stored_for(entry)
    return PaperTable(
        paper=paper_named(name),
        entry=entry,
        command=filled(entry.command, model, other_model),
        numbers=list(map(_number, numbers_of(entry))),
        own=own_numbers(entry, stored),
        results=own_results(stored),
    )


def paper_options(name: str, command: str) -> dict[str, Any]:
    """Return the options of a paper's experiment for a command, to pass to its function.

    >>> kgprobe.paper_options("latent-knowledge", "probe examples")["examples"]
    50

    Args:
        command: command without ``kgprobe``: ``probe examples`` for ``measure(graph, model, "examples", **options)``.

    Raises:
        UnknownNameError: no such paper, or it has no options for the command.
    """
    return {option: preset.value for option, preset in preset_of(name, command).options.items()}


def _counts(name: str) -> PaperCounts:
    described, entries = PAPERS[name], tables_of(name)
    states = Counter(entry.state for entry in entries if entry.has_results)
    numbers = sum(number.paper == name and number.value != "" for number in all_numbers())
    return PaperCounts(
        name,
        described.title,
        described.published,
        tables=len(entries),
        results=sum(states.values()),
        runs=states["runs"],
        partly=states["partly"],
        no=states["no"],
        numbers=numbers,
    )


def _row(entry: PaperEntry, model: str, other_model: str) -> PaperTableRow:
    values = {name: getattr(entry, name) for name in PaperTableRow.columns()}
    return PaperTableRow(**values | {"command": filled(entry.command, model, other_model)})


def _number(published: PublishedNumber) -> PaperNumber:
    try:
        number = float(published.value)
    except ValueError:
        number = None
    return PaperNumber(published.row, published.column, published.value, number, published.unit, published.note)
