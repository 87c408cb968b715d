"""Judged facts on disk: a folder of shards of Parquet, one row a fact, with a configuration that says what they are of.

Whoever judges a whole graph writes one shard for each range of facts, whole or not at all, so that a shard that is
there is done; whoever tells figures of the graph reads them here, as a stream. docs/methods/judged-graphs.md.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.errors import KgprobeError
from kgprobe.files import read_json
from kgprobe.running.claims import CONFIG
from kgprobe.running.predictions import shard_path

# What ids of relations and types are called, beside the shards.
NAMES = "names.json"
# Rows of a batch that is read: some MiB of numbers, some tens of MiB where texts are wanted, too.
ROWS = 65_536

_PROBABILITIES = pa.list_(pa.float32(), 3)

# Judgements are places in ``JUDGEMENTS`` (kgprobe.probes.statements.metrics), -1 where a statement was not judged;
# probabilities are those of true, false and unknown. Either ``text`` or ``reason`` can be null, and metrics are where a
# fact, or all of its negatives, were not judged.
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
        pa.field(
            "negatives",
            pa.list_(
                pa.struct(
                    [
                        pa.field("text", pa.string()),
                        pa.field("replaced", pa.string()),
                        pa.field("subject", pa.string()),
                        pa.field("relation", pa.string()),
                        pa.field("object", pa.string()),
                        pa.field("judgement", pa.int8()),
                        pa.field("probabilities", _PROBABILITIES),
                    ]
                )
            ),
        ),
        pa.field("correct", pa.float64()),
        pa.field("truthful", pa.float64()),
        pa.field("informative", pa.float64()),
    ]
)


class SweepSettings(msgspec.Struct, frozen=True):
    """What statements and negatives were made of.

    Attributes:
        replace: what is replaced in negatives: ``subject``, ``relation``, ``object`` or ``any``.
        any_type: whether it gives way to what is of any type.
        negatives: how many of them a fact was to have.
        relations: ids of those whose facts were judged.
        as_of: the day that facts are of, ``yyyymmdd``.
        seed: what all random choices follow from.
    """

    replace: str
    any_type: bool
    negatives: int
    relations: tuple[str, ...]
    as_of: int
    seed: int


class SweepJudge(msgspec.Struct, frozen=True):
    """The judge that judged, and what it has learned from.

    Attributes:
        digest: see :meth:`kgprobe.judge.files.Judge.digest`.
        answers_of: the model whose answers it tells.
        layer: whose hidden states it reads.
        kind: of its classifier.
        reader: the model whose hidden states these are; as whoever judged describes it.
        aside: the share of its labels' facts that it has not learned from.
        seed: by which these are known, see :func:`kgprobe.judge.labelled.set_aside`.
        labels: the name of the measurement's folder that it has learned from.
    """

    digest: str
    answers_of: str
    layer: int
    kind: str
    reader: Any
    aside: float
    seed: int
    labels: str


class SweepConfig(msgspec.Struct, frozen=True):
    """What judged facts are of; a sweep keeps more, which figures do not ask for.

    Attributes:
        facts: how many there are when all shards are there.
        shards: how many shards there will be.
        graph: the state of the graph, see :func:`kgprobe.graph.state.graph_state`.
    """

    facts: int
    shards: int
    graph: str
    settings: SweepSettings
    judge: SweepJudge


def read_sweep(folder: Path) -> SweepConfig:
    """Return what the judged facts of a folder are of.

    Raises:
        KgprobeError: the folder holds none, or its configuration is damaged.
    """
    try:
        return read_json(folder / CONFIG, SweepConfig, "Restore the file, or delete the folder of the judged graph.")
    except FileNotFoundError as error:
        raise KgprobeError(f"There is no judged graph in {folder}; `kgprobe judge predict` makes one.") from error


def is_sweep(folder: Path) -> bool:
    """Whether a folder holds the facts of a judged graph."""
    try:
        read_sweep(folder)
    except KgprobeError:
        return False
    return True


def read_names(folder: Path) -> dict[str, str]:
    """Return the names of relations and types by their ids; empty where they were not kept.

    Raises:
        KgprobeError: the file is damaged.
    """
    try:
        return read_json(folder / NAMES, dict[str, str], "Delete it; relations and types are then shown by their ids.")
    except FileNotFoundError:
        return {}


def stream_judged_facts(
    folder: Path, shards: Sequence[int], columns: Sequence[str], *, rows: int = ROWS
) -> Iterator[pa.RecordBatch]:
    """The rows of some shards, in their order and by batches; with these columns alone, in this order.

    Memory: one batch, and what Parquet needs of one row group.

    Args:
        shards: their numbers; they are there.
        columns: names of ``SCHEMA``.
        rows: the most of a batch.

    Raises:
        KgprobeError: a shard cannot be read, or its columns are others than those of ``SCHEMA``.
    """
    wanted = pa.schema([SCHEMA.field(name) for name in columns])
    for shard in shards:
        path = shard_path(folder, shard)
        try:
            with pq.ParquetFile(path) as file:
                _check(path, file.schema_arrow, wanted)
                for batch in file.iter_batches(batch_size=rows, columns=list(columns)):
                    yield batch.select(list(columns))
        except (OSError, pa.ArrowException) as error:
            raise KgprobeError(f"{path} cannot be read: {error}. Delete it, and judge its facts anew.") from error


def _check(path: Path, found: pa.Schema, wanted: pa.Schema) -> None:
    for field in wanted:
        place = found.get_field_index(field.name)
        if place < 0 or found.field(place).type != field.type:
            kind = "none" if place < 0 else found.field(place).type
            raise KgprobeError(
                f"{path}: the column {field.name} is {kind} where {field.type} is expected; another version of kgprobe"
                " has written it."
            )
