"""Import of a published multiple-choice data set, T-REx-MC's files, as a folder of a data set.

Section 4 and appendix A.2 of the latent-knowledge paper; docs/methods/data-sets.md. A published row has the columns
``Relation_ID``, ``Subject``, ``Object`` and ``Multiple Choices``, a Python list of wrong objects, and optionally
``Relation Name``. ``relationID_names.json`` gives Wikidata's id and name of each relation number. The rows have no ids
of entities, so labels serve as ids. Unusable rows are counted by reason and skipped.
"""

import ast
import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import UNREADABLE_JSON, read_json
from kgprobe.base.progress import OnProgress, StepProgress
from kgprobe.datasets.folder import SPLITS, TEST, TRAIN, ChoiceRow, row_of, written_rows
from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negative

RELATION, NAME, SUBJECT, OBJECT, CHOICES = "Relation_ID", "Relation Name", "Subject", "Object", "Multiple Choices"
# Columns that every file has.
_REQUIRED = (RELATION, SUBJECT, OBJECT, CHOICES)
# Names of relations by number, in the published folder.
NAMES_FILE = "relationID_names.json"
# Longest list of choices, in characters: 100 long labels have about 10,000.
_LONGEST = 1_000_000
_ROWS_AT_ONCE = 500

PublishedRow: TypeAlias = Mapping[str, Any]
# Relation's id, and its label.
RelationName: TypeAlias = tuple[str, str]


class _UnusableError(ValueError):
    """A row that cannot be used; the message is the reason."""


@dataclass(slots=True)
class ImportedRows:
    """Counts of an import.

    Attributes:
        written: rows in the new data set.
        skipped: skipped rows by reason.
        merged: choices that were left out, because they are the right object, or twice in their row.
    """

    written: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    merged: int = 0


@dataclass(frozen=True, slots=True)
class PublishedFiles:
    """The files of a published data set.

    Attributes:
        files: by split, in the order of their names.
        names: id and label of each relation, by its number in the files; empty without a file of names.
    """

    files: Mapping[str, Sequence[Path]]
    names: Mapping[str, RelationName]


def find_published(source: Path) -> PublishedFiles:
    """Return the files of a published data set: ``train*`` and ``test*``, in the folder or in its ``data``."""
    if not source.is_dir():
        raise ArgumentError("source", f"is {str(source)!r}, which is not a folder.")
    folder = source / "data" if (source / "data").is_dir() else source
    files: dict[str, list[Path]] = {}
    for split in SPLITS:
        files[split] = sorted(path for path in folder.glob(f"{split}*") if path.suffix in _READERS and path.is_file())
        if not files[split]:
            endings = ", ".join(f"{split}*{suffix}" for suffix in _READERS)
            raise ArgumentError("source", f"is {str(source)!r}; {folder} has no file {endings}.")
    return PublishedFiles(files, _relation_names([folder / NAMES_FILE, source / NAMES_FILE]))


def _relation_names(paths: Sequence[Path]) -> dict[str, RelationName]:
    for path in paths:
        if path.is_file():
            return read_json(path, dict[str, RelationName], 'It has entries such as {"1": ["P17", "country"]}.')
    return {}


def import_files(published: PublishedFiles, folder: Path, format_: str, on_progress: OnProgress) -> ImportedRows:
    """Write the rows of a published data set into an existing folder, and return their counts.

    A relation with a single object is left out: its examples reveal the answer. The first of equal facts counts, and
    one in ``test`` before one in ``train``.

    Cost: two passes over the files. Memory: the labels of subjects and objects.
    """
    counts = ImportedRows()
    total, several = _relations_with_several_objects(published)
    seen: set[str] = set()
    done = 0
    with written_rows(folder, format_) as write:
        for split in (TEST, TRAIN):
            batch: list[ChoiceRow] = []
            for row in _all_rows(published, split):
                done += 1
                on_progress(StepProgress("Importing", done, total, "rows"))
                try:
                    item, label, merged = _item_of(row, published.names)
                    if item.fact.relation not in several:
                        raise _UnusableError("its relation has a single object, so that the examples reveal it")
                    if item.fact.key.fact in seen:
                        raise _UnusableError("its fact is also in an earlier row")
                except _UnusableError as error:
                    counts.skipped[str(error)] += 1
                    continue
                seen.add(item.fact.key.fact)
                batch.append(row_of(item, label, item.order([0])))
                counts.written += 1
                counts.merged += merged
                if len(batch) == _ROWS_AT_ONCE:
                    write(split, batch)
                    batch = []
            if batch:
                write(split, batch)
    if not counts.written:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in counts.skipped.most_common())
        raise KgprobeError(f"No row of the data set can be used. {reasons or 'It has no rows'}.")
    return counts


