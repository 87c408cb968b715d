"""The card of a data set: what a person reads of it first, and a header by which ``datasets`` finds its files."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec

from kgprobe import __version__
from kgprobe.datasets import DatasetOptions
from kgprobe.datasets.building import RelationCounts
from kgprobe.datasets.rows import SPLITS, TEST, TRAIN

# What the hub calls sizes, with the first number of rows that is beyond each.
_SIZES = (("n<1K", 10**3), ("1K<n<10K", 10**4), ("10K<n<100K", 10**5), ("100K<n<1M", 10**6), ("1M<n<10M", 10**7))
_LARGEST = "n>10M"

_COLUMNS = {
    "fact_id": "the fact's id in the graph",
    "relation": "the relation's id",
    "relation_label": "what it is called",
    "subject": "what the subject is called",
    "subject_id": "its id",
    "object": "what the right object is called",
    "object_id": "its id",
    "choices": "what the choices are called, the right one among them, in random order",
    "choice_ids": "their ids, in the same order",
    "answer": "the place of the right one, counted from 0",
}


@dataclass(frozen=True, slots=True)
class Making:
    """How a data set was made.

    Attributes:
        name: what it is called.
        sources: what was loaded into the graph.
        seed: what all that is random followed from.
        as_of: facts were current at this date, ``yyyymmdd``.
    """

    name: str
    options: DatasetOptions
    sources: Sequence[str]
    seed: int
    as_of: int


def card_of(making: Making, relations: Sequence[RelationCounts]) -> str:
    """The card, Markdown with a header in YAML.

    Args:
        relations: those that are in it, and those that are not.
    """
    taken = [one for one in relations if one.reason is None]
    return "\n".join([*_header(making, len(taken)), *_about(making, len(taken)), *_tables(taken, relations), ""])


def _header(making: Making, taken: int) -> list[str]:
    options = making.options
    rows = taken * (options.train + options.test)
    size = next((size for size, beyond in _SIZES if rows < beyond), _LARGEST)
    # A JSON text is one of YAML, whatever is in it.
    licence = [] if options.licence is None else [f"license: {json.dumps(options.licence, ensure_ascii=False)}"]
    files = [line for split in SPLITS for line in (f"  - split: {split}", f"    path: data/{split}.{options.format}")]
    return [
        "---",
        f"pretty_name: {json.dumps(making.name, ensure_ascii=False)}",
        *licence,
        "task_categories:",
        "- multiple-choice",
        "size_categories:",
        f"- {size}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        *files,
        "---",
    ]


def _about(making: Making, taken: int) -> list[str]:
    options = making.options
    settings = msgspec.json.encode(
        {"kgprobe": __version__, "seed": making.seed, "as_of": making.as_of, **asdict(options)}
    ).decode()
    return [
        "",
        f"# {_plain(making.name)}",
        "",
        f"Facts of a knowledge graph with {options.alternatives + 1:,} choices each, by the rules of T-REx-MC",
        "(*Towards Reliable Latent Knowledge Estimation in LLMs*): does a language model that has seen other",
        "facts of the relation go on with the right object?",
        "",
        f"Relations: {taken:,}. Of each, {options.train:,} facts to take examples from (`{TRAIN}`) and",
        f"{options.test:,} to ask (`{TEST}`). The wrong choices of a fact are other objects of its relation",
        "that are not right for its subject; a literal (a year, a day) has literals of its kind beside it.",
        "No subject has facts of one relation in both splits.",
        "",
        "```python",
        "import datasets",
        "",
        'datasets.load_dataset("FOLDER")',
        "```",
        "",
        "| column | |",
        "| --- | --- |",
        *(f"| `{name}` | {about} |" for name, about in _COLUMNS.items()),
        "",
        *_json_note(options),
        "## How it was made",
        "",
        f"From a graph into which was loaded: {', '.join(map(_plain, making.sources)) or 'nothing that is on record'}.",
        "",
        f"`kgprobe dataset build` {__version__}; the same graph and these settings give the same rows:",
        "",
        "```json",
        settings,
        "```",
        "",
        f"A relation is in it if it has at least {options.min_facts:,} facts (that hold at {making.as_of} and have",
        f"names at both ends) and {options.min_objects:,} distinct objects, and enough of its facts have",
        f"{options.alternatives:,} alternatives.",
        "",
    ]


def _json_note(options: DatasetOptions) -> list[str]:
    if options.format != "jsonl":
        return []
    return [
        "Programs that guess types from JSON lines, as `datasets` does, take a text such as `1879-03-14` for a",
        "point in time; where ids or names are such days, build it as Parquet.",
        "",
    ]


def _tables(taken: Sequence[RelationCounts], relations: Sequence[RelationCounts]) -> list[str]:
    left_out = [one for one in relations if one.reason is not None]
    return [
        "## Relations",
        "",
        "| relation | | facts | objects |",
        "| --- | --- | --- | --- |",
        *(f"| {_plain(one.relation)} | {_plain(one.label)} | {one.facts:,} | {one.objects:,} |" for one in taken),
        *(
            [
                "",
                "Left out, with what they have:",
                "",
                "| relation | | why |",
                "| --- | --- | --- |",
                *(f"| {_plain(one.relation)} | {_plain(one.label)} | {one.reason} |" for one in left_out),
            ]
            if left_out
            else []
        ),
    ]


def _plain(text: str) -> str:
    """A text that neither ends a cell nor begins a tag."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
