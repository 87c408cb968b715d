"""The folder of a data set: ``data/train.parquet`` and ``data/test.parquet``, or the same as JSON Lines, and a card.

A row is a fact with its choices. Rows are streamed; an invalid row raises an error with its file and number. The cloze
sentences of the relations are in ``relations.jsonl``, or generic ones from the labels.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import home, make_folder
from kgprobe.base.records import Rejected, Relation
from kgprobe.datasets import FORMATS
from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.question_negatives import Negative
from kgprobe.sources.lines import DECODING_ERRORS, open_input
from kgprobe.verbalize.templates.file import read_relations, relation_line
from kgprobe.verbalize.templates.generic import generic_relation
from kgprobe.verbalize.templates.kinds import CLOZES, GENERIC

# Splits: few-shot examples, and facts to ask.
TRAIN, TEST = SPLITS = ("train", "test")
# Rows per batch when reading Parquet.
_ROWS_AT_ONCE = 500
# Relations with their templates, as in every file of relations.
RELATIONS_FILE = "relations.jsonl"


def write_relations(folder: Path, relations: Iterable[Relation]) -> None:
    """Write relations with their templates into a data set's folder; no file if there are none."""
    lines = [relation_line(relation) for relation in relations]
    if lines:
        (folder / RELATIONS_FILE).write_text("".join(lines), encoding="utf-8")


def relations_of(path: Path, ids: Collection[str]) -> tuple[list[Relation], list[str]]:
    """Return the relations in a file that have one of these ids, and the reasons for unusable lines and templates."""
    relations, rejected = [], []
    for line, record, *_ in read_relations(open_input(path)):
        if isinstance(record, Rejected):
            rejected.append(f"{path}, line {line:,}: {record.reason}.")
        elif isinstance(record, Relation) and record.id in ids:
            relations.append(record)
    return relations, rejected


