"""A label table as a data set for the Hugging Face hub: Parquet, a card, and Croissant metadata.

``datasets.load_dataset`` reads the folder. ``croissant.json`` follows Croissant 1.0
(https://docs.mlcommons.org/croissant/docs/croissant-spec.html); mlcroissant writes it, so that its rules hold.
"""

import hashlib
import json
import re
import shutil
from bisect import bisect_right
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgprobe import __version__
from kgprobe.errors import KgprobeError, how_to_install
from kgprobe.files import appearing
from kgprobe.labelling.table import ASKED, FACTS, SCHEMES, LabelTable
from kgprobe.models.spec_forms import model_name
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import share

DATA, CARD, CROISSANT = "data/facts.parquet", "README.md", "croissant.json"

# Size categories of the hub, with their upper bounds (exclusive).
_BOUNDS = (10**3, 10**4, 10**5, 10**6, 10**7)
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")

_COLUMNS = {
    "fact": "id of the fact in the graph",
    "subject": "id of the subject",
    "subject_name": "label of the subject",
    "relation": "id of the relation",
    "relation_name": "label of the relation",
    "object": "id of the object",
    "object_name": "label of the object",
    "basis": "asked: the model answered this fact; predicted: it did not",
    "known": "probability that the model knows the fact",
    "known_low": "lower end of the 90% interval of this probability",
    "known_high": "upper end of the 90% interval of this probability",
    "belief": "the probability and its interval in words, from surely known to surely unknown",
    "slick": "class of SliCK (arXiv 2405.05904); empty if the answers do not decide",
    "profile": "class of WikiProfile (arXiv 2602.14080); empty if the answers do not decide",
}

# JSON strings are valid YAML.
_CARD = """\
---
pretty_name: {pretty_name}
{licence}tags:
- knowledge-probing
- croissant
size_categories:
- {size}
configs:
- config_name: default
  data_files:
  - split: facts
    path: {data}
---

# {title}

Which facts of a knowledge graph does {model} know? {facts}: {asked} asked, the others predicted.
Mean probability of knowing a fact: {known}. Ways of asking: {ways}. Made by kgprobe {version}.

```python
import datasets

datasets.load_dataset("FOLDER", split="facts")
```

| column | |
| --- | --- |
{columns}
## Classes of the facts asked

| scheme | class | facts | share, with 95% interval |
| --- | --- | --- | --- |
{classes}
## Settings

```json
{settings}
```
"""


def write_hub_folder(table: LabelTable, folder: Path, *, licence: str | None = None) -> Path:
    """Write a label table as a folder of the Hugging Face hub; return it. Nothing is uploaded.

    Args:
        folder: a new folder.
        licence: its id on the hub, such as ``cc0-1.0``.

    Raises:
        KgprobeError: mlcroissant is not installed, the folder exists, or it cannot be written.

    Cost: one pass over the table. Memory: a group of rows.
    """
    try:
        import mlcroissant as mlc
    except ImportError as error:
        raise KgprobeError(f"Croissant metadata needs mlcroissant: {how_to_install('hub')}.") from error
    if folder.exists():
        raise KgprobeError(f"{folder} exists. Name a new folder, or delete it.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with appearing(folder) as unfinished:
        (unfinished / DATA).parent.mkdir()
        shutil.copyfile(table.folder / FACTS, unfinished / DATA)
        (unfinished / CARD).write_text(_card(table, folder.name, licence), encoding="utf-8")
        metadata = _croissant(mlc, table, folder.name, unfinished / DATA, licence)
        (unfinished / CROISSANT).write_text(
            json.dumps(metadata, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
        )
    return folder


def _card(table: LabelTable, name: str, licence: str | None) -> str:
    asked, known, counts = _sums(table)
    lines = []
    for scheme, classes in SCHEMES.items():
        total = sum(counts[scheme, each] for each in classes)
        for each in classes:
            if total:
                count = counts[scheme, each]
                lines.append(f"| {scheme} | {each} | {count:,} | {share(count, total)} |\n")
    columns = [f"| `{column}` | {text} |\n" for column, text in _described(table).items()]
    return _CARD.format(
        pretty_name=json.dumps(name, ensure_ascii=False),
        licence="" if licence is None else f"license: {json.dumps(licence, ensure_ascii=False)}\n",
        size=_SIZES[bisect_right(_BOUNDS, len(table))],
        data=DATA,
        title=_plain(name),
        model=_plain(model_name(table.model)),
        facts=counted(len(table), "fact"),
        asked=f"{asked:,}",
        known=f"{known / max(len(table), 1):.1%}",
        ways=", ".join(table.ways),
        version=__version__,
        columns="".join(columns),
        classes="".join(lines),
        settings=json.dumps(_settings(table), indent=2, ensure_ascii=False, sort_keys=True),
    )


def _sums(table: LabelTable) -> tuple[int, float, Counter[tuple[str, str]]]:
    """Return the number of facts asked, the sum of all probabilities, and the facts asked by scheme and class."""
    asked, known, counts = 0, 0.0, Counter[tuple[str, str]]()
    with pq.ParquetFile(table.folder / FACTS) as file:
        for batch in file.iter_batches(columns=["basis", "known", *SCHEMES]):
            known += pc.sum(batch["known"]).as_py() or 0.0
            own = pa.Table.from_batches([batch]).filter(pc.field("basis") == ASKED)
            asked += own.num_rows
            for scheme in SCHEMES:
                for group in own.group_by(scheme).aggregate([([], "count_all")]).to_pylist():
                    counts[scheme, group[scheme]] += group["count_all"]
    return asked, known, counts


def _described(table: LabelTable) -> dict[str, str]:
    """Return the columns of the file with their descriptions."""
    ways = {}
    for way in table.ways:
        ways[f"{way}_right"] = f"number of right answers by the probe {way}"
        ways[f"{way}_answers"] = f"number of all answers by the probe {way}"
    return _COLUMNS | ways


def _settings(table: LabelTable) -> dict[str, Any]:
    """Return the settings of the table; a local model is named without its folder."""
    return {**table.config, "model": model_name(table.model)}


def _croissant(mlc: Any, table: LabelTable, name: str, data: Path, licence: str | None) -> dict[str, Any]:
    schema = pq.read_schema(data)
    fields = []
    for column, text in _described(table).items():
        source = mlc.Source(file_object=DATA, extract=mlc.Extract(column=column))
        types = [_data_type(mlc, schema.field(column).type)]
        fields.append(mlc.Field(id=f"facts/{column}", name=column, description=text, data_types=types, source=source))
    file_object = mlc.FileObject(
        id=DATA,
        name=DATA,
        content_url=DATA,
        content_size=f"{data.stat().st_size} B",
        encoding_formats=["application/x-parquet"],
        sha256=_sha256(data),
    )
    metadata: mlc.Metadata = mlc.Metadata(
        name=re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "labels",
        description=f"Facts of a knowledge graph, with what {model_name(table.model)} knows of them, by kgprobe.",
        license=None if licence is None else [licence],
        version="1.0.0",
        date_published=datetime.fromtimestamp(int((table.folder / FACTS).stat().st_mtime), timezone.utc),
        distribution=[file_object],
        record_sets=[mlc.RecordSet(id="facts", name="facts", fields=fields)],
    )
    content: dict[str, Any] = metadata.to_json()
    return content


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _data_type(mlc: Any, column: pa.DataType) -> Any:
    if pa.types.is_floating(column):
        return mlc.DataType.FLOAT
    return mlc.DataType.INTEGER if pa.types.is_integer(column) else mlc.DataType.TEXT


def _plain(text: str) -> str:
    """Escape a text for a line of Markdown."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
