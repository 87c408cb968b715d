"""Labels, the model's own answers to statements; their test set; their splits for training and evaluation.

A hidden state depends on the names in a statement as much as on its truth. If an entity or a relation were on both
sides of a split, a judge could succeed by remembering it. So sides are drawn by entity and by relation, not by
statement.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.answers.settings import read_measurement
from kgprobe.answers.store import FILE, Outcomes
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.judge import JudgeOptions
from kgprobe.probes.outcome import Outcome
from kgprobe.probes.statements.metrics import NONE, UNKNOWN, correctness_of
from kgprobe.probes.true_false.evidence import AnsweredNegative, TrueFalseEvidence

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TrueFalseLabels:
    """A measurement of the probe ``true-false``."""

    folder: Path
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the measurement."""
        return self.folder.name

    @property
    def model(self) -> str:
        """Spec of the model that answered."""
        return str(self.config["described"]["model"])

    @property
    def outcomes(self) -> Outcomes:
        """One outcome for each fact; read from disk."""
        return Outcomes(self.folder / FILE, TrueFalseEvidence)

    def statements(self, unlabelled: str = "skip") -> "LabelledStatements":
        """Return the labelled statements."""
        statements = labelled_statements(self.outcomes, unlabelled)
        if not len(statements.texts):
            raise KgprobeError(
                f"{self.name} has no labels: the answers to all {statements.unlabelled:,} statements disagree or are"
                " unreadable."
            )
        return statements


def read_labels(folder: Path) -> TrueFalseLabels:
    """Return the labels in the folder of a measurement."""
    config = read_measurement(folder)
    if config["probe"] != "true-false":
        raise ArgumentError("labels", f"is a measurement of {config['probe']}; expected one of the probe true-false.")
    return TrueFalseLabels(folder, config)


@dataclass(frozen=True, slots=True)
class LabelledStatements:
    """Statements with a model's answers, grouped by fact.

    Attributes:
        answers: the model's answers as places in ``JUDGEMENTS``, shape (statements,).
        facts: id of the fact that each statement expresses, or was made from.
        heads, relations, tails: ids of each statement's parts.
        truths: True for a fact's statement, False for a negative's, shape (statements,).
        unlabelled: number of further statements without a label, because their answers disagree or are unreadable.
    """

    texts: Sequence[str]
    answers: Integers
    facts: Sequence[str]
    heads: Sequence[str]
    relations: Sequence[str]
    tails: Sequence[str]
    truths: Bools
    unlabelled: int

    @property
    def correctness(self) -> Integers:
        """Correctness of the answers, as places in ``CORRECTNESS``, shape (statements,)."""
        return correctness_of(self.answers, self.truths)

    def part(self, places: Integers) -> "LabelledStatements":
        """Return some of the statements, in this order."""
        texts, facts, relations = pick(self.texts, places), pick(self.facts, places), pick(self.relations, places)
        heads, tails = pick(self.heads, places), pick(self.tails, places)
        ends = (heads, relations, tails)
        return LabelledStatements(texts, self.answers[places], facts, *ends, self.truths[places], self.unlabelled)

    def divide(self, test_size: float, seed: int) -> "tuple[LabelledStatements, LabelledStatements]":
        """Return the training set and the test set; see :func:`set_aside`."""
        is_test = set_aside(self.facts, test_size, seed)
        return self.part(np.flatnonzero(~is_test)), self.part(np.flatnonzero(is_test))


def pick(values: Sequence[str], places: Integers) -> list[str]:
    """Return the values at these places."""
    return [values[place] for place in places.tolist()]


def labelled_statements(outcomes: Iterable[Outcome], unlabelled: str = "skip") -> LabelledStatements:
    """Return the labelled statements of outcomes.

    Args:
        unlabelled: treatment of statements whose answers disagree or are unreadable: ``skip`` counts them and leaves
            them out, ``unknown`` labels them as unknown.
    """
    rows: list[tuple[str, int, str, str, str, str, bool]] = []
    left_out = 0
    for outcome in outcomes:
        evidence = outcome.evidence
        if not isinstance(evidence, TrueFalseEvidence):
            continue
        for statement in (evidence.fact, *evidence.negatives):
            judgement = statement.judgement
            if judgement == NONE:
                if unlabelled == "skip":
                    left_out += 1
                    continue
                judgement = UNKNOWN
            ends = (outcome.fact.subject, outcome.relation, evidence.object)
            if isinstance(statement, AnsweredNegative):
                ends = (statement.subject, statement.relation, statement.object)
            rows.append((statement.text, judgement, outcome.fact.fact, *ends, statement is evidence.fact))
    texts, answers, facts, heads, relations, tails, truths = zip(*rows, strict=True) if rows else ((),) * 7
    judgements, true = np.array(answers, dtype=np.int64), np.array(truths, dtype=bool)
    return LabelledStatements(texts, judgements, facts, heads, relations, tails, true, left_out)