def cloze_templates(folder: Path, labels: Mapping[str, str], kind: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return cloze sentences by relation, and the ids of the relations that have generic ones.

    A relation without hand-written sentences gets a generic one from its label, with the kind generic every relation; a
    relation without any is left out.

    Args:
        kind: source of the sentences, one of ``CLOZES``.
    """
    stored: list[Relation] = []
    if kind != GENERIC and (folder / RELATIONS_FILE).is_file():
        stored, _ = relations_of(folder / RELATIONS_FILE, labels.keys())
    templates = {relation.id: list(getattr(relation, CLOZES[kind])) for relation in stored}
    generic = []
    for relation, label in labels.items():
        if kind != "mined" and not templates.get(relation):
            templates[relation] = list(generic_relation(Relation(relation, label)).clozes)
            generic.append(relation)
    usable = {relation: templates[relation] for relation in labels if templates.get(relation)}
    return usable, [relation for relation in generic if relation in usable]


class ChoiceRow(msgspec.Struct, frozen=True):
    """A fact with its choices.

    Attributes:
        fact_id, relation, subject_id, object_id: ids.
        relation_label, subject, object: labels; a relation without a label has its id.
        choices: distinct labels, including the object's, in random order.
        choice_ids: ids of the choices, in the same order.
        answer: place of the object among the choices.
    """

    fact_id: str
    relation: str
    relation_label: str
    subject: str
    subject_id: str
    object: str
    object_id: str
    choices: tuple[str, ...]
    choice_ids: tuple[str, ...]
    answer: int

    def problem(self) -> str | None:
        """Return a clause that says why the row is invalid; None if it is valid."""
        if len(self.choices) < 2:
            return f"`choices` has {len(self.choices)}; at least 2 are expected"
        if len(self.choice_ids) != len(self.choices):
            return f"`choice_ids` has {len(self.choice_ids)} for {len(self.choices)} of `choices`"
        for name in ("choices", "choice_ids"):
            text, count = Counter(getattr(self, name)).most_common(1)[0]
            if count > 1:
                return f"{text!r} is twice in `{name}`"
        if not 0 <= self.answer < len(self.choices):
            return f"`answer` is {self.answer}, and the {len(self.choices)} choices are counted from 0"
        if self.choices[self.answer] != self.object or self.choice_ids[self.answer] != self.object_id:
            choice = f"{self.choices[self.answer]!r} ({self.choice_ids[self.answer]})"
            return f"`answer` is {self.answer}, which is {choice}, and the object is {self.object!r} ({self.object_id})"
        for text in (self.subject, *self.choices):
            if not text.strip():
                return f"a name is white space: {text!r}"
        return None

    def item(self) -> ChoiceItem:
        """Return the fact with its choices: the object first, then the others in their order."""
        fact = AskedFact(
            key=FactKey(self.subject_id, self.fact_id),
            relation=self.relation,
            subject_label=self.subject,
            subject_aliases=(),
            object=self.object_id,
            object_label=self.object,
            object_aliases=(),
            start=None,
            end=None,
        )
        choices = list(zip(self.choice_ids, self.choices, strict=True))
        del choices[self.answer]
        return ChoiceItem(fact, [Negative(id_, label, (), former=False) for id_, label in choices])


# Names of the columns, in order.
COLUMNS = ChoiceRow.__struct_fields__


def row_of(item: ChoiceItem, relation_label: str, order: list[int]) -> ChoiceRow:
    """Return a fact with its choices in an order.

    Args:
        order: permutation of the places of :attr:`ChoiceItem.labels`.
    """
    fact = item.fact
    ids = [fact.object, *map(attrgetter("id"), item.others)]
    return ChoiceRow(
        fact_id=fact.key.fact,
        relation=fact.relation,
        relation_label=relation_label,
        subject=fact.subject_label,
        subject_id=fact.key.subject,
        object=fact.object_label,
        object_id=fact.object,
        choices=tuple(item.labels[place] for place in order),
        choice_ids=tuple(ids[place] for place in order),
        answer=order.index(0),
    )


Write = Callable[[str, Sequence[ChoiceRow]], None]


@dataclass(frozen=True, slots=True)
class DatasetFolder:
    """The files of a data set."""

    path: Path
    files: Mapping[str, Path]

    def rows(self, split: str) -> Iterator[tuple[str, ChoiceRow]]:
        """Yield the rows of a split, each with its place: ``train.jsonl, line 3``. Cost: one pass over the file."""
        path = self.files[split]
        read = _parquet_rows if path.suffix == ".parquet" else _json_rows
        for place, row in read(path):
            problem = row.problem()
            if problem:
                raise KgprobeError(f"{place}: {problem}.")
            yield place, row


def open_folder(folder: Path) -> DatasetFolder:
    """Return the data set in a folder."""
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
    """Open the files of a new data set, and yield a function that appends rows to a split."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "data").mkdir()
    kinds = {"choices": pa.list_(pa.string()), "choice_ids": pa.list_(pa.string()), "answer": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    files: dict[str, Any] = {}

    def write_parquet(split: str, rows: Sequence[ChoiceRow]) -> None:
        files[split].write_table(pa.Table.from_pylist(msgspec.to_builtins(rows), schema=schema))

    def write_json(split: str, rows: Sequence[ChoiceRow]) -> None:
        for row in rows:
            files[split].write(json.dumps(msgspec.to_builtins(row), ensure_ascii=False) + "\n")

    with ExitStack() as stack:
        for split in SPLITS:
            path = folder / "data" / f"{split}.{format_}"
            if format_ == "parquet":
                files[split] = stack.enter_context(pq.ParquetWriter(path, schema, compression="zstd"))
            else:
                files[split] = stack.enter_context(path.open("w", encoding="utf-8"))
        yield write_parquet if format_ == "parquet" else write_json


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
            batches = file.iter_batches(_ROWS_AT_ONCE, columns=list(COLUMNS))
            rows = chain.from_iterable(batch.to_pylist() for batch in batches)
            for number, row in enumerate(rows, start=1):
                place = f"{path}, row {number}"
                yield place, _read(place, partial(msgspec.convert, type=ChoiceRow), row)
    except (OSError, pa.ArrowException) as error:
        raise KgprobeError(f"{path} cannot be read as Parquet: {error}.") from error


def _read(place: str, decode: Callable[[Any], ChoiceRow], row: Any) -> ChoiceRow:
    try:
        return decode(row)
    except DECODING_ERRORS as error:
        raise KgprobeError(f"{place}: {error}. A data set has {', '.join(COLUMNS)}.") from error


def link_dataset(folder: Path) -> None:
    """Link a new data set, whose folder the user chose, so that it is listed and opens by the folder's name.

    An older data set of the same name loses its link.
    """
    place = home() / "datasets"
    make_folder(place)
    link = place / folder.absolute().name
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        link.symlink_to(folder.resolve())
