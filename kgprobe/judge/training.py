"""Judges of every layer, compared; the best one, trained.

Which layer to read, how strongly to regularise, and whether the network of the paper is worth it beside a linear probe,
is decided by folds of the statements that are learned from, by entity. How good the choice is, is then seen on
statements that had no say in it (:mod:`.splits`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.judge import NetworkOptions
from kgprobe.judge.classifiers import (
    Classifier,
    Doubles,
    Floats,
    Integers,
    fit_linear_probe,
    fit_network,
)
from kgprobe.judge.quality import Quality, quality_of
from kgprobe.judge.splits import Splits
from kgprobe.probes.statements.metrics import JUDGEMENTS

# Inverse strengths of the penalty that are tried.
_STRENGTHS = (1e-4, 1e-3, 1e-2)
_FOLDS = 3
# Fewer statements of the answers cannot be told apart.
_FEWEST = 10


@dataclass(frozen=True, slots=True)
class LayerJudged:
    """A linear probe of one layer.

    Attributes:
        layer: its number.
        strength: of the penalty, the best of those tried.
        folds: over the statements learned from, each judged by a probe that did not learn from its fold.
        other_entities, other_relations: by a probe of all that is learned from; None where there are no such
            statements.
    """

    layer: int
    strength: float
    folds: Quality
    other_entities: Quality | None
    other_relations: Quality | None


@dataclass(frozen=True, slots=True)
class KindJudged:
    """One kind of classifier at the layer that was chosen; attributes as of :class:`LayerJudged`."""

    kind: str
    folds: Quality
    other_entities: Quality | None
    other_relations: Quality | None


@dataclass(frozen=True, slots=True)
class Trained:
    """A judge, and what it was chosen from.

    Attributes:
        layer: whose hidden states it reads.
        classifier: learned from all statements that it was given.
        layers: every layer's linear probe.
        kinds: the linear probe and the network at that layer; the one that was chosen has the least log loss over
            folds.
    """

    layer: int
    classifier: Classifier
    layers: tuple[LayerJudged, ...]
    kinds: tuple[KindJudged, ...]


def train_judge(
    states: Floats,
    answers: Integers,
    subjects: Sequence[str],
    splits: Splits,
    layers: Sequence[int],
    network_options: NetworkOptions,
    *,
    seed: int,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Trained:
    """Choose a layer and a kind of classifier, see how good they are, and learn from all statements.

    Cost: for each layer, ten logistic regressions over the statements; four networks.

    Args:
        states: shape (statements, layers, size).
        answers: the model's own, numbers of :data:`~kgprobe.probes.statements.metrics.JUDGEMENTS`, shape (statements,).
        subjects: of the statements; those of one are in one fold.
        splits: what is learned from, and what tells how good a judge is.
        layers: their numbers.
        network_options: how the network is made.
        seed: what is random follows from it.
        on_progress: called with how many steps are done, and of how many.

    Raises:
        KgprobeError: the statements that are learned from have too few of all answers but one, or of too few subjects.
    """
    train = splits.train
    folds = choose_folds(answers, subjects, train, seed)
    steps = len(layers) + 2
    judged = []
    for number, layer in enumerate(layers):
        judged.append(_judge_layer(layer, states[:, number], answers, splits, folds))
        on_progress(number + 1, steps)
    best = min(range(len(judged)), key=lambda number: judged[number].folds.log_loss)
    chosen, at_layer = judged[best], states[:, best]

    def linear(places: Integers) -> Classifier:
        return fit_linear_probe(at_layer[places], answers[places], strength=chosen.strength)

    def network(places: Integers) -> Classifier:
        return fit_network(at_layer[places], answers[places], network_options, seed=seed)

    told = _out_of_fold(network, at_layer, train, folds)
    on_progress(steps - 1, steps)
    whole = network(train)
    kinds = (
        KindJudged("linear", chosen.folds, chosen.other_entities, chosen.other_relations),
        KindJudged("network", quality_of(answers[train], told), *_elsewhere(whole, at_layer, answers, splits)),
    )
    better = min(kinds, key=lambda one: one.folds.log_loss)
    everything = np.arange(len(answers))
    classifier = (linear if better.kind == "linear" else network)(everything)
    on_progress(steps, steps)
    return Trained(chosen.layer, classifier, tuple(judged), kinds)


def _judge_layer(
    layer: int, states: Floats, answers: Integers, splits: Splits, folds: NDArray[np.int64]
) -> LayerJudged:
    train = splits.train
    tried = []
    for strength in _STRENGTHS:

        def fit(places: Integers, strength: float = strength) -> Classifier:
            return fit_linear_probe(states[places], answers[places], strength=strength)

        tried.append(quality_of(answers[train], _out_of_fold(fit, states, train, folds)))
    best = min(range(len(tried)), key=lambda number: tried[number].log_loss)
    whole = fit_linear_probe(states[train], answers[train], strength=_STRENGTHS[best])
    return LayerJudged(layer, _STRENGTHS[best], tried[best], *_elsewhere(whole, states, answers, splits))


def _elsewhere(
    classifier: Classifier, states: Floats, answers: Integers, splits: Splits
) -> tuple[Quality | None, Quality | None]:
    entities, relations = (
        quality_of(answers[places], classifier.probabilities(states[places])) if len(places) else None
        for places in (splits.other_entities, splits.other_relations)
    )
    return entities, relations


def _out_of_fold(
    fit: Callable[[Integers], Classifier], states: Floats, train: Integers, folds: NDArray[np.int64]
) -> Doubles:
    """What is told of each statement that is learned from, by what did not learn from its fold."""
    told = np.empty((len(train), len(JUDGEMENTS)))
    for fold in range(_FOLDS):
        inside = folds == fold
        told[inside] = fit(train[~inside]).probabilities(states[train[inside]])
    return told


def choose_folds(answers: Integers, subjects: Sequence[str], train: Integers, seed: int) -> Integers:
    """In which fold each statement is that is learned from; those of one subject are in one.

    Args:
        answers, subjects, seed: as of :func:`train_judge`.
        train: places of the statements that are learned from.

    Returns:
        numbers of folds, shape (statements learned from,).

    Raises:
        KgprobeError: as of :func:`train_judge`.
    """
    _check(answers[train])
    return _folds(np.array([subjects[place] for place in train], dtype=object), answers[train], seed)


def _folds(subjects: NDArray[np.object_], answers: Integers, seed: int) -> Integers:
    from sklearn.model_selection import StratifiedGroupKFold

    names = len(set(subjects.tolist()))
    if names < _FOLDS:
        raise KgprobeError(
            f"The statements to learn from are about {names} subjects; {_FOLDS} at least are needed. Label more facts."
        )
    folds = np.empty(len(answers), dtype=np.int64)
    splitter = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
    for number, (outside, inside) in enumerate(splitter.split(np.zeros((len(answers), 1)), answers, subjects)):
        if len(set(answers[outside].tolist())) == 1:
            raise KgprobeError(
                "All answers but those of one kind are about a few subjects, so that no judge could be tried on others."
                " Label more facts."
            )
        folds[inside] = number
    return folds


def _check(answers: Integers) -> None:
    counts = np.bincount(answers, minlength=len(JUDGEMENTS))
    if np.sort(counts)[-2] < _FEWEST:
        told = ", ".join(f"{count:,} {name}" for name, count in zip(JUDGEMENTS, counts.tolist(), strict=True))
        raise KgprobeError(
            f"Of {len(answers):,} statements to learn from, the model's answers are {told}: at least {_FEWEST} each of"
            " two answers are needed. Label more statements, or ask in other words."
        )
