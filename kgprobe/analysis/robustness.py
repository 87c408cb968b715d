"""How little a measure minds flaws in a sentence: its agreement between flawed and corrected verbalizations.

Section 4.3 of the distractor paper; docs/methods.md, 1. Verbalizations and their corrections come from a table that
people wrote; where the object stands last in both, each is a cloze sentence. Robustness is Kendall's τ between the
values of a measure on the flawed sentences and on the corrected ones.
"""

import csv
import re
from ast import literal_eval
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.verbalize.sentences import Cloze

Floats = NDArray[np.float64]

# Two-sided, of the bootstrap's percentile interval.
CONFIDENCE = 0.95

_COLUMNS = ("triples_raw", "triples", "context", "verbalization", "errors", "correction")
_TRIPLE = re.compile(r"\((.*), start=(?:[^,]*), end=(?:[^,]*)\)", re.DOTALL)
_QUOTES = {"“": "”", "‘": "’", '"': '"', "«": "»"}


@dataclass(frozen=True, slots=True)
class Verbalization:
    """A fact in words, and what a person found wrong with them.

    Attributes:
        line: where its record begins in the file, counted from 1.
        subject, relation, object: ids.
        labels: theirs, separated by commas, which a label may have too.
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
    context: str
    text: str
    errors: tuple[str, ...]
    correction: str


@dataclass(frozen=True, slots=True)
class WrittenCloze(Cloze):
    """A cloze sentence as somebody wrote it: its words and the names in its blank stay as they are.

    So no article is put where one is missing: that it is missing is what is studied.

    Attributes:
        opening, closing: quotation marks around the blank.
    """

    opening: str = ""
    closing: str = ""

    @property
    def prompt(self) -> str:
        """The text before the blank."""
        return self.template.removesuffix("[Y]").rstrip()

    def continuations(self, names: Sequence[str]) -> list[str]:
        """Names as they fill the blank, each different one once."""
        texts = (f"{self.opening}{name.strip()}{self.closing}" for name in names if name.strip())
        return list(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True)
class Pair:
    """One fact in a flawed and in a corrected sentence.

    Attributes:
        label: the object's, as it stands in both.
    """

    verbalization: Verbalization
    label: str
    flawed: WrittenCloze
    corrected: WrittenCloze


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A verbalization that is of no use here, and why."""

    verbalization: Verbalization
    reason: str


@dataclass(frozen=True, slots=True)
class Robustness:
    """A measure's agreement with itself.

    Attributes:
        tau: Kendall's τ-b in [-1, 1]; NaN where one side has the same value everywhere, or there are fewer than 2
            pairs.
        low, high: the bootstrap's 95% percentile interval over pairs; NaN where ``tau`` is.
        pairs: how many it is of.
        left_out: how many pairs have no value on one side or the other.
        undefined: the share of bootstrap samples without a τ, of which the interval knows nothing.
    """

    tau: float
    low: float
    high: float
    pairs: int
    left_out: int
    undefined: float


def read_verbalizations(path: Path) -> list[Verbalization]:
    """The records of a table of verbalizations (CSV with a header), in their order.

    Raises:
        KgprobeError: it cannot be read, lacks a column, or a record is damaged.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise KgprobeError(f"{path}: there is no column {', '.join(missing)}; it needs {', '.join(_COLUMNS)}.")
            records = []
            line = 2
            for row in reader:
                records.append(_record(path, line, row))
                line = reader.line_num + 1
            return records
    except (OSError, UnicodeDecodeError, csv.Error) as error:
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


def robustness(flawed: Floats, corrected: Floats, *, samples: int = 2000, seed: int = 0) -> Robustness:
    """Kendall's τ-b between a measure's values on flawed and on corrected sentences, with a bootstrap interval.

    Cost: samples x pairs², in one matrix product.

    Args:
        flawed, corrected: values in the order of the pairs, NaN where there is none; shape (pairs,).
        samples: how often pairs are drawn anew.
        seed: of the draws.
    """
    kept = ~(np.isnan(flawed) | np.isnan(corrected))
    pairs, left_out = int(kept.sum()), int((~kept).sum())
    # The concordance of two pairs of values is the product of the signs of their differences: infinities, too.
    first, second = (_signs(values[kept]) for values in (flawed, corrected))
    (tau,) = _taus(first, second, np.ones((1, pairs)))
    if np.isnan(tau):
        return Robustness(np.nan, np.nan, np.nan, pairs, left_out, np.nan)
    # How often each pair is drawn is all that τ needs to know.
    draws = np.random.default_rng(seed).multinomial(pairs, np.full(pairs, 1 / pairs), size=samples).astype(np.float64)
    taus = _taus(first, second, draws)
    defined = taus[~np.isnan(taus)]
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]) if len(defined) else (np.nan, np.nan)
    return Robustness(float(tau), float(low), float(high), pairs, left_out, float(np.isnan(taus).mean()))


def _signs(values: Floats) -> Floats:
    signs: Floats = (values[:, None] > values).astype(np.float64) - (values[:, None] < values)
    return signs


def _taus(first: Floats, second: Floats, weights: Floats) -> Floats:
    """τ-b of samples in which the i-th pair of values stands ``weights[:, i]`` times; NaN where there is none."""
    sums = [
        np.einsum("si,si->s", weights @ matrix, weights) for matrix in (first * second, first * first, second * second)
    ]
    product = sums[1] * sums[2]
    taus: Floats = np.divide(sums[0], np.sqrt(product), out=np.full(len(weights), np.nan), where=product > 0)
    return taus


def _record(path: Path, line: int, row: dict[str, str | None]) -> Verbalization:
    try:
        subject, relation, object_ = literal_eval(row["triples_raw"] or "")
    except (ValueError, SyntaxError, TypeError):
        raise KgprobeError(f"{path}, line {line}: {row['triples_raw']!r} is no triple of ids.") from None
    labels = _TRIPLE.fullmatch((row["triples"] or "").strip())
    if labels is None:
        raise KgprobeError(
            f"{path}, line {line}: {row['triples']!r} is not (subject, relation, object, start=…, end=…)."
        )
    errors = tuple(kind.strip() for kind in (row["errors"] or "").split(",") if kind.strip(" -"))
    return Verbalization(
        line=line,
        subject=str(subject),
        relation=str(relation),
        object=str(object_),
        labels=labels[1],
        context=(row["context"] or "").strip(),
        text=(row["verbalization"] or "").strip(),
        errors=errors,
        correction=(row["correction"] or "").strip(),
    )


def _pair(verbalization: Verbalization) -> Pair | str:
    parts = verbalization.labels.split(", ")
    labels = [", ".join(parts[first:]) for first in range(2, len(parts))]
    sentences = (verbalization.text, verbalization.correction)
    for label in labels:
        flawed, corrected = (_cloze(sentence, label) for sentence in sentences)
        if flawed and corrected:
            return Pair(verbalization, label, flawed, corrected)
    where = ["verbalization", "correction"][1 if any(_cloze(verbalization.text, label) for label in labels) else 0]
    return f"its object does not stand last in the {where}"


def _cloze(sentence: str, label: str) -> WrittenCloze | None:
    for opening, closing in (("", ""), *_QUOTES.items()):
        before = sentence.removesuffix(f"{opening}{label}{closing}")
        # A label that ends a longer word stands for something else, and nothing is no prompt.
        if label and before != sentence and before.strip() and (opening or not before[-1].isalnum()):
            return WrittenCloze(f"{before}[Y]", "", opening, closing)
    return None
