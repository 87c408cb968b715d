"""The card of a label table (README.md): a header by which ``datasets.load_dataset`` reads its folder, and its columns.

docs/methods/labels.md.
"""

import json

import msgspec
import pyarrow.parquet as pq

from kgprobe.base.files import replacing
from kgprobe.base.sanitize import counted
from kgprobe.base.version import __version__
from kgprobe.labelling.table import BASES, FACTS, SCHEMES, LabelTable
from kgprobe.models.spec_forms import model_name
from kgprobe.results.rendering.markdown import plain, size_category

CARD = "README.md"

_DESCRIPTIONS = {
    "fact": "id of the fact in the graph",
    "subject": "id of the subject",
    "subject_name": "label of the subject",
    "relation": "id of the relation",
    "relation_name": "label of the relation",
    "object": "id of the object",
    "object_name": "label of the object",
    "basis": f"origin of the labels: {' or '.join(BASES)} (without an answer to this fact: the intervals of such facts"
    " hold on average over facts, and cover fewer of those that the model does not know)",
    "known": "probability that the model knows the fact, in [0, 1]",
    "known_low": "lower end of its 90% interval",
    "known_high": "upper end of its 90% interval",
    "belief": f"belief in words: {', '.join(SCHEMES['belief'])}",
    "slick": f"class by SliCK: {', '.join(SCHEMES['slick'])}; null if the answers do not decide",
    "profile": f"profile of the fact: {', '.join(SCHEMES['profile'])}; null if the answers do not decide",
}

# JSON strings are valid YAML.
_CARD = """\
---
pretty_name: {pretty_name}
size_categories:
- {size}
tags:
- knowledge-probing
- knowledge-graph
configs:
- config_name: default
  data_files:
  - split: train
    path: {facts}
---

# {title}

{count} of a knowledge graph, each with the probability that the language model {model} knows it,
and its classes.

| column | |
| --- | --- |
{columns}

Made by `kgprobe label` {version} with these settings:

```json
{settings}
```
"""


def write_card(table: LabelTable) -> None:
    """Write the card next to the facts. It names the model without its folder or the address of its server."""
    model = model_name(table.model)
    columns = [
        f"| `{name}` | {_DESCRIPTIONS.get(name) or _described_way(name)} |"
        for name in pq.read_schema(table.folder / FACTS).names
    ]
    settings = msgspec.json.encode({**table.config, "model": model}, order="sorted")
    text = _CARD.format(
        pretty_name=json.dumps(table.name, ensure_ascii=False),
        size=size_category(len(table)),
        facts=FACTS,
        title=plain(table.name),
        count=counted(len(table), "fact"),
        model=plain(model),
        columns="\n".join(columns),
        version=__version__,
        settings=msgspec.json.format(settings, indent=2).decode(),
    )
    with replacing(table.folder / CARD) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def _described_way(name: str) -> str:
    """Return the description of a column of answers, such as ``questions_right``."""
    way, _, kind = name.rpartition("_")
    return f"number of {'right ' if kind == 'right' else ''}answers, by the way of asking {way}"
