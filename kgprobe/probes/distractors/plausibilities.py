"""Export of all plausibilities of a measurement to a Parquet table, one row for each sentence and entity."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.base.files import replacing
from kgprobe.probes.outcome import Outcome

SCHEMA = pa.schema(
    [
        ("subject", pa.string()),
        ("fact", pa.string()),
        ("relation", pa.string()),
        ("verdict", pa.string()),
        # Why the fact could not be asked; such a fact has one row with null in all later columns.
        ("reason", pa.string()),
        ("sentence", pa.int32()),
        ("prompt", pa.string()),
        # 0 is the right object, 1 the first distractor.
        ("rank", pa.int32()),
        ("entity", pa.string()),
        ("label", pa.string()),
        ("retrieved", pa.string()),
        # Natural logarithm; -inf for a probability of 0.
        ("log_plausibility", pa.float64()),
    ]
)
_ROWS_AT_ONCE = 50_000


@contextmanager
def plausibility_file(
    rows_of: Callable[[Outcome], list[dict[str, Any]]], path: Path
) -> Iterator[Callable[[Outcome], None]]:
    """Open the table of a measurement's outcomes; yields a function that adds an outcome. Bounded memory."""
    rows: list[dict[str, Any]] = []
    with replacing(path) as unfinished, pq.ParquetWriter(unfinished, SCHEMA, compression="zstd") as writer:

        def add(outcome: Outcome) -> None:
            rows.extend(rows_of(outcome))
            if len(rows) >= _ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
                rows.clear()

        yield add
        writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