def _relations_with_several_objects(published: PublishedFiles) -> tuple[int, set[str]]:
    """Return the number of rows, and the ids of the relations that have at least two objects."""
    total = 0
    objects: defaultdict[str, set[str]] = defaultdict(set)
    for split in SPLITS:
        for row in _all_rows(published, split):
            total += 1
            try:
                item, _, _ = _item_of(row, published.names)
            except _UnusableError:
                continue
            labels = objects[item.fact.relation]
            if len(labels) < 2:
                labels.add(item.fact.object_label)
    return total, {relation for relation, labels in objects.items() if len(labels) > 1}


def _all_rows(published: PublishedFiles, split: str) -> Iterator[PublishedRow]:
    for path in published.files[split]:
        yield from _rows_of(path)


def _rows_of(path: Path) -> Iterator[PublishedRow]:
    try:
        yield from _READERS[path.suffix](path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise KgprobeError(f"{path} cannot be read: {error}.") from error


def _item_of(row: PublishedRow, names: Mapping[str, RelationName]) -> tuple[ChoiceItem, str, int]:
    """Return a row's fact with its choices, the relation's label, and the number of merged choices."""
    number = row.get(RELATION)
    if isinstance(number, bool) or not isinstance(number, (int, str)) or not str(number).strip():
        raise _UnusableError(f"its {RELATION} is missing or not a number")
    identifier, label = names.get(str(number).strip(), (str(number).strip(), ""))
    own = row.get(NAME)
    relation, relation_label = identifier, label or (own.strip() if isinstance(own, str) else "") or identifier
    subject, object_ = _label(row, SUBJECT), _label(row, OBJECT)
    listed = read_choices(row.get(CHOICES))
    others = list(dict.fromkeys(choice for choice in listed if choice != object_))
    if not others:
        raise _UnusableError("it has no choice besides its object")
    fact = AskedFact(
        key=FactKey(subject, " | ".join((relation, subject, object_))),
        relation=relation,
        subject_label=subject,
        subject_aliases=(),
        object=object_,
        object_label=object_,
        object_aliases=(),
        start=None,
        end=None,
    )
    negatives = [Negative(other, other, (), former=False) for other in others]
    return ChoiceItem(fact, negatives), relation_label, len(listed) - len(others)


def _label(row: PublishedRow, column: str) -> str:
    """Return a label of a row, as it is written."""
    label = row.get(column)
    if isinstance(label, int) and not isinstance(label, bool):
        # A year, where the file's reader takes it for a number.
        label = str(label)
    if not isinstance(label, str) or not label.strip():
        raise _UnusableError(f"its {column} is missing or white space")
    _refuse_surrogates(label)
    return label


def read_choices(cell: object) -> list[str]:
    """Return the choices in a cell: a list of texts and numbers, or such a list in Python's notation.

    >>> read_choices("['24 October 1968', 1968]")
    ['24 October 1968', '1968']

    Raises:
        ValueError: the cell is something else; the message is the reason.
    """
    value = cell
    if isinstance(cell, str):
        if len(cell) > _LONGEST:
            raise _UnusableError(f"its {CHOICES} have more than {_LONGEST:,} characters")
        try:
            value = ast.literal_eval(cell)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            value = None
    if not isinstance(value, (list, tuple)):
        raise _UnusableError(f"its {CHOICES} are not a list")
    choices = []
    for choice in value:
        if isinstance(choice, bool) or not isinstance(choice, (str, int)) or not str(choice).strip():
            raise _UnusableError(f"one of its {CHOICES} is not a text, or white space")
        _refuse_surrogates(str(choice))
        choices.append(str(choice))
    return choices


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _UnusableError("a text is not valid Unicode") from None


def _parquet_rows(path: Path) -> Iterator[PublishedRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _require_columns(path, names)
            columns = [name for name in (*_REQUIRED, NAME) if name in names]
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise KgprobeError(f"{path} cannot be read as Parquet: {error}.") from error


def _csv_rows(path: Path) -> Iterator[PublishedRow]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        _require_columns(path, reader.fieldnames or ())
        yield from reader


def _json_rows(path: Path) -> Iterator[PublishedRow]:
    with open(path, "rb") as file:
        for line in filter(bytes.strip, file):
            try:
                row = msgspec.json.decode(line)
            except UNREADABLE_JSON:
                row = None
            # A line that is not an object lacks every column.
            yield row if isinstance(row, dict) else {}


def _require_columns(path: Path, columns: Sequence[str]) -> None:
    missing = [name for name in _REQUIRED if name not in columns]
    if missing:
        raise KgprobeError(f"{path} has no column {', '.join(missing)}; it has {', '.join(columns) or 'none'}.")


_READERS: Mapping[str, Callable[[Path], Iterator[PublishedRow]]] = {
    ".parquet": _parquet_rows,
    ".csv": _csv_rows,
    ".jsonl": _json_rows,
}
