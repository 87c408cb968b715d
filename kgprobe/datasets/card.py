"""The card of a data set (README.md): a description, and a header by which ``datasets`` finds its files."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec

from kgprobe import __version__
from kgprobe.datasets import DatasetOptions
from kgprobe.datasets.building import RelationCounts
from kgprobe.datasets.rows import SPLITS, TEST, TRAIN

# Size categories of the Hugging Face Hub with their upper bounds (exclusive).
_SIZES = (("n<1K", 10**3), ("1K<n<10K", 10**4), ("10K<n<100K", 10**5), ("100K<n<1M", 10**6), ("1M<n<10M", 10**7))
_LARGEST = "n>10M"

_COLUMNS = {
    "fact_id": "id of the fact in the graph",
    "relation": "id of the relation",
    "relation_label": "label of the relation",
    "subject": "label of the subject",
    "subject_id": "id of the subject",
    "object": "label of the right object",
    "object_id": "id of the right object",
    "choices": "labels of the choices, including the right one, in random order",
    "choice_ids": "ids of the choices, in the same order",
    "answer": "place of the right choice, counted from 0",
}


@dataclass(frozen=True, slots=True)
class Making:
    """Settings of a data set.

    Attributes:
        name: of the data set.
        sources: of the data in the graph.
        seed: of all random choices.
        as_of: reference date of the facts, ``yyyymmdd``.
    """

    name: str
    options: DatasetOptions
    sources: Sequence[str]
    seed: int
    as_of: int


def card_of(making: Making, relations: Sequence[RelationCounts]) -> str:
    """Return the card: Markdown with a YAML header.

    Args:
        relations: the included and the left-out ones.
    """
    included = [counts for counts in relations if counts.reason is None]
    left_out = [counts for counts in relations if counts.reason is not None]
    lines = [*_header(making, len(included)), *_about(making, len(included)), *_tables(included, left_out), ""]
    return "\n".join(lines)


def _header(making: Making, relations: int) -> list[str]:
    options = making.options
    rows = relations * (options.train + options.test)
    size = next((size for size, beyond in _SIZES if rows < beyond), _LARGEST)
    # JSON strings are valid YAML.
    licence = [] if options.licence is None else [f"license: {json.dumps(options.licence, ensure_ascii=False)}"]
    files = []
    for split in SPLITS:
        files += [f"  - split: {split}", f"    path: data/{split}.{options.format}"]
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


def _about(making: Making, relations: int) -> list[str]:
    options = making.options
    settings = msgspec.json.encode(
        {"kgprobe": __version__, "seed": making.seed, "as_of": making.as_of, **asdict(options)}
    ).decode()
    return [
        "",
        f"# {_plain(making.name)}",
        "",
        f"Facts of a knowledge graph with {options.alternatives + 1:,} choices each, by the rules of T-REx-MC",
        "(*Towards Reliable Latent Knowledge Estimation in LLMs*): given other facts of the relation as",
        "examples, does a language model continue with the right object?",
        "",
        f"Relations: {relations:,}. Each has {options.train:,} facts for examples (`{TRAIN}`) and",
        f"{options.test:,} to ask (`{TEST}`). The wrong choices of a fact are other objects of its relation",
        "that are wrong for its subject; a literal (a year, a day) is compared with literals of its kind.",
        "No subject has facts of the same relation in both splits.",
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
        f"Data in the graph: {', '.join(map(_plain, making.sources)) or 'unknown'}.",
        "",
        f"`kgprobe dataset build` {__version__}; the same graph and these settings give the same rows:",
        "",
        "```json",
        settings,
        "```",
        "",
        f"A relation is included if it has at least {options.min_facts:,} facts (that hold at {making.as_of} and",
        f"have names at both ends) and {options.min_objects:,} distinct objects, and enough of its facts have",
        f"{options.alternatives:,} alternatives.",
        "",
    ]


def _json_note(options: DatasetOptions) -> list[str]:
    if options.format != "jsonl":
        return []
    return [
        "Programs that infer types from JSON Lines, such as `datasets`, parse a string such as `1879-03-14` as a",
        "timestamp. If ids or names are dates, build the data set as Parquet.",
        "",
    ]


def _tables(included: Sequence[RelationCounts], left_out: Sequence[RelationCounts]) -> list[str]:
    lines = ["## Relations", "", "| relation | | facts | objects |", "| --- | --- | --- | --- |"]
    rows = ((_plain(counts.relation), _plain(counts.label), counts.facts, counts.objects) for counts in included)
    lines += [f"| {relation} | {label} | {facts:,} | {objects:,} |" for relation, label, facts, objects in rows]
    if left_out:
        lines += ["", "Left out:", "", "| relation | | reason |", "| --- | --- | --- |"]
        lines += [f"| {_plain(counts.relation)} | {_plain(counts.label)} | {counts.reason} |" for counts in left_out]
    return lines


def _plain(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
