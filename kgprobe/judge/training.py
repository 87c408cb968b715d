"""Comparison of judges of every layer, and training of the best one.

The layer, the regularization, and the choice between the paper's network and a linear probe are decided by
cross-validation on the training statements, with folds by entity. The chosen judge is then evaluated on held-out
statements (:mod:`.splits`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.judge import NetworkOptions
from kgprobe.judge.classifiers import Classifier, Doubles, Floats, Integers, fit_linear_probe, fit_network
from kgprobe.judge.quality import Quality, quality_of
from kgprobe.judge.splits import Splits
from kgprobe.probes.statements.metrics import JUDGEMENTS

# Candidate inverse regularization strengths.
_STRENGTHS = (1e-4, 1e-3, 1e-2)
_FOLDS = 3
# Minimum statements of each of two answers.
_FEWEST = 10


@dataclass(frozen=True, slots=True)
class LayerJudged:
    """Results of a linear probe of one layer.

    Attributes:
        layer: its number.
        strength: the best inverse regularization strength.
        folds: quality in cross-validation on the training statements.
        other_entities, other_relations: quality of a probe trained on all training statements; None if there are no
            such statements.
    """

    layer: int
    strength: float
    folds: Quality
    other_entities: Quality | None
    other_relations: Quality | None


@dataclass(frozen=True, slots=True)
class KindJudged:
    """Results of one kind of classifier at the chosen layer; attributes as of :class:`LayerJudged`."""

    kind: str
    folds: Quality
    other_entities: Quality | None
    other_relations: Quality | None


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained classifier, and the results of its selection.

    Attributes:
        layer: layer of the hidden states.
        classifier: trained on all given statements.
        layers: results of every layer's linear probe.
        kinds: results of the linear probe and the network at that layer; the chosen one has the least log loss in
            cross-validation.
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
    """Choose a layer and a kind of classifier, evaluate them, and train on all statements.

    Cost: for each layer, ten logistic regressions over the statements; four networks.

    Args:
        states: shape (statements, layers, size).
        answers: the model's own, numbers of :data:`~kgprobe.probes.statements.metrics.JUDGEMENTS`, shape (statements,).
        subjects: subjects of the statements; each subject is in one fold.
        splits: training and held-out statements.
        layers: their numbers.
        network_options: options of the network.
        seed: random seed.
        on_progress: called with the number of finished steps, and their total.

    Raises:
        KgprobeError: the training statements have too few answers of all kinds but one, or too few subjects.
    """
    train = splits.train
    folds = choose_folds(answers, subjects, train, seed)
    steps = len(layers) + 2
    judged = []
    for number, layer in enumerate(layers):
        judged.append(_evaluate_layer(layer, states[:, number], answers, splits, folds))
        on_progress(number + 1, steps)
    best = min(range(len(judged)), key=lambda number: judged[number].folds.log_loss)
    chosen, at_layer = judged[best], states[:, best]

    def linear(places: Integers) -> Classifier:
        return fit_linear_probe(at_layer[places], answers[places], strength=chosen.strength)

    def network(places: Integers) -> Classifier:
        return fit_network(at_layer[places], answers[places], network_options, seed=seed)

    probabilities = _out_of_fold(network, at_layer, train, folds)
    on_progress(steps - 1, steps)
    whole = network(train)
    kinds = (
        KindJudged("linear", chosen.folds, chosen.other_entities, chosen.other_relations),
        KindJudged(
            "network", quality_of(answers[train], probabilities), *_held_out_quality(whole, at_layer, answers, splits)
        ),
    )
    better = min(kinds, key=lambda kind: kind.folds.log_loss)
    everything = np.arange(len(answers))
    classifier = (linear if better.kind == "linear" else network)(everything)
    on_progress(steps, steps)
    return Trained(chosen.layer, classifier, tuple(judged), kinds)


def _evaluate_layer(
    layer: int, states: Floats, answers: Integers, splits: Splits, folds: NDArray[np.int64]
) -> LayerJudged:
    train = splits.train
    qualities = []
    for strength in _STRENGTHS:

        def fit(places: Integers, strength: float = strength) -> Classifier:
            return fit_linear_probe(states[places], answers[places], strength=strength)

        qualities.append(quality_of(answers[train], _out_of_fold(fit, states, train, folds)))
    best = min(range(len(qualities)), key=lambda number: qualities[number].log_loss)
    whole = fit_linear_probe(states[train], answers[train], strength=_STRENGTHS[best])
    return LayerJudged(layer, _STRENGTHS[best], qualities[best], *_held_out_quality(whole, states, answers, splits))


def _held_out_quality(
    classifier: Classifier, states: Floats, answers: Integers, splits: Splits
) -> tuple[Quality | None, Quality | None]:
    def quality(places: Integers) -> Quality | None:
        return quality_of(answers[places], classifier.probabilities(states[places])) if len(places) else None

    return quality(splits.other_entities), quality(splits.other_relations)


def _out_of_fold(
    fit: Callable[[Integers], Classifier], states: Floats, train: Integers, folds: NDArray[np.int64]
) -> Doubles:
    """Return cross-validated probabilities of the training statements."""
    probabilities = np.empty((len(train), len(JUDGEMENTS)))
    for fold in range(_FOLDS):
        inside = folds == fold
        probabilities[inside] = fit(train[~inside]).probabilities(states[train[inside]])
    return probabilities


def choose_folds(answers: Integers, subjects: Sequence[str], train: Integers, seed: int) -> Integers:
    """Return the fold of each training statement, shape (training statements,); each subject is in one fold.

    Arguments and errors as of :func:`train_judge`; ``train`` are the places of the training statements.
    """
    _check(answers[train])
    return _folds(np.array([subjects[place] for place in train], dtype=object), answers[train], seed)


def _folds(subjects: NDArray[np.object_], answers: Integers, seed: int) -> Integers:
    from sklearn.model_selection import StratifiedGroupKFold

    names = len(set(subjects.tolist()))
    if names < _FOLDS:
        raise KgprobeError(
            f"The training statements have {names} subjects; at least {_FOLDS} are needed. Label more facts."
        )
    folds = np.empty(len(answers), dtype=np.int64)
    splitter = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
    for number, (outside, inside) in enumerate(splitter.split(np.zeros((len(answers), 1)), answers, subjects)):
        if len(set(answers[outside].tolist())) == 1:
            raise KgprobeError(
                "All answers but those of one kind belong to a few subjects, so cross-validation is impossible. Label"
                " more facts."
            )
        folds[inside] = number
    return folds


def _check(answers: Integers) -> None:
    counts = np.bincount(answers, minlength=len(JUDGEMENTS))
    if np.sort(counts)[-2] < _FEWEST:
        answer_counts = ", ".join(f"{count:,} {name}" for name, count in zip(JUDGEMENTS, counts.tolist(), strict=True))
        raise KgprobeError(
            f"The model's answers to {len(answers):,} training statements are {answer_counts}: at least {_FEWEST} each"
            " of two answers are needed. Label more statements, or use another instruction."
        )
