"""The card of a data set (README.md): a description, and a header by which ``datasets`` finds its files."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import msgspec

from kgprobe.base.version import __version__
from kgprobe.datasets import DatasetOptions
from kgprobe.datasets.building import RelationCounts
from kgprobe.datasets.folder import SPLITS
from kgprobe.datasets.importing import ImportedRows
from kgprobe.results.rendering.markdown import plain, size_category

# JSON strings are valid YAML.
_CARD = """\
---
pretty_name: {pretty_name}
{licence}task_categories:
- multiple-choice
size_categories:
- {size}
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train.{format}
  - split: test
    path: data/test.{format}
---

# {title}

Facts of a knowledge graph with {choices:,} choices each, by the rules of T-REx-MC
(*Towards Reliable Latent Knowledge Estimation in LLMs*): given other facts of the relation as
examples, does a language model continue with the right object?

Relations: {relations:,}. Each has {train:,} facts for examples (`train`) and
{test:,} to ask (`test`). The wrong choices of a fact are other objects of its relation
that are wrong for its subject; a literal (a year, a day) is compared with literals of its kind.
No subject has facts of the same relation in both splits.

```python
import datasets

datasets.load_dataset("FOLDER")
```

| column | |
| --- | --- |
| `fact_id` | id of the fact in the graph |
| `relation` | id of the relation |
| `relation_label` | label of the relation |
| `subject` | label of the subject |
| `subject_id` | id of the subject |
| `object` | label of the right object |
| `object_id` | id of the right object |
| `choices` | labels of the choices, including the right one, in random order |
| `choice_ids` | ids of the choices, in the same order |
| `answer` | place of the right choice, counted from 0 |

{json_note}## How it was made

Data in the graph: {sources}.

`kgprobe dataset build` {version}; the same graph and these settings give the same rows:

```json
{settings}
```

A relation is included if it has at least {min_facts:,} facts (that hold at {as_of} and
have names at both ends) and {min_objects:,} distinct objects, and enough of its facts have
{alternatives:,} alternatives.

## Relations

| relation | | facts | objects |
| --- | --- | --- | --- |
{rows}"""

_JSON_NOTE = """\
Programs that infer types from JSON Lines, such as `datasets`, parse a string such as `1879-03-14` as a
timestamp. If ids or names are dates, build the data set as Parquet.

"""

_LEFT_OUT = """
Left out:

| relation | | reason |
| --- | --- | --- |
"""


def card_of(
    options: DatasetOptions,
    relations: Sequence[RelationCounts],
    folder: str,
    sources: Sequence[str],
    seed: int,
    as_of: int,
) -> str:
    """Return the card: Markdown with a YAML header."""
    values, name = asdict(options), options.name or folder
    rows, left_out = [], []
    for counts in relations:
        cells = f"| {plain(counts.relation)} | {plain(counts.label)} |"
        if counts.reason is None:
            rows.append(f"{cells} {counts.facts:,} | {counts.objects:,} |\n")
        else:
            left_out.append(f"{cells} {counts.reason} |\n")
    settings = {"kgprobe": __version__, "seed": seed, "as_of": as_of, **values}
    licence = values.pop("licence")
    facts = len(rows) * (options.train + options.test)
    card = _CARD.format(
        **values,
        pretty_name=json.dumps(name, ensure_ascii=False),
        licence=f"license: {json.dumps(licence, ensure_ascii=False)}\n" if licence is not None else "",
        size=size_category(facts),
        title=plain(name),
        choices=options.alternatives + 1,
        relations=len(rows),
        json_note=_JSON_NOTE if options.format == "jsonl" else "",
        sources=", ".join(map(plain, sources)) or "unknown",
        version=__version__,
        settings=msgspec.json.encode(settings).decode(),
        as_of=as_of,
        rows="".join(rows),
    )
    return "".join([card, _LEFT_OUT, *left_out]) if left_out else card


def imported_card(name: str, source: str, format_: str, counts: ImportedRows) -> str:
    """Return the card of an imported data set: its source, and the skipped rows by reason."""
    lines = [
        "---",
        f"pretty_name: {json.dumps(name, ensure_ascii=False)}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        *_split_lines(format_),
        "---",
        "",
        f"# {name}",
        "",
        f"Imported by kgprobe from the published files in `{source}`: {counts.written:,} rows. Labels serve as ids.",
        f"{counts.merged:,} choices were left out: they are the right object, or twice in their row.",
    ]
    if counts.skipped:
        lines += ["", "| skipped rows | reason |", "| --- | --- |"]
        lines += [f"| {count:,} | {reason} |" for reason, count in counts.skipped.most_common()]
    return "\n".join(lines) + "\n"


def _split_lines(format_: str) -> Iterator[str]:
    for split in SPLITS:
        yield f"  - split: {split}"
        yield f"    path: data/{split}.{format_}"
