"""Evidence of the probe `distractors`: all plausibilities; Min@n and Avg@n rank the right object among its distractors.

Section 3 of the distractor paper; docs/methods/distractors.md. The measures are vectorized over facts or sentences; a
prefix of the distractors gives every smaller n.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import replacing
from kgprobe.base.tables import Table
from kgprobe.probes.clozes import few_sentences_note
from kgprobe.probes.confidence import agreement_of, mean_by_fact, normalized
from kgprobe.probes.distractors.curves import mean_at, mean_curve, shown_numbers
from kgprobe.probes.outcome import PROBABILITY, Alternatives, Evidence, Export, Outcome, ProbeResults, RatedAnswer
from kgprobe.stats.proportions import CONFIDENCE

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Aggregation = Literal["min", "avg"]

# Facts whose measures are computed together.
_AT_ONCE = 5_000

# Columns of the table of all plausibilities, one row for each sentence and entity.
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


class NamedEntity(msgspec.Struct, frozen=True):
    """An entity with its label."""

    id: str
    label: str


class Rival(msgspec.Struct, frozen=True):
    """A distractor, with the reason for its choice, a short phrase.

    If ``former``, it was right before; if ``unlike``, it shares no feature with the object although similar distractors
    were asked for.
    """

    id: str
    label: str
    why: str
    former: bool = False
    unlike: bool = False


class LeftOut(msgspec.Struct, frozen=True):
    """A distractor that the model cannot score, and the reason."""

    id: str
    reason: str


class Sentence(msgspec.Struct, frozen=True, eq=False):
    """One cloze sentence.

    Attributes:
        rivals: positions of its distractors among the evidence's, in the order of retrieval.
        log_plausibilities: natural logarithms, -inf for a plausibility of 0: the right object's, then the rivals'.
            Shape (1 + rivals,).
        certified: number of leading distractors that are proved to be the most plausible; None unless optimal.
        pool: number of entities that the distractors are the most plausible of, with the object; None unless optimal.
    """

    prompt: str
    rivals: tuple[int, ...]
    log_plausibilities: Floats
    certified: int | None = None
    note: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    pool: int | None = None

    def chance_at_n(self, count: int) -> Floats:
        """Return the probability that a guess beats the first n distractors, for n up to ``count``; shape (count,)."""
        rivals = len(self.rivals)
        if self.pool is not None:
            # Beating the rivals means beating the whole pool.
            return np.full(count, 1 / max(self.pool, rivals + 1))
        chances: Floats = 1 / (np.minimum(np.arange(1, count + 1), rivals) + 1)
        return chances


class DistractorEvidence(Evidence, frozen=True, eq=False, tag="distractors"):
    """The compared plausibilities, with one entry per sentence.

    Attributes:
        rivals: the distinct distractors of all sentences.
        shown: position of the sentence that is shown; its result agrees with the verdict.
        chance: chance level, with an independent guess in each sentence.
    """

    subject: str
    object: NamedEntity
    rivals: tuple[Rival, ...]
    sentences: tuple[Sentence, ...]
    shown: int
    chance: float

    @property
    def alternatives(self) -> Alternatives:
        """The distractors of the shown sentence, by descending plausibility."""
        sentence = self.sentences[self.shown]
        plausibilities = np.exp(sentence.log_plausibilities[1:])
        order = np.argsort(-plausibilities, kind="stable")
        names = [(self.rivals[sentence.rivals[place]].label, float(plausibilities[place])) for place in order]
        strongest = self._strongest
        return Alternatives(names, former=strongest.label if strongest and strongest.former else None)

    @property
    def question(self) -> str:
        """The shown sentence up to its blank."""
        return f"{self.sentences[self.shown].prompt} …"

    @property
    def right_answer(self) -> str:
        """The object's label."""
        return self.object.label

    @property
    def prediction(self) -> str | None:
        """The most plausible distractor of the shown sentence, unless the object is more plausible."""
        strongest = self._strongest
        return strongest.label if strongest else None

    @property
    def rated(self) -> Sequence[RatedAnswer]:
        """The preferred name of a single sentence, or the one that most of several sentences prefer."""
        if len(self.sentences) == 1:
            return [RatedAnswer(PROBABILITY, float(normalized(self.sentences[0].log_plausibilities).max()))]
        preferred = [self._preferred(sentence) for sentence in self.sentences]
        return [agreement_of([rival.id if rival else self.object.id for rival in preferred], [self.object.id])]

    @property
    def _strongest(self) -> Rival | None:
        """The most plausible distractor of the shown sentence, unless the object is more plausible."""
        return self._preferred(self.sentences[self.shown])

    def _preferred(self, sentence: Sentence) -> Rival | None:
        """Return the most plausible distractor of a sentence; None if the object is more plausible."""
        strongest = int(np.argmax(sentence.log_plausibilities[1:]))
        if sentence.log_plausibilities[0] > sentence.log_plausibilities[1 + strongest]:
            return None
        return self.rivals[sentence.rivals[strongest]]

    @property
    def probability(self) -> float:
        """The object's plausibility in the shown sentence."""
        return math.exp(self.sentences[self.shown].log_plausibilities[0])

    @property
    def values(self) -> Mapping[str, float]:
        """Min@n and Avg@n with all distractors, mean over sentences."""
        least = average = 0.0
        for sentence in self.sentences:
            rivals = sentence.log_plausibilities[1:]
            beaten = int(np.count_nonzero(sentence.log_plausibilities[0] > rivals))
            least += beaten == len(rivals)
            average += beaten / len(rivals)
        return {"min_at_n": least / len(self.sentences), "avg_at_n": average / len(self.sentences)}

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the curves; see :func:`curve_tables`."""
        return ProbeResults(curve_tables(outcomes, described))

    @classmethod
    def exports(cls) -> Mapping[str, Export]:
        """Return the writer of all plausibilities."""
        return {"plausibilities.parquet": partial(plausibility_file, _plausibility_rows)}

    def min_at_n(self, count: int) -> Bools:
        """Return True where the object beats the first n distractors of a sentence, shape (sentences, count)."""
        return min_at_n(*self._table(count))

    def avg_at_n(self, count: int) -> Floats:
        """Return the share of the first n distractors that the object beats, shape (sentences, count)."""
        return avg_at_n(*self._table(count))

    def _table(self, count: int) -> tuple[Floats, Floats]:
        """Return the object's plausibilities and the rivals'; see :func:`plausibility_table`."""
        return plausibility_table(list(map(attrgetter("log_plausibilities"), self.sentences)), count)


def plausibility_table(values: list[Floats], count: int) -> tuple[Floats, Floats]:
    """Return the arguments of :func:`min_at_n` for sentences: the object's plausibilities, and the rivals'.

    Values have the object's plausibility first. The results have the shapes (sentences,) and (sentences, count), with
    NaN where a sentence has fewer rivals.
    """
    rivals = np.full((len(values), count), np.nan)
    sizes = np.array([min(len(sentence) - 1, count) for sentence in values], dtype=np.int64)
    rivals[np.arange(count) < sizes[:, None]] = np.concatenate([[], *(sentence[1 : count + 1] for sentence in values)])
    return np.array([sentence[0] for sentence in values]), rivals


def min_at_n(plausibility: Floats, rivals: Floats) -> Bools:
    """Return True where the object beats all of its first n distractors, for every n at once.

    Args:
        plausibility: log Pl(o | c), shape (sentences,).
        rivals: log Pl(o* | c), in the order of retrieval, shape (sentences, n); NaN where a sentence has fewer.

    Returns:
        Shape (sentences, n), non-increasing along n. A tie is a loss.
    """
    beaten: Bools = (plausibility[:, None] > rivals) | np.isnan(rivals)
    survives: Bools = np.logical_and.accumulate(beaten, axis=1)
    return survives


def avg_at_n(plausibility: Floats, rivals: Floats) -> Floats:
    """Return the share of the first n distractors that the object beats, for every n at once.

    Arguments as of :func:`min_at_n`. The result has the shape (sentences, n), in [0, 1]; NaN without distractors.
    """
    present = np.cumsum(~np.isnan(rivals), axis=1)
    beaten = np.cumsum(plausibility[:, None] > rivals, axis=1)
    shares: Floats = np.divide(beaten, present, out=np.full(rivals.shape, np.nan), where=present > 0)
    return shares


def _plausibility_rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Return a row for each sentence and entity; one without evidence for a fact that could not be asked."""
    fact = {
        **outcome.fact._asdict(),
        "verdict": outcome.verdict.value,
        "reason": outcome.reason,
        "relation": outcome.relation,
    }
    evidence = outcome.evidence
    if not isinstance(evidence, DistractorEvidence):
        return [fact]
    rows = []
    for number, sentence in enumerate(evidence.sentences):
        entities: list[NamedEntity | Rival] = [evidence.object]
        entities += map(evidence.rivals.__getitem__, sentence.rivals)
        values = sentence.log_plausibilities.tolist()
        for rank, (entity, value) in enumerate(zip(entities, values, strict=True)):
            row = {
                "sentence": number,
                "prompt": sentence.prompt,
                "rank": rank,
                "entity": entity.id,
                "label": entity.label,
                "retrieved": entity.why if isinstance(entity, Rival) else None,
                "log_plausibility": value,
            }
            rows.append(fact | row)
    return rows


