"""A judged graph on disk: a folder of Parquet shards with one row per fact, and their configuration.

Each shard contains a range of facts and appears when it is complete, so an existing shard is finished. Analyses read
the shards as a stream. docs/methods/judged-graphs.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.answers.settings import CONFIG
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import read_json, replacing
from kgprobe.judge.judged_shards import shard_path

# File of the names of relations and types, in the same folder.
NAMES = "names.json"
# Rows per batch: some MiB of numbers, some tens of MiB with texts.
ROWS = 65_536

_PROBABILITIES = pa.list_(pa.float32(), 3)
_NEGATIVE = pa.struct(
    [
        ("text", pa.string()),
        ("replaced", pa.string()),
        ("subject", pa.string()),
        ("relation", pa.string()),
        ("object", pa.string()),
        ("judgement", pa.int8()),
        ("probabilities", _PROBABILITIES),
    ]
)

# Judgements are places in ``JUDGEMENTS`` (kgprobe.probes.statements.metrics), -1 for a statement without prediction;
# probabilities are those of true, false and unknown. Either ``text`` or ``reason`` is null; metrics are null without
# predictions for the fact or for any of its negatives.
SCHEMA = pa.schema(
    [
        pa.field("fact", pa.string(), nullable=False),
        pa.field("subject", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),
        pa.field("object", pa.string(), nullable=False),
        pa.field("subject_types", pa.list_(pa.string())),
        pa.field("object_types", pa.list_(pa.string())),
        pa.field("subject_degree", pa.int32()),
        pa.field("object_degree", pa.int32()),
        pa.field("subject_popularity", pa.float64()),
        pa.field("object_popularity", pa.float64()),
        pa.field("text", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("judgement", pa.int8()),
        pa.field("probabilities", _PROBABILITIES),
        pa.field("negatives", pa.list_(_NEGATIVE)),
        pa.field("correct", pa.float64()),
        pa.field("truthful", pa.float64()),
        pa.field("informative", pa.float64()),
    ]
)


class JudgedGraphSettings(msgspec.Struct, frozen=True):
    """Settings of statements and negatives.

    Attributes:
        replace: the replaced part of negatives: ``subject``, ``relation``, ``object`` or ``any``.
        any_type: True if replacements ignore types.
        as_of: date of the facts, ``yyyymmdd``.
    """

    replace: str
    any_type: bool
    negatives: int
    relations: tuple[str, ...]
    as_of: int
    seed: int


class UsedJudge(msgspec.Struct, frozen=True):
    """The judge of a judged graph, and its training data.

    Attributes:
        digest: see :meth:`kgprobe.judge.files.Judge.digest`.
        answers_of: the model whose answers it predicts.
        reader: description of the model whose hidden states it reads.
        aside: share of the labels' facts that were held out from training.
        seed: seed of this choice, see :func:`kgprobe.judge.labels.set_aside`.
        labels: name of the folder of its training labels.
    """

    digest: str
    answers_of: str
    layer: int
    kind: str
    reader: Any
    aside: float
    seed: int
    labels: str


class JudgedGraphConfig(msgspec.Struct, frozen=True):
    """Configuration of a judged graph; the file contains more, which analyses do not read.

    Attributes:
        graph: state of the graph, see :func:`kgprobe.graph.state.graph_state`.
    """

    facts: int
    shards: int
    graph: str
    settings: JudgedGraphSettings
    judge: UsedJudge


def read_judged_graph(folder: Path) -> JudgedGraphConfig:
    """Return the configuration of a judged graph."""
    try:
        return read_json(folder / CONFIG, JudgedGraphConfig, "Restore the file, or delete the folder.")
    except FileNotFoundError as error:
        raise KgprobeError(f"There is no judged graph in {folder}; `kgprobe judge predict` makes one.") from error


def read_names(folder: Path) -> dict[str, str]:
    """Return the names of relations and types by their ids; empty if they were not stored."""
    try:
        return read_json(folder / NAMES, dict[str, str], "Delete it; relations and types are then shown by their ids.")
    except FileNotFoundError:
        return {}


def write_names(folder: Path, names: Mapping[str, str]) -> None:
    """Write the names of relations and types, except empty ones."""
    with replacing(folder / NAMES) as unfinished:
        unfinished.write_bytes(msgspec.json.encode({id_: name for id_, name in names.items() if name}))


def stream_judged_facts(
    folder: Path, shards: Sequence[int], columns: Sequence[str], *, rows: int = ROWS
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some shards, in batches, in their order, with these columns alone, in this order.

    Memory: one batch, and Parquet's memory for one row group.
    """
    expected = pa.schema(list(map(SCHEMA.field, columns)))
    for shard in shards:
        path = shard_path(folder, shard)
        try:
            with pq.ParquetFile(path) as file:
                for field in expected:
                    place = file.schema_arrow.get_field_index(field.name)
                    kind = "missing" if place < 0 else file.schema_arrow.field(place).type
                    if kind != field.type:
                        raise KgprobeError(
                            f"{path}: the column {field.name} is {kind}, expected {field.type}; another version of"
                            " kgprobe wrote it."
                        )
                for batch in file.iter_batches(batch_size=rows, columns=list(columns)):
                    yield batch.select(list(columns))
        except (OSError, pa.ArrowException) as error:
            raise KgprobeError(
                f"{path} cannot be read: {error}. Delete it, and repeat `kgprobe judge predict`."
            ) from error
