"""Tables and figures of the papers, with the commands that repeat them, and the published numbers.

``tables.tsv`` lists every table and figure, also those without results. ``published.tsv`` has the numbers, transcribed
from the papers: all cells of tables, and the numbers that the text gives about figures.
"""

import csv
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgprobe.base.errors import UnknownNameError, expected_one_of

# Kinds of tables and figures that an experiment makes; the others are definitions, examples and illustrations.
WITH_RESULTS = frozenset({"result", "data"})
# Loads the graph of the small commands; these read no graph.
_LOAD = "kgprobe load example"
_WITHOUT_GRAPH = ("kgprobe study verbalizations ",)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper.

    Attributes:
        name: name on the command line.
        title: full title.
        published: authors, year and venue.
    """

    name: str
    title: str
    published: str


@dataclass(frozen=True, slots=True)
class PaperEntry:
    """A table or figure of a paper; a line of ``tables.tsv``.

    Attributes:
        table: ``table-3`` or ``figure-5``.
        kind: result, data (a graph or data set), example, definition, illustration.
        title: subject, in our words.
        command: commands that repeat it in some minutes on the example graph, joined by ``&&``; ``{model}``,
            ``{other}``, ``{tag}`` and ``{other_tag}`` are replaced by :func:`filled`. Empty if there is none.
        full: commands at the paper's size; empty if there are none.
        needs: models, data and hardware that the full commands need.
        state: ``runs``, ``partly`` or ``no``; empty for tables without a command.
        missing: part that cannot be repeated, for ``partly`` and ``no``.
    """

    paper: str
    table: str
    kind: str
    section: str
    title: str
    command: str
    full: str
    needs: str
    state: str
    missing: str

    @property
    def has_results(self) -> bool:
        """True if an experiment makes it."""
        return self.kind in WITH_RESULTS

    @property
    def load(self) -> str:
        """Command that loads the graph of the small command; empty if that reads none."""
        return _LOAD if self.command and not self.command.startswith(_WITHOUT_GRAPH) else ""


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """A published number; a line of ``published.tsv``.

    Attributes:
        row, column: its place in the table; for a figure, the object of the statement and the quantity.
        value: a number, the two ends of an interval separated by a comma, or a name; empty if the paper gives only a
            trend, which is then the note.
        unit: such as ``%``; empty for a share or a count.
    """

    paper: str
    table: str
    row: str
    column: str
    value: str
    unit: str
    note: str


PAPERS: Mapping[str, Paper] = {
    "distractors": Paper(
        "distractors",
        "Factual Knowledge Assessment of Language Models Using Distractors",
        "Ammar Khodja et al., COLING 2025",
    ),
    "kglens": Paper(
        "kglens",
        "KGLens: A Parameterized Knowledge Graph Solution to Assess What an LLM Does and Doesn't Know",
        "Zheng et al., 2023, arXiv 2312.11539",
    ),
    "latent-knowledge": Paper(
        "latent-knowledge",
        "Towards Reliable Latent Knowledge Estimation in LLMs: In-Context Learning vs. Prompting Based Factual"
        " Knowledge Extraction",
        "Wu et al., 2024, arXiv 2404.12957",
    ),
    "grapheval": Paper(
        "grapheval",
        "Evaluating the Factuality of Large Language Models using Large-Scale Knowledge Graphs",
        "Liu et al., 2024, arXiv 2404.00942",
    ),
}


def paper_named(name: str) -> Paper:
    """Return a paper; raise an UnknownNameError that lists the names."""
    if name not in PAPERS:
        raise UnknownNameError(f"There is no paper {name!r}; {expected_one_of(name, PAPERS)}.")
    return PAPERS[name]


@cache
def all_tables() -> tuple[PaperEntry, ...]:
    """Return the tables and figures of all papers.

    >>> [entry.title for entry in all_tables() if entry.table == "table-4" and entry.paper == "distractors"]
    ["Robustness of measures to errors in sentences, by Kendall's τ"]
    """
    return tuple(PaperEntry(**line) for line in _lines("tables.tsv"))


@cache
def all_numbers() -> tuple[PublishedNumber, ...]:
    """Return the published numbers of all papers."""
    return tuple(PublishedNumber(**line) for line in _lines("published.tsv"))


def tables_of(paper: str) -> list[PaperEntry]:
    """Return the tables of a paper, then its figures."""
    name = paper_named(paper).name
    return [entry for entry in all_tables() if entry.paper == name]


def table_named(paper: str, table: str) -> PaperEntry:
    """Return a table or figure of a paper."""
    entries = {entry.table: entry for entry in tables_of(paper)}
    if table not in entries:
        raise UnknownNameError(f"The paper {paper} has no {table!r}; it has {', '.join(entries)}.")
    return entries[table]


def numbers_of(entry: PaperEntry) -> list[PublishedNumber]:
    """Return the published numbers of a table or figure, in the paper's order."""
    return [number for number in all_numbers() if (number.paper, number.table) == (entry.paper, entry.table)]


def filled(command: str, model: str, other: str) -> str:
    """Return a command of an entry with its models, and with names of results that contain the models' names.

    >>> filled("kgprobe probe examples --model {model} --name {tag}-examples", "hf:org/small", "demo")
    'kgprobe probe examples --model hf:org/small --name hf-org-small-examples'
    """
    quoted, other_quoted = shlex.quote(model), shlex.quote(other)
    return command.format(model=quoted, other=other_quoted, tag=_tag(model), other_tag=_tag(other))


def _tag(model: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in model)


def _lines(file: str) -> Iterator[dict[str, str]]:
    with open(Path(__file__).with_name(file), encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
