"""Facts that people put into words, and the same without the mistakes: a table of verbalizations and corrections.

Section 4.3 of the distractor paper; docs/methods/studies.md. Where the object stands last in both, each is a cloze
sentence.
"""

import csv
import re
from ast import literal_eval
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgprobe.errors import KgprobeError
from kgprobe.records import Placed, Rejected
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

_COLUMNS = ("triples_raw", "triples", "context", "verbalization", "errors", "correction")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TRIPLE = re.compile(r"\((.*), start=([^,]*), end=([^,]*)\)", re.DOTALL)
_QUOTES = {"“": "”", "‘": "’", '"': '"', "«": "»"}


@dataclass(frozen=True, slots=True)
class Verbalization:
    """A fact in words, and what a person found wrong with them.

    Attributes:
        line: where its record begins in the file, counted from 1.
        subject, relation, object: ids.
        labels: theirs, separated by commas, which a label may have too.
        start, end: ISO 8601, the bounds included; None is unbounded.
        context: ``present`` or ``past``.
        text: the sentence.
        errors: kinds of errors; empty if there is none.
        correction: the sentence without them; empty if there is nothing to correct.
    """

    line: int
    subject: str
    relation: str
    object: str
    labels: str
    start: str | None
    end: str | None
    context: str
    text: str
    errors: tuple[str, ...]
    correction: str


@dataclass(frozen=True, slots=True)
class WrittenCloze(Cloze):
    """A cloze sentence as somebody wrote it: its words and the names in its blank stay as they are.

    So no article is put where one is missing: that it is missing is what is studied.

    Attributes:
        subject: as it stands in place of ``[X]``; where it stands nowhere, in another form of the word perhaps, its
            label.
        opening, closing: quotation marks around the blank.
    """

    opening: str = ""
    closing: str = ""

    @property
    def prompt(self) -> str:
        """The text before the blank."""
        return self.template.removesuffix(OBJECT).replace(SUBJECT, self.subject, 1).rstrip()

    def continuations(self, names: Sequence[str]) -> list[str]:
        """Names as they fill the blank, each different one once."""
        texts = (f"{self.opening}{name.strip()}{self.closing}" for name in names if name.strip())
        return list(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True)
class Pair:
    """One fact in a flawed and in a corrected sentence.

    Attributes:
        subject_label, relation_label, object_label: the object's as it stands in both sentences.
    """

    verbalization: Verbalization
    subject_label: str
    relation_label: str
    object_label: str
    flawed: WrittenCloze
    corrected: WrittenCloze


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A verbalization that is of no use here, and why."""

    verbalization: Verbalization
    reason: str


def read_verbalizations(path: Path) -> tuple[list[Verbalization], list[Placed]]:
    """The records of a table of verbalizations (CSV with a header), in their order, and what is wrong with the others.

    A damaged record costs itself alone; it has the line where it begins.

    Raises:
        KgprobeError: the table cannot be read, or lacks a column.
    """
    records = _scan(path)
    damaged = [Placed(line, record) for line, record in records if isinstance(record, Rejected)]
    return [record for _, record in records if isinstance(record, Verbalization)], damaged


def _scan(path: Path) -> list[tuple[int, Verbalization | Rejected]]:
    try:
        # Bytes that are no UTF-8 come as lone surrogates, which spoil their record alone.
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file)
            missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise KgprobeError(f"{path}: there is no column {', '.join(missing)}; it needs {', '.join(_COLUMNS)}.")
            records: list[tuple[int, Verbalization | Rejected]] = []
            line = 2
            while (record := _next_record(reader, line)) is not None:
                records.append((line, record))
                line = reader.line_num + 1
            return records
    except (OSError, ValueError, csv.Error) as error:
        raise KgprobeError(f"{path} cannot be read: {error}.") from error


def pair_up(verbalizations: Sequence[Verbalization]) -> tuple[list[Pair], list[Unpaired]]:
    """Cloze sentences from the flawed verbalizations and their corrections, and what gave none.

    The object's label is the longest end of the triple's text that ends both sentences, quotation marks around it set
    aside; a label has to stand there as it is, an inflected one does not.
    """
    pairs: list[Pair] = []
    unpaired: list[Unpaired] = []
    for one in verbalizations:
        if not one.correction:
            unpaired.append(Unpaired(one, "it has no correction"))
        elif one.correction == one.text:
            unpaired.append(Unpaired(one, "its correction is the same sentence"))
        else:
            pair = _pair(one)
            if isinstance(pair, str):
                unpaired.append(Unpaired(one, pair))
            else:
                pairs.append(pair)
    return pairs, unpaired


def _next_record(reader: "csv.DictReader[str]", line: int) -> Verbalization | Rejected | None:
    try:
        row = next(reader, None)
    except csv.Error as error:
        return Rejected(f"no line of CSV: {error}")
    if row is None:
        return None
    if any(isinstance(cell, str) and not cell.isprintable() and _SURROGATE.search(cell) for cell in row.values()):
        return Rejected("not UTF-8")
    return _record(line, row)


def _record(line: int, row: dict[str, str | None]) -> Verbalization | Rejected:
    try:
        subject, relation, object_ = map(str, literal_eval(row["triples_raw"] or ""))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return Rejected(f"{row['triples_raw']!r} is no triple of ids")
    labels = _TRIPLE.fullmatch((row["triples"] or "").strip())
    if labels is None:
        return Rejected(f"{row['triples']!r} is not (subject, relation, object, start=…, end=…)")
    errors = tuple(kind.strip() for kind in (row["errors"] or "").split(",") if kind.strip(" -"))
    return Verbalization(
        line=line,
        subject=subject,
        relation=relation,
        object=object_,
        labels=labels[1],
        start=None if labels[2] == "None" else labels[2],
        end=None if labels[3] == "None" else labels[3],
        context=(row["context"] or "").strip(),
        text=(row["verbalization"] or "").strip(),
        errors=errors,
        correction=(row["correction"] or "").strip(),
    )


def _pair(verbalization: Verbalization) -> Pair | str:
    parts = verbalization.labels.split(", ")
    sentences = (verbalization.text, verbalization.correction)
    for first in range(2, len(parts)):
        subject, relation, object_ = ", ".join(parts[: first - 1]), parts[first - 1], ", ".join(parts[first:])
        flawed, corrected = (_cloze(sentence, subject, object_) for sentence in sentences)
        if flawed and corrected:
            return Pair(verbalization, subject, relation, object_, flawed, corrected)
    # Only the first of the sentences is looked at if both are to blame.
    unfit = all(_cloze(verbalization.text, "", ", ".join(parts[first:])) is None for first in range(2, len(parts)))
    return f"its object does not stand last in the {'verbalization' if unfit else 'correction'}"


def _cloze(sentence: str, subject: str, object_: str) -> WrittenCloze | None:
    for opening, closing in (("", ""), *_QUOTES.items()):
        before = sentence.removesuffix(f"{opening}{object_}{closing}")
        # A label that ends a longer word stands for something else, and nothing is no prompt.
        if object_ and before != sentence and before.strip() and (opening or not before[-1].isalnum()):
            return WrittenCloze(*_with_place(before, subject), opening, closing)
    return None


def _with_place(before: str, subject: str) -> tuple[str, str]:
    """A template with a place for the subject where it stands in the text, and the subject as it stands there."""
    for form in (subject, subject[:1].upper() + subject[1:]):
        found = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", before) if form else None
        if found:
            return f"{before[: found.start()]}{SUBJECT}{before[found.end() :]}{OBJECT}", form
    return f"{before}{OBJECT}", subject
