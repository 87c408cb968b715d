"""Human verbalizations of facts and their corrections, read from a table.

Section 4.3 and appendix B of the distractor paper; docs/methods/studies.md. If both sentences end in the object, both
are cloze sentences. A sentence without errors is its own correction.
"""

import csv
import re
from ast import literal_eval
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Placed, Rejected
from kgprobe.base.sanitize import visible
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

# Columns of a table; others are ignored.
COLUMNS = ("triples_raw", "triples", "context", "verbalization", "errors", "correction")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TRIPLE = re.compile(r"\((?P<labels>.*), start=[^,]*, end=[^,]*\)", re.DOTALL)
_QUOTES = {"“": "”", "‘": "’", '"': '"', "«": "»"}


@dataclass(frozen=True, slots=True)
class Verbalization:
    """A fact in words, with the errors that a person marked.

    Attributes:
        labels: their labels, separated by commas; a label can contain commas too.
        context: ``present`` or ``past``.
        annotated: True if a person marked errors, or that there are none (``-``).
        correction: the sentence without errors; empty if there are none.
    """

    subject: str
    relation: str
    object: str
    labels: str
    context: str
    text: str
    errors: tuple[str, ...]
    annotated: bool
    correction: str


@dataclass(frozen=True, slots=True)
class WrittenCloze(Cloze):
    """A cloze sentence as a person wrote it: no article is added, since missing articles are studied.

    Attributes:
        subject: the words in place of ``[X]``; the label if the sentence does not contain it.
        opening, closing: quotation marks around the blank.
    """

    opening: str = ""
    closing: str = ""

    @property
    def prompt(self) -> str:
        """Text before the blank."""
        return self.template.removesuffix(OBJECT).replace(SUBJECT, self.subject, 1).rstrip()

    def continuations(self, names: Sequence[str]) -> list[str]:
        """Return the distinct names, with the quotation marks of the blank."""
        texts = (f"{self.opening}{name.strip()}{self.closing}" for name in names if name.strip())
        return list(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True)
class SentencePair:
    """One fact in a flawed and in a corrected sentence; both end in ``object_label``.

    A sentence that is its own correction is in both places.
    """

    verbalization: Verbalization
    object_label: str
    flawed: WrittenCloze
    corrected: WrittenCloze

    @property
    def differs(self) -> bool:
        """True if the correction is another sentence."""
        return self.flawed != self.corrected


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A verbalization that cannot be used, with the reason."""

    verbalization: Verbalization
    reason: str


def read_verbalizations(path: Path) -> tuple[list[Verbalization], list[Placed]]:
    """Read a table of verbalizations (CSV with a header); return its records and the damaged ones, with first lines."""
    verbalizations: list[Verbalization] = []
    damaged: list[Placed] = []
    try:
        # Bytes that are not UTF-8 become lone surrogates, which spoil only their own record.
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file)
            missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise KgprobeError(f"{path} lacks columns: {', '.join(missing)}; expected {', '.join(COLUMNS)}.")
            line = 2
            while (record := _next_record(reader)) is not None:
                if isinstance(record, Rejected):
                    damaged.append(Placed(line, record))
                else:
                    verbalizations.append(record)
                line = reader.line_num + 1
    except (OSError, ValueError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise KgprobeError(f"{path} cannot be read: {reason}.") from error
    return verbalizations, damaged


def damaged_notes(damaged: Sequence[Placed]) -> list[str]:
    """Return the place and the fault of each damaged record of :func:`read_verbalizations`."""
    notes = []
    for place in damaged:
        reason = place.record.reason if isinstance(place.record, Rejected) else ""
        notes.append(visible(f"line {place.line:,}: {reason}"))
    return notes


def pair_up(verbalizations: Sequence[Verbalization]) -> tuple[list[SentencePair], list[Unpaired]]:
    """Make cloze sentences from verbalizations and their corrections; return them and the unusable verbalizations.

    A verbalization without errors, or with an equal correction, is paired with itself.

    The label of the object is the longest end of the triple's text with which both sentences end, apart from quotation
    marks. It must match exactly; inflected labels do not count.
    """
    pairs: list[SentencePair] = []
    unpaired: list[Unpaired] = []
    for verbalization in verbalizations:
        pair = _pair(verbalization)
        if isinstance(pair, SentencePair):
            pairs.append(pair)
        else:
            unpaired.append(Unpaired(verbalization, pair))
    return pairs, unpaired


def _next_record(reader: "csv.DictReader[str]") -> Verbalization | Rejected | None:
    try:
        row = next(reader, None)
    except csv.Error as error:
        return Rejected(f"not a line of CSV: {error}")
    if row is None:
        return None
    if any(isinstance(cell, str) and not cell.isprintable() and _SURROGATE.search(cell) for cell in row.values()):
        return Rejected("not UTF-8")
    return _record(row)


def _record(row: dict[str, str | None]) -> Verbalization | Rejected:
    ids, triple, context, text, errors, correction = ((row[column] or "").strip() for column in COLUMNS)
    try:
        subject, relation, object_ = map(str, literal_eval(ids))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return Rejected(f"{row['triples_raw']!r} is not a triple of ids")
    match = _TRIPLE.fullmatch(triple)
    if match is None:
        return Rejected(f"{row['triples']!r} is not (subject, relation, object, start=…, end=…)")
    kinds = tuple(kind.strip() for kind in errors.split(",") if kind.strip(" -"))
    return Verbalization(subject, relation, object_, match["labels"], context, text, kinds, bool(errors), correction)


def _pair(verbalization: Verbalization) -> SentencePair | str:
    """Return both cloze sentences, or the reason why there are none."""
    if not verbalization.correction and (verbalization.errors or not verbalization.annotated):
        return "it has errors and no correction" if verbalization.errors else "it is not annotated"
    parts = verbalization.labels.split(", ")
    sentences = (verbalization.text, verbalization.correction or verbalization.text)
    for first in range(2, len(parts)):
        subject, object_ = ", ".join(parts[: first - 1]), ", ".join(parts[first:])
        flawed, corrected = (_cloze(sentence, subject, object_) for sentence in sentences)
        if flawed and corrected:
            return SentencePair(verbalization, object_, flawed, corrected)
    # If both sentences are unfit, report the first.
    unfit = all(_cloze(verbalization.text, "", ", ".join(parts[first:])) is None for first in range(2, len(parts)))
    return f"its object is not at the end of the {'verbalization' if unfit else 'correction'}"


def _cloze(sentence: str, subject: str, object_: str) -> WrittenCloze | None:
    for opening, closing in (("", ""), *_QUOTES.items()):
        before = sentence.removesuffix(f"{opening}{object_}{closing}")
        # Skip a label that is the end of a longer word, and an empty prompt.
        if object_ and before != sentence and before.strip() and (opening or not before[-1].isalnum()):
            return WrittenCloze(*_with_place(before, subject), opening=opening, closing=closing)
    return None


def _with_place(before: str, subject: str) -> tuple[str, str]:
    """Return a template with ``[X]`` in place of the subject, and the subject in the form found in the text."""
    for form in (subject, subject[:1].upper() + subject[1:]):
        mention = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", before)
        if form and mention:
            return f"{before[: mention.start()]}{SUBJECT}{before[mention.end() :]}{OBJECT}", form
    return f"{before}{OBJECT}", subject
