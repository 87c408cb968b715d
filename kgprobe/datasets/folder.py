"""The folder of a data set: ``data/train.parquet`` and ``data/test.parquet``, or the same as JSON Lines, and a card.

A row is a :class:`~kgprobe.datasets.rows.ChoiceRow`. Rows are streamed; an invalid row raises an error with its file
and number.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.datasets import FORMATS
from kgprobe.datasets.rows import COLUMNS, SPLITS, ChoiceRow
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.sources.decoding import DECODING_ERRORS

# Rows per batch when reading Parquet.
_ROWS_AT_ONCE = 500

Write = Callable[[str, Sequence[ChoiceRow]], None]


@dataclass(frozen=True, slots=True)
class DatasetFolder:
    """The files of a data set.

    Attributes:
        files: by split.
    """

    path: Path
    files: Mapping[str, Path]

    def rows(self, split: str) -> Iterator[tuple[str, ChoiceRow]]:
        """Yield the rows of a split, each with its place: ``train.jsonl, line 3``. Cost: one pass over the file.

        Raises:
            KgprobeError: the file cannot be read, a column is missing, or a row is invalid; the message has the place.
        """
        path = self.files[split]
        read = _parquet_rows if path.suffix == ".parquet" else _json_rows
        for place, row in read(path):
            problem = row.problem()
            if problem:
                raise KgprobeError(f"{place}: {problem}.")
            yield place, row


def open_folder(folder: Path) -> DatasetFolder:
    """Return the data set in a folder.

    Raises:
        ArgumentError: the folder does not exist, or lacks the files.
    """
    if not folder.is_dir():
        raise ArgumentError(
            "folder", f"is {str(folder)!r}, which is not a folder; make one with `kgprobe dataset build`."
        )
    files = {}
    for split in SPLITS:
        paths = [folder / "data" / f"{split}.{format_}" for format_ in FORMATS]
        present = [path for path in paths if path.is_file()]
        if len(present) != 1:
            number = "both" if present else "none"
            names = " or ".join(f"data/{path.name}" for path in paths)
            raise ArgumentError("folder", f"is {str(folder)!r}; it needs {names}, and has {number}.")
        files[split] = present[0]
    return DatasetFolder(folder, files)


@contextmanager
def written_rows(folder: Path, format_: str) -> Iterator[Write]:
    """Open the files of a new data set, and yield a function that appends rows to a split.

    Args:
        folder: without ``data``.
        format_: one of ``FORMATS``.
    """
    (folder / "data").mkdir()
    paths = {split: folder / "data" / f"{split}.{format_}" for split in SPLITS}
    with ExitStack() as stack:
        write = _parquet_writer(paths, stack) if format_ == "parquet" else _json_writer(paths, stack)
        yield write


def _parquet_writer(paths: Mapping[str, Path], stack: ExitStack) -> Write:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"choices": pa.list_(pa.string()), "choice_ids": pa.list_(pa.string()), "answer": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    files = {
        split: stack.enter_context(pq.ParquetWriter(path, schema, compression="zstd")) for split, path in paths.items()
    }

    def write(split: str, rows: Sequence[ChoiceRow]) -> None:
        files[split].write_table(pa.Table.from_pylist([msgspec.structs.asdict(row) for row in rows], schema=schema))

    return write


def _json_writer(paths: Mapping[str, Path], stack: ExitStack) -> Write:
    files = {split: stack.enter_context(path.open("w", encoding="utf-8")) for split, path in paths.items()}

    def write(split: str, rows: Sequence[ChoiceRow]) -> None:
        for row in rows:
            files[split].write(json.dumps(msgspec.structs.asdict(row), ensure_ascii=False) + "\n")

    return write


def _json_rows(path: Path) -> Iterator[tuple[str, ChoiceRow]]:
    decoder = msgspec.json.Decoder(ChoiceRow)
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    place = f"{path}, line {number}"
                    yield place, _read(place, decoder.decode, line)
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}.") from error


def _parquet_rows(path: Path) -> Iterator[tuple[str, ChoiceRow]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            missing = [name for name in COLUMNS if name not in columns]
            if missing:
                raise KgprobeError(
                    f"{path} has no column {', '.join(missing)}; it has {', '.join(columns)}. A data set has"
                    f" {', '.join(COLUMNS)}."
                )
            number = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(COLUMNS)):
                for row in batch.to_pylist():
                    number += 1
                    place = f"{path}, row {number}"
                    yield place, _read(place, lambda row: msgspec.convert(row, ChoiceRow), row)
    except (OSError, pa.ArrowException) as error:
        raise KgprobeError(f"{path} cannot be read as Parquet: {error}.") from error


def _read(place: str, decode: Callable[[Any], ChoiceRow], row: Any) -> ChoiceRow:
    try:
        return decode(row)
    except DECODING_ERRORS as error:
        raise KgprobeError(f"{place}: {error}. A data set has {', '.join(COLUMNS)}.") from error