@dataclass(frozen=True, slots=True)
class Measured:
    """Min@n and Avg@n of many facts, for every n at once.

    Attributes:
        facts: ids, shape (facts,).
        min_at_n, avg_at_n: K(f) by either aggregation, shape (facts, n).
        chance: probability that a guess beats a sentence's first n distractors, averaged over a fact's sentences, shape
            (facts, n).
        present: minimum number of distractors over a fact's sentences, shape (facts,).
        former: number of distractors that were right once, shape (facts,).
        former_at: share of a fact's sentences whose distractor at each position was right once, shape (facts, n); NaN
            where none has so many distractors.
        unlike: number of distractors without a common feature with the object, shape (facts,); see
            :class:`Rival`.
        certified: share of the distractors that are proved to be the most plausible, in their order; None if the
            strategy gives no proof.
        unaskable: number of facts that could not be asked, by reason.
        sentences, few_sentences: requested number of sentences per fact, None for all, and number of facts with fewer.
    """

    facts: tuple[str, ...]
    min_at_n: Floats
    avg_at_n: Floats
    chance: Floats
    present: NDArray[np.int64]
    former: NDArray[np.int64]
    former_at: Floats
    unlike: NDArray[np.int64]
    certified: float | None
    unaskable: Mapping[str, int]
    sentences: int | None
    few_sentences: int


