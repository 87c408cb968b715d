"""Every plausibility of a measurement as a Parquet table, one row for each entity after each sentence."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.errors import KgprobeError

SCHEMA = pa.schema(
    [
        ("subject", pa.string()),
        ("fact", pa.string()),
        ("relation", pa.string()),
        ("verdict", pa.string()),
        # Why the fact could not be asked; such a fact has one row, in which all that follows is null.
        ("reason", pa.string()),
        ("sentence", pa.int32()),
        ("prompt", pa.string()),
        # 0 is the right object, 1 the first distractor.
        ("rank", pa.int32()),
        ("entity", pa.string()),
        ("label", pa.string()),
        ("retrieved", pa.string()),
        # Natural logarithm; -inf where the model gives it no probability at all.
        ("log_plausibility", pa.float64()),
    ]
)
_ROWS_AT_ONCE = 50_000


def write_plausibilities(outcomes: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write the table of a measurement's answers; with bounded memory.

    Raises:
        KgprobeError: the file cannot be written.
    """
    unfinished = path.with_suffix(".part")
    try:
        with pq.ParquetWriter(unfinished, SCHEMA, compression="zstd") as writer:
            rows: list[dict[str, Any]] = []
            for outcome in outcomes:
                rows += _rows(outcome)
                if len(rows) >= _ROWS_AT_ONCE:
                    writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
                    rows = []
            writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
        os.replace(unfinished, path)
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror or error}.") from error


def _rows(outcome: Mapping[str, Any]) -> list[dict[str, Any]]:
    evidence = outcome["evidence"]
    fact = {key: outcome[key] for key in ("subject", "fact", "verdict", "reason")}
    fact["relation"] = evidence.get("relation")
    if outcome["verdict"] == "unaskable":
        return [fact]
    rows = []
    for number, sentence in enumerate(evidence["sentences"]):
        entities = [evidence["object"], *(evidence["rivals"][index] for index in sentence["rivals"])]
        for rank, (entity, value) in enumerate(zip(entities, sentence["log_plausibility"], strict=True)):
            rows.append(
                {
                    **fact,
                    "sentence": number,
                    "prompt": sentence["prompt"],
                    "rank": rank,
                    "entity": entity["id"],
                    "label": entity["label"],
                    "retrieved": entity.get("reason"),
                    "log_plausibility": float("-inf") if value is None else value,
                }
            )
    return rows
