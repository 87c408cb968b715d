"""Training of a judge on labels, and its evaluation.

The layer, the regularization, and the choice between the paper's network and a linear probe are decided by
cross-validation on the training statements, with folds by entity. The chosen judge is then evaluated on held-out
statements (:mod:`.labels`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kgprobe.answers.settings import versions
from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.judge import LAST_LAYER, JudgeOptions
from kgprobe.judge.classifiers import (
    Bools,
    Classifier,
    Doubles,
    Floats,
    Integers,
    PublishedNetwork,
    fit_linear_probe,
    fit_network,
    fit_published_network,
)
from kgprobe.judge.files import Judge
from kgprobe.judge.labels import LabelledStatements, Splits, TrainingLabels, pick
from kgprobe.judge.prompt_encoder import check_peft, learn_virtual_prompt, virtual_word_probabilities
from kgprobe.judge.prompts import StatePrompt, prompt_for, read_statements, word_probabilities
from kgprobe.judge.quality import Quality, QualityComparison, compare_quality, quality_of
from kgprobe.models.states.reader import StateReader, layer_count
from kgprobe.probes.statements.metrics import JUDGEMENTS

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

# Candidate inverse regularization strengths.
_STRENGTHS = (1e-4, 1e-3, 1e-2)
_FOLDS = 3
# Minimum statements of each of two answers.
_FEWEST = 10

# Trains on states, answers and truths of statements.
_Fit: TypeAlias = Callable[[Floats, Integers, Bools], Classifier]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitQualities:
    """Quality on each split of the labelled statements.

    Attributes:
        folds: quality on the training statements, in cross-validation if it is of a classifier.
        other_entities, other_relations: quality on held-out statements, after training on all training statements;
            None if there are no such statements.
    """

    folds: Quality
    other_entities: Quality | None = None
    other_relations: Quality | None = None

    def by_split(self) -> dict[str, Quality]:
        """Return the qualities by the short name of the split, without missing ones."""
        qualities = {"folds": self.folds, "entities": self.other_entities, "relations": self.other_relations}
        return {name: quality for name, quality in qualities.items() if quality is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerJudged(SplitQualities):
    """Results of a linear probe of one layer."""

    layer: int
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KindJudged(SplitQualities):
    """Results of one kind of classifier at the chosen layer."""

    kind: str


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained classifier, and the results of its selection.

    Attributes:
        kinds: results of the linear probe and the network at that layer, and of the published network if it is
            required; unless one is required, the chosen one has the lower log loss in cross-validation.
    """

    layer: int
    classifier: Classifier
    layers: tuple[LayerJudged, ...]
    kinds: tuple[KindJudged, ...]


@dataclass(frozen=True, slots=True)
class LearnedJudge:
    """A judge with the results of its training.

    Attributes:
        baseline: quality of the answer words' probabilities.
        encoded: quality of the words' probabilities after the virtual tokens; None without a prompt encoder.
    """

    judge: Judge
    trained: Trained
    splits: Splits
    baseline: SplitQualities
    encoded: SplitQualities | None = None


def learn_judge(
    scorer: "Scorer",
    data: TrainingLabels,
    words: Sequence[str],
    *,
    on_progress: OnProgress = no_progress,
) -> LearnedJudge:
    """Train a judge on the training set of labels."""
    options, seed, learned, splits = data.options, data.seed, data.learned, data.splits
    prompt = prompt_for(data.labels.config["described"], scorer)
    virtual, encoder = None, None
    if options.prompt_encoder:
        # Only the training set of the classifiers, so that the other splits are held out for both.
        own = learned.part(splits.train)
        encoded = learn_virtual_prompt(
            scorer, prompt, own.texts, own.answers, words, options, seed=seed, on_progress=on_progress
        )
        virtual, encoder = encoded.virtual, encoded.record()
    last = layer_count(scorer.model)
    layers = sorted({last if layer == LAST_LAYER else layer for layer in options.layers}) or list(range(1, last + 1))
    states, kept = _read_states(scorer, prompt, learned, layers, on_progress, virtual)
    learned, splits = learned.part(kept), splits.kept(kept)
    trained = choose_classifier(
        states,
        learned.answers,
        learned.heads,
        splits,
        layers,
        options,
        truths=learned.truths,
        seed=seed,
        on_progress=on_progress,
    )
    by_words = word_probabilities(scorer, prompt, learned.texts, words)
    baseline = _by_split(learned, splits, by_words)
    after_virtual = None
    if virtual is not None:
        probabilities = virtual_word_probabilities(
            scorer, prompt, virtual, learned.texts, words, options.encoder_batch_size
        )
        after_virtual = _by_split(learned, splits, probabilities)
    training = {
        "labels": data.labels.name,
        "options": asdict(options),
        "seed": seed,
        "labelled": len(data.statements.texts),
        "unlabelled": data.statements.unlabelled,
        "statements": {name: len(places) for name, places in splits.sides().items()},
        "entities": sorted({*learned.heads, *learned.tails}),
        "layers": list(map(asdict, trained.layers)),
        "kinds": list(map(asdict, trained.kinds)),
        "baseline": asdict(baseline),
        "prompt_encoder": encoder,
        "encoded": None if after_virtual is None else asdict(after_virtual),
        "versions": versions(),
    }
    labels = dict(data.labels.config)
    judge = Judge(trained.classifier, trained.layer, prompt, scorer.describe(), labels, training, virtual)
    return LearnedJudge(judge, trained, splits, baseline, after_virtual)