def measured(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> Measured:
    """Return the measures of every fact by its outcome. Memory: 32 bytes per fact and n.

    A fact that was asked several times has several rows.

    Args:
        described: the description of the probe, with the maximum n and the number of sentences.
    """
    count, requested = described["distractors"], described.get("sentences")
    few: set[str] = set()
    facts: list[str] = []
    blocks: list[tuple[NDArray[Any], ...]] = []
    block: list[DistractorEvidence] = []
    certified = total = 0
    proves = False
    unaskable: Counter[str] = Counter()
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, DistractorEvidence):
            unaskable[str(outcome.reason)] += 1
            continue
        facts.append(outcome.fact.fact)
        if len(evidence.sentences) < (requested or 1):
            few.add(outcome.fact.fact)
        block.append(evidence)
        for sentence in evidence.sentences:
            if sentence.certified is not None:
                proves = True
                rivals = min(len(sentence.rivals), count)
                certified += min(sentence.certified, rivals)
                total += rivals
        if len(block) == _AT_ONCE:
            blocks.append(_measures(block, count))
            block = []
    blocks.append(_measures(block, count))
    mins, avgs, chances, former_at, present, former, unlike = map(np.concatenate, zip(*blocks, strict=True))
    return Measured(
        facts=tuple(facts),
        min_at_n=mins,
        avg_at_n=avgs,
        chance=chances,
        present=present,
        former=former,
        former_at=former_at,
        unlike=unlike,
        certified=certified / total if proves else None,
        unaskable=dict(unaskable.most_common()),
        sentences=requested,
        few_sentences=len(few),
    )