def set_aside(facts: Sequence[str], share: float, seed: int) -> Bools:
    """Return a mask of test statements, grouped by fact: about this share of the facts, regardless of other facts.

    The draw depends on a fact's id, so that later runs draw the same facts.
    """
    drawn = {}
    for fact in set(facts):
        digest = blake2b(f"{seed} {fact}".encode(), digest_size=8).digest()
        drawn[fact] = int.from_bytes(digest, "big") / 2**64
    return np.array([drawn[fact] < share for fact in facts], dtype=bool)


@dataclass(frozen=True, slots=True)
class Splits:
    """Places of labelled statements, ascending; each in at most one of them.

    Attributes:
        train: training statements.
        other_entities: statements of training relations, without training entities.
        other_relations: statements of other relations; their entities may be training entities.
        between: statements with one entity on either side, which neither side may use.
    """

    train: Integers
    other_entities: Integers
    other_relations: Integers
    between: Integers

    def sides(self) -> dict[str, Integers]:
        """Return the places by the name of the split."""
        return asdict(self)

    def kept(self, places: Integers) -> "Splits":
        """Return the splits of a subset of statements, given by ascending places, in places of the subset."""
        return Splits(*(np.flatnonzero(np.isin(places, side)) for side in self.sides().values()))


def split_statements(
    heads: Sequence[str], relations: Sequence[str], tails: Sequence[str], *, share: float, seed: int
) -> Splits:
    """Split statements: about a share with other relations, and the same share of the rest with other entities.

    Relations are drawn until they reach the share; one that would exceed it is left out. Entities are placed from the
    most frequent on, each on the side of most of its neighbours, so that few statements fall between.

    Args:
        heads, relations, tails: ids of the statements' parts.
    """
    random = np.random.default_rng([seed, len(heads)])
    apart = draw_relations(relations, share, random)
    others = pd.Series(relations, dtype=object).isin(apart).to_numpy()
    rest = np.flatnonzero(~others)
    pairs = list(zip(pick(heads, rest), pick(tails, rest), strict=True))
    held_out = draw_entities(pairs, share, random)
    sides = pd.DataFrame(pairs, columns=["head", "tail"]).isin(held_out).sum(axis=1).to_numpy()
    return Splits(rest[sides == 0], rest[sides == 2], np.flatnonzero(others), rest[sides == 1])


def draw_relations(relations: Sequence[str], share: float, random: np.random.Generator) -> set[str]:
    """Return relations with about this share of the statements; never all relations."""
    names, counts = np.unique(np.array(relations, dtype=object).astype(str), return_counts=True)
    room = share * len(relations)
    apart: set[str] = set()
    for place in random.permutation(len(names)):
        if counts[place] <= room and len(apart) < len(names) - 1:
            apart.add(str(names[place]))
            room -= counts[place]
    return apart


def draw_entities(pairs: Sequence[tuple[str, str]], share: float, random: np.random.Generator) -> set[str]:
    """Return the held-out entities, such that about the share of the statements have both of theirs there."""
    neighbours: defaultdict[str, list[str]] = defaultdict(list)
    for head, tail in pairs:
        neighbours[head].append(tail)
        neighbours[tail].append(head)
    shuffled = [sorted(neighbours)[place] for place in random.permutation(len(neighbours))]
    side: dict[str, bool] = {}
    placed = [0, 0]
    for entity in sorted(shuffled, key=lambda entity: -len(neighbours[entity])):
        near = [side[other] for other in neighbours[entity] if other in side]
        balance = 2 * sum(near) - len(near)
        # On a tie, fill the share first.
        out = placed[1] < share * (sum(placed) + 1) if balance == 0 else balance > 0
        side[entity] = out
        placed[out] += len(neighbours[entity])
    return {entity for entity, out in side.items() if out}


@dataclass(frozen=True, slots=True)
class TrainingLabels:
    """Labels, divided into a training set and a test set."""

    labels: TrueFalseLabels
    options: JudgeOptions
    seed: int
    statements: LabelledStatements
    learned: LabelledStatements
    test: LabelledStatements
    splits: Splits

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine a judge, except its model."""
        options, labelled = asdict(self.options), len(self.statements.texts)
        return {"labels": self.labels.config, "labelled": labelled, "options": options, "seed": self.seed}


def divide_labels(labels: TrueFalseLabels, options: JudgeOptions, seed: int) -> TrainingLabels:
    """Divide labels into a training set, which is split, and a test set."""
    statements = labels.statements(options.unlabelled)
    learned, test = statements.divide(options.test_size, seed)
    splits = split_statements(learned.heads, learned.relations, learned.tails, share=options.holdout, seed=seed)
    return TrainingLabels(labels, options, seed, statements, learned, test, splits)