def _by_split(learned: LabelledStatements, splits: Splits, probabilities: Doubles) -> SplitQualities:
    """Return the quality of probabilities that are not learned from the training statements' hidden states."""
    answers, truths = learned.answers, learned.truths
    train = splits.train
    train_quality = quality_of(answers[train], probabilities[train], truths[train])
    return SplitQualities(folds=train_quality, **_on_held_out(answers, truths, splits, probabilities.__getitem__))


def evaluate_on(
    judge: Judge, scorer: "Scorer", statements: LabelledStatements, words: Sequence[str]
) -> tuple[QualityComparison, QualityComparison | None]:
    """Return the quality on statements, and on those without entities of the training set, or None without these."""
    states, kept = _read_states(scorer, judge.prompt, statements, [judge.layer], no_progress, judge.virtual)
    statements = statements.part(kept)
    predicted = judge.classifier.probabilities(states[:, 0], statements.truths)
    by_words = word_probabilities(scorer, judge.prompt, statements.texts, words)
    encoded = None
    if judge.virtual is not None:
        batch_size = judge.training["options"]["encoder_batch_size"]
        encoded = virtual_word_probabilities(scorer, judge.prompt, judge.virtual, statements.texts, words, batch_size)
    learned = set(judge.training["entities"])
    ends = zip(statements.heads, statements.tails, strict=True)
    held_out = np.flatnonzero(list(map(learned.isdisjoint, ends)))

    def compare(places: Integers) -> QualityComparison:
        facts, truths = pick(statements.facts, places), statements.truths[places]
        after_virtual = None if encoded is None else encoded[places]
        return compare_quality(
            statements.answers[places], predicted[places], by_words[places], facts, truths, after_virtual
        )

    return compare(np.arange(len(statements.texts))), compare(held_out) if len(held_out) else None


def _read_states(
    scorer: "Scorer",
    prompt: StatePrompt,
    statements: LabelledStatements,
    layers: Sequence[int],
    on_progress: OnProgress,
    virtual: Floats | None,
) -> tuple[Floats, Integers]:
    """Return hidden states, shape (statements, layers, size), and the places of statements that fit the context."""
    done, count = 0, len(statements.texts)

    def progress(more: int) -> None:
        nonlocal done
        done += more
        on_progress(StepProgress("Reading hidden states", done, count, "statements"))

    read = read_statements(StateReader(scorer, layers), prompt, statements.texts, progress, virtual)
    kept = np.setdiff1d(np.arange(count), list(read.reasons))
    return (read.values if len(kept) == count else read.values[kept]), kept


def choose_classifier(
    states: Floats,
    answers: Integers,
    subjects: Sequence[str],
    splits: Splits,
    layers: Sequence[int],
    options: JudgeOptions,
    *,
    truths: Bools,
    seed: int,
    on_progress: OnProgress = no_progress,
) -> Trained:
    """Choose a layer and a kind of classifier, evaluate them, and train on all statements.

    Cost: for each layer, ten logistic regressions over the statements; four networks.

    Args:
        states: shape (statements, layers, size).
        answers: the model's own, numbers of :data:`~kgprobe.probes.statements.metrics.JUDGEMENTS`, shape (statements,).
        subjects: subjects of the statements; each subject is in one fold.
        truths: True for facts, False for negatives, shape (statements,); for the published network.
    """
    train = splits.train
    folds = choose_folds(answers, subjects, train, seed)
    networks: dict[str, _Fit] = {"network": lambda states, answers, _: fit_network(states, answers, options, seed=seed)}
    if options.classifier == PublishedNetwork.kind:
        networks[PublishedNetwork.kind] = partial(fit_published_network, options=options, seed=seed)
    steps = len(layers) + len(networks) + 1
    judged = []
    for number, layer in enumerate(layers):
        judged.append(_evaluate_layer(layer, states[:, number], answers, truths, splits, folds))
        on_progress(StepProgress("Training judges", number + 1, steps, "steps"))
    best = min(range(len(judged)), key=lambda number: judged[number].folds.log_loss)
    chosen, at_layer = judged[best], np.ascontiguousarray(states[:, best])
    of_linear = {"other_entities": chosen.other_entities, "other_relations": chosen.other_relations}
    kinds = [KindJudged(kind="linear", folds=chosen.folds, **of_linear)]
    for kind, fit in networks.items():
        probabilities = _out_of_fold(fit, at_layer, answers, truths, train, folds)
        folds_quality = quality_of(answers[train], probabilities, truths[train])
        on_progress(StepProgress("Training judges", len(layers) + len(kinds), steps, "steps"))
        kinds.append(KindJudged(kind=kind, folds=folds_quality, **_held_out(fit, at_layer, answers, truths, splits)))
    chosen_kind = options.classifier
    if chosen_kind == "best":
        chosen_kind = min(kinds, key=lambda kind: kind.folds.log_loss).kind
    fits = {"linear": _linear_fit(chosen.strength), **networks}
    classifier = fits[chosen_kind](at_layer, answers, truths)
    on_progress(StepProgress("Training judges", steps, steps, "steps"))
    return Trained(chosen.layer, classifier, tuple(judged), tuple(kinds))