def _measures(evidences: Sequence[DistractorEvidence], count: int) -> tuple[NDArray[Any], ...]:
    """Return the measures of facts: minima, averages, chances, former_at, present, former, unlike."""
    sentences = list(chain.from_iterable(map(attrgetter("sentences"), evidences)))
    sizes = np.array([len(evidence.sentences) for evidence in evidences], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    rivals = np.array([len(sentence.rivals) for sentence in sentences], dtype=np.int64)[:, None]
    is_former, is_unlike = np.zeros((2, len(sentences), count), dtype=np.int64)
    former = np.zeros(len(evidences), dtype=np.int64)
    for place, evidence in enumerate(evidences):
        # Most facts have no such distractors.
        if any(rival.former or rival.unlike for rival in evidence.rivals):
            former[place] = sum(evidence.rivals[rival].former for rival in evidence.sentences[evidence.shown].rivals)
            for row, sentence in enumerate(evidence.sentences, start=starts[place]):
                for column, rival in enumerate(sentence.rivals[:count]):
                    is_former[row, column] = evidence.rivals[rival].former
                    is_unlike[row, column] = evidence.rivals[rival].unlike

    def mean(values: NDArray[Any]) -> Floats:
        means: Floats = np.add.reduceat(values, starts, axis=0) / sizes[:, None]
        return means

    table = plausibility_table(list(map(attrgetter("log_plausibilities"), sentences)), count)
    numbers = np.arange(1, count + 1)
    # Beating the rivals means beating the whole pool.
    pools = np.array([0 if sentence.pool is None else sentence.pool for sentence in sentences], dtype=np.int64)[:, None]
    opponents = np.where(pools > 0, np.maximum(pools - 1, rivals), np.minimum(numbers, rivals))
    having = np.add.reduceat((numbers <= rivals).astype(np.int64), starts, axis=0)
    was_former = np.add.reduceat(is_former, starts, axis=0)
    return (
        mean(min_at_n(*table).astype(np.int64)),
        mean(avg_at_n(*table)),
        mean(1 / (opponents + 1)),
        np.divide(was_former, having, out=np.full(having.shape, np.nan), where=having > 0),
        np.minimum(np.minimum.reduceat(rivals[:, 0], starts), count),
        former,
        np.minimum.reduceat(is_unlike.sum(axis=1), starts),
    )


def common_facts(measured: Sequence[Measured]) -> list[str]:
    """Return the sorted ids of the facts that were asked in all of the measurements; KgprobeError if there are none."""
    common = sorted(set.intersection(*(set(measurement.facts) for measurement in measured)))
    if not common:
        raise KgprobeError("No fact could be asked in all of these measurements; `kgprobe probe distractors` says why.")
    return common


def values_of(measured: Measured, facts: Sequence[str], aggregation: Aggregation) -> Floats:
    """Return K of some facts by an aggregation, shape (facts, n)."""
    place = {fact: row for row, fact in enumerate(measured.facts)}
    values: Floats = measured.min_at_n if aggregation == "min" else measured.avg_at_n
    return values[[place[fact] for fact in facts]]


def former_shares(measured: Measured, facts: Sequence[str]) -> Floats:
    """Return the share of some facts whose distractor at each position was right once, shape (n,).

    Only facts with so many distractors count; NaN without one.
    """
    place = {fact: row for row, fact in enumerate(measured.facts)}
    former = measured.former_at[[place[fact] for fact in facts]]
    present = ~np.isnan(former)
    sums, counts = np.where(present, former, 0.0).sum(axis=0), present.sum(axis=0)
    shares: Floats = np.divide(sums, counts, out=np.full(former.shape[1], np.nan), where=counts > 0)
    return shares


def curve_tables(outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> list[Table]:
    """Return a table of both aggregations at some n, over the asked facts; no table if there are none.

    A fact that was asked several times, in the rounds of a run, counts once, with the mean of its questions.
    """
    count = described["distractors"]
    measures = measured(outcomes, described)
    if not measures.facts:
        return []
    facts = len(set(measures.facts))
    least = mean_curve(mean_by_fact(measures.facts, measures.min_at_n))
    average = mean_curve(mean_by_fact(measures.facts, measures.avg_at_n))
    chance = mean_by_fact(measures.facts, measures.chance).mean(axis=0)
    rows: list[dict[str, Any]] = []
    for n in shown_numbers(count):
        least_at, average_at, by_chance = mean_at(least, n), mean_at(average, n), float(chance[n - 1])
        rows.append({"n": n, "Min@n": least_at, "by chance": by_chance, "Avg@n": average_at})
    fewer = len(set(np.array(measures.facts)[measures.present < count]))
    notes = [f"{fewer:,} facts have fewer than {count} distractors; they count with those they have."] if fewer else []
    notes += shortage_notes(measures)
    over = "one fact" if facts == 1 else f"means over {facts:,} facts, with {CONFIDENCE:.0%} bands"
    return [Table("curves", f"By the number of distractors: {over}", rows, notes)]


def shortage_notes(measured: Measured) -> list[str]:
    """Return notes on facts with fewer sentences than requested, and on distractors that do not resemble the object."""
    notes = []
    if measured.few_sentences:
        notes.append(few_sentences_note(measured.few_sentences, measured.sentences))
    if measured.unlike.any():
        unlike = f"{measured.unlike.sum():,} of {measured.present.sum():,} distractors share no feature with the object"
        notes.append(f"{unlike}: they come last, in random order.")
    return notes


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
