"""The label table: one row for each fact, with how a model answered it, the probability that it knows it, and classes.

docs/methods/labels.md. A table is a folder with ``config.json`` (model, graph, seed, settings of each way of asking)
and ``facts.parquet``. Reading and writing is by groups of rows, so that tables of ten million facts fit.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgprobe.answers.settings import WRITTEN, claim, digest_of, write_config
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import make_folder, replacing, sha256_of
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.labelling.settings import REMEDY, STATISTICS, Written, read_label_config
from kgprobe.probes.recall.classes import CLASSES
from kgprobe.results.kind_names import LABEL_TABLE

if TYPE_CHECKING:
    import pandas as pd

FACTS = "facts.parquet"

# Origins of a label: answers to this fact, or a prediction by beliefs or a judge.
ASKED, PREDICTED = BASES = ("asked", "predicted")
# SliCK (Gekhman et al. 2024, section 3).
SLICK = CLASSES
# Profile of a fact (WikiProfile, 2602.14080).
PROFILE = ("recalled", "recalled by thinking only", "encoded, not recalled", "not encoded")
BELIEFS = tuple(word.value for word in BeliefWord)
# Classes by the column that has them.
SCHEMES: Mapping[str, tuple[str, ...]] = {"slick": SLICK, "profile": PROFILE, "belief": BELIEFS}

_ROWS_PER_GROUP = 65_536


@dataclass(frozen=True, slots=True)
class LabelledFact(ResultRow):
    """The labels of one fact.

    Attributes:
        basis: ``asked``, or ``predicted`` without an answer to this fact in the way that the probability is of.
        known: probability that the model knows the fact, with its 90% interval; in [0, 1].
        belief: the belief in words, as in runs.
        slick, profile: its classes; None if the answers do not decide.
        answers: number of right answers and of all answers, by way of asking.
    """

    fact: str
    subject: str
    subject_name: Annotated[str, Heading("subject")]
    relation: str
    relation_name: Annotated[str, Heading("relation")]
    object: str
    object_name: Annotated[str, Heading("object")]
    basis: str
    known: Annotated[float, Heading("known")]
    known_low: float
    known_high: float
    belief: Annotated[str, Heading("belief")]
    slick: Annotated[str | None, Heading("SliCK")]
    profile: Annotated[str | None, Heading("profile")]
    answers: Mapping[str, tuple[int, int]]

    @property
    def classes(self) -> tuple[str, ...]:
        """Its classes of all schemes."""
        return tuple(name for name in (self.slick, self.profile, self.belief) if name is not None)

    def classes_to_take(self, predicted: bool) -> tuple[str, ...]:
        """Return its classes by answers to it; ``predicted`` adds a predicted belief, the last one."""
        return self.classes if predicted or self.basis == ASKED else self.classes[:-1]

    def is_in(self, classes: Collection[str]) -> bool:
        """Return True if one of its classes is among these, or none are given."""
        return not classes or self.slick in classes or self.profile in classes or self.belief in classes


@dataclass(frozen=True, slots=True)
class LabelTable:
    """A stored label table; rows are read from disk.

    ``config`` has model, graph, seed, ways of asking and their settings.
    """

    folder: Path
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.folder.name

    @property
    def model(self) -> str:
        """Spec of the labelled model."""
        return str(self.config["model"])

    @property
    def ways(self) -> tuple[str, ...]:
        """Ways of asking, in order."""
        return tuple(self.config["ways"])

    def __len__(self) -> int:
        return int(pq.read_metadata(self.folder / FACTS).num_rows)

    def rows(self, classes: Collection[str] = ()) -> Iterator[LabelledFact]:
        """Yield the rows in order; with classes, those of one of them.

        Cost: a pass over the file. Memory: one group of rows.
        """
        with pq.ParquetFile(self.folder / FACTS) as file:
            for batch in file.iter_batches():
                for record in batch.to_pylist():
                    labelled = _row(record, self.ways)
                    if labelled.is_in(classes):
                        yield labelled

    def to_frame(self) -> "pd.DataFrame":
        """Return all rows in pandas; columns of a way of asking are ``WAY_right`` and ``WAY_answers``."""
        frame: pd.DataFrame = pq.read_table(self.folder / FACTS).to_pandas()
        return frame


def write_label_table(
    folder: Path, config: Mapping[str, Any], rows: Iterable[LabelledFact], statistics: bytes | None = None
) -> LabelTable:
    """Write a label table; a folder of other settings is refused, one of the same settings is replaced.

    ``config`` has ``model`` (spec) and ``ways`` (the keys of each row's ``answers``); ``statistics`` is their file.
    """
    make_folder(folder)
    claim(folder, config, LABEL_TABLE)
    # Until all files are complete, the settings have no digests of theirs.
    write_config(folder, config)
    ways = tuple(config["ways"])
    rest, schema = iter(rows), _schema(ways)
    with replacing(folder / FACTS) as unfinished, pq.ParquetWriter(unfinished, schema) as writer:
        while group := list(islice(rest, _ROWS_PER_GROUP)):
            records = [_record(labelled, ways) for labelled in group]
            writer.write_table(pa.Table.from_pylist(records, schema=schema))
    files = [FACTS]
    if statistics is not None:
        files.append(STATISTICS)
        with replacing(folder / STATISTICS) as unfinished:
            unfinished.write_bytes(statistics)
    table = LabelTable(folder, config)
    written = Written(len(table), {name: sha256_of(folder / name) for name in files}, digest_of(config))
    write_config(folder, {**config, WRITTEN: written})
    return table


def read_label_table(folder: Path) -> LabelTable:
    """Return the label table in a folder.

    Cost: digests of the files; a pass over a table of another program, with the ids of its facts in memory.
    """
    config, written = read_label_config(folder)
    if not (folder / FACTS).exists():
        raise KgprobeError(f"The label table {folder} is unfinished. Repeat the kgprobe label command that began it.")
    name = FACTS
    try:
        fault = _wrong_column(folder / FACTS, _schema(config["ways"]))
        digests = {} if written is None else written.sha256
        changed = [name for name, digest in digests.items() if sha256_of(folder / name) != digest]
        if fault is None and (written is None or FACTS in changed):
            fault = _wrong_row(folder / FACTS, config["ways"], written)
        if fault is None and changed:
            name, fault = changed[0], "it has been changed since it was written"
    except (OSError, pa.ArrowException, ValueError) as error:
        fault = f"it cannot be read ({str(error).strip()})"
    if fault is not None:
        raise KgprobeError(f"{folder / name} is damaged: {fault}. {REMEDY}")
    return LabelTable(folder, config)


def _wrong_column(path: Path, schema: pa.Schema) -> str | None:
    """Return a phrase about a column that is missing, of another type, or not of label tables; None without one."""
    columns = {column.name: column.type for column in pq.read_schema(path)}
    for column in schema:
        if columns.pop(column.name, None) not in _READ_AS[column.type]:
            return f"it has no column {column.name} of the type {column.type}"
    return f"it has the column {next(iter(columns))}, which label tables do not have" if columns else None


def _wrong_row(path: Path, ways: Sequence[str], written: Written | None) -> str | None:
    """Return a phrase about a value out of range, a repeated fact, or another number of rows; None without one."""
    first, keys = 1, []
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for name, is_valid in _validity(batch, ways):
                row = pc.index(is_valid, False).as_py()
                if row >= 0:
                    return f"in row {first + row:,}, {name} is {batch[name][row]}"
            keys.append(pc.binary_join_element_wise(batch["subject"], batch["fact"], "\0"))
            first += len(batch)
    counts = pc.value_counts(pa.chunked_array(keys, pa.string()))
    for key in counts.filter(pc.greater(counts.field("counts"), 1)).field("values")[:1]:
        return f"it has several rows of the fact {key.as_py().split(chr(0))[1]}"
    if written is not None and first - 1 != written.rows:
        return f"it has {first - 1:,} rows in place of {written.rows:,}"
    return None


def _validity(batch: pa.RecordBatch, ways: Iterable[str]) -> Iterator[tuple[str, pa.BooleanArray]]:
    """Yield the columns with whether each value is valid."""
    for name in ("fact", "subject", "subject_name", "relation", "relation_name", "object", "object_name"):
        yield name, batch[name].is_valid()
    for name in ("known", "known_low", "known_high"):
        in_range = pc.and_(pc.greater_equal(batch[name], 0), pc.less_equal(batch[name], 1))
        yield name, pc.fill_null(in_range, False)
    yield "basis", pc.is_in(batch["basis"], pa.array(BASES))
    yield "belief", pc.is_in(batch["belief"], pa.array(BELIEFS))
    for scheme in ("slick", "profile"):
        yield scheme, pc.is_in(batch[scheme], pa.array([*SCHEMES[scheme], None]))
    for way in ways:
        right, answers = batch[f"{way}_right"], batch[f"{way}_answers"]
        in_order = pc.and_(pc.greater_equal(right, 0), pc.less_equal(right, answers))
        yield f"{way}_right", pc.fill_null(in_order, pc.and_(right.is_null(), answers.is_null()))


def check_classes(classes: Iterable[str]) -> tuple[str, ...]:
    """Return names of classes of any scheme, without repetition.

    >>> check_classes(["unknown", "weakly known", "unknown"])
    ('unknown', 'weakly known')
    """
    given = tuple(dict.fromkeys(classes))
    for name in given:
        if not any(name in scheme for scheme in SCHEMES.values()):
            known = "; ".join(f"{scheme}: {', '.join(names)}" for scheme, names in SCHEMES.items())
            raise ArgumentError("classes", f"has no class {name!r}. Classes are {known}.")
    return given


def shown_by_labels(table: LabelTable) -> "pd.DataFrame":
    """Return which facts a table shows as known: by their profile, else by SliCK's class, else by their belief.

    Returns:
        By fact: known, None if the fact was not asked or no class decides; guessed, 0 (no correction).
    """
    import pandas as pd

    facts = table.to_frame()
    known = facts["belief"].map({word.value: word.is_known for word in BeliefWord}).astype(object)
    for scheme, unknown in (("slick", SLICK[-1]), ("profile", PROFILE[-1])):
        decides = facts[scheme].notna()
        known[decides] = facts.loc[decides, scheme] != unknown
    known[facts["basis"] != ASKED] = None
    columns = {"known": known.to_numpy(object), "guessed": 0.0}
    shown: pd.DataFrame = pd.DataFrame(columns, index=facts["fact"].to_numpy(object))
    return shown


def count_classes(rows: Iterable[LabelledFact], *, predicted: bool) -> tuple[Counter[str], Counter[str]]:
    """Return the number of facts by class, and of those left out as their class is predicted (unless ``predicted``)."""
    sizes, left_out = Counter[str](), Counter[str]()
    for row in rows:
        classes = row.classes_to_take(predicted)
        sizes.update(classes)
        left_out.update(row.classes[len(classes) :])
    return sizes, left_out


def no_facts_of(classes: Collection[str], table: str, sizes: Mapping[str, int], left_out: Mapping[str, int]) -> str:
    """Return the message on classes without a fact to take, with those that have some; see :func:`count_classes`."""
    known = [name for names in SCHEMES.values() for name in names if sizes.get(name)]
    listed = ", ".join(f"{name} ({sizes[name]:,})" for name in known) or "none"
    text = f"has {', '.join(classes)}, without a fact in {table}. Classes with facts: {listed}."
    predicted = sum(left_out.get(name, 0) for name in classes)
    if predicted:
        text += f" By prediction alone, {counted(predicted, 'fact')} would be: `predicted` takes them, too."
    return text


# Columns of Parquet that are not texts.
_TYPES = {"known": pa.float64(), "known_low": pa.float64(), "known_high": pa.float64()}


# Types of columns that are read as one: pandas writes texts as large ones.
_READ_AS = {own: {own} for own in (pa.float64(), pa.int16())} | {pa.string(): {pa.string(), pa.large_string()}}


def _schema(ways: Iterable[str]) -> pa.Schema:
    columns = [(own.name, _TYPES.get(own.name, pa.string())) for own in fields(LabelledFact) if own.name != "answers"]
    for way in ways:
        columns += [(f"{way}_right", pa.int16()), (f"{way}_answers", pa.int16())]
    return pa.schema(columns)


def _record(labelled: LabelledFact, ways: Iterable[str]) -> dict[str, Any]:
    record = asdict(labelled)
    answers = record.pop("answers")
    for way in ways:
        record[f"{way}_right"], record[f"{way}_answers"] = answers.get(way, (None, None))
    return record


def _row(record: dict[str, Any], ways: Iterable[str]) -> LabelledFact:
    answers = {}
    for way in ways:
        right, count = record.pop(f"{way}_right"), record.pop(f"{way}_answers")
        if count is not None:
            answers[way] = (right, count)
    return LabelledFact(**record, answers=answers)