def _linear_fit(strength: float) -> _Fit:
    return lambda states, answers, _: fit_linear_probe(states, answers, strength=strength)


def _evaluate_layer(
    layer: int, states: Floats, answers: Integers, truths: Bools, splits: Splits, folds: Integers
) -> LayerJudged:
    train = splits.train
    qualities = {}
    for strength in _STRENGTHS:
        probabilities = _out_of_fold(_linear_fit(strength), states, answers, truths, train, folds)
        qualities[strength] = quality_of(answers[train], probabilities, truths[train])
    best = min(qualities, key=lambda strength: qualities[strength].log_loss)
    held_out = _held_out(_linear_fit(best), states, answers, truths, splits)
    return LayerJudged(layer=layer, strength=best, folds=qualities[best], **held_out)


def _held_out(fit: _Fit, states: Floats, answers: Integers, truths: Bools, splits: Splits) -> Mapping[str, Quality]:
    """Return the quality on held-out statements after training on the training statements, by split."""
    whole = fit(states[splits.train], answers[splits.train], truths[splits.train])
    return _on_held_out(answers, truths, splits, lambda places: whole.probabilities(states[places], truths[places]))


def _on_held_out(
    answers: Integers, truths: Bools, splits: Splits, probabilities: Callable[[Integers], Doubles]
) -> Mapping[str, Quality]:
    """Return the quality of probabilities on held-out statements, by split, without empty splits."""
    places = {"other_entities": splits.other_entities, "other_relations": splits.other_relations}
    qualities = {}
    for name, part in places.items():
        if len(part):
            qualities[name] = quality_of(answers[part], probabilities(part), truths[part])
    return qualities


def _out_of_fold(
    fit: _Fit, states: Floats, answers: Integers, truths: Bools, train: Integers, folds: Integers
) -> Doubles:
    """Return cross-validated probabilities of the training statements."""
    probabilities = np.empty((len(train), len(JUDGEMENTS)))
    for fold in range(_FOLDS):
        inside, outside = train[folds == fold], train[folds != fold]
        classifier = fit(states[outside], answers[outside], truths[outside])
        probabilities[folds == fold] = classifier.probabilities(states[inside], truths[inside])
    return probabilities


def check_training(data: TrainingLabels) -> None:
    """Raise a KgprobeError if a judge cannot be trained on these labels, before its model is loaded."""
    choose_folds(data.learned.answers, data.learned.heads, data.splits.train, data.seed)
    if data.options.prompt_encoder:
        check_peft()


def choose_folds(answers: Integers, subjects: Sequence[str], train: Integers, seed: int) -> Integers:
    """Return the fold of each training statement, shape (training statements,); each subject is in one fold.

    Arguments and errors as of :func:`choose_classifier`; ``train`` are the places of the training statements.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    answers, groups = answers[train], np.array(pick(subjects, train), dtype=object)
    counts = np.bincount(answers, minlength=len(JUDGEMENTS))
    if np.sort(counts)[-2] < _FEWEST:
        answer_counts = ", ".join(f"{count:,} {name}" for name, count in zip(JUDGEMENTS, counts.tolist(), strict=True))
        raise KgprobeError(
            f"The model's answers to {len(answers):,} training statements are {answer_counts}: at least {_FEWEST} each"
            " of two answers are needed. Label more statements, or use another instruction."
        )
    names = len(set(groups.tolist()))
    if names < _FOLDS:
        raise KgprobeError(
            f"The training statements have {names} subjects; at least {_FOLDS} are needed. Label more facts."
        )
    folds = np.empty(len(answers), dtype=np.int64)
    splitter = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
    for number, (outside, inside) in enumerate(splitter.split(np.zeros((len(answers), 1)), answers, groups)):
        if len(set(answers[outside].tolist())) == 1:
            raise KgprobeError(
                "All answers but those of one kind belong to a few subjects, so cross-validation is impossible. Label"
                " more facts."
            )
        folds[inside] = number
    return folds
